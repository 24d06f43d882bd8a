"""Classifier: load, predict, save. Classes or values of texts and pairs of texts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from readlet.errors import ReadletError, bad_input, warn_caller
from readlet.inference.trained_model import AUTO, BUNDLED, TrainedModel, read_model, reader_folder
from readlet.types import Classification, Sentence

if TYPE_CHECKING:
    from readlet.evaluation.task import Task
    from readlet.inference.calibration import ClassCalibration
    from readlet.models.family import ClassScorer, Floats
    from readlet.text.labels import Labels
    from readlet.text.subwords import SentenceRows

# Texts encoded at once: enough to sort them by length, few enough to bound the memory.
CHUNK = 512
Text = str | tuple[str, str]
"""A text, or a pair of texts for a classifier that was trained with pairs."""


@dataclass(repr=False)
class Classifier(TrainedModel):
    """A trained classifier: the class, or the value, of a text or of a pair of texts.

    >>> classifier = Classifier.load("runs/reviews")  # doctest: +SKIP
    >>> classifier.predict("The lamp works well.").label  # doctest: +SKIP
    'good'
    """

    kind_of_task = "classes"

    scorer: "ClassScorer"
    calibration: "ClassCalibration"

    @property
    def labels(self) -> "Labels":
        """What it predicts."""
        return self.scorer.encoder.labels

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of its classes, in order; none if it predicts values."""
        return self.labels.classes

    @property
    def task(self) -> "Task":
        return task_of_labels(self.labels, self.scorer.metrics)

    def predict(self, text: str, second: str | None = None) -> Classification:
        """The class of a text, or of a pair of texts, with all probabilities; or its value."""
        (found,) = self.predict_batch([text if second is None else (text, second)])
        return found

    def predict_batch(self, texts: Iterable[Text]) -> Iterator[Classification]:
        """Predictions in the order of the texts; any number of them in constant memory.

        After the last one a warning reports how many texts were too long to be read whole.
        """
        from readlet.text.subwords import LONG_TEXT

        remaining = iter(texts)
        cut = 0
        while chunk := list(islice(remaining, CHUNK)):
            sentences = [self._sentence(text) for text in chunk]
            rows = self.scorer.encoder.encode(sentences)
            cut += len(rows.notes.get(LONG_TEXT, ()))
            yield from self.classified(self.scores(rows))
        if cut:
            warn_caller(f"{cut:,} × {LONG_TEXT}")

    def scores(self, rows: "SentenceRows") -> "Floats":
        """Scores of all rows, in their order: (rows, outputs)."""
        return scores_in_order(self.scorer, rows, self.rows_at_once)

    def classified(self, scores: "Floats") -> list[Classification]:
        """The predictions with these scores, (rows, outputs)."""
        return classifications(scores, self.labels, self.calibration)

    def _sentence(self, text: Text) -> Sentence:
        first, second = (text, None) if isinstance(text, str) else text
        if not first.strip() or (second is not None and not second.strip()):
            raise ReadletError("a text is empty; it needs words")
        if (second is not None) != self.scorer.encoder.pairs:
            wanted = "pairs of texts" if self.scorer.encoder.pairs else "single texts"
            fault = f"{self.name}: was trained on {wanted}"
            remedy = "give a second text" if self.scorer.encoder.pairs else "give one text"
            raise ReadletError(f"{fault}; {remedy}")
        return Sentence("", first, None, second)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = AUTO, batch_size: int = 0) -> "Classifier":
        """Read a classifier's folder, or one of the hub: `user/name`; nothing is executed.

        `device` and `batch_size` are as for a `Reader`.
        """
        from readlet.inference.calibration import ClassCalibration
        from readlet.storage.stored_files import damage_of

        if folder == BUNDLED or not (reader_folder(folder) / "config.json").is_file():
            remedy = "give a classifier's folder, or its name on the hub"
            raise bad_input(folder, "", "no classifier there", remedy)
        found = read_model(folder, "classes", device=device, batch_size=batch_size)
        with damage_of(found.path / "calibration.json"):
            calibration = ClassCalibration.model_validate(found.calibration)
        return cls(calibration=calibration, **found.others)


def scores_in_order(scorer: "ClassScorer", rows: "SentenceRows", batch_size: int) -> "Floats":
    """Scores of all rows, in their order: (rows, outputs)."""
    import numpy as np

    found = np.zeros((len(rows), scorer.encoder.labels.outputs), np.float32)  # (rows, outputs)
    for numbers, scores in scorer.scores(rows, batch_size):
        found[numbers] = scores
    return found


def classifications(
    scores: "Floats", labels: "Labels", calibration: "ClassCalibration"
) -> list[Classification]:
    """Predictions from scores, (rows, outputs)."""
    if labels.kind == "numbers":
        values = [float(score) * labels.deviation + labels.mean for score in scores[:, 0]]
        return [Classification(repr(value), None, {}, value) for value in values]
    found = []
    for row in calibration.probabilities(scores).tolist():  # (C,)
        shares: Sequence[float] = row
        best = max(range(len(shares)), key=shares.__getitem__)  # ties go to the first
        named = dict(zip(labels.classes, shares, strict=True))
        found.append(Classification(labels.classes[best], shares[best], named))
    return found


def task_of_labels(labels: "Labels", metrics: Sequence[str]) -> "Task":
    """How predictions of these labels are scored."""
    from readlet.evaluation.classification import VALUES, class_task

    if labels.kind == "numbers":
        return VALUES
    return class_task(labels.classes, metrics)
