"""From a data file, and a model or its predictions, to an evaluation (`readlet evaluate`)."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from readlet.console import track
from readlet.data import read_examples, read_labelled
from readlet.data.columns import PLAIN, DataFormat
from readlet.data.datasets import warn_of_repeated_ids, with_own_ids
from readlet.data.rows import label_text
from readlet.data.tables import GlueTask
from readlet.errors import ReadletError, bad_input
from readlet.evaluation.classification import CLASSES, GLUE_CLASSES, class_task
from readlet.evaluation.evaluation import Evaluation, evaluate, evaluate_classes
from readlet.evaluation.squad import Rules
from readlet.inference.classifier import Classifier
from readlet.inference.inputs import DEFAULTS, Answerer, AnswerOptions
from readlet.inference.predict_file import asked_text
from readlet.inference.prediction_files import (
    read_by_id,
    read_predictions,
    read_probabilities,
)
from readlet.inference.reader import load_reader
from readlet.inference.trained_model import AUTO
from readlet.text.labels import class_names, class_numbers, label_values
from readlet.types import Example, Prediction, Sentence

T = TypeVar("T")


def evaluate_questions(
    data: str,
    *,
    reader: str | None = None,
    options: AnswerOptions = DEFAULTS,
    predictions: Path | None = None,
    na_probs: Path | None = None,
    na_threshold: float | None = None,
    against: Path | None = None,
    rules: Rules | None = None,
    data_format: DataFormat = PLAIN,
    device: str = AUTO,
) -> Evaluation:
    """Score a reader, or a file of predictions, on the questions of a file.

    `na_probs` is a file of no-answer probabilities that belong to the predictions: above
    `na_threshold` a question has no answer.

    >>> evaluation = evaluate_questions("bundled:test", reader="baseline")
    >>> round(evaluation.official["f1"], 1)
    8.8
    """
    _check_options(options, reader, na_probs, na_threshold)
    given = read_predictions(predictions) if predictions else {}
    probabilities = read_probabilities(na_probs) if na_probs else None
    other = read_predictions(against) if against else None
    as_read = [options.in_languages(example) for example in read_examples(data, data_format)]
    if not as_read:
        raise bad_input(data, "", "contains no questions", "give data with questions")
    warn_of_repeated_ids(as_read, "a number is appended")
    examples = with_own_ids(as_read)
    numbers = {e.id: old.id for e, old in zip(examples, as_read, strict=True) if e.id != old.id}
    other = other and _with_numbers(other, numbers)
    if reader is None:
        return evaluate(
            examples,
            _with_numbers(given, numbers),
            na_probs=probabilities and _with_numbers(probabilities, numbers),
            na_threshold=1.0 if na_threshold is None else na_threshold,
            against=other,
            rules=rules,
        )
    predicted = predict(load_reader(reader, device=device), examples, options)
    return evaluate_reader(examples, predicted, options, against=other, rules=rules)


def _with_numbers(values: dict[str, T], numbers: Mapping[str, str]) -> dict[str, T]:
    """Files without the numbers appended to repeated ids: use the values of the original ids."""
    return {number: values[own] for number, own in numbers.items() if own in values} | values


def evaluate_reader(
    examples: Sequence[Example],
    predicted: Mapping[str, Prediction],
    options: AnswerOptions,
    *,
    against: Mapping[str, str] | None = None,
    rules: Rules | None = None,
) -> Evaluation:
    """Score the predictions of a reader by their ids.

    The best threshold of SQuAD 2.0 is sought among all best answers, given or not, unless every
    passage was assumed to have an answer.
    """
    doubts = {key: p.no_answer for key, p in predicted.items()}
    return evaluate(
        examples,
        {key: p.n_best[0].text if p.n_best else "" for key, p in predicted.items()},
        na_probs=None if options.unanswerable_share == 0.0 else doubts,
        abstained={key for key, p in predicted.items() if p.abstained},
        against=against,
        rules=rules,
        confidences={key: p.confidence for key, p in predicted.items()},
    )


def _check_options(
    options: AnswerOptions, reader: str | None, na_probs: Path | None, na_threshold: float | None
) -> None:
    """Reject options that would have no effect."""
    if reader is None and options != DEFAULTS:
        fault = "options of a reader (confidence, unanswerable share, language)"
        raise ReadletError(f"{fault}: not with a file of predictions; name a reader")
    if reader is not None and na_probs is not None:
        raise ReadletError("--na-probs: a reader has its own; leave it out, or give --predictions")
    # The numbers of a file may have any range, log-odds for example.
    if na_threshold is not None and (na_probs is None or not math.isfinite(na_threshold)):
        raise ReadletError(f"--threshold: {na_threshold!r:.40}; give a number that fits --na-probs")


def predict(
    reader: Answerer, examples: Sequence[Example], options: AnswerOptions = DEFAULTS
) -> dict[str, Prediction]:
    """The reader's prediction for every question, by id, with a progress bar."""
    predictions = track(reader.answer_batch(examples, options), len(examples), reader.name)
    return {e.id: prediction for e, prediction in zip(examples, predictions, strict=True)}


def evaluate_sentences(
    data: str,
    task: GlueTask | None,
    predictions: Path,
    *,
    against: Path | None = None,
    data_format: DataFormat = PLAIN,
) -> Evaluation:
    """Score a file of predicted classes on texts with labels; missing ones count as wrong.

    GLUE files have the metrics of their task, all others accuracy and macro F1.
    """
    sentences = read_labelled(data, data_format=data_format)
    classes = GLUE_CLASSES if task is not None else class_names(sentences)
    if len(classes) < 2:
        fault = f"only one class: all labels are {classes[0]!r:.40}"
        raise bad_input(data, "", fault, "give texts of several classes")
    given = _read_classes(predictions, classes)
    other = _read_classes(against, classes) if against else None
    class_numbers(data, sentences, classes)  # an error about a label names the file
    chosen = CLASSES[task] if task else class_task(classes, ("accuracy", "macro_f1"))
    return evaluate_classes(chosen, classes, sentences, given, against=other)


def evaluate_classifier(
    classifier: str,
    data: str,
    *,
    against: Path | None = None,
    data_format: DataFormat = PLAIN,
    device: str = AUTO,
) -> Evaluation:
    """Score a classifier on texts with labels, by its own metrics."""
    loaded = Classifier.load(classifier, device=device)
    sentences = read_labelled(data, data_format=data_format)
    if loaded.classes:
        class_numbers(data, sentences, loaded.classes)
    else:
        label_values(data, sentences)
    other = _labels_of(against, loaded.classes, sentences) if against else None
    found = loaded.predict_batch(map(asked_text, sentences))
    shown = track(found, len(sentences), loaded.name)
    predicted = {s.id: prediction for s, prediction in zip(sentences, shown, strict=True)}
    given = {identity: found.label for identity, found in predicted.items()}
    confidences = {
        identity: found.probability
        for identity, found in predicted.items()
        if found.probability is not None
    }
    return evaluate_classes(
        loaded.task,
        loaded.classes,
        sentences,
        given,
        against=other,
        confidences=confidences if loaded.classes else None,
    )


def _labels_of(path: Path, classes: Sequence[str], sentences: Sequence[Sentence]) -> dict[str, str]:
    """Other predictions; values must be there for all texts, a missing class counts as wrong."""
    given = _read_classes(path, classes)
    absent = [sentence.id for sentence in sentences if sentence.id not in given]
    if absent and not classes:
        fault = f"no value for {len(absent)} texts, the first is {absent[0]!r:.40}"
        raise bad_input(path, "", fault, "give one for every text")
    return given


def _read_classes(path: Path, classes: Sequence[str]) -> dict[str, str]:
    """Labels by id of {"id": "label"}, or of the rows that `readlet classify` writes.

    They are given as numbers or as text. Without `classes` they are values.
    """

    def label(value: Any) -> str | None:
        # True == 1, but is not a class.
        is_label = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        return label_text(path, "", value, "label") if is_label else None

    def is_right(value: Any) -> bool:
        found = label(value)
        if classes:
            return found in classes
        try:
            return found is not None and abs(float(found)) < float("inf")
        except ValueError:
            return False

    wanted = f"{' or '.join(classes[:8])} for every id" if classes else "a number for every id"
    given = read_by_id(path, "label", wanted, is_right)
    return {identity: label(value) or "" for identity, value in given.items()}
