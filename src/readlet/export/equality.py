"""Whether a graph gives the scores of the model that it was traced from."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from readlet.bundled import corpus
from readlet.encoding.rows import AnyRows
from readlet.errors import bad_input
from readlet.families.family import SpanScores
from readlet.formats import read_examples
from readlet.types import Example, Sentence

TOLERANCE = 1e-4
_QUESTIONS = 6
_BATCH_SIZES = (1, 3, 32)


def sample_questions(longest: int) -> list[Example]:
    """Questions about passages from one word up to more than the longest window of the model."""
    examples = list(islice(read_examples(corpus("dev")), 0, 10 * _QUESTIONS, 10))
    whole = " ".join(example.context for example in examples)
    whole *= 1 + longest // max(len(whole.split()), 1)
    passages = [examples[0].context.split()[0], *(e.context for e in examples[2:]), whole]
    pairs = zip(examples, passages, strict=True)
    return [Example(str(i), e.question, text) for i, (e, text) in enumerate(pairs)]


def sample_texts(longest: int, *, pairs: bool) -> list[Sentence]:
    """Texts, or pairs of them, from one word up to more than the longest of the model."""
    return [
        Sentence(e.id, e.context, None, e.question if pairs else None)
        for e in sample_questions(longest)
    ]


def require_equal(name: str, torch_scorer: Any, graph_scorer: Any, rows: AnyRows) -> float:
    """The largest difference of two scores; an error if it is above the tolerance."""
    expected = _by_row(torch_scorer, rows, _BATCH_SIZES[-1])
    largest = 0.0
    for size in _BATCH_SIZES:
        found = _by_row(graph_scorer, rows, size)
        largest = max(largest, *(_difference(expected[row], found[row]) for row in expected))
    if not largest <= TOLERANCE:  # NaN is not
        fault = f"its graph has other scores than torch: they differ by {largest:.2g}"
        raise bad_input(name, "", fault, f"nothing was written; the limit is {TOLERANCE:g}")
    return largest


def _by_row(scorer: Any, rows: AnyRows, batch_size: int) -> dict[int, list[Any]]:
    """The numbers of each row: the scores of its allowed places and of "no answer"."""
    found: dict[int, list[Any]] = {}
    for numbers, scores in scorer.scores(rows, batch_size):
        for i, row in enumerate(numbers.tolist()):
            found[row] = _of_spans(scores, i) if isinstance(scores, SpanScores) else [scores[i]]
    return found


def _of_spans(scores: SpanScores, i: int) -> list[Any]:
    allowed = np.flatnonzero(scores.allowed[i])  # (places,)
    null = [] if scores.null is None else [scores.null[i]]  # (2,)
    return [allowed, scores.start[i][allowed], scores.end[i][allowed], *null]


def _difference(expected: Sequence[Any], found: Sequence[Any]) -> float:
    if [part.shape for part in expected] != [part.shape for part in found]:
        return float("inf")
    pairs = zip(expected, found, strict=True)
    return max(float(np.abs(a - b).max(initial=0.0)) for a, b in pairs)
