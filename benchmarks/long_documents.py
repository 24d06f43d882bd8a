"""How sure a reader is, and how often it is right, when the passage is a part of a long document.

    python benchmarks/long_documents.py --data cs224n-dev-v2.0.json.gz [--reader bundled]

The passage of every question is put at a random place among paragraphs of other articles. All in
percent: `answered` and `refused` are shares of the questions with and without an answer; `right`
(exact match) and `confidence` are means over the questions with an answer that were answered, and
`error` is the expected calibration error over these.
"""

import argparse
import random
import statistics
from collections.abc import Sequence
from dataclasses import replace

from readlet.formats import read_examples
from readlet.metrics.calibration_error import expected_calibration_error
from readlet.metrics.squad import exact_match
from readlet.reading.reader import Reader
from readlet.types import Example

PARAGRAPHS = (1, 3, 10, 30)


def chosen(examples: Sequence[Example], count: int, draw: random.Random) -> list[Example]:
    """As many questions with an answer as without."""
    kinds = ([e for e in examples if bool(e.answers) is has] for has in (True, False))
    return [e for kind in kinds for e in draw.sample(kind, min(count, len(kind)))]


def widened(
    example: Example, others: Sequence[tuple[str, str]], paragraphs: int, draw: random.Random
) -> Example:
    """The question about a document; where the answers stand there does not matter here."""
    around = draw.sample([text for title, text in others if title != example.title], paragraphs - 1)
    place = draw.randrange(paragraphs)
    return replace(
        example, context="\n\n".join([*around[:place], example.context, *around[place:]])
    )


def line(reader: Reader, examples: Sequence[Example], paragraphs: int) -> str:
    said = list(reader.answer_batch((e.question, e.context) for e in examples))
    pairs = list(zip(examples, said, strict=True))
    with_answer = [(e, p) for e, p in pairs if e.answers]
    without = [p for e, p in pairs if not e.answers]
    answered = [(e, p) for e, p in with_answer if p.is_answer]
    right = [max(exact_match(p.text, gold.text) for gold in e.answers) for e, p in answered]
    sure = [p.score for _, p in answered]
    cells = (
        len(answered) / len(with_answer),
        statistics.mean(right),
        statistics.mean(sure),
        expected_calibration_error(sure, right),
        sum(not p.is_answer for p in without) / len(without),
    )
    return f"| {paragraphs} | " + " | ".join(f"{100 * cell:.1f}" for cell in cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--reader", default="bundled")
    parser.add_argument("--questions", type=int, default=100, help="of either kind")
    options = parser.parse_args()
    everything = list(read_examples(options.data))
    reader = Reader.load(options.reader)
    others = sorted({(e.title, e.context) for e in everything})
    questions = chosen(everything, options.questions, random.Random(0))
    print("| paragraphs | answered | right | confidence | error | refused |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for paragraphs in PARAGRAPHS:
        draw = random.Random(paragraphs)
        documents = [widened(e, others, paragraphs, draw) for e in questions]
        print(line(reader, documents, paragraphs), flush=True)


if __name__ == "__main__":
    main()
