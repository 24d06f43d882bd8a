"""Make the bundled reader from SQuAD and the bundled corpus. Needs a GPU and the extra `minilm`.

    python benchmarks/bundled_reader.py --squad FOLDER --out runs/bundled

1. Unanswerable questions are made from SQuAD 1.1 train.
2. Teachers: two readers on a larger encoder, each trained without a half of the contexts; first on
   SQuAD with the synthetic questions, then on real ones (three quarters of rest-dev) and on English
   passages of all kinds (`bundled:train` and `bundled:kinds-train`, three times).
3. They teach the small encoder, each the questions that it has not seen.
4. It is trained on the real questions and on the passages of all kinds, with as many of SQuAD
   again and the same teachers. Synthetic questions are many and easy: real ones come last. Data is
   small and its order matters, so this is done with several seeds, and the weights are averaged.
   It is done twice: the twin leaves out the last quarter of rest-dev.
5. The twin is calibrated on that quarter, and on the bundled questions for this, which are repeated
   to have about the same weight. The reader takes over its calibration, moved to the share of
   unanswerable questions that users are expected to ask.
6. It is stored in eight bits, with an ONNX model for CPUs.

Finished steps are skipped. CS 224n dev is for scoring only.
"""

import argparse
import json
import multiprocessing
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from onnx_beside_weights import add_onnx_model

from readlet.augmentation.unanswerable_questions import add_unanswerable
from readlet.data import read_examples, write_examples
from readlet.data.split import split
from readlet.errors import ReadletError
from readlet.evaluation.evaluation import Evaluation
from readlet.evaluation.squad import score_questions, summary
from readlet.inference.evaluate_questions import evaluate_questions, predict
from readlet.inference.fit_calibration import calibrate
from readlet.inference.inputs import AnswerOptions
from readlet.inference.predictor import Predictor
from readlet.inference.reader import Reader
from readlet.inference.slimming import slim
from readlet.models.recipe_files import load_recipe
from readlet.training.train import train_reader
from readlet.types import Example

TEACHER = "sentence-transformers/all-mpnet-base-v2"  # 109 million parameters
FOLDS = 2
# Of unanswerable questions: users mostly ask what they expect to find. On the answerable questions
# of `bundled:kinds-dev` this costs 0.8 points of F1, and 0.2 would cost 2.0.
DEFAULT_SHARE = 0.1
JUDGED, JUDGED_SHARE = "cs224n-dev-v2.0.json.gz", 0.5  # 52 % of them have no answer
NOTICE = Path(__file__).parent.parent / "src/readlet/bundled/reader/NOTICE.md"
MADE_SHARE = 0.33  # of unanswerable questions, with the made ones
TIMES_REAL = TIMES_OWN = 3  # in training
SECOND_STAGE = ("training.learning_rate=1e-4", "training.epochs=4", "training.warmup_steps=50")
SEEDS = 4  # of the second stage
# All real questions are for training: none is left to choose an epoch by.
WITHOUT_DEV = ("data.dev=", "data.calibration=", "data.held_out=0.001", "training.evaluate_every=9")
OF_TEACHER = ("training.learning_rate=4e-5", "training.epochs=1", *WITHOUT_DEV)
SECOND_OF_TEACHER = ("training.learning_rate=2e-5", "training.epochs=3", "training.warmup_steps=50")
TAUGHT = ("training.epochs=6", "model.token_dropout=0.05", "training.teacher_share=0.7")
TAUGHT_AGAIN = ("training.teacher_share=0.5",)


class Training(NamedTuple):
    """One reader to be trained: its folder, and the changes of the recipe `encoder`."""

    folder: Path
    changes: list[str]

    @property
    def is_finished(self) -> bool:
        return (self.folder / "config.json").is_file()


def train_all(trainings: Sequence[Training], at_once: int) -> list[Path]:
    """The folders of the readers; several of those that are missing are trained at once."""
    missing = [training for training in trainings if not training.is_finished]
    if at_once == 1 or len(missing) < 2:
        for training in missing:
            train_one(training)
    else:
        spawned = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(at_once, mp_context=spawned) as pool:
            list(pool.map(train_one, missing))
    return [training.folder for training in trainings]


def train_one(training: Training) -> None:
    recipe = load_recipe("encoder", training.changes)
    train_reader(recipe, training.folder, resume=(training.folder / "recipe.json").is_file())


def make(
    squad: Path, out: Path, changes: Sequence[str], *, teacher: str = TEACHER, at_once: int = 1
) -> Path:
    """All steps; the folder of the finished reader."""
    # Missing files are reported before any training.
    train, notice = squad / "train-v1.1.json.gz", NOTICE.read_text("utf-8")
    next(iter(read_examples(train)))
    judged = list(read_examples(squad / JUDGED))
    out.mkdir(parents=True, exist_ok=True)
    real, held = out / "rest-train.json.gz", out / "rest-held.json.gz"
    if not held.exists():
        parts = {"train": 0.75, "held": 0.25}
        split(str(squad / "rest-dev-v2.0.json.gz"), out / "rest.json.gz", parts, 0)
    made, own = out / "made.json.gz", out / "own-train.json.gz"
    if not made.exists():
        add_unanswerable([str(train)], made, MADE_SHARE, 0)
    if not own.exists():
        write_examples(own, bundled_questions("train"))
    common = [f"data.calibration={held}", f"data.dev={held}", *changes]

    def training(name: str, files: Sequence[Path], *more: str) -> Training:
        data = f"data.train={json.dumps([str(file) for file in files])}"
        return Training(out / name, [data, *common, *more])

    last = [real, *[own] * TIMES_OWN]
    encoder = f"model.encoder={teacher}"
    folds = [(f"data.folds={FOLDS}", f"data.fold={fold}") for fold in range(FOLDS)]
    wide = [
        training(f"wide-{n}", [made], encoder, *fold, *OF_TEACHER) for n, fold in enumerate(folds)
    ]
    first = train_all(wide, at_once)
    real_last = [
        training(f"teacher-{n}", last, *fold, f"training.start={first[n]}", *SECOND_OF_TEACHER)
        for n, fold in enumerate(folds)
    ]
    teachers = [str(folder) for folder in train_all(real_last, at_once)]
    taught_by = f"training.teacher={json.dumps(teachers)}"
    taught = training("taught", [made, *[real] * TIMES_REAL], taught_by, *TAUGHT)
    train_all([taught], at_once)

    def second_stage(name: str, *more: str, files: Sequence[Path]) -> Reader:
        again = (f"data.replay={made}", taught_by, *TAUGHT_AGAIN)
        start = (f"training.start={taught.folder}", *SECOND_STAGE)
        seeds = [
            training(f"{name}-{seed}", files, *start, *again, *more, f"training.seed={seed}")
            for seed in range(SEEDS)
        ]
        folders = train_all(seeds, at_once)
        return slim(averaged([Reader.load(folder) for folder in folders]), stored="int8")

    finished = out / "bundled"
    if not (finished / "config.json").is_file():
        twin = recalibrated(second_stage("twin", files=last), calibration_questions(held))
        twin.save(out / "twin")
        calibration = twin.calibration.assuming(DEFAULT_SHARE)
        small = second_stage("last", *WITHOUT_DEV, files=[*last, held])
        reader = replace(small, calibration=calibration, notice=notice, languages=("en",))
        with_scores(reader, judged).save(finished)
        add_onnx_model(finished)
    return finished


def with_scores(reader: Reader, judged: Sequence[Example]) -> Reader:
    """Its card names its scores on the questions that are for scoring, and the command."""
    found = predict(reader, judged, AnswerOptions(unanswerable_share=JUDGED_SHARE))
    answers = {key: prediction.text for key, prediction in found.items()}
    scores = summary(score_questions(judged, answers, "2.0"))
    command = f"`readlet evaluate bundled {JUDGED} --unanswerable-share {JUDGED_SHARE}`"
    source = {"dev_source": f"{JUDGED} ({command})"}
    return replace(reader, metrics={"steps": reader.metrics["steps"], "dev": scores, **source})


def averaged(readers: Sequence[Reader]) -> Reader:
    """The first reader with the mean weights of all. They have to come from the same start."""
    modules = [reader.scorer.module for reader in readers]
    states = [module.state_dict() for module in modules]
    mean = {name: sum(state[name] for state in states) / len(states) for name in states[0]}
    modules[0].load_state_dict(mean)
    return readers[0]


def recalibrated(reader: Reader, examples: Sequence[Example]) -> Reader:
    predictor = Predictor(reader.scorer, reader.calibration)
    fitted = calibrate(predictor, examples, reader.scorer.encoder.encode(examples))
    return replace(reader, calibration=fitted)


def bundled_questions(split: str) -> list[Example]:
    """All English ones: of encyclopaedic passages and of the other kinds."""
    names = (f"bundled:{split}", f"bundled:kinds-{split}")
    return [e for name in names for e in read_examples(name) if e.language == "en"]


def calibration_questions(held: Path) -> list[Example]:
    squad, own = list(read_examples(held)), bundled_questions("dev")
    times = max(1, round(len(squad) / len(own)))
    often = [replace(e, id=f"{e.id}-{time}") for time in range(times) for e in own]
    return [*squad, *often]


def lines(reader: Path, squad: Path) -> list[str]:
    """Scores on CS 224n dev: by default, as if half of the questions had no answer, always
    answering."""
    scored, name = str(squad / JUDGED), str(reader)
    found = {
        "default": evaluate_questions(scored, reader=name),
        f"share {JUDGED_SHARE}": evaluate_questions(
            scored, reader=name, options=AnswerOptions(unanswerable_share=JUDGED_SHARE)
        ),
        "always answering": evaluate_questions(
            scored, reader=name, options=AnswerOptions(always_answer=True)
        ),
    }
    heading = f"{'':<16} {'EM':>6} {'F1':>6} {'answerable':>10} {'area':>6}"
    return [heading, *(_line(how, evaluation) for how, evaluation in found.items())]


def _line(how: str, evaluation: Evaluation) -> str:
    scores, area = evaluation.official, evaluation.no_answer_area
    row = f"{how:<16} {scores['exact']:>6.2f} {scores['f1']:>6.2f} {scores['HasAns_f1']:>10.2f}"
    return row if area is None else f"{row} {area:>6.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--squad", type=Path, required=True, help="folder of the SQuAD files")
    parser.add_argument("--out", type=Path, required=True, help="folder of data and readers")
    parser.add_argument("--teacher", default=TEACHER, help="encoder: a folder, or a hub name")
    parser.add_argument("--at-once", type=int, default=1, help="readers to train at once")
    parser.add_argument("--set", nargs="*", default=["training.precision=bfloat16"])
    options = parser.parse_args()
    finished = make(
        options.squad,
        options.out,
        options.set,
        teacher=options.teacher,
        at_once=options.at_once,
    )
    print("\n".join(lines(finished, options.squad)))


if __name__ == "__main__":
    try:
        main()
    except ReadletError as error:
        sys.exit(f"bundled_reader: {error}")
