"""Rounds of mining: unanswerable questions that the last reader does not refuse. Needs a GPU.

    python benchmarks/hard_rounds.py --squad FOLDER --out runs/hard --rounds 2

Round 0 trains an encoder reader on SQuAD 1.1 with made unanswerable questions, and on three
quarters of the real ones of rest-dev, three times each. Each later round makes the questions again
and keeps those that are hardest for the reader before (`data unanswerable --hard`). The last
quarter of rest-dev fits the threshold; CS 224n dev is for scoring only.

One line per round: EM and F1 at the fitted threshold, F1 of answerable questions if the reader
always answers, and the area under the ROC curve of its refusals.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from readlet.augment.unanswerable_file import Summary, add_unanswerable
from readlet.fitting.train import train_reader
from readlet.formats.split import split
from readlet.metrics.evaluation import Evaluation
from readlet.reading.evaluate_files import evaluate_questions
from readlet.reading.hard_unanswerable import add_hard_unanswerable
from readlet.recipe.recipe_files import load_recipe

SHARE, TIMES_REAL = 0.33, 3
HEADING = f"{'round':>5} {'EM':>6} {'F1':>6} {'answerable':>10} {'area':>6}"


def make(squad: Path, out: Path, rounds: int, changes: Sequence[str]) -> list[str]:
    """Train and score all rounds; finished files and readers are reused."""
    out.mkdir(parents=True, exist_ok=True)
    train, scored = squad / "train-v1.1.json.gz", str(squad / "cs224n-dev-v2.0.json.gz")
    real, held = out / "rest-train.json.gz", out / "rest-held.json.gz"
    if not held.exists():
        parts = {"train": 0.75, "held": 0.25}
        split(str(squad / "rest-dev-v2.0.json.gz"), out / "rest.json.gz", parts, 0, {})
    lines = [HEADING]
    for number in range(rounds + 1):
        made, reader = out / f"made-{number}.json.gz", out / f"reader-{number}"
        if not made.exists():
            make_questions(train, made, out / f"reader-{number - 1}" if number else None)
        if not (reader / "config.json").is_file():
            files = [str(made), *[str(real)] * TIMES_REAL]
            data = [f"data.train={files}", f"data.calibration={held}", f"data.dev={held}"]
            recipe = load_recipe("encoder", [*data, *changes])
            train_reader(recipe, reader, resume=(reader / "recipe.json").is_file())
        fitted = evaluate_questions(scored, reader=str(reader))
        always = evaluate_questions(scored, reader=str(reader), always_answer=True)
        lines.append(line(number, fitted, always))
        print(lines[-1], flush=True)
    return lines


def make_questions(train: Path, out: Path, reader: Path | None) -> Summary:
    if reader is None:
        return add_unanswerable([str(train)], out, SHARE, 0, {})
    return add_hard_unanswerable(str(reader), [str(train)], out, SHARE, 0, {})


def line(number: int, fitted: Evaluation, always: Evaluation) -> str:
    scores = fitted.official
    area = fitted.refusal_area or 0.0
    row = f"{number:>5} {scores['exact']:>6.2f} {scores['f1']:>6.2f}"
    return f"{row} {always.official['HasAns_f1']:>10.2f} {area:>6.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--squad", type=Path, required=True, help="folder of the SQuAD files")
    parser.add_argument("--out", type=Path, required=True, help="folder of data and readers")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--set", nargs="*", default=["training.precision=bfloat16"])
    options = parser.parse_args()
    print("\n".join(make(options.squad, options.out, options.rounds, options.set)))


if __name__ == "__main__":
    main()
