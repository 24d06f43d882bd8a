"""Sources by name, files of GLUE, and unique ids."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.data import read, read_sentences, write_examples
from readlet.data.columns import DataFormat
from readlet.data.datasets import StreamedIds, task_of, with_own_ids
from readlet.errors import ReadletError
from readlet.types import Example, Sentence


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
    with pytest.raises(ReadletError, match=r"hub:x@y: needs datasets, .*pip install .*\[hub\]"):
        list(read("hub:x@y"))


COLA = 'bk01\t1\t\tThe "door opened.\nbk01\t0\t*\tDoor the "opened, quickly.\n'
SST2 = 'sentence\tlabel\na "dull, slow walk\t0\r\nbright and quick "\t1\n'
MRPC = (
    "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    '1\t10\t11\tShe said "no.\tHer word was "no".\n'
    "0\t12\t13\tRain fell.\tSnow melted."  # no newline at the end
)


@pytest.mark.parametrize(
    ("text", "task", "rows"),
    [
        (
            COLA,
            "cola",
            [
                Sentence("1", 'The "door opened.', "1"),
                Sentence("2", 'Door the "opened, quickly.', "0"),
            ],
        ),
        (
            SST2,
            "sst2",
            [Sentence("1", 'a "dull, slow walk', "0"), Sentence("2", 'bright and quick "', "1")],
        ),
        (
            MRPC,
            "mrpc",
            [
                Sentence("1", 'She said "no.', "1", 'Her word was "no".'),
                Sentence("2", "Rain fell.", "0", "Snow melted."),
            ],
        ),
    ],
)
def test_a_quote_is_an_ordinary_character(
    tmp_path: Path, text: str, task: str, rows: list[Sentence]
) -> None:
    path = tmp_path / "file.csv"  # the suffix is wrong
    path.write_bytes(text.encode())
    assert task_of(path) == task
    assert list(read(path)) == list(read_sentences(path)) == rows


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (COLA + "bk01\t1\tno star\n", "line 3: 3 cells under 4 column names"),
        (SST2 + "fine\n", "line 4: 1 cells under 2 column names"),
        (SST2 + "fine\tday\t1\n", "line 4: 3 cells under 2 column names"),
        (MRPC + "\textra", "line 3: 6 cells under 5 column names"),
    ],
)
def test_bad_line(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "dev.tsv"
    path.write_text(text)
    with pytest.raises(ReadletError, match=rf"dev\.tsv: {fault}; \w"):
        list(read_sentences(path))


def test_other_labels_are_another_task(tmp_path: Path) -> None:
    """A file of one's own may have the names of SST-2."""
    path = tmp_path / "dev.tsv"
    path.write_text(SST2 + "so so\t2\n")
    assert task_of(path) is None
    assert [row.label for row in read_sentences(path)] == ["0", "1", "2"]
    path.write_text(SST2 + "\n\n")  # blank lines are no rows
    assert task_of(path) == "sst2"
    assert [row.label for row in read_sentences(path)] == ["0", "1"]


IDS = st.lists(st.sampled_from(["a", "a-2", "a-2-2", "a-3", "b", "", "-2", "\ud83d"]) | st.text())


def own_ids(ids: list[str]) -> tuple[int, list[str]]:
    streamed = StreamedIds()
    for identity in ids:
        streamed.add(identity)
    repeated = streamed.count_repeated()
    return repeated, [streamed.own_id(identity) for identity in ids]


@given(IDS)
def test_they_equal_those_of_a_list(ids: list[str]) -> None:
    expected = [e.id for e in with_own_ids([Example(identity, "", "") for identity in ids])]
    assert own_ids(ids) == (len(ids) - len(set(ids)), expected)
    assert len(set(expected)) == len(ids)
