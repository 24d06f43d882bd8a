"""How new texts differ from their sources: lengths, near-duplicates, vocabulary, samples.

Memory is bounded by the number of distinct words.
"""

from collections import Counter
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import Any

from readlet.augment.new_questions import draw
from readlet.augment.plan import Plan
from readlet.augment.translated_questions import COPY, Translated
from readlet.encoding.words import words
from readlet.types import Example

NEAR = 0.9  # F1 of the words of two texts from which on they are near-duplicates
LONGEST_RATIO = 2.0  # the last bin has all that are longer
BINS = 40
SAMPLES = 6  # of each kind
_MOST_POINTS = 256  # of the vocabulary's curve


@dataclass(frozen=True, slots=True)
class Growth:
    """Distinct words after so many questions of the data: of the old texts, and of all."""

    questions: int
    old: int
    all: int


@dataclass(slots=True)
class FieldStatistics:
    """Pairs of an old and a new text: questions, or distinct contexts."""

    pairs: int = 0
    near_duplicates: int = 0
    ratios: list[int] = field(default_factory=lambda: [0] * (BINS + 1))
    total_ratio: float = 0.0

    def add(self, old: str, new: str) -> None:
        ratio = len(new) / len(old)
        self.pairs += 1
        self.total_ratio += ratio
        self.ratios[min(int(ratio / LONGEST_RATIO * BINS), BINS)] += 1
        self.near_duplicates += word_overlap(old, new) >= NEAR

    @property
    def mean_ratio(self) -> float:
        return self.total_ratio / max(1, self.pairs)

    def as_json(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "near_duplicates": self.near_duplicates,
            "mean_length_ratio": round(self.mean_ratio, 4),
            "length_ratios": self.ratios,
        }


class TextStatistics:
    """Statistics of all questions of a run, in the order in which they are made."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.fields = {name: FieldStatistics() for name in plan.fields}
        self.growth: list[Growth] = []
        self.samples: dict[str, _Sample] = {}  # by stage or reason
        self._old: set[str] = set()
        self._new: set[str] = set()  # those that the old texts do not have
        self._questions = 0
        self._blocks = 0
        self._step = 1  # blocks from one point of the curve to the next
        self._last_context = ""
        self._last_pair: dict[str, tuple[str, str]] = {}

    def add_old(self, example: Example) -> None:
        texts = [example.question]
        if example.context != self._last_context:
            self._last_context = example.context
            texts.append(example.context)
        for text in texts:
            self._old.update(forms(text))
        self._questions += 1

    def add(self, one: Translated) -> None:
        kind = one.reason
        if one.new is not None:
            kind = _kind(one)
            if "question" in self.fields:
                self._add_pair("question", one.source.question, one.new.question)
            pair = one.source.context, one.new.context
            if "context" in self.fields and self._last_pair.get(one.language) != pair:
                self._last_pair[one.language] = pair
                self._add_pair("context", *pair)
        if kind != COPY:
            self.samples.setdefault(kind, _Sample()).add(one, self.plan.seed)

    def end_block(self) -> None:
        """Record the size of the vocabulary: often enough for a curve, and not at every block."""
        self._blocks += 1
        if self._blocks % self._step == 0:
            self._record()
        if len(self.growth) > _MOST_POINTS:
            self.growth = self.growth[1::2]
            self._step *= 2

    def finish(self) -> None:
        """The last point of the curve is that of all questions."""
        if not self.growth or self.growth[-1].questions < self._questions:
            self._record()

    def _record(self) -> None:
        self._new -= self._old
        old = len(self._old)
        self.growth.append(Growth(self._questions, old, old + len(self._new)))

    def as_json(self) -> dict[str, Any]:
        last = self.growth[-1] if self.growth else Growth(0, 0, 0)
        return {
            "fields": {name: found.as_json() for name, found in self.fields.items()},
            "vocabulary": {"old": last.old, "all": last.all},
        }

    def _add_pair(self, name: str, old: str, new: str) -> None:
        self.fields[name].add(old, new)  # type: ignore[index]
        self._new.update(forms(new))


class _Sample:
    """A few questions of one kind, chosen by their digests: the same in any order."""

    def __init__(self) -> None:
        self._heap: list[tuple[bytes, int, Translated]] = []
        self._count = 0

    def add(self, one: Translated, seed: int) -> None:
        digest = draw(one.source, seed, "sample", one.language)
        inverse = bytes(255 - byte for byte in digest)  # the heap drops its smallest
        self._count += 1
        entry = (inverse, self._count, one)
        if len(self._heap) < SAMPLES:
            heappush(self._heap, entry)
        else:
            heappushpop(self._heap, entry)

    @property
    def shown(self) -> list[Translated]:
        return [one for _, _, one in sorted(self._heap, key=lambda entry: entry[:2], reverse=True)]


def _kind(one: Translated) -> str:
    """The stage that found the answer, or what else the question is."""
    if one.relocated is None:
        return "context unchanged"
    if not one.relocated.answers:
        return "no answer"
    return str(one.relocated.answers[0].stages[0])


def word_overlap(first: str, second: str) -> float:
    """F1 of the words of two texts, in any order."""
    one, other = Counter(forms(first)), Counter(forms(second))
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def forms(text: str) -> list[str]:
    """The words of a text, case-folded; punctuation marks count as words."""
    return [word.casefold() for word in words(text)]
