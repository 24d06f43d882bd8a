"""Make the bundled reader from SQuAD and the bundled corpus. Needs a GPU and the extra `minilm`.

    python benchmarks/bundled_reader.py --squad FOLDER --out runs/bundled

1. Unanswerable questions are made from SQuAD 1.1 train; a first reader is trained on them, and on
   real ones (three quarters of rest-dev, three times). Then they are made again, and those that it
   does not refuse are kept.
2. Four readers are trained, each without a quarter of the contexts, and teach a fifth one the
   questions that they have not seen.
3. It is trained on the real questions alone, and on English passages of all kinds
   (`bundled:train` and `bundled:kinds-train`, three times). Made questions are many and easy: real
   ones come last. The data is small and its order matters, so this is done with several seeds, and
   the weights are averaged. It is done twice: the twin leaves out the last quarter of rest-dev.
4. The twin is calibrated on that quarter, and on the bundled questions for this, which are repeated
   to have about the same weight. The reader takes over its calibration, moved to the share of
   unanswerable questions that users are expected to ask.
5. It is stored in eight bits, with a graph for CPUs.

Finished steps are skipped. CS 224n dev is for scoring only.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hard_rounds import TIMES_REAL, make_questions

from readlet.errors import ReadletError
from readlet.export.graph_beside import add_graph
from readlet.fitting.train import train_reader
from readlet.formats import read_examples, write_examples
from readlet.formats.split import split
from readlet.metrics.evaluation import Evaluation
from readlet.metrics.squad import score_questions, summary
from readlet.reading.evaluate_files import evaluate_questions, predict
from readlet.reading.fit_calibration import calibrate
from readlet.reading.predictor import Predictor
from readlet.reading.reader import Reader
from readlet.reading.slimming import slim
from readlet.recipe.recipe_files import load_recipe
from readlet.types import Example

FOLDS = 4
# Of unanswerable questions: users mostly ask what they expect to find. Of 0.2 and 0.1, this loses
# fewer than three points of F1 on the answerable questions of `bundled:kinds-dev`.
DEFAULT_SHARE = 0.1
JUDGED, JUDGED_SHARE = "cs224n-dev-v2.0.json.gz", 0.5  # 52 % of them have no answer
NOTICE = Path(__file__).parent.parent / "src/readlet/bundled/reader/NOTICE.md"
TIMES_OWN = 3  # in training
SECOND_STAGE = ("training.learning_rate=1e-4", "training.epochs=4", "training.warmup_steps=50")
SEEDS = 4  # of the second stage
# All real questions are for training: none is left to choose an epoch by.
WITHOUT_DEV = ("data.dev=", "data.calibration=", "data.held_out=0.001", "training.evaluate_every=9")
TAUGHT = ("training.epochs=4", "model.token_dropout=0.05", "training.teacher_share=0.7")


def make(squad: Path, out: Path, changes: Sequence[str]) -> Path:
    """All steps; the folder of the finished reader."""
    # Missing files are reported before any training.
    train, notice = squad / "train-v1.1.json.gz", NOTICE.read_text("utf-8")
    next(iter(read_examples(train)))
    judged = list(read_examples(squad / JUDGED))
    out.mkdir(parents=True, exist_ok=True)
    real, held = out / "rest-train.json.gz", out / "rest-held.json.gz"
    if not held.exists():
        parts = {"train": 0.75, "held": 0.25}
        split(str(squad / "rest-dev-v2.0.json.gz"), out / "rest.json.gz", parts, 0, {})
    common = [f"data.calibration={held}", f"data.dev={held}", *changes]

    def trained(name: str, files: Sequence[str | Path], *more: str) -> Path:
        folder = out / name
        if not (folder / "config.json").is_file():
            data = f"data.train={json.dumps([str(file) for file in files])}"
            recipe = load_recipe("encoder", [data, *common, *more])
            train_reader(recipe, folder, resume=(folder / "recipe.json").is_file())
        return folder

    easy, hard = out / "made-0.json.gz", out / "made-1.json.gz"
    often = [real] * TIMES_REAL
    if not easy.exists():
        make_questions(train, easy, None)
    first = trained("first", [easy, *often])
    if not hard.exists():
        make_questions(train, hard, first)
    teachers = [
        trained(f"fold-{fold}", [hard, *often], f"data.folds={FOLDS}", f"data.fold={fold}")
        for fold in range(FOLDS)
    ]
    names = json.dumps([str(folder) for folder in teachers])
    taught = trained("taught", [hard, *often], f"training.teacher={names}", *TAUGHT)
    own = out / "own-train.json.gz"
    if not own.exists():
        write_examples(own, bundled_questions("train"))
    last = [real, *[own] * TIMES_OWN]

    def second_stage(name: str, *more: str, files: Sequence[Path]) -> Reader:
        seeds = [
            trained(
                f"{name}-{seed}",
                files,
                f"training.start={taught}",
                *SECOND_STAGE,
                *more,
                f"training.seed={seed}",
            )
            for seed in range(SEEDS)
        ]
        return slim(averaged([Reader.load(folder) for folder in seeds]), stored="int8")

    finished = out / "bundled"
    if not (finished / "config.json").is_file():
        twin = recalibrated(second_stage("twin", files=last), calibration_questions(held))
        calibration = twin.calibration.assuming(DEFAULT_SHARE)
        small = second_stage("last", *WITHOUT_DEV, files=[*last, held])
        reader = replace(small, calibration=calibration, notice=notice, languages=("en",))
        found = predict(reader, judged, impossible_share=JUDGED_SHARE)
        answers = {key: prediction.text for key, prediction in found.items()}
        scores = summary(score_questions(judged, answers, "2.0"))
        command = f"`readlet evaluate bundled {JUDGED} --impossible-share {JUDGED_SHARE}`"
        source = {"dev_source": f"{JUDGED} ({command})"}
        metrics = {"steps": reader.metrics["steps"], "dev": scores, **source}
        replace(reader, metrics=metrics).save(finished)
        add_graph(finished)
    return finished


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
            scored, reader=name, impossible_share=JUDGED_SHARE
        ),
        "always answering": evaluate_questions(scored, reader=name, always_answer=True),
    }
    heading = f"{'':<16} {'EM':>6} {'F1':>6} {'answerable':>10} {'area':>6}"
    return [heading, *(_line(how, evaluation) for how, evaluation in found.items())]


def _line(how: str, evaluation: Evaluation) -> str:
    scores, area = evaluation.official, evaluation.refusal_area
    row = f"{how:<16} {scores['exact']:>6.2f} {scores['f1']:>6.2f} {scores['HasAns_f1']:>10.2f}"
    return row if area is None else f"{row} {area:>6.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--squad", type=Path, required=True, help="folder of the SQuAD files")
    parser.add_argument("--out", type=Path, required=True, help="folder of data and readers")
    parser.add_argument("--set", nargs="*", default=["training.precision=bfloat16"])
    options = parser.parse_args()
    print("\n".join(lines(make(options.squad, options.out, options.set), options.squad)))


if __name__ == "__main__":
    try:
        main()
    except ReadletError as error:
        sys.exit(f"bundled_reader: {error}")
