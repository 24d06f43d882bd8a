"""Datasets by name, read from a local folder: nothing here needs the network."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from readlet.data import read, write_examples
from readlet.data.columns import DataFormat
from readlet.data.datasets import task_of
from readlet.errors import ReadletError
from readlet.types import Example


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def folder(tmp_path: Path, sound: list[Example]) -> Path:
    pytest.importorskip("datasets")
    write_examples(tmp_path / "train.jsonl", sound[:1])
    return tmp_path


def test_split_of_a_folder(folder: Path, sound: list[Example]) -> None:
    other = replace(sound[0], id="lamp-9", title="Another")
    write_examples(folder / "test.jsonl", [other])
    assert list(read(f"hub:{folder}@train")) == sound[:1]
    assert list(read(f"hub:{folder}")) == sound[:1]
    assert list(read(f"hub:{folder}@test")) == [other]
    assert task_of(f"hub:{folder}@test") is None


def test_parquet_folder_with_other_names(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({"question": ["Q"], "passage": ["C"], "id": [5]})
    parquet.write_table(table, tmp_path / "validation.parquet")
    source = f"hub:{tmp_path}@validation"
    assert list(read(source, DataFormat({"context": "passage"}))) == [
        Example("5", "Q", "C", is_labelled=False)  # no column for answers
    ]
    with pytest.raises(ReadletError, match="no column 'text'"):
        list(read(source, DataFormat({"context": "text"})))


@pytest.mark.parametrize(
    ("name", "fault"), [("@summer", "summer"), ("-elsewhere@train", "elsewhere")]
)
def test_unknown_split_or_name(folder: Path, name: str, fault: str) -> None:
    with pytest.raises(ReadletError, match=rf"{fault}.*; check NAME and SPLIT") as caught:
        list(read(f"hub:{folder}{name}"))
    assert "\n" not in str(caught.value)


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)  # makes the import fail
    with pytest.raises(ReadletError, match=r"hub:x@y: needs `datasets`; .*pip install .*\[hub\]"):
        list(read("hub:x@y"))
