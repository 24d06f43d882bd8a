"""The models that a server has loaded, by name. They are read from disk once, at the start.

Requests become queue items: lists are paired, and their sizes are checked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from readlet.errors import ReadletError, bad_input
from readlet.inference.classifier import Classifier, Text
from readlet.inference.document_text import DocumentText
from readlet.inference.inputs import Answerer, AnswerOptions
from readlet.inference.reader import Reader, load_reader
from readlet.inference.trained_model import BASELINE, BUNDLED, reader_folder, stored_task
from readlet.serve.batching import Batcher, Counters
from readlet.serve.messages import AnswerRequest, AskRequest, ClassifyRequest, Limits, RequestError
from readlet.types import Classification, Example, Prediction, free_id


class Question(NamedTuple):
    example: Example
    options: AnswerOptions  # questions with the same options are computed together


@dataclass(frozen=True)
class ServedReader:
    model: Answerer
    answers: Batcher[Question, Prediction]


@dataclass(frozen=True)
class ServedClassifier:
    model: Classifier
    classes: Batcher[Text, Classification]


@dataclass(frozen=True)
class Models:
    """The models by name. Other names in requests are unknown; no file is opened for them."""

    readers: dict[str, ServedReader]
    classifiers: dict[str, ServedClassifier]

    def waiting(self) -> dict[str, int]:
        """The lengths of the queues."""
        readers = {name: len(served.answers) for name, served in self.readers.items()}
        return readers | {name: len(served.classes) for name, served in self.classifiers.items()}

    def close(self) -> None:
        for reader in self.readers.values():
            reader.answers.close()
        for classifier in self.classifiers.values():
            classifier.classes.close()


def load_models(names: Sequence[str], device: str) -> dict[str, Answerer | Classifier]:
    """Readers and classifiers by the last part of their path, numbered if two have the same."""
    found: dict[str, Answerer | Classifier] = {}
    for name in names:
        special = name in (BUNDLED, BASELINE)
        if not special and not (reader_folder(name) / "config.json").is_file():
            remedy = f"give the folder of a reader or classifier, `{BUNDLED}` or `{BASELINE}`"
            raise bad_input(name, "", "no model there", remedy)
        short = name if special else Path(name.partition("@")[0]).resolve().name
        is_classifier = not special and stored_task(name) == "classes"
        load = Classifier.load if is_classifier else load_reader
        found[free_id(short, found.keys())] = load(name, device=device)
    return found


def serve_models(
    models: dict[str, Answerer | Classifier], limits: Limits, counters: Counters
) -> Models:
    """A queue for each model, and the threads that empty it."""
    readers, classifiers = {}, {}
    for name, model in models.items():
        if isinstance(model, Classifier):
            classifiers[name] = _classifier(name, model, limits, counters)
        else:
            readers[name] = _reader(name, model, limits, counters)
    return Models(readers, classifiers)


def _reader(name: str, model: Answerer, limits: Limits, counters: Counters) -> ServedReader:
    from readlet.models.onnx.scorer import OnnxScorer

    def characters(asked: Question) -> int:
        return len(asked.example.context)

    def answer(asked: list[Question]) -> list[Prediction]:
        return answer_all(model, asked)

    threads = 1
    if isinstance(model, Reader) and isinstance(model.scorer, OnnxScorer):
        model.scorer.workers.prepare()  # models are read from disk once, at the start
        threads = model.scorer.workers.threads
    return ServedReader(model, Batcher(name, answer, limits, counters, characters, threads=threads))


def _classifier(
    name: str, model: Classifier, limits: Limits, counters: Counters
) -> ServedClassifier:
    def classify(texts: list[Text]) -> list[Classification]:
        return list(model.predict_batch(texts))

    def characters(text: Text) -> int:
        return len(text) if isinstance(text, str) else sum(map(len, text))

    return ServedClassifier(model, Batcher(name, classify, limits, counters, characters))


def answer_all(reader: Answerer, asked: Sequence[Question]) -> list[Prediction]:
    """Predictions in order; questions with the same options are computed together."""
    groups: dict[AnswerOptions, list[int]] = {}
    for number, question in enumerate(asked):
        groups.setdefault(question.options, []).append(number)
    found: dict[int, Prediction] = {}
    for options, numbers in groups.items():
        predictions = reader.answer_batch([asked[n].example for n in numbers], options)
        found.update(zip(numbers, predictions, strict=True))
    return [found[number] for number in range(len(asked))]


_OPTIONS = {field.name for field in fields(AnswerOptions)}


def options_of(asked: AnswerRequest | AskRequest, limits: Limits) -> AnswerOptions:
    """How the questions of a request are to be answered."""
    if asked.n_best > limits.n_best:
        raise RequestError(422, f"n_best: {asked.n_best}; at most {limits.n_best}")
    try:
        return AnswerOptions(**asked.model_dump(include=_OPTIONS))
    except ReadletError as error:
        raise RequestError(422, str(error)) from None


def questions_of(asked: AnswerRequest, options: AnswerOptions, limits: Limits) -> list[Question]:
    """The questions of a request, each with its passage."""
    questions = _texts(asked.question, "question", limits.question_characters, limits)
    passages = _texts(asked.passage, "passage", limits.passage_characters, limits)
    if isinstance(asked.passage, str):
        passages *= len(questions)
    if len(questions) != len(passages):
        reason = f"{len(questions)} questions, {len(passages)} passages"
        raise RequestError(422, f"{reason}; give one passage, or one for each question")
    return [
        Question(Example("", question, passage), options)
        for question, passage in zip(questions, passages, strict=True)
    ]


def documents_of(asked: AskRequest, limits: Limits) -> dict[str, DocumentText]:
    """The documents of a request by name."""
    _check(asked.question, "question", limits.question_characters)
    if len(asked.documents) > limits.documents:
        fault = f"documents: {len(asked.documents)} of them; at most {limits.documents:,}"
        raise RequestError(422, fault)
    texts: dict[str, DocumentText] = {}
    left = limits.document_characters
    for document in asked.documents:
        _check(document.name, "name", left)
        if document.name in texts:
            raise RequestError(422, f"{document.name}: two documents of this name; rename one")
        if len(document.text) > left:
            most = limits.document_characters
            fault = f"{document.name}: the documents have more than {most:,} characters together"
            raise RequestError(422, f"{fault}; leave some out")
        _check(document.text, document.name, left)
        left -= len(document.text)
        starts, labels = document.starts, document.labels
        if len(starts) != len(labels) or any(a > b for a, b in pairwise([0, *starts])):
            fault = f"{document.name}: starts and labels do not belong together"
            raise RequestError(422, f"{fault}; give those of /text, or neither")
        texts[document.name] = DocumentText(document.text, tuple(starts), tuple(labels))
    return texts


def class_texts(asked: ClassifyRequest, limits: Limits, *, pairs: bool) -> list[Text]:
    """The texts of a request, or its pairs of texts."""
    texts = _texts(asked.text, "text", limits.text_characters, limits)
    if (asked.second is not None) != pairs:
        remedy = "give `second`, too" if pairs else "leave `second` out"
        raise RequestError(422, f"was trained on {'pairs' if pairs else 'single texts'}; {remedy}")
    if asked.second is None:
        return list(texts)
    seconds = _texts(asked.second, "second", limits.text_characters, limits)
    if len(texts) != len(seconds):
        reason = f"{len(texts)} texts, {len(seconds)} second texts"
        raise RequestError(422, f"{reason}; give one for each text")
    return list(zip(texts, seconds, strict=True))


def _texts(given: str | list[str], name: str, most: int, limits: Limits) -> list[str]:
    """One text or several, each of at most so many characters."""
    texts = [given] if isinstance(given, str) else given
    if not texts:
        raise RequestError(422, f"{name}: the list is empty")
    if len(texts) > limits.questions:
        raise RequestError(422, f"{name}: {len(texts)} of them; at most {limits.questions}")
    for text in texts:
        _check(text, name, most)
    return texts


def _check(text: str, name: str, most: int) -> None:
    if not text.strip():
        raise RequestError(422, f"{name}: is empty")
    if len(text) > most:
        raise RequestError(422, f"{name}: {len(text):,} characters; at most {most:,}")
    try:
        text.encode()
    except UnicodeEncodeError as error:  # JSON can name it, but no answer could contain it
        raise RequestError(422, f"{name}: character {error.start} is a lone surrogate") from None
