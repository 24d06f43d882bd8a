"""An encoder reader for passages of any kind, which refuses what they do not answer. Needs a GPU.

    python benchmarks/general_reader.py --squad FOLDER --out runs/general

1. Unanswerable questions are made from SQuAD 1.1 train; a first reader is trained on them, and on
   real ones (three quarters of rest-dev, three times). Then they are made again, and those that it
   does not refuse are kept.
2. Four readers are trained, each without a quarter of the contexts, and teach a fifth one the
   questions that they have not seen.
3. It is trained on the real questions alone, and on passages of other kinds
   (`bundled:kinds-train`, three times). Made questions are many and easy: real ones come last.
4. It is calibrated on the last quarter of rest-dev and on `bundled:kinds-dev`, which is repeated to
   have about the same weight, and stored in eight bits, with 0.2 as the expected share of
   unanswerable questions.

Finished steps are skipped. CS 224n dev is for scoring only.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bundled_reader import DEFAULT_SHARE, recalibrated
from hard_rounds import TIMES_REAL, make_questions

from readlet.errors import ReadletError
from readlet.fitting.train import train_reader
from readlet.formats import read_examples
from readlet.formats.split import split
from readlet.metrics.evaluation import Evaluation
from readlet.reading.evaluate_files import evaluate_questions
from readlet.reading.reader import Reader
from readlet.reading.slimming import slim
from readlet.recipe.recipe_files import load_recipe
from readlet.types import Example

FOLDS = 4
TIMES_KINDS = 3  # in training
SECOND_STAGE = ("training.learning_rate=6e-5", "training.epochs=4", "training.warmup_steps=50")
TAUGHT = ("training.epochs=4", "model.token_dropout=0.05", "training.teacher_share=0.7")


def make(squad: Path, out: Path, changes: Sequence[str]) -> Path:
    """All steps; the folder of the finished reader."""
    train, scored = squad / "train-v1.1.json.gz", squad / "cs224n-dev-v2.0.json.gz"
    for needed in (train, scored):  # a missing file is reported before any training
        next(iter(read_examples(needed)))
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
    last = [real, *["bundled:kinds-train"] * TIMES_KINDS]
    second = trained("second", last, f"training.start={taught}", *SECOND_STAGE)
    finished = out / "general"
    if not (finished / "config.json").is_file():
        small = recalibrated(slim(Reader.load(second), stored="int8"), calibration_questions(held))
        calibration = small.calibration.assuming(DEFAULT_SHARE)
        replace(small, calibration=calibration).save(finished)
    return finished


def calibration_questions(held: Path) -> list[Example]:
    squad, kinds = list(read_examples(held)), list(read_examples("bundled:kinds-dev"))
    times = max(1, round(len(squad) / len(kinds)))
    often = [replace(e, id=f"{e.id}-{time}") for time in range(times) for e in kinds]
    return [*squad, *often]


def lines(reader: Path, squad: Path) -> list[str]:
    """Scores on CS 224n dev: by default, as if half of the questions had no answer, always
    answering."""
    scored, name = str(squad / "cs224n-dev-v2.0.json.gz"), str(reader)
    found = {
        "default": evaluate_questions(scored, reader=name),
        "share 0.5": evaluate_questions(scored, reader=name, impossible_share=0.5),
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
        sys.exit(f"general_reader: {error}")
