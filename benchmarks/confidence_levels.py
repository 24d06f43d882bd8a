"""What each level of `--min-confidence` costs, and which criterion orders answers best.

    python benchmarks/confidence_levels.py --held runs/further/squad-held.json.gz \\
        [--reader bundled] [--questions 300] [--test cs224n-dev-v2.0.json.gz]

Levels are chosen on `bundled:kinds-dev` and on questions of articles that the reader was not
trained on, half of them unanswerable; `bundled:kinds-test` and `--test` are only reported. Each
question is answered once: levels and criteria only order the answers.
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from readlet.data import read_examples
from readlet.evaluation.squad import f1
from readlet.evaluation.statistics import expected_calibration_error
from readlet.inference.evaluate_files import predict
from readlet.inference.inputs import LEVELS, AnswerOptions
from readlet.inference.reader import Reader
from readlet.types import Example

Values = NDArray[np.float64]
STEPS = (0.0, 0.3, 0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
LOST = (2.0, 4.0, 8.0)  # points of F1 of the questions with an answer


@dataclass(frozen=True)
class Answers:
    """The best answers to the questions of a set; each array is (questions,)."""

    has_answer: NDArray[np.bool_]
    score: Values
    no_answer: Values
    f1: Values

    @property
    def confidence(self) -> Values:
        """What `min_confidence` is compared with."""
        return self.score / np.maximum(self.score + self.no_answer, 1e-300)

    def lost(self, given: NDArray[np.bool_]) -> float:
        """Points of F1 of the questions with an answer that are lost by abstaining."""
        return float(100 * np.where(given, 0.0, self.f1)[self.has_answer].mean())

    def row(self, given: NDArray[np.bool_]) -> tuple[float, ...]:
        """Percent: F1 and abstained, with an answer; abstained, without; right, of those given."""
        has = self.has_answer
        right = np.where(given, self.f1, 0.0)
        rates = right[has].mean(), (~given)[has].mean(), (~given)[~has].mean()
        return *(100 * float(rate) for rate in rates), 100 * right.sum() / max(given.sum(), 1)


def answers(reader: Reader, examples: Sequence[Example]) -> Answers:
    found = predict(reader, examples, AnswerOptions(min_confidence="always", n_best=1))
    given = [found[example.id] for example in examples]
    best = [
        max((f1(p.text, gold.text, "2.0") for gold in e.answers), default=0.0)
        for e, p in zip(examples, given, strict=True)
    ]
    return Answers(
        np.array([bool(e.answers) for e in examples]),
        np.array([p.score for p in given]),
        np.array([p.no_answer for p in given]),
        np.array(best),
    )


def abstained_at(found: Answers, values: Values, lost: float) -> float:
    """Percent of the questions without an answer that are left, at this loss of F1."""
    allowed = [t for t in np.unique(values) if found.lost(values >= t) <= lost]
    return found.row(values >= max(allowed))[2]


def sets(held: Path, count: int) -> dict[str, list[Example]]:
    draw, examples = random.Random(0), list(read_examples(str(held)))
    parts = [[e for e in examples if bool(e.answers) == has] for has in (True, False)]
    chosen = [e for part in parts for e in draw.sample(part, min(count, len(part)))]
    return {"kinds-dev": list(read_examples("bundled:kinds-dev")), "SQuAD, held out": chosen}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--held", type=Path, required=True, help="questions not trained on")
    parser.add_argument("--reader", default="bundled")
    parser.add_argument("--questions", type=int, default=300, help="of SQuAD, of each sort")
    parser.add_argument("--test", type=Path, help="another file to report on")
    options = parser.parse_args()
    reader = Reader.load(options.reader)
    held = {
        name: answers(reader, part) for name, part in sets(options.held, options.questions).items()
    }
    print("Questions without an answer that are left, in percent, where those with one lose F1:\n")
    print(f"| questions | criterion | {' | '.join(f'{lost:g} points' for lost in LOST)} |")
    print(f"| --- | --- |{' ---: |' * len(LOST)}")
    for name, found in held.items():
        criteria = {
            "P(right)": found.score,
            "P(right) : P(none)": found.confidence,
            "1 - P(none)": 1.0 - found.no_answer,
        }
        for criterion, values in criteria.items():
            cells = " | ".join(f"{abstained_at(found, values, lost):.0f}" for lost in LOST)
            print(f"| {name} | {criterion} | {cells} |")
    print("\n| level | " + " | ".join(f"{name}: F1 lost, left" for name in held) + " |")
    print(f"| ---: |{' ---: |' * len(held)}")
    for level in STEPS:
        cells = [(f.lost(given := f.confidence >= level), f.row(given)[2]) for f in held.values()]
        print(f"| {level:g} | " + " | ".join(f"{a:.1f}, {b:.0f}" for a, b in cells) + " |")
    reported = {"kinds-test": list(read_examples("bundled:kinds-test"))}
    if options.test:
        examples = list(read_examples(str(options.test)))
        reported[options.test.name] = random.Random(0).sample(examples, min(600, len(examples)))
    print("\n| questions | level | F1, with answer | abstains there | abstains, without | right |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for name, part in reported.items():
        found = answers(reader, part)
        for word, level in LEVELS.items():
            cells = " | ".join(f"{cell:.1f}" for cell in found.row(found.confidence >= level))
            print(f"| {name} | {word} | {cells} |")
        error = expected_calibration_error(found.no_answer.tolist(), (~found.has_answer).tolist())
        print(f"\n{name}: calibration error of the no-answer probability {error:.3f}\n")


if __name__ == "__main__":
    main()
