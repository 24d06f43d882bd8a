"""The texts that help to find an answer again: marked sentences, the answer, single words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from readlet.augment.relocation.types import Keep
from readlet.encoding.words import snap, word_spans
from readlet.translation.types import Range
from readlet.types import Example, Span

WordRange = tuple[int, int]
"""Words [first, last) of a list of words."""

Markers = tuple[str, str]
# To Apertium, brackets are words: they stay with the answer, but other words may change. Guillemets
# are white space to it: all words stay, but they may move across the signs.
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

    def marked(self, signs: Markers) -> str | None:
        """The sentence with signs around the answer; None if it has such signs of its own."""
        left, right = signs
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


def clue_texts(
    example: Example, sentences: Sequence[Range], keep: Keep, *, has_links: bool = False
) -> Iterator[str]:
    """All texts besides the context that `relocate` will ask for; some may be repeated.

    `sentences` are those of the context, as in its `TranslatedText`. Single words are asked for
    only if its translation has no links between words; `has_links` leaves them out.
    """
    for answer in {*example.answers, *example.plausible_answers}:
        if not answer.is_in(example.context):
            continue
        yield answer.text
        if keep == "strict":  # its rule needs nothing else
            continue
        for sentence in asked_sentences(example.context, answer, sentences):
            yield from filter(None, map(sentence.marked, (BRACKETS, GUILLEMETS)))
            if not has_links:
                yield from (sentence.text[start:end] for start, end in sentence.words)
