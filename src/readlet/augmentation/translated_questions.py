"""A translated or back-translated question, with its answers relocated."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from readlet.augmentation.config import AugmentationConfig, draw
from readlet.augmentation.relocation.cascade import Relocated, relocate
from readlet.augmentation.relocation.probe_texts import probe_texts
from readlet.augmentation.translation.sentences import split_sentences
from readlet.augmentation.translation.types import Range, TranslatedText
from readlet.text.words import words
from readlet.types import Example

Translate = Callable[[str], TranslatedText]
"""The translation of a text along the route of a config."""

OTHER_LANGUAGE = "in another language"
NOT_SAMPLED = "not in the sample"
COPY = "the translation equals the source"
GARBLED = "question: too different after back-translation"

_ALL_DIGESTS = 1 << 64


@dataclass(frozen=True, slots=True)
class Translated:
    """The outcome for a question in one of the languages of a config.

    `new` is the new question, still with the id of its source, or None, and then there is a
    `reason`.
    """

    source: Example
    language: str
    new: Example | None = None
    relocated: Relocated | None = None
    reason: str = ""
    quality: float | None = None  # of a back-translated question


def quality_of(question: str, back: str) -> float:
    """Quality of a back-translated question: F1 of its character 3-grams with the source.

    Of the measures without a language model, this one separated good from garbled questions best.
    """
    one, other = (Counter(_trigrams(text)) for text in (question, back))
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def _trigrams(text: str) -> Iterator[str]:
    padded = f" {' '.join(map(str.casefold, words(text)))} "
    return (padded[at : at + 3] for at in range(len(padded) - 2))


def why_left(example: Example, config: AugmentationConfig) -> str:
    """Why a question is not translated; empty if it is. It depends on neither order nor machine.

    Data without languages is assumed to be in the language of the config.
    """
    if example.language not in ("", config.source):
        return OTHER_LANGUAGE
    if config.share < 1:
        number = int.from_bytes(draw(example, config.seed, "translation")[:8])
        if number >= config.share * _ALL_DIGESTS:
            return NOT_SAMPLED
    return ""


def texts_to_translate(
    examples: Iterable[Example], config: AugmentationConfig, *, has_links: bool
) -> Iterator[str]:
    """All texts whose translations `translated` will ask for; some are repeated.

    `has_links`: the translations come with word alignments.
    """
    context: str | None = None
    sentences: list[Range] = []
    for example in examples:
        if "question" in config.fields:
            yield example.question
        if "context" in config.fields:
            if example.context != context:
                context, sentences = example.context, split_sentences(example.context)
                yield context
            yield from probe_texts(example, sentences, config.keep, has_links=has_links)


def translated(
    example: Example, config: AugmentationConfig, language: str, translate: Translate
) -> Translated:
    """The question in one of the languages, with every answer that is kept."""
    question, context = example.question, example.context
    relocated = None
    losses: list[str] = []
    quality = None
    if "question" in config.fields:
        text = translate(question)
        question = text.text
        losses += (f"question: {loss}" for loss in text.losses)
        if config.back:
            quality = quality_of(example.question, question)
            losses += [GARBLED] if quality < config.min_quality else []
    if "context" in config.fields:
        text = translate(context)
        context = text.text
        losses += (f"sentence of the context: {loss}" for loss in text.losses)
        relocated = relocate(
            example,
            text,
            lambda probe: translate(probe).text,
            language=config.language(language),
            keep=config.keep,
        )
    if (question, context) == (example.question, example.context):
        losses = [COPY]
    elif relocated is not None and example.answers and not relocated.answers:
        losses.append(str(relocated.lost[0].reason))
    if losses:
        return Translated(example, language, None, relocated, losses[0], quality)
    new = replace(
        example,
        question=question,
        context=context,
        language=config.language(language),
        question_language=config.question_language(language),
    )
    if relocated is not None:
        # Plausible answers of unanswerable questions are not relocated: training does not use them.
        answers = tuple(located.span for located in relocated.answers)
        new = replace(new, answers=answers, plausible_answers=())
    return Translated(example, language, new, relocated, quality=quality)
