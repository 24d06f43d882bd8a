"""Requests to what is queued: lists are paired, and their sizes are checked."""

from readlet.errors import ReadletError
from readlet.reading.asked import check_languages
from readlet.reading.classifier import Text
from readlet.serve.limits import Limits
from readlet.serve.messages import AnswerRequest, ClassifyRequest, LayersRequest
from readlet.serve.refusals import RefusedError
from readlet.serve.served import Question, Settings


def questions_of(asked: AnswerRequest, limits: Limits) -> list[Question]:
    """The questions of a request, each with its passage."""
    if asked.threshold is not None and asked.always_answer:
        raise RefusedError(422, "threshold: not together with always_answer; leave one out")
    if asked.impossible_share is not None and asked.always_answer:
        raise RefusedError(422, "impossible_share: not together with always_answer; leave one out")
    if asked.n_best > limits.n_best:
        raise RefusedError(422, f"n_best: {asked.n_best}; at most {limits.n_best}")
    questions = _listed(asked.question, "question", limits)
    if isinstance(asked.passage, str):
        passages = [asked.passage] * len(questions)
    else:
        passages = _listed(asked.passage, "passage", limits)
    if len(questions) != len(passages):
        reason = f"{len(questions)} questions, {len(passages)} passages"
        raise RefusedError(422, f"{reason}; give one passage, or one for each question")
    for question, passage in zip(questions, passages, strict=True):
        _check_question(question, passage, limits)
    settings = Settings(asked.n_best, asked.threshold, asked.impossible_share, asked.always_answer)
    languages = (asked.language, asked.question_language)
    try:
        check_languages(*languages)
    except ReadletError:
        raise RefusedError(422, "language: unknown; give a code such as en or es") from None
    return [Question(q, p, settings, *languages) for q, p in zip(questions, passages, strict=True)]


def single_question(asked: LayersRequest, limits: Limits) -> tuple[str, str]:
    """A question with its passage."""
    _check_question(asked.question, asked.passage, limits)
    return asked.question, asked.passage


def class_texts(asked: ClassifyRequest, limits: Limits, *, pairs: bool) -> list[Text]:
    """The texts of a request, or its pairs of texts."""
    texts = _listed(asked.text, "text", limits)
    for text in texts:
        _check(text, "text", limits.text_characters)
    if (asked.second is not None) != pairs:
        remedy = "give `second`, too" if pairs else "leave `second` out"
        raise RefusedError(422, f"was trained on {'pairs' if pairs else 'single texts'}; {remedy}")
    if asked.second is None:
        return list(texts)
    seconds = _listed(asked.second, "second", limits)
    if len(texts) != len(seconds):
        reason = f"{len(texts)} texts, {len(seconds)} second texts"
        raise RefusedError(422, f"{reason}; give one for each text")
    for text in seconds:
        _check(text, "second", limits.text_characters)
    return list(zip(texts, seconds, strict=True))


def _listed(given: str | list[str], name: str, limits: Limits) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not texts:
        raise RefusedError(422, f"{name}: the list is empty")
    if len(texts) > limits.questions:
        raise RefusedError(422, f"{name}: {len(texts)} of them; at most {limits.questions}")
    return texts


def _check_question(question: str, passage: str, limits: Limits) -> None:
    _check(question, "question", limits.question_characters)
    _check(passage, "passage", limits.passage_characters)


def _check(text: str, name: str, most: int) -> None:
    if not text.strip():
        raise RefusedError(422, f"{name}: is empty")
    if len(text) > most:
        raise RefusedError(422, f"{name}: {len(text):,} characters; at most {most:,}")
    try:
        text.encode()
    except UnicodeEncodeError as error:  # JSON can name it, but no answer could contain it
        raise RefusedError(422, f"{name}: character {error.start} is a lone surrogate") from None
