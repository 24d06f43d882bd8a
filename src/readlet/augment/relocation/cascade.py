"""The stages in order, and what is kept of what they find."""

from collections.abc import Callable, Mapping, Sequence

from readlet.augment.relocation.agreement import agree
from readlet.augment.relocation.alignment import Links, find_aligned, is_consistent, word_links
from readlet.augment.relocation.answer_text import find_exact, find_inflected, occurrences
from readlet.augment.relocation.bigram_rule import find_by_bigrams
from readlet.augment.relocation.clues import (
    BRACKETS,
    GUILLEMETS,
    AskedSentence,
    WordRange,
    asked_sentences,
)
from readlet.augment.relocation.markers import find_marked
from readlet.augment.relocation.place import Place, place_of
from readlet.augment.relocation.types import Keep, Located, Loss, Lost, Relocated, Stage
from readlet.encoding.words import word_spans
from readlet.translation.types import TranslatedText
from readlet.types import Example, Span

# Stages that use the same evidence do not confirm each other: two translations of the marked
# sentence, that of the answer, and those of its words.
_EVIDENCE = {
    Stage.BRACKETS: "brackets",
    Stage.EXACT: "answer",
    Stage.INFLECTED: "answer",
    Stage.BIGRAMS: "answer",
    Stage.ALIGNED: "words",
    Stage.GUILLEMETS: "guillemets",
}


def relocate(
    example: Example,
    context: TranslatedText,
    translate: Callable[[str], str],
    *,
    language: str,
    keep: Keep,
) -> Relocated:
    """The answers of a question, plausible ones too, in the translation of its context.

    `translate` gives the translation of each of the example's `clue_texts` along the same route,
    and `language` is the last one of it.
    """

    def split(answers: Sequence[Span]) -> tuple[tuple[Located, ...], tuple[Lost, ...]]:
        found = [
            relocate_answer(answer, context, translate, language=language, keep=keep)
            for answer in dict.fromkeys(answers)
        ]
        located = {one.span: one for one in found if isinstance(one, Located)}
        return tuple(located.values()), tuple(one for one in found if isinstance(one, Lost))

    answers, lost = split(example.answers)
    plausible, lost_plausible = split(example.plausible_answers)
    return Relocated(answers, plausible, lost, lost_plausible)


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
        return Lost(answer, Loss.NO_OFFSET)
    asked = asked_sentences(context.source, answer, [pair.source for pair in context.sentences])
    place = place_of(asked, context)
    if not place.asked or not place.target:
        return Lost(answer, Loss.NO_TRANSLATION)
    if keep == "strict":
        return _strict(answer, context, place, translate)
    links = word_links(place, translate)
    found = stage_spans(answer, place, asked, translate, links)
    if not found:
        return Lost(answer, Loss.NOT_FOUND)
    located = _choose(found, place, links, language)
    if keep == "verified" and not located.verified:
        return Lost(answer, Loss.NOT_VERIFIED)
    return located


def stage_spans(
    answer: Span,
    place: Place,
    asked: Sequence[AskedSentence],
    translate: Callable[[str], str],
    links: Links,
) -> dict[Stage, WordRange]:
    """What each stage finds by itself, the most certain first."""
    texts = (translate(answer.text), answer.text)
    found = {
        Stage.BRACKETS: find_marked(BRACKETS, place, asked, translate),
        Stage.EXACT: find_exact(place, texts),
        Stage.INFLECTED: find_inflected(place, texts),
        Stage.ALIGNED: find_aligned(place, links),
        Stage.GUILLEMETS: find_marked(GUILLEMETS, place, asked, translate),
        Stage.BIGRAMS: find_by_bigrams(place, texts),
    }
    return {stage: span for stage, span in found.items() if span is not None}


def _choose(
    found: Mapping[Stage, WordRange], place: Place, links: Links, language: str
) -> Located:
    """The first span that other evidence confirms; without one, that of the surest stage."""
    best: Located | None = None
    for span in found.values():
        agreeing = tuple(
            stage
            for stage, other in found.items()
            if agree(span, other, place.words, language)
        )
        if Stage.ALIGNED not in agreeing and is_consistent(span, place, links):
            agreeing = (*agreeing, Stage.ALIGNED)
        verified = len({_EVIDENCE[stage] for stage in agreeing}) > 1
        if verified or best is None:
            best = Located(place.span(span), agreeing, verified)
        if verified:
            break
    assert best is not None, "a stage found something"
    return best


def _strict(
    answer: Span, context: TranslatedText, place: Place, translate: Callable[[str], str]
) -> Located | Lost:
    """The rule of paper 000: the translated answer, case aside, stands in the translated context.

    The paper takes the first occurrence. Here it is the nearest one, for a right place.
    """
    there = word_spans(context.text)
    folded = [context.text[start:end].casefold() for start, end in there]
    translated = translate(answer.text)
    wanted = [translated[start:end].casefold() for start, end in word_spans(translated)]
    spans = [(there[first][0], there[last - 1][1]) for first, last in occurrences(folded, wanted)]
    if not spans:
        return Lost(answer, Loss.NOT_IN_CONTEXT)
    near = find_exact(place, [translated])
    if near is not None:
        return Located(place.span(near), (Stage.EXACT,), verified=False)
    start, end = min(spans, key=lambda span: abs(span[0] - place.target[0][0]))
    return Located(Span(start, context.text[start:end]), (Stage.EXACT,), verified=False)
