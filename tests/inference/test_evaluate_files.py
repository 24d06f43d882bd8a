"""From files and readers to an evaluation."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from readlet.bundled import corpus
from readlet.data import read_examples
from readlet.errors import ReadletError
from readlet.evaluation.evaluation import Evaluation
from readlet.evaluation.squad import exact_match
from readlet.inference.baseline import LexicalBaseline
from readlet.inference.evaluate_files import (
    evaluate_questions,
    evaluate_sentences,
    predict,
)
from readlet.inference.inputs import ALL_ANSWERABLE
from readlet.inference.prediction_files import (
    read_predictions,
    read_probabilities,
)
from readlet.types import Prediction

TEST = str(corpus("test"))


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """A new file with that text."""

    def write(text: str) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_the_best_answer_counts_where_the_reader_would_refuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Timid(LexicalBaseline):
        """Has the answers of the baseline, but refuses at the least doubt."""

        def answer_batch(self, *asked: Any, **given: Any) -> Iterator[Prediction]:
            for prediction in super().answer_batch(*asked, **given):
                yield prediction.at_threshold(0.0)

    monkeypatch.setattr("readlet.inference.evaluate_files.load_reader", lambda name, **_: Timid())
    plain = evaluate_questions(TEST, reader="timid")
    bold = evaluate_questions(TEST, reader="timid", options=ALL_ANSWERABLE)
    monkeypatch.undo()
    expected = evaluate_questions(TEST, reader="baseline")
    assert plain.official["HasAns_f1"] < 5
    # The best threshold is sought among all answers, also those that were refused.
    assert plain.official["best_f1"] == expected.official["best_f1"] > 25
    # Where every passage is taken to have an answer, there is no threshold to choose.
    assert "best_f1" not in bold.official
    assert bold.official["HasAns_f1"] >= expected.official["HasAns_f1"] > 0
    assert bold.official["NoAns_f1"] < expected.official["NoAns_f1"]
    with pytest.raises(ReadletError, match="name a reader"):
        evaluate_questions(TEST, predictions=Path("p.json"), options=ALL_ANSWERABLE)
    with pytest.raises(ReadletError, match="na-probs"):
        evaluate_questions(TEST, reader="baseline", na_probs=Path("p.json"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('["q1"]', "is a list"),
        ('{"q1": null}', "id 'q1'"),
        ('{"q0": "x", "q1": ["x"]}', "id 'q1'"),
        ('{"q1": "x"', "line 1, column"),
        ("[" * 100_000, "json"),
        ('{"q1": ' + "1" * 5000 + "}", "json"),
    ],
)
def test_bad_predictions(written: Callable[[str], Path], content: str, message: str) -> None:
    path = written(content)
    with pytest.raises(ReadletError, match=message) as caught:
        read_predictions(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["NaN", '"0.5"', "true", "1" + "0" * 400])
def test_bad_probabilities(written: Callable[[str], Path], value: str) -> None:
    with pytest.raises(ReadletError, match="id 'q1'"):
        read_probabilities(written(f'{{"q0": 0.5, "q1": {value}}}'))


SST2 = "sentence\tlabel\ngood\t1\nbad\t0\nfine\t1\nawful\t0\n"


def sentences(written: Callable[[str], Path], given: Any) -> Evaluation:
    return evaluate_sentences(str(written(SST2)), "sst2", written(json.dumps(given)))


def test_sentences_without_prediction_are_listed_and_wrong(written: Callable[[str], Path]) -> None:
    whole = sentences(written, {"1": 1, "2": 1, "3": 1, "4": 0})
    assert (whole.official["accuracy"], whole.official["total"], whole.missing) == (75.0, 4, [])
    # Wrong for either label: rows 2 (label 0) and 3 (label 1) are missing.
    found = sentences(written, {"1": 1, "4": 0, "unknown": 1})
    assert found.official["accuracy"] == 50.0
    assert found.missing == ["2", "3"]


@pytest.mark.parametrize(
    ("row", "fault"),
    [("so so\t2", "row '2': label '2'"), ("so\t", "row '2': ")],
)
def test_a_row_that_is_not_of_the_task(
    written: Callable[[str], Path], row: str, fault: str
) -> None:
    data = written(f"sentence\tlabel\nfine\t1\n{row}")
    with pytest.raises(ReadletError, match=f"{data}: {fault}"):
        evaluate_sentences(str(data), "sst2", written('{"1": 1}'))


def test_the_calibration_error_of_a_reader_is_reported() -> None:
    result = evaluate_questions(TEST, reader="baseline")
    predictions = predict(LexicalBaseline(), examples := list(read_examples(TEST)))
    gaps = []
    for low in range(10):
        rows = [e for e in examples if min(int(predictions[e.id].confidence * 10), 9) == low]
        right = [
            max(
                (exact_match(predictions[e.id].text, a.text) for a in e.answers),
                default=float(not predictions[e.id].text),
            )
            for e in rows
        ]
        gaps.append(
            abs(sum(predictions[e.id].confidence for e in rows) - sum(right)) / len(examples)
        )
    assert result.calibration_error == pytest.approx(sum(gaps))
    shown = result.as_json()
    assert shown["calibration_error"] == result.calibration_error
    assert sum(bin["predictions"] for bin in shown["reliability"]) == len(examples)
