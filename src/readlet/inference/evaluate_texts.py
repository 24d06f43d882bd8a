"""From files or a classifier to an evaluation of labels (`readlet evaluate`)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from readlet.console import track
from readlet.data import read_labelled
from readlet.data.columns import PLAIN, DataFormat
from readlet.data.datasets import input_path
from readlet.data.rows import label_text
from readlet.data.tables import GlueTask
from readlet.errors import bad_input
from readlet.evaluation.classification import CLASSES, GLUE_CLASSES, class_task
from readlet.evaluation.evaluation import Evaluation, evaluate_classes
from readlet.inference.classifier import Classifier
from readlet.inference.evaluate_questions import (
    check_saved,
    read_by_id,
    write_predictions,
)
from readlet.inference.predict_file import asked_text
from readlet.inference.trained_model import AUTO, stored_task
from readlet.text.labels import class_names, class_numbers, label_values
from readlet.types import Classification, Sentence


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
    given = read_classes(predictions, classes)
    other = read_classes(against, classes) if against else None
    class_numbers(data, sentences, classes)  # an error about a label names the file
    chosen = CLASSES[task] if task else class_task(classes, ("accuracy", "macro_f1"))
    return evaluate_classes(chosen, classes, sentences, given, against=other)


def evaluate_classifier(
    classifier: str,
    data: str,
    *,
    against: Path | None = None,
    save: Path | None = None,
    overwrite: bool = False,
    data_format: DataFormat = PLAIN,
    device: str = AUTO,
) -> Evaluation:
    """Score a classifier on texts with labels, by its own metrics.

    `against` is a file of other predictions or the folder of another classifier, `save` a file for
    its predictions.
    """
    inputs = [input_path(data), Path(classifier), *([against] if against else [])]
    check_saved(save, inputs, overwrite=overwrite)
    loaded = Classifier.load(classifier, device=device)
    sentences = read_labelled(data, data_format=data_format)
    if loaded.classes:
        class_numbers(data, sentences, loaded.classes)
    else:
        label_values(data, sentences)
    other = _other(against, loaded, sentences, device) if against else None
    predicted = _predicted(loaded, sentences)
    given = {identity: found.label for identity, found in predicted.items()}
    if save is not None:
        write_predictions(save, given)
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


def _other(
    against: Path, ours: Classifier, sentences: Sequence[Sentence], device: str
) -> dict[str, str]:
    """The labels of another classifier, or of a file of predictions."""
    if stored_task(str(against)) is not None:
        theirs = Classifier.load(against, device=device)
        if {*theirs.classes} != {*ours.classes}:
            fault = "has other classes"
            raise bad_input(against, "", fault, "compare classifiers with the same classes")
        return {key: found.label for key, found in _predicted(theirs, sentences).items()}
    given = read_classes(against, ours.classes)
    if not ours.classes:
        absent = [sentence.id for sentence in sentences if sentence.id not in given]
        if absent:
            fault = f"no value for {len(absent)} texts, the first is {absent[0]!r:.40}"
            raise bad_input(against, "", fault, "give one for every text")
    return given


def _predicted(loaded: Classifier, sentences: Sequence[Sentence]) -> dict[str, Classification]:
    found = loaded.predict_batch(asked_text(sentence) for sentence in sentences)
    shown = track(found, len(sentences), loaded.name)
    return {s.id: prediction for s, prediction in zip(sentences, shown, strict=True)}


def read_classes(path: Path, classes: Sequence[str]) -> dict[str, str]:
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
