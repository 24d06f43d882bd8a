"""The stages in order: what they find, when two of them agree, and what is kept."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from readlet.augmentation.relocation.probe_texts import (
    BRACKETS,
    GUILLEMETS,
    AskedSentence,
    Keep,
    Place,
    WordRange,
    asked_sentences,
    place_of,
)
from readlet.augmentation.relocation.stages import (
    Alignment,
    find_by_bigrams,
    find_exact,
    find_inflected,
    find_marked,
    occurrences,
)
from readlet.augmentation.translation.types import TranslatedText
from readlet.text.languages import FUNCTION_WORDS
from readlet.text.words import word_spans, words
from readlet.types import Example, Span


class Stage(StrEnum):
    """A way to find an answer, from the most to the least certain."""

    BRACKETS = "brackets"  # markers around the answer, translated as words
    EXACT = "exact"  # the answer, translated alone
    INFLECTED = "inflected"  # the same except for case, accents, endings and border words
    ALIGNED = "aligned"  # the words that the answer's words became
    GUILLEMETS = "guillemets"  # markers translated as white space: words may move across them
    BIGRAMS = "bigrams"  # the rule of QANet: words that share character 2-grams with the answer


class LostReason(StrEnum):
    """Why an answer is lost."""

    NO_OFFSET = "the data gives no offset of the answer"
    NO_TRANSLATION = "the translation of its sentence or of the answer is empty"
    NOT_IN_CONTEXT = "the translated answer is not in the translated context"
    NOT_FOUND = "no stage finds it"
    NOT_VERIFIED = "no two stages agree on it"


@dataclass(frozen=True, slots=True)
class Located:
    """An answer in the translated context; the span is whole words wherever words have spaces."""

    span: Span
    stages: tuple[Stage, ...]  # those that agree on the span, the most certain first
    verified: bool


@dataclass(frozen=True, slots=True)
class Lost:
    """An answer that is not kept."""

    answer: Span  # in the original context
    reason: LostReason


@dataclass(frozen=True, slots=True)
class Relocated:
    """The outcomes for the answers of one question, repeated ones once.

    The question is lost if it had answers and none of them is located.
    """

    answers: tuple[Located, ...]
    lost: tuple[Lost, ...]


# Articles and prepositions of one or two letters: useless for language identification, so
# missing in its lists.
_SHORT_WORDS = {"en": "a an", "es": "a", "fr": "à", "it": "a", "pt": "à às"}
_LIGHT = {
    code: words | frozenset(_SHORT_WORDS.get(code, "").split())
    for code, words in FUNCTION_WORDS.items()
}
_ELISION = ("'", "’")  # l' | eau, d' | or, dell' | arte: words that end so are never content


def core(found: WordRange, words: Sequence[str], language: str) -> WordRange:
    """Without articles, prepositions and punctuation at its ends, unless nothing else is left."""
    light = _LIGHT.get(language, frozenset())
    heavy = [number for number in range(*found) if not _is_light(words[number], light)]
    return (heavy[0], heavy[-1] + 1) if heavy else found


def _is_light(word: str, light: frozenset[str]) -> bool:
    is_sign = not any(sign.isalnum() for sign in word)
    return is_sign or word.endswith(_ELISION) or word.casefold() in light


def agree(one: WordRange, other: WordRange, words: Sequence[str], language: str) -> bool:
    """The two spans are equal except for articles, prepositions and punctuation at their ends."""
    return core(one, words, language) == core(other, words, language)


# Stages that use the same evidence do not confirm each other: two translations of the marked
# sentence, that of the answer, and those of its words.
_EVIDENCE = {
    Stage.BRACKETS: "brackets",
    Stage.EXACT: "answer",
    Stage.INFLECTED: "answer",
    Stage.ALIGNED: "words",
    Stage.GUILLEMETS: "guillemets",
    Stage.BIGRAMS: "answer",
}
# Stages whose boundaries are reliable.
_EXACT_BORDERS = frozenset({Stage.BRACKETS, Stage.EXACT, Stage.GUILLEMETS})


def relocate(
    example: Example,
    context: TranslatedText,
    translate: Callable[[str], str],
    *,
    language: str,
    keep: Keep,
) -> Relocated:
    """The answers of a question in the translation of its context.

    `translate` gives the translation of each of the example's `probe_texts` along the same route,
    and `language` is the last one of it.
    """
    found = [
        relocate_answer(answer, context, translate, language=language, keep=keep)
        for answer in dict.fromkeys(example.answers)
    ]
    located = {one.span: one for one in found if isinstance(one, Located)}
    return Relocated(tuple(located.values()), tuple(one for one in found if isinstance(one, Lost)))


def relocate_answer(
    answer: Span,
    context: TranslatedText,
    translate: Callable[[str], str],
    *,
    language: str,
    keep: Keep,
) -> Located | Lost:
    """One answer in the translated context, or why it is lost."""
    if not answer.is_in(context.source):
        return Lost(answer, LostReason.NO_OFFSET)
    asked = asked_sentences(context.source, answer, [pair.source for pair in context.sentences])
    place = place_of(asked, context)
    if not place.asked or not place.target:
        return Lost(answer, LostReason.NO_TRANSLATION)
    if keep == "strict":
        return _strict(answer, context, place, translate)
    located = _search(answer, place, asked, translate, language)
    if located is None:
        return Lost(answer, LostReason.NOT_FOUND)
    if keep == "verified" and not located.verified:
        return Lost(answer, LostReason.NOT_VERIFIED)
    return located


def stage_spans(
    answer: Span,
    place: Place,
    asked: Sequence[AskedSentence],
    translate: Callable[[str], str],
    alignment: Alignment,
) -> Iterator[tuple[Stage, WordRange | None]]:
    """What each stage finds by itself, the most certain first; a stage runs when needed."""
    texts = (translate(answer.text), answer.text)
    yield Stage.BRACKETS, find_marked(BRACKETS, place, asked, translate)
    yield Stage.EXACT, find_exact(place, texts)
    yield Stage.INFLECTED, find_inflected(place, texts)
    yield Stage.ALIGNED, alignment.find()
    yield Stage.GUILLEMETS, find_marked(GUILLEMETS, place, asked, translate)
    yield Stage.BIGRAMS, find_by_bigrams(place, texts)


def _search(
    answer: Span,
    place: Place,
    asked: Sequence[AskedSentence],
    translate: Callable[[str], str],
    language: str,
) -> Located | None:
    """The first span that other evidence confirms; without one, that of the surest stage."""
    found: dict[Stage, WordRange] = {}
    alignment = Alignment(place, translate)
    confirming: Alignment | None = None
    for stage, span in stage_spans(answer, place, asked, translate, alignment):
        if span is not None:
            found[stage] = span
        # Guessed links are few, so consistency with them is all that can be required. Those of
        # an engine are precise, so spans that agree with them go first.
        if stage == Stage.ALIGNED and place.links is None:
            confirming = alignment
        if one := _verified(found, place, language, confirming):
            return one
    if one := _verified(found, place, language, alignment):
        return one
    for first, words_found in found.items():
        span_of_first = _bordered(first, words_found, place, language)
        return Located(place.span(span_of_first), (first,), verified=False)
    return None


def _verified(
    found: Mapping[Stage, WordRange], place: Place, language: str, alignment: Alignment | None
) -> Located | None:
    """The first span on which evidence of two kinds agrees, or that the alignment confirms."""
    for first, one in found.items():
        agreeing = [other for other in found if agree(one, found[other], place.words, language)]
        if alignment and Stage.ALIGNED not in agreeing and alignment.is_consistent(one):
            agreeing.append(Stage.ALIGNED)
        if len({_EVIDENCE[other] for other in agreeing}) > 1:
            span_of_first = _bordered(first, one, place, language)
            return Located(place.span(span_of_first), tuple(agreeing), verified=True)
    return None


def _bordered(stage: Stage, found: WordRange, place: Place, language: str) -> WordRange:
    """An inexact stage may end in an article of the next phrase."""
    return found if stage in _EXACT_BORDERS else core(found, place.words, language)


def _strict(
    answer: Span, context: TranslatedText, place: Place, translate: Callable[[str], str]
) -> Located | Lost:
    """The translated answer occurs in the translated context, ignoring case.

    This is the rule of Signorelli and Sirocchi. They take the first occurrence; here the one in
    the answer's sentences goes first.
    """
    translated = translate(answer.text)
    near = find_exact(place, [translated])
    if near is not None:
        return Located(place.span(near), (Stage.EXACT,), verified=False)
    there = word_spans(context.text)
    wanted = [word.casefold() for word in words(translated)]
    folded = [context.text[start:end].casefold() for start, end in there]
    found = [(there[first][0], there[last - 1][1]) for first, last in occurrences(folded, wanted)]
    if not found:
        return Lost(answer, LostReason.NOT_IN_CONTEXT)
    start, end = min(found, key=lambda span: abs(span[0] - place.target[0][0]))
    return Located(Span(start, context.text[start:end]), (Stage.EXACT,), verified=False)
