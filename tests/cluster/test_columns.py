"""Models as functions from columns to columns."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readlet.cluster.columns import AnswerColumns, ClassifyColumns
from readlet.errors import ReadletError
from readlet.inference.reader import Reader

KILN = "The old kiln stands in Hollow Lane. Ada Brook built it in 1881."
BATCH = {"question": ["Who built the kiln?", "When was it built?"], "context": [KILN, KILN]}
NEW = ["answer", "answer_start", "answer_end", "answer_score", "no_answer", "abstained"]


def test_answers_are_columns_beside_those_of_the_batch() -> None:
    found = AnswerColumns("bundled")(BATCH)
    assert list(found) == ["question", "context", *NEW]
    expected = [*Reader.load().answer_batch(zip(BATCH["question"], BATCH["context"], strict=True))]
    assert found["answer"] == [one.text for one in expected]
    assert found["answer_score"] == [one.score for one in expected]
    spans = zip(found["answer_start"], found["answer_end"], strict=True)
    assert [KILN[start:end] for start, end in spans] == found["answer"]


def test_other_names_and_arrays() -> None:
    batch = {"q": np.array(BATCH["question"], object), "answer": np.array(["", ""], object)}
    batch["passage"] = np.array(BATCH["context"], object)
    answer = AnswerColumns("baseline", question="q", context="passage", prefix="new_")
    found = answer(batch)
    assert {type(values) for values in found.values()} == {np.ndarray}
    assert found["new_answer_start"].dtype == np.int64
    with pytest.raises(ReadletError, match="prefix"):
        AnswerColumns("baseline", question="q", context="passage")(batch)


def test_frames_stay_frames() -> None:
    pandas = pytest.importorskip("pandas")
    found = AnswerColumns("baseline")(pandas.DataFrame(BATCH))
    assert list(found.columns) == ["question", "context", *NEW]


@pytest.mark.parametrize("batch", [{"question": ["Who?"]}, {"question": ["W?"], "context": [None]}])
def test_a_batch_without_texts_is_an_error(batch: dict[str, list[str]]) -> None:
    with pytest.raises(ReadletError, match="context"):
        AnswerColumns("baseline")(batch)


@pytest.mark.parametrize("kind", ["arrays", "frame"])
def test_columns_of_an_empty_batch_have_their_types(kind: str, random_classifier: Path) -> None:
    def types(batch: dict[str, list[str]], columns: AnswerColumns | ClassifyColumns) -> list[str]:
        given: Any = {name: np.array(texts, object) for name, texts in batch.items()}
        if kind == "frame":
            given = pytest.importorskip("pandas").DataFrame(given)
        found = columns(given)
        return [found[name].dtype.name for name in found if name not in batch]

    labels = ClassifyColumns(str(random_classifier))
    assert types({"question": [], "context": []}, AnswerColumns("baseline")) == types(
        BATCH, AnswerColumns("baseline")
    )
    assert types({"text": []}, labels) == types({"text": ["A good day"]}, labels)


def test_an_arrow_table_is_an_error_of_one_line() -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra `parquet`")
    with pytest.raises(ReadletError, match="Table"):
        AnswerColumns("baseline")(pyarrow.table(BATCH))


def test_a_pickled_function_has_no_model_and_loads_it_where_it_is_used() -> None:
    stored = pickle.dumps(AnswerColumns("bundled"))
    assert len(stored) < 1000
    code = f"import pickle; print(pickle.loads({stored!r})({BATCH!r})['answer'][1])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1881\n"


def test_labels_are_columns(random_classifier: Path) -> None:
    label = pickle.loads(pickle.dumps(ClassifyColumns(str(random_classifier))))
    found = label({"text": ["A good day", "A bad day"]})
    assert list(found) == ["text", "label", "probability"]
    assert all(0 < share <= 1 for share in found["probability"])


def test_datasets_map_takes_it() -> None:
    datasets = pytest.importorskip("datasets", reason="needs the extra `hub`")
    data = datasets.Dataset.from_dict(BATCH)
    found = data.map(AnswerColumns("bundled"), batched=True, batch_size=1)
    assert found["answer"][:] == ["Ada Brook", "1881"]
    assert found.column_names == ["question", "context", *NEW]
