"""The texts that help to relocate an answer: marked sentences, the answer, single words.

The sentences of an answer beside their translations, in words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from readlet.augmentation.translation.types import Link, Range, TranslatedText
from readlet.text.words import snap, word_spans
from readlet.types import Example, Span

Keep = Literal["strict", "verified", "all"]
"""Which located answers are kept.

strict: the translated answer occurs in the translated context, ignoring case: the rule of
Signorelli and Sirocchi.
verified: two independent kinds of evidence agree on the span.
all: whatever the best stage found.
"""

WordRange = tuple[int, int]
"""Words [first, last) of a list of words."""

Markers = tuple[str, str]
# Apertium treats brackets as words: they stay with the answer, but other words may change.
# Guillemets are white space to it: all words stay, but they may move across the markers.
BRACKETS: Markers = ("[", "]")
GUILLEMETS: Markers = ("«", "»")

_FINAL_SIGNS = frozenset(".,;:!?。，；：！？、।؟۔")


@dataclass(frozen=True, slots=True)
class AskedSentence:
    """A sentence that holds the answer, or a part of it, in whole words."""

    number: int  # among the sentences of the context
    text: str
    words: tuple[Range, ...]  # as characters of the sentence
    asked: WordRange

    def marked(self, markers: Markers) -> str | None:
        """The sentence with markers around the answer; None if it contains such markers already."""
        left, right = markers
        if left in self.text or right in self.text:
            return None
        start, end = self.words[self.asked[0]][0], self.words[self.asked[1] - 1][1]
        return f"{self.text[:start]}{left}{self.text[start:end]}{right}{self.text[end:]}"


def asked_sentences(
    context: str, answer: Span, sentences: Sequence[Range]
) -> tuple[AskedSentence, ...]:
    """The sentences of the answer; none if it has no word in them. Final punctuation is left out.

    `sentences` are characters of the context.
    """
    asked: list[AskedSentence] = []
    for number, (start, end) in enumerate(sentences):
        if end <= answer.start or answer.end <= start:
            continue
        text = context[start:end]
        words = word_spans(text)
        found = snap(words, answer.start - start, answer.end - start)
        if found is None:
            continue
        last = found.last
        while last > found.first and text[slice(*words[last])] in _FINAL_SIGNS:
            last -= 1
        asked.append(AskedSentence(number, text, tuple(words), (found.first, last + 1)))
    return tuple(asked)


def probe_texts(
    example: Example, sentences: Sequence[Range], keep: Keep, *, has_links: bool = False
) -> Iterator[str]:
    """All texts besides the context that `relocate` needs; some may be repeated.

    `sentences` are those of the context, as in its `TranslatedText`. Single words are asked for
    only if its translation has no word alignment; `has_links` leaves them out.
    """
    for answer in dict.fromkeys(example.answers):
        if not answer.is_in(example.context):
            continue
        yield answer.text
        if keep == "strict":  # its rule needs nothing else
            continue
        for sentence in asked_sentences(example.context, answer, sentences):
            yield from filter(None, map(sentence.marked, (BRACKETS, GUILLEMETS)))
            if not has_links:
                yield from (sentence.text[start:end] for start, end in sentence.words)


WordLinks = tuple[tuple[int, int], ...]
"""Pairs of a word of the source and the word of the translation that it became."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an answer is searched for: the translations of its sentences, and nowhere else.

    Every stage gives a range of these words, so that no answer cuts one.
    """

    context: str  # the translated one
    source: tuple[str, ...]  # the words of the sentences
    asked: frozenset[int]  # those of the answer
    target: tuple[Range, ...]  # the words of the translations, as characters of the context
    words: tuple[str, ...]  # the same as text
    borders: tuple[WordRange, ...]  # the words of each sentence's translation
    links: WordLinks | None  # those of the engine

    def distance(self, found: WordRange) -> float:
        """Where the answer is expected, since translation roughly keeps the order."""
        expected = sum(self.asked) / len(self.asked) / len(self.source)
        return abs((found[0] + found[1] - 1) / 2 / len(self.target) - expected)

    def span(self, found: WordRange) -> Span:
        start, end = self.target[found[0]][0], self.target[found[1] - 1][1]
        return Span(start, self.context[start:end])


def place_of(asked: Sequence[AskedSentence], context: TranslatedText) -> Place:
    source: list[str] = []
    places: list[Range] = []  # of the source's words, in the source
    answer: set[int] = set()
    target: list[Range] = []
    borders: list[WordRange] = []
    links: list[Link] = []
    pairs = [context.sentences[sentence.number] for sentence in asked]
    for sentence, pair in zip(asked, pairs, strict=True):
        answer.update(len(source) + word for word in range(*sentence.asked))
        source += [sentence.text[start:end] for start, end in sentence.words]
        places += [(pair.source[0] + start, pair.source[0] + end) for start, end in sentence.words]
        offset, first = pair.target[0], len(target)
        words = word_spans(context.text[slice(*pair.target)])
        target += [(offset + start, offset + end) for start, end in words]
        borders.append((first, len(target)))
        links += pair.links or ()
    return Place(
        context.text,
        tuple(source),
        frozenset(answer),
        tuple(target),
        tuple(context.text[start:end] for start, end in target),
        tuple(borders),
        _in_words(links, places, target) if all(pair.links is not None for pair in pairs) else None,
    )


def _in_words(links: Sequence[Link], source: Sequence[Range], target: Sequence[Range]) -> WordLinks:
    """The alignment in our words; the engine's words may be parts or runs of ours."""
    return tuple(
        dict.fromkeys(
            (i, j)
            for link in links
            for i in _covered(link.source, source)
            for j in _covered(link.target, target)
        )
    )


def _covered(part: Range, words: Sequence[Range]) -> list[int]:
    return [n for n, word in enumerate(words) if word[0] < part[1] and part[0] < word[1]]
