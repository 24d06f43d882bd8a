"""Questions on which two rows differ most: both answers, and their positions in the passage."""

import hashlib
import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from readlet.experiments.differences import item_means
from readlet.experiments.store import FinishedRun
from readlet.metrics.significance import Numbers
from readlet.types import Example, Span

# Characters shown on each side of the marks.
_MARGIN = 160


@dataclass(frozen=True)
class Mark:
    """A span of the excerpt: the gold answer, or the answer of one of the two rows."""

    start: int
    end: int
    whose: str  # "gold", "row" or "against"


@dataclass(frozen=True)
class Disagreement:
    """One question and two rows; the answers are from the first seed that both have."""

    row: str
    against: str
    id: str
    question: str
    excerpt: str  # of the passage, around the marks
    marks: list[Mark]
    gold: list[str]  # empty if the passage has no answer
    answer: str  # of `row`; empty: no answer
    answer_against: str
    f1: float  # mean over the seeds, in percent
    f1_against: float


def disagreements(
    examples: Sequence[Example],
    runs: Mapping[str, Sequence[FinishedRun]],
    comparisons: Sequence[tuple[str, str]],
    shown: int,
) -> list[Disagreement]:
    """For every comparison, `shown` questions that gained most and as many that lost most."""
    found = []
    draws = [_draw(example.id) for example in examples]
    for row, against in comparisons:
        first, second = _same_seed(runs[row], runs[against])
        ours, theirs = (item_means(runs[name], "f1") for name in (row, against))
        difference = ours - theirs  # (questions,)
        gained, lost = _most(difference, draws, shown), _most(-difference, draws, shown)
        for number in (*gained, *lost):
            example = examples[number]
            answer, other = (_answer(run, example, number) for run in (first, second))
            excerpt, marks = _excerpt(example, answer, other)
            found.append(
                Disagreement(
                    row=row,
                    against=against,
                    id=example.id,
                    question=example.question,
                    excerpt=excerpt,
                    marks=marks,
                    gold=list(dict.fromkeys(answer.text for answer in example.answers)),
                    answer=answer.text,
                    answer_against=other.text,
                    f1=float(ours[number]),
                    f1_against=float(theirs[number]),
                )
            )
    return found


def _same_seed(
    first: Sequence[FinishedRun], second: Sequence[FinishedRun]
) -> tuple[FinishedRun, FinishedRun]:
    for run in first:
        for other in second:
            if run.result.seed == other.result.seed:
                return run, other
    return first[0], second[0]


def _most(difference: Numbers, draws: Sequence[bytes], shown: int) -> list[int]:
    """Questions with the largest difference above 0; ties by a hash of the id."""
    above = np.flatnonzero(difference > 0)
    if len(above) > shown:  # those below the last one shown need not be ranked
        last = np.partition(difference[above], -shown)[-shown]
        above = above[difference[above] >= last]
    ranked = above.tolist()
    return heapq.nlargest(shown, ranked, key=lambda number: (difference[number], draws[number]))


def _draw(identity: str) -> bytes:
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).digest()


def _answer(run: FinishedRun, example: Example, number: int) -> Span:
    """The answer of a run to its `number`-th question; start -1: not in this passage."""
    found = Span(int(run.items["start"][number]), run.answers[example.id])
    return found if found.is_in(example.context) else Span(-1, found.text)


def _excerpt(example: Example, answer: Span, other: Span) -> tuple[str, list[Mark]]:
    """The passage around all marks."""
    context = example.context
    marks = [Mark(a.start, a.end, "gold") for a in example.answers[:1]]
    for span, whose in ((answer, "row"), (other, "against")):
        if span.text and span.start >= 0:
            marks.append(Mark(span.start, span.end, whose))
    first = min((mark.start for mark in marks), default=0)
    last = max((mark.end for mark in marks), default=0)
    start, end = max(first - _MARGIN, 0), min(last + _MARGIN, len(context))
    before, after = "…" if start else "", "…" if end < len(context) else ""
    moved = [
        Mark(m.start - start + len(before), m.end - start + len(before), m.whose) for m in marks
    ]
    return f"{before}{context[start:end]}{after}", moved
