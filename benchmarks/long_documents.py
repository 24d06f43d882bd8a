"""Confidence and accuracy of a reader when the passage is part of a long document.

    python benchmarks/long_documents.py --data cs224n-dev-v2.0.json.gz [--reader bundled]

The passage of every question is put at a random position among paragraphs of other articles. All
values are in percent: `answered` and `abstained` are fractions of the questions with and without an
answer; `correct` (exact match) and `confidence` are means over the answered questions that have an
answer; `error` is their expected calibration error.
"""

import argparse
import random
import statistics
from collections.abc import Sequence

from readlet.data import read_examples
from readlet.evaluation.squad import exact_match
from readlet.evaluation.statistics import expected_calibration_error
from readlet.inference.fit_calibration import in_documents
from readlet.inference.reader import Reader
from readlet.types import Example

PARAGRAPHS = (1, 3, 10, 30)


def chosen(examples: Sequence[Example], count: int, draw: random.Random) -> list[Example]:
    """Equal numbers of questions with and without an answer."""
    kinds = ([e for e in examples if bool(e.answers) is has] for has in (True, False))
    return [e for kind in kinds for e in draw.sample(kind, min(count, len(kind)))]


def line(reader: Reader, examples: Sequence[Example], paragraphs: int) -> str:
    predictions = reader.answer_batch((e.question, e.context) for e in examples)
    pairs = list(zip(examples, predictions, strict=True))
    with_answer = [(e, p) for e, p in pairs if e.answers]
    without = [p for e, p in pairs if not e.answers]
    answered = [(e, p) for e, p in with_answer if not p.abstained]
    correct = [max(exact_match(p.text, gold.text) for gold in e.answers) for e, p in answered]
    right = [
        max((exact_match(p.text, gold.text) for gold in e.answers), default=float(p.abstained))
        for e, p in pairs
    ]
    cells = (
        len(answered) / len(with_answer),
        statistics.mean(correct),
        sum(p.abstained for p in without) / len(without),
        statistics.mean(right),
        statistics.mean(p.confidence for _, p in pairs),
        expected_calibration_error([p.confidence for _, p in pairs], right),
    )
    return f"| {paragraphs} | " + " | ".join(f"{100 * cell:.1f}" for cell in cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--reader", default="bundled")
    parser.add_argument("--questions", type=int, default=100, help="number of each kind")
    options = parser.parse_args()
    everything = list(read_examples(options.data))
    reader = Reader.load(options.reader)
    questions = chosen(everything, options.questions, random.Random(0))
    print("| paragraphs | answered | correct | abstained | right | confidence | error |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for paragraphs in PARAGRAPHS:
        documents = in_documents(questions, everything, (paragraphs,))
        print(line(reader, documents, paragraphs), flush=True)


if __name__ == "__main__":
    main()
