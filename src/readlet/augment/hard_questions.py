"""Hard unanswerable questions: of many candidates, those that a reader answers with confidence.

A reader soon refuses most made questions, and learns little more from them. Those that it still
answers show what it has not learned. But a question that is answered with confidence may really
have an answer, so candidates are dropped where the prediction gives reason to doubt; see `doubt`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from readlet.augment.altered_questions import MIX, NEGATION, OPPOSITE, alter_often
from readlet.augment.new_questions import NewQuestions, plain
from readlet.augment.passages import stem, word_list
from readlet.augment.unanswerable_questions import (
    ALTERED_SHARE,
    OTHER_PARAGRAPH,
    Hardness,
    Unanswerable,
    check_fractions,
    content_words,
    how_many,
    make_balanced,
    pair_up,
)
from readlet.types import Example, Prediction

POOL = 4  # default number of candidates for each question that is kept

Judge = Callable[[Sequence[Example], str], Iterable[Prediction]]
"""A reader's prediction for each question, in order; the text names the work in progress bars."""

ALL_WORDS = "paired with a paragraph that has all words of the question, and answered by the reader"
RIGHT_ANSWER = "paired with a paragraph in which the reader finds the original answer"
OTHER_ANSWER = 'with an opposite or a "not" that the reader answers in another way than before'

_ARTICLES = frozenset(("a", "an", "the"))


class Judged(NamedTuple):
    """A candidate, the question that it was made from, its kind, and the reader's prediction."""

    new: Example
    original: Example
    kind: str
    prediction: Prediction

    @property
    def answer(self) -> str:
        """The best answer, even if the reader refuses to give it."""
        best = self.prediction.n_best
        return best[0].text if best else self.prediction.text


def make_hard(
    examples: Sequence[Example],
    share: float,
    seed: int,
    altered: float = ALTERED_SHARE,
    *,
    judge: Judge,
    pool: int = POOL,
) -> Unanswerable:
    """New impossible questions as in `make_unanswerable`, but the hardest for a reader.

    `pool` candidates are made for each question that is wanted, and those with the lowest no-answer
    probabilities are kept; among altered ones, in the usual proportions of the kinds. A question is
    altered twice, or paired twice, only where the share needs it.
    """
    check_fractions(share, altered)
    mine = _Mine(examples, seed, judge, pool)
    made = make_balanced(mine.altered, mine.paired, how_many(examples, share), altered)
    parts = mine.hardness.values()
    hardness = Hardness(
        sum(part.candidates for part in parts),
        sum(part.answered_candidates for part in parts),
        sum(part.answered for part in parts),
        {reason: ids for part in parts for reason, ids in part.doubtful.items()},
    )
    return Unanswerable(made.changed, made.paired, made.wanted, hardness)


@dataclass
class _Mine:
    examples: Sequence[Example]
    seed: int
    judge: Judge
    pool: int
    # By method: if more altered questions are needed, they are made anew.
    hardness: dict[str, Hardness] = field(default_factory=dict)

    def altered(self, wanted: int) -> NewQuestions:
        made = alter_often(self.examples, wanted * self.pool, self.seed, variants=self.pool)
        quota = {kind: round(wanted * part) for kind, part in MIX.items()}
        return self._hardest("altered", made, wanted, quota)

    def paired(self, wanted: int) -> NewQuestions:
        made = pair_up(self.examples, wanted * self.pool, self.seed, each=self.pool)
        return self._hardest("paired", made, wanted, {OTHER_PARAGRAPH: wanted})

    def _hardest(
        self, method: str, made: NewQuestions, wanted: int, quota: Mapping[str, int]
    ) -> NewQuestions:
        judged = _judged(made, self.judge, f"{method} questions")
        doubtful: defaultdict[str, list[str]] = defaultdict(list)
        sound: list[Judged] = []
        for each in judged:
            if reason := doubt(each):
                doubtful[reason].append(each.new.id)
            else:
                sound.append(each)
        kept = hardest(sound, wanted, quota)
        self.hardness[method] = Hardness(
            len(judged), _count_answered(judged), _count_answered(kept), dict(doubtful)
        )
        kinds: dict[str, list[str]] = {kind: [] for kind in quota}
        for each in kept:
            kinds[each.kind].append(each.new.id)
        return NewQuestions(
            [each.new for each in kept],
            [each.original for each in kept],
            wanted,
            {kind: ids for kind, ids in kinds.items() if ids},
            made.left,
        )


def _count_answered(judged: Iterable[Judged]) -> int:
    return sum(not each.prediction.refused for each in judged)


def _judged(made: NewQuestions, judge: Judge, label: str) -> list[Judged]:
    kinds = {identity: kind for kind, ids in made.kinds.items() for identity in ids}
    # Neighbours share their paragraph, so that a reader encodes it once.
    pairs = sorted(
        zip(made.added, made.originals, strict=True), key=lambda pair: (pair[0].context, pair[0].id)
    )
    predictions = judge([new for new, _ in pairs], label)
    return [
        Judged(new, old, kinds[new.id], prediction)
        for (new, old), prediction in zip(pairs, predictions, strict=True)
    ]


def hardest(judged: Iterable[Judged], wanted: int, quota: Mapping[str, int]) -> list[Judged]:
    """Up to `wanted` candidates with the lowest no-answer probabilities, ties by id.

    First at most the quota of each kind and one of each original; then other kinds fill in, and
    last, further candidates of the same originals.
    """
    ranked = sorted(judged, key=lambda each: (each.prediction.no_answer, each.new.id))
    kept: dict[str, Judged] = {}
    used: set[Example] = set()
    counts: Counter[str] = Counter()
    for in_quota, once in ((True, True), (False, True), (False, False)):
        for each in ranked:
            if len(kept) == wanted:
                break
            is_over = in_quota and counts[each.kind] >= quota[each.kind]
            if each.new.id in kept or is_over or (once and each.original in used):
                continue
            kept[each.new.id] = each
            used.add(each.original)
            counts[each.kind] += 1
    return list(kept.values())


def doubt(judged: Judged) -> str:
    """Why a candidate may have an answer after all, or "".

    - Another paragraph lacks the original answer, literally and word by word. A prediction that
      agrees with it all the same ("Brook" for "Ada Brook", "US" for "U.S.") is probably right.
      So is every second prediction in a paragraph that has all content words of the question:
      it may answer "What are cilia used for?" in another way. These are few.
    - Another name or number does not occur in the paragraph in any form. Whatever the reader
      predicts is wrong; most often it is the original answer, as if nothing had changed.
    - The opposite, or "not", asks about something that the paragraph may well mention. The original
      answer is wrong, since it answers the original question; but another one may be right.
      If the reader refuses, it has found nothing, and there is no reason to doubt.
    """
    is_same = any(agree(judged.answer, gold.text) for gold in judged.original.answers)
    is_answered = not judged.prediction.refused
    if judged.kind == OTHER_PARAGRAPH:
        if is_same:
            return RIGHT_ANSWER
        return ALL_WORDS if is_answered and _has_all_words(judged.new) else ""
    if judged.kind in (OPPOSITE, NEGATION):
        return OTHER_ANSWER if is_answered and not is_same else ""
    return ""


def _has_all_words(example: Example) -> bool:
    asked, there = (
        {stem(word) for word in content_words(plain(text))}
        for text in (example.question, example.context)
    )
    return asked <= there


def agree(answer: str, other: str) -> bool:
    """Whether the answers are the same, or one has all words of the other.

    Case, articles and punctuation are ignored, as in SQuAD's exact match.
    """
    one, two = (
        [word for word in word_list(text) if word not in _ARTICLES] for text in (answer, other)
    )
    if not one or not two:
        return False
    return "".join(one) == "".join(two) or set(one) <= set(two) or set(two) <= set(one)
