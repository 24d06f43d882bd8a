"""Unanswerable questions, made from answerable ones.

A question is paired with another paragraph of its own article: the topic stays the same and the
answer is gone, so a reader has to learn that an answer may be absent. Where articles are not known,
or have no such paragraph, it is paired with one of the contexts that share most words with its own.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from readlet.augmentation.config import draw
from readlet.data import read_examples, write_examples
from readlet.data.columns import PLAIN, DataFormat
from readlet.data.datasets import warn_of_repeated_ids
from readlet.data.writing import check_target
from readlet.errors import ReadletError, bad_input
from readlet.text.languages import FUNCTION_WORDS, UNKNOWN, guess_language
from readlet.text.words import words
from readlet.types import Example, free_id

# The paragraph is drawn from the few that share most words with the question. With random ones,
# word overlap would give them away; always taking the closest would repeat few paragraphs.
BEST_FEW = 3

NOTHING_LIKE_IT = "without a similar context"
ANSWER_EVERYWHERE = "whose answer, or the question itself, is in every similar context"

# Contexts of other articles that share most words with the question's own.
_SIMILAR = 6
# Words of a context that are used to find similar ones: the rarest that also occur elsewhere.
_TELLING = 40
# Above this word overlap two contexts are versions of one text: they answer the same questions.
_VERSION = 0.8

# Question words: rare in prose, and uninformative about the topic where they occur.
_ASKING = frozenset(
    "a an what who whom whose when where why how many much did do does has have had can could "
    "would quién quiénes cuándo dónde cuál cuáles cómo cuánto cuántos cuántas "
    "quand où quel quelle quels quelles comment combien pourquoi "
    "wer wen wem wann wo wie viele warum welche welcher welches".split()
)
_NO_CONTENT = _ASKING.union(*FUNCTION_WORDS.values())


@dataclass(frozen=True, slots=True)
class NewQuestions:
    """The new questions, how many were wanted, and the ids of those left out, by reason."""

    added: list[Example]
    wanted: int
    left: Mapping[str, list[str]]


def check_share(share: float) -> None:
    """Reject a value out of range; call it before long work."""
    if not 0 < share < 1:
        raise ReadletError(f"share {share}: not between 0 and 1; give a fraction such as 0.33")


def how_many(examples: Sequence[Example], share: float) -> int:
    """Number of new impossible questions needed to reach `share` of all questions."""
    check_share(share)
    impossible = sum(example.is_impossible for example in examples)
    # (impossible + wanted) / (all + wanted) = share
    return max(0, round((share * len(examples) - impossible) / (1 - share)))


def pair_up(examples: Sequence[Example], wanted: int, seed: int) -> NewQuestions:
    """Up to `wanted` questions, each paired with another paragraph of its article.

    The result depends on the seed and on the questions, not on their order.
    """
    paragraphs_of = _paragraphs(examples)
    similar = _Similar([one for listed in paragraphs_of.values() for one in listed])
    taken = {example.id for example in examples}
    added: list[Example] = []
    left: defaultdict[str, list[str]] = defaultdict(list)
    answerable = (e for e in examples if e.answers and not e.is_impossible)
    drawn = sorted(((draw(e, seed), e) for e in answerable), key=lambda pair: pair[0])
    for number, example in drawn:
        if len(added) == wanted:
            break
        own = paragraphs_of[example.title] if example.title else []
        rng = random.Random(number)
        chosen, listed = _elsewhere(example, own, rng), own
        if chosen is None:
            listed = similar.to(example.context)
            chosen = _elsewhere(example, listed, rng, is_other_article=True)
        if chosen is None:
            reason = ANSWER_EVERYWHERE if len(own) > 1 or listed else NOTHING_LIKE_IT
            left[reason].append(example.id)
            continue
        chosen.asked.add(plain(example.question))
        new = replace(
            example,
            id=free_id(f"{example.id}-elsewhere", taken),
            context=chosen.context,
            title=chosen.title,
            answers=(),
            is_impossible=True,
            plausible_answers=(),
        )
        taken.add(new.id)
        added.append(new)
    return NewQuestions(added, wanted, dict(left))


def grouped_by_paragraph(
    examples: Iterable[Example], added: Iterable[Example]
) -> Iterator[Example]:
    """All questions, new ones after the old ones on the same paragraph, so no text repeats."""
    waiting: defaultdict[tuple[str, str], list[Example]] = defaultdict(list)
    for example in added:
        waiting[_place(example)].append(example)
    for place, group in groupby(examples, key=_place):
        yield from group
        yield from waiting.pop(place, ())


def _place(example: Example) -> tuple[str, str]:
    # Not the language: the data may give it for only some questions of an article.
    return example.title, example.context


def plain(text: str) -> str:
    """The text case-folded, with normalised white space."""
    return " ".join(text.casefold().split())


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """A preprocessed context: plain text, content words, and the questions about it."""

    title: str
    context: str
    language: str
    plain: str
    words: frozenset[str]
    asked: set[str] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)

    def contains(self, answer: str, content: frozenset[str]) -> bool:
        """Whether the answer, or all its content words, occur here: "1881" for "in 1881"."""
        return answer in self.plain or (bool(content) and content <= self.words)


def _paragraphs(examples: Iterable[Example]) -> dict[str, list[_Paragraph]]:
    """The paragraphs of each article, by its title."""
    found: defaultdict[str, dict[str, _Paragraph]] = defaultdict(dict)
    for example in examples:
        paragraphs, context = found[example.title], example.context
        if context not in paragraphs:
            text, language = plain(context), example.language or guess_language(context)
            words_in = content_words(text)
            paragraphs[context] = _Paragraph(example.title, context, language, text, words_in)
        paragraphs[context].asked.add(plain(example.question))
        paragraphs[context].ids.add(example.id)
    # Sorted by text, so that the order of the input does not matter.
    return {
        title: [paragraphs[context] for context in sorted(paragraphs)]
        for title, paragraphs in sorted(found.items())
    }


class _Similar:
    """Finds the paragraphs that share most words with a context."""

    def __init__(self, paragraphs: Sequence[_Paragraph]) -> None:
        self._paragraphs = paragraphs
        self._number = {one.context: number for number, one in enumerate(paragraphs)}
        self._having: defaultdict[str, list[int]] = defaultdict(list)
        for number, one in enumerate(paragraphs):
            for word in one.words:
                self._having[word].append(number)
        self._found: dict[str, list[_Paragraph]] = {}

    def to(self, context: str) -> list[_Paragraph]:
        """The most similar ones, without itself and other versions of it."""
        if context not in self._found:
            self._found[context] = self._search(self._paragraphs[self._number[context]])
        return self._found[context]

    def _search(self, own: _Paragraph) -> list[_Paragraph]:
        shared: defaultdict[int, float] = defaultdict(float)
        known = sorted((len(self._having[word]), word) for word in own.words)
        for count, word in [pair for pair in known if pair[0] > 1][:_TELLING]:
            for number in self._having[word]:
                shared[number] += 1 / count
        ranked = sorted(shared, key=lambda number: (-shared[number], number))
        others = (self._paragraphs[number] for number in ranked)
        return list(islice((one for one in others if not _is_version(own, one)), _SIMILAR))


def _is_version(one: _Paragraph, other: _Paragraph) -> bool:
    return len(one.words & other.words) >= _VERSION * min(len(one.words), len(other.words))


def _elsewhere(
    example: Example,
    paragraphs: Sequence[_Paragraph],
    rng: random.Random,
    *,
    is_other_article: bool = False,
) -> _Paragraph | None:
    """One of the paragraphs that share most words with the question and do not answer it.

    A paragraph of another article with all words of the question has a similar subject, such as
    another contract: it may well answer it, in other words.
    """
    question = plain(example.question)
    asked = content_words(question)
    # The second number breaks ties at random: otherwise the first would be chosen too often.
    rank = [(len(asked & paragraph.words), rng.random()) for paragraph in paragraphs]
    ranked = sorted(range(len(paragraphs)), key=rank.__getitem__, reverse=True)
    answers = {text: content_words(text) for text in {plain(a.text) for a in example.answers}}
    own = {one.language for one in paragraphs if one.context == example.context}
    own = own or {example.language or guess_language(example.context)}
    if len({one.language for one in paragraphs} - {UNKNOWN}) < 2:
        own.update(one.language for one in paragraphs)  # some are too short to identify
    # Excluded: paragraphs in another language, which are trivial to detect; those with the same
    # question (its own, first of all), since they may answer it in other words; and translations,
    # which may have no known language but often keep the ids.
    free = (
        paragraph
        for paragraph in (paragraphs[place] for place in ranked)
        if paragraph.language in own
        and question not in paragraph.asked
        and example.id not in paragraph.ids
        and not (is_other_article and asked <= paragraph.words)
        and not any(paragraph.contains(*answer) for answer in answers.items())
    )
    best = list(islice(free, BEST_FEW))
    return rng.choice(best) if best else None


def content_words(text: str) -> frozenset[str]:
    """The words of a plain text without function and question words."""
    return frozenset(word for word in words(text) if word[0].isalnum() and word not in _NO_CONTENT)


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of the written file, and the ids of questions without a suitable paragraph."""

    questions: int
    impossible: int
    added: int
    wanted: int
    left: Mapping[str, list[str]]

    @property
    def share(self) -> float:
        return self.impossible / self.questions

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "share": self.share}


def add_unanswerable(
    sources: Sequence[str],
    out: Path,
    share: float,
    seed: int,
    data_format: DataFormat = PLAIN,
    *,
    overwrite: bool = False,
) -> Summary:
    """Write the questions of all sources and new unanswerable ones to one file."""
    check_share(share)
    check_target(out, sources, overwrite=overwrite)
    examples = [example for source in sources for example in read_examples(source, data_format)]
    # Repeated ids are kept: they identify translations of a question, which must not be paired.
    warn_of_repeated_ids(examples, "they repeat in the new file")
    made = pair_up(examples, how_many(examples, share), seed)
    added = made.added
    if not examples or (made.wanted and not added):
        reasons = (f"{len(ids):,} {reason}" for reason, ids in made.left.items())
        fault = f"no question can be paired ({', '.join(reasons) or 'there are none'})"
        remedy = "give several contexts on similar subjects, or articles of several paragraphs"
        raise bad_input(", ".join(sources), "", fault, remedy)
    write_examples(out, grouped_by_paragraph(examples, added))
    return Summary(
        questions=len(examples) + len(added),
        impossible=sum(example.is_impossible for example in examples) + len(added),
        added=len(added),
        wanted=made.wanted,
        left=made.left,
    )
