"""The sentences of an answer beside their translations, in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from readlet.augment.relocation.clues import AskedSentence, WordRange
from readlet.encoding.words import word_spans
from readlet.translation.types import Link, Range, TranslatedText
from readlet.types import Span

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
        """From where the answer is expected, since translations stay near the old order."""
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
    """Links between words as we count them; the engine's words may be parts or runs of ours."""
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
