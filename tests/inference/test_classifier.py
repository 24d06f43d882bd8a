"""Classifiers: predictions, calibration, cards and damage."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readlet import Classification, Classifier, ReadletError
from readlet.inference.calibration import (
    MIN_TEXTS,
    ClassCalibration,
    fit_class_calibration,
)
from readlet.inference.reader import Reader
from readlet.inference.slimming import slim

Make = Callable[..., Any]


def test_a_prediction_has_all_probabilities(trained_classifier: Make) -> None:
    _, made = trained_classifier()
    found = made.predict("The old lamp was lit.")
    assert found.label in made.classes == ("new", "old")
    assert list(found.probabilities) == ["new", "old"]
    assert sum(found.probabilities.values()) == pytest.approx(1)
    assert found.probability == max(found.probabilities.values())
    assert found.value is None
    assert made.metrics["dev"]["accuracy"] > 70  # of texts that it has seen
    assert made.metrics["dev"]["predicted_classes"] == 2


def test_order_and_chunks_change_nothing(
    trained_classifier: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, made = trained_classifier()
    texts = [f"The {'old' if n % 2 else 'new'} lamp {'again ' * n}." for n in range(7)]
    one_by_one = [made.predict(text) for text in texts]
    monkeypatch.setattr("readlet.inference.classifier.CHUNK", 3)
    together = list(made.predict_batch(texts))
    assert [p.label for p in together] == [p.label for p in one_by_one]
    for first, second in zip(together, one_by_one, strict=True):
        assert first.probability == pytest.approx(second.probability, abs=1e-5)


def test_values_have_the_scale_of_the_labels(trained_classifier: Make) -> None:
    _, made = trained_classifier("numbers")
    found = made.predict("The new kettle number 12 was lit in 1812.")
    assert found == Classification(repr(found.value), None, {}, found.value)
    assert -3 < found.value < 8  # labels are 0 to 4.875
    assert made.task.name == "values"
    assert {"pearson", "spearman", "mean_squared_error"} <= made.metrics["dev"].keys()


def test_long_texts_are_counted(trained_classifier: Make) -> None:
    """After the last one, in a warning."""
    _, made = trained_classifier()
    with pytest.warns(UserWarning, match="2 × long text: only its beginning is read"):
        list(made.predict_batch(["a " * 90, "a", "b " * 90]))
    with pytest.warns(UserWarning, match="1 × long text") as caught:
        made.predict("a " * 90)
    assert [warning.filename for warning in caught] == [__file__]  # not a file of Readlet


@pytest.mark.parametrize(
    ("what", "texts"),
    [("single", ("A lamp.", "A bridge.")), ("pairs", ("A lamp.",)), ("pairs", ("A lamp.", ""))],
)
def test_texts_that_cannot_be_classified(
    trained_classifier: Make, what: str, texts: tuple[str, ...]
) -> None:
    _, made = trained_classifier(what)
    with pytest.raises(ReadletError, match="text"):
        made.predict(*texts)


def test_the_temperature_maximises_the_likelihood_of_the_labels() -> None:
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 3, 400).tolist()
    scores = generator.normal(size=(400, 3)).astype(np.float32)  # (texts, C)
    scores[np.arange(400), labels] += 1.5
    scores *= 4  # too sure of itself
    fitted = fit_class_calibration(scores, labels, ClassCalibration())

    def loss(temperature: float) -> float:
        total = 0.0
        for row, label in zip(scores.tolist(), labels, strict=True):
            sums = sum(math.exp(x / temperature) for x in row)
            total -= row[label] / temperature - math.log(sums)
        return total

    assert fitted.texts == 400
    assert fitted.temperature > 2
    for other in (0.97, 1.03):
        assert loss(fitted.temperature) < loss(fitted.temperature * other)
    assert fitted.error_after < fitted.error_before
    few = fit_class_calibration(scores[: MIN_TEXTS - 1], labels[: MIN_TEXTS - 1], fitted)
    assert (few.texts, few.temperature) == (0, fitted.temperature)


def test_a_slim_classifier_has_rounded_weights(trained_classifier: Make, tmp_path: Path) -> None:
    folder, made = trained_classifier()
    small = slim(made)
    small.save(tmp_path / "slim")
    loaded = Classifier.load(tmp_path / "slim")
    assert loaded.predict("The old lamp.") == small.predict("The old lamp.")
    sizes = [(f / "model.safetensors").stat().st_size for f in (tmp_path / "slim", folder)]
    assert sizes[0] < 0.6 * sizes[1]


def test_readers_and_classifiers_are_told_apart(
    trained_classifier: Make, random_reader: Make, tmp_path: Path
) -> None:
    folder, _ = trained_classifier()
    with pytest.raises(ReadletError, match="is a classifier"):
        Reader.load(folder)
    random_reader("the lamp").save(tmp_path / "reader")
    with pytest.raises(ReadletError, match="is a reader"):
        Classifier.load(tmp_path / "reader")
    with pytest.raises(ReadletError, match="nowhere: "):
        Classifier.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("encoder.json", '"old"', '"new"'),
        ("encoder.json", '"pairs": false', '"pairs": 3'),
        ("calibration.json", '"temperature":', '"warmth":'),
        ("config.json", '"stored": "float32"', '"stored": "float8"'),
        ("metrics.json", '"dev": {', '"dev": 3, "old": {'),
    ],
)
def test_damaged_files_are_named(
    trained_classifier: Make, tmp_path: Path, file: str, before: str, after: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(trained_classifier()[0], copy)
    text = (copy / file).read_text()
    assert before in text
    (copy / file).write_text(text.replace(before, after))
    with pytest.raises(ReadletError) as caught:
        Classifier.load(copy)
    assert file in str(caught.value)
    assert "\n" not in str(caught.value)
