"""The tables of docs/results/bundled.md: scores and refusals of the bundled reader.

    python benchmarks/bundled_report.py --squad FOLDER

Takes about ten minutes on two cores.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bundled_reader import JUDGED, REST, calibration_articles, calibration_questions

from readlet.errors import ReadletError
from readlet.formats import read_examples
from readlet.metrics.squad import (
    best_thresholds,
    refuse_above,
    rules_of,
    score_questions,
    summary,
)
from readlet.reading.evaluate_files import predict
from readlet.reading.reader import Answerer, load_reader
from readlet.types import Example

SHARES = (0.47, 0.4, 0.35, 0.33)  # of unanswerable questions; a threshold is fitted for each


@dataclass(frozen=True)
class Answered:
    """Questions with the best answer and the no-answer probability of each."""

    examples: Sequence[Example]
    answers: dict[str, str]
    no_answer: dict[str, float]

    def only(self, wanted: Callable[[Example], bool]) -> "Answered":
        return Answered([e for e in self.examples if wanted(e)], self.answers, self.no_answer)

    def scores(self, threshold: float = 1.0) -> dict[str, float]:
        found = score_questions(self.examples, self.answers, rules_of(self.examples))
        return summary(refuse_above(found, self.no_answer, threshold))

    def best_threshold(self) -> float:
        found = score_questions(self.examples, self.answers, "2.0")
        return best_thresholds(found, self.no_answer)["best_f1_thresh"]


def answered(reader: Answerer, examples: Sequence[Example]) -> Answered:
    predictions = predict(reader, examples)
    answers = {key: p.n_best[0].text if p.n_best else p.text for key, p in predictions.items()}
    return Answered(examples, answers, {key: p.no_answer for key, p in predictions.items()})


def show(what: str, scores: dict[str, float], kind: str = "") -> None:
    exact, f1, total = (scores[f"{kind}{name}"] for name in ("exact", "f1", "total"))
    print(f"| {what} | {total:,.0f} | {exact:.2f} | {f1:.2f} |")


def area_under_curve(questions: Answered) -> float:
    """ROC AUC of the no-answer probabilities: how well they separate unanswerable questions."""
    scores = questions.no_answer
    impossible = np.array([scores[e.id] for e in questions.examples if not e.answers])
    others = np.sort([scores[e.id] for e in questions.examples if e.answers])
    below = np.searchsorted(others, impossible, "left") + np.searchsorted(
        others, impossible, "right"
    )
    return float(below.mean() / (2 * len(others)))


def report(reader: Answerer, squad: Path) -> None:
    shipped = reader.no_answer_threshold
    rest = list(read_examples(squad / REST))
    held_out, known = calibration_articles(rest), {example.title for example in rest}
    print("| questions | number | EM | F1 |\n| --- | ---: | ---: | ---: |")
    dev = answered(reader, list(read_examples(squad / "dev-v1.1.json.gz")))
    show("SQuAD 1.1 dev, always answering", dev.scores())
    show("unseen articles", dev.only(lambda e: e.title not in known).scores())
    trained = dev.only(lambda e: e.title in known and e.title not in held_out)
    show("articles used in training", trained.scores())
    show("articles used for calibration", dev.only(lambda e: e.title in held_out).scores())
    course = answered(reader, list(read_examples(squad / JUDGED)))
    for what, threshold in (("CS 224n dev", shipped), ("CS 224n dev, always answering", 1.0)):
        show(what, course.scores(threshold))
        show("with answer", course.scores(threshold), "HasAns_")
        show("without answer", course.scores(threshold), "NoAns_")
    test = answered(reader, list(read_examples("bundled:test")))
    show("bundled test split", test.scores(shipped))
    show("with answer", test.scores(shipped), "HasAns_")
    show("without answer", test.scores(shipped), "NoAns_")
    english = test.only(lambda e: e.language == "en")
    show("English, with answer", english.scores(shipped), "HasAns_")
    show("English, with answer, always answering", english.scores(), "HasAns_")
    print(f"\nArea under the curve on CS 224n dev: {area_under_curve(course):.2f}\n")
    print("| unanswerable | no-answer threshold | F1 | with answer | without answer |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    calibration = answered(reader, [example for example in rest if example.title in held_out])
    for share in SHARES:
        drawn = {example.id for example in calibration_questions(rest, share)}
        threshold = calibration.only(lambda e, ids=drawn: e.id in ids).best_threshold()
        scores = course.scores(threshold)
        f1 = (scores[name] for name in ("f1", "HasAns_f1", "NoAns_f1"))
        print(f"| {share:.0%} | {threshold:.2f} | {' | '.join(f'{value:.2f}' for value in f1)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--squad", type=Path, required=True, help="folder of the SQuAD files")
    parser.add_argument("--reader", default="bundled")
    arguments = parser.parse_args()
    report(load_reader(arguments.reader), arguments.squad)


if __name__ == "__main__":
    try:
        main()
    except ReadletError as error:
        sys.exit(f"bundled_report: {error}")
