"""Questions without an answer, made from data in which every question has one.

A question is asked of another paragraph of its own article: the subject stays the same and the
answer is gone, so a reader has to learn that it may be absent. Or it is changed so that its own
paragraph no longer answers it (`altered_questions.py`), which is harder to see.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice

from readlet.augment.altered_questions import alter_questions
from readlet.augment.articles import Article, Articles
from readlet.augment.new_questions import NewQuestions, draw, plain
from readlet.encoding.function_words import FUNCTION_WORDS
from readlet.encoding.words import words
from readlet.errors import ReadletError
from readlet.types import Example, free_id

# The paragraph is drawn from the few that share most words with the question. Any paragraph would
# let a reader refuse by overlap alone; always the nearest would use few paragraphs, over and over.
BEST_FEW = 3

ALTERED_SHARE = 0.5  # of the new questions, unless another one is asked for
OTHER_PARAGRAPH = "other paragraph"

NO_TITLE = "without a title, so of an unknown article"
ONLY_PARAGRAPH = "of an article with one paragraph"
ANSWER_EVERYWHERE = "whose answer, or the question itself, is in every other paragraph"

# Words of questions that are rare in prose: where they do occur, they say nothing of the subject.
_ASKING = frozenset(
    "a an what who whom whose when where why how many much did do does has have had can could "
    "would quién quiénes cuándo dónde cuál cuáles cómo cuánto cuántos cuántas "
    "quand où quel quelle quels quelles comment combien pourquoi "
    "wer wen wem wann wo wie viele warum welche welcher welches".split()
)
_NO_CONTENT = _ASKING.union(*FUNCTION_WORDS.values())


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """New questions of both kinds."""

    changed: NewQuestions
    paired: NewQuestions
    wanted: int

    @property
    def added(self) -> list[Example]:
        return [*self.changed.added, *self.paired.added]


def make_unanswerable(
    examples: Sequence[Example], share: float, seed: int, altered: float = ALTERED_SHARE
) -> Unanswerable:
    """As many impossible questions as make them `share` of the old and the new ones together.

    The share `altered` of the new ones is made by changing the question, the rest by asking it of
    another paragraph. What one way lacks the other makes up for, so that `share` is reached all the
    same; but nothing is altered when `altered` is 0.
    """
    if not 0 <= altered <= 1:
        raise ReadletError(f"altered {altered}: not from 0 to 1; give a share such as 0.5")
    wanted = how_many(examples, share)
    changed = alter_questions(examples, round(wanted * altered), seed)
    paired = pair_up(examples, wanted - len(changed.added), seed)
    if altered and len(paired.added) < paired.wanted:
        changed = alter_questions(examples, wanted - len(paired.added), seed)
    return Unanswerable(changed, paired, wanted)


def how_many(examples: Sequence[Example], share: float) -> int:
    """New impossible questions that make them `share` of the old and the new ones together."""
    if not 0 < share < 1:
        raise ReadletError(f"share {share}: not between 0 and 1; give a share such as 0.33")
    impossible = sum(example.is_impossible for example in examples)
    # (impossible + wanted) / (all + wanted) = share
    return max(0, round((share * len(examples) - impossible) / (1 - share)))


def pair_up(examples: Sequence[Example], wanted: int, seed: int) -> NewQuestions:
    """`wanted` questions, each asked of another paragraph of its article, none of them twice.

    What is drawn depends on the seed and on the questions, not on their order.
    """
    article_of = Articles(examples).of
    paragraphs_of = _paragraphs(examples, article_of)
    taken = {example.id for example in examples}
    added: list[Example] = []
    left: defaultdict[str, list[str]] = defaultdict(list)
    answerable = (e for e in examples if e.answers and not e.is_impossible)
    for number, example in sorted(
        ((draw(e, seed), e) for e in answerable), key=lambda pair: pair[0]
    ):
        if len(added) == wanted:
            break
        paragraphs = paragraphs_of[article_of(example)]
        chosen = _elsewhere(example, paragraphs, random.Random(number))
        if chosen is None:
            left[_reason(example, paragraphs)].append(example.id)
            continue
        chosen.asked.add(plain(example.question))
        new = replace(
            example,
            id=free_id(f"{example.id}-elsewhere", taken),
            context=chosen.context,
            answers=(),
            is_impossible=True,
            plausible_answers=(),
        )
        taken.add(new.id)
        added.append(new)
    kinds = {OTHER_PARAGRAPH: [new.id for new in added]} if added else {}
    return NewQuestions(added, wanted, kinds, dict(left))


def beside_their_paragraphs(
    examples: Iterable[Example], added: Iterable[Example]
) -> Iterator[Example]:
    """All of them, each new one behind the old ones on its paragraph: no text is written twice."""
    waiting: defaultdict[tuple[str, str], list[Example]] = defaultdict(list)
    for example in added:
        waiting[_place(example)].append(example)
    for place, group in groupby(examples, key=_place):
        yield from group
        yield from waiting.pop(place, ())


def _place(example: Example) -> tuple[str, str]:
    # Not the language: of two paragraphs in one language the data may tell it of one only.
    return example.title, example.context


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """A context, read once: as plain text, as a set of words, and with the questions on it."""

    context: str
    plain: str
    words: frozenset[str]
    asked: set[str] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)

    def holds(self, answer: str, content: frozenset[str]) -> bool:
        """Whether the answer stands here, or all that matters of it: "in 1881" as "1881"."""
        return answer in self.plain or (bool(content) and content <= self.words)


def _paragraphs(
    examples: Iterable[Example], article_of: Callable[[Example], Article]
) -> dict[Article, list[_Paragraph]]:
    found: defaultdict[Article, dict[str, _Paragraph]] = defaultdict(dict)
    for example in examples:
        paragraphs = found[article_of(example)]
        paragraph = paragraphs.get(example.context)
        if paragraph is None:
            text = plain(example.context)
            paragraph = _Paragraph(example.context, text, _content_words(text))
            paragraphs[example.context] = paragraph
        paragraph.asked.add(plain(example.question))
        paragraph.ids.add(example.id)
    # Sorted by text, so that the order of the input does not matter.
    return {
        article: [paragraphs[context] for context in sorted(paragraphs)]
        for article, paragraphs in found.items()
    }


def _elsewhere(
    example: Example, paragraphs: Sequence[_Paragraph], chance: random.Random
) -> _Paragraph | None:
    """One of the most tempting paragraphs that do not answer the question."""
    if not example.title:
        return None
    question = plain(example.question)
    asked = _content_words(question)
    # The second number decides among equals: whoever stands first would be chosen too often.
    rank = [(len(asked & paragraph.words), chance.random()) for paragraph in paragraphs]
    ranked = sorted(range(len(paragraphs)), key=rank.__getitem__, reverse=True)
    answers = {text: _content_words(text) for text in {plain(a.text) for a in example.answers}}
    # A paragraph of which the same is asked, its own to begin with, would answer it in its own way.
    # So would a translation, whose language may be unknown: its questions often keep their ids.
    free = (
        paragraph
        for paragraph in (paragraphs[place] for place in ranked)
        if question not in paragraph.asked
        and example.id not in paragraph.ids
        and not any(paragraph.holds(*answer) for answer in answers.items())
    )
    best = list(islice(free, BEST_FEW))
    return chance.choice(best) if best else None


def _reason(example: Example, paragraphs: Sequence[_Paragraph]) -> str:
    if not example.title:
        return NO_TITLE
    return ONLY_PARAGRAPH if len(paragraphs) == 1 else ANSWER_EVERYWHERE


def _content_words(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text) if word[0].isalnum() and word not in _NO_CONTENT)
