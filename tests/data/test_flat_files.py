"""Formats that people have: arrays of records, run_qa's JSON, spreadsheets, other encodings."""

import codecs
import json
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read, read_examples
from readlet.data.columns import DataFormat
from readlet.errors import InputError, ReadletError
from readlet.types import NO_OFFSET, Example, Span

RECORDS: list[dict[str, Any]] = [
    {
        "id": "a",
        "context": "Ada came.",
        "question": "Who?",
        "answers": {"text": ["Ada"], "answer_start": [0]},
    },
    {
        "id": "b",
        "context": "Ada came.",
        "question": "When?",
        "answers": {"text": [], "answer_start": []},
    },
]
EXAMPLES = [
    Example("a", "Who?", "Ada came.", (Span(0, "Ada"),)),
    Example("b", "When?", "Ada came.", is_impossible=True),
]


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize(
    "document",
    [RECORDS, {"data": RECORDS}, {"version": "2", "data": RECORDS, "note": [1]}],
    ids=["array", "run_qa", "run_qa with more keys"],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_records_in_one_json_file(tmp_path: Path, document: Any, indent: int | None) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(document, indent=indent))
    assert list(read(path)) == EXAMPLES


def test_an_array_is_streamed(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    record = json.dumps(RECORDS[0] | {"note": "x" * 20_000})
    with path.open("w") as stream:
        stream.write("[" + ",\n".join([record] * 1000) + "]")  # 20 MB
    tracemalloc.start()
    assert sum(1 for _ in read(path)) == 1000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 << 20


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    "header",
    [
        ["id", "question", "context", "answer"],
        ["id", "question", "context", "answer", '"a, note; with all | of\tthem"'],
    ],
)
def test_delimiters(tmp_path: Path, delimiter: str, header: list[str]) -> None:
    path = tmp_path / "rows.csv"
    cells = ["1", "Who, what; when?", "Ada, Bob; and | Cy.", "Ada, Bob; and", ""][: len(header)]
    lines = [delimiter.join(header), delimiter.join(f'"{cell}"' for cell in cells)]
    path.write_bytes(codecs.BOM_UTF8 + "\r\n".join(lines).encode())
    (example,) = read(path)
    assert isinstance(example, Example)
    assert example.question == "Who, what; when?"
    assert example.answers == (Span(0, "Ada, Bob; and"),)


TEXT = "id,question,context,answer\n1,Où?,Le café – « L’Été ».,L’Été\n"


@pytest.mark.parametrize("gz", [False, True])
@pytest.mark.parametrize(
    ("written", "given"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-16", ""),  # with a byte order mark
        ("utf-16-be", "UTF_16BE"),
        ("cp1252", "cp1252"),
        ("utf-16", "cp1252"),  # the mark decides
    ],
)
def test_encodings(tmp_path: Path, written: str, given: str, gz: bool) -> None:
    import gzip

    path = tmp_path / "rows.csv"
    content = TEXT.encode(written)
    path.write_bytes(gzip.compress(content) if gz else content)
    (example,) = read_examples(path, DataFormat(encoding=given))
    assert (example.question, example.answers[0].text) == ("Où?", "L’Été")


@pytest.mark.parametrize(
    ("written", "given", "error"),
    [
        ("cp1252", "", "byte 30: .*--encoding cp1252 "),
        ("utf-16-be", "", "byte 0: .*--encoding utf-16-be"),
        ("utf-8", "utf-32", "byte 0: "),
        ("utf-8", "hex", "encoding 'hex': "),
    ],
)
def test_wrong_encodings(tmp_path: Path, written: str, given: str, error: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(TEXT.encode(written))
    with pytest.raises(ReadletError, match=error) as caught:
        list(read(path, DataFormat(encoding=given)))
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("header", "guessed"),
    [
        ("Question,Context,Answer,Answer Start", {"question", "context", "answer", "answer_start"}),
        ("query,passage,answer_text,start", {"question", "context", "answer", "answer_start"}),
        ("question,paragraph,answer,answer_start", {"context"}),
        ("question,text,answer,answer_start", {"context"}),
        ("question,context,text,answer_start", {"answer"}),  # flat SQuAD
    ],
)
def test_common_names_are_guessed_and_reported(
    tmp_path: Path, header: str, guessed: set[str]
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{header}\nWho?,Ada and Ada.,Ada,8\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (example,) = read_examples(path)
    assert example.answers == (Span(8, "Ada"),)
    assert {str(warning.message).rpartition(" ")[2].strip("'") for warning in caught} == guessed


@pytest.mark.parametrize("header", ["question,passage,text", "question,note,story"])
def test_ambiguous_names_are_not_guessed(tmp_path: Path, header: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{header}\nWho?,Ada,Ada\n")
    with pytest.raises(ReadletError, match=r"no column 'context' .*--column context=NAME"):
        list(read(path))


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        (["Ada"], (Span(0, "Ada"),)),
        (["Ada", "a"], (Span(0, "Ada"), Span(NO_OFFSET, "a"))),
        ([{"text": "Ada"}], (Span(0, "Ada"),)),
        ([{"text": "Ada", "answer_start": None}], (Span(0, "Ada"),)),
        ([{"text": "Ada", "answer_start": -1}], (Span(0, "Ada"),)),
        ({"text": ["Ada"]}, (Span(0, "Ada"),)),
        ({"text": ["Ada"], "answer_start": [float("nan")]}, (Span(0, "Ada"),)),
        (float("nan"), ()),
    ],
)
def test_answers_without_offsets(tmp_path: Path, answers: Any, found: tuple[Span, ...]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"question": "Who?", "context": "Ada came.", "answers": answers}))
    (example,) = read(path)
    assert isinstance(example, Example)
    assert example.answers == found


def test_squad_without_answers_is_unlabelled(tmp_path: Path) -> None:
    qas = [{"id": "1", "question": "Who?"}, {"id": "2", "question": "Who?", "answers": []}]
    path = tmp_path / "test.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": "c", "qas": qas}]}]}))
    found = [(e.is_labelled, e.is_impossible) for e in read(path) if isinstance(e, Example)]
    assert found == [(False, False), (True, True)]


def test_empty_rows_of_a_spreadsheet_are_no_questions(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "question,context,answer\nWho?,Ada came.,Ada\n,,\n , ,\n,\nWho?,Bo came.,Bo\n,,\n"
    )
    first, second = read_examples(path)
    assert (first.id, first.answers) == ("1", (Span(0, "Ada"),))
    assert (second.id, second.answers) == ("2", (Span(0, "Bo"),))


@pytest.mark.parametrize("field", ["question", "context"])
def test_a_question_has_text(tmp_path: Path, field: str) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"id": "a", "question": "Who?", "context": "Ada came.", "answers": []} | {field: " "}
    path.write_text(json.dumps(row))
    assert len(list(read(path))) == 1
    with pytest.raises(InputError) as caught:
        list(read_examples(path))
    assert caught.value.place == "question 'a'"
    assert field in caught.value.fault


GERMAN = {
    "rows.csv": "frage,context,antwort\nWho?,Ada came.,Ada\n",
    "rows.json": '[{"frage": "Who?", "context": "Ada came.", "antwort": "Ada"}]',
    "rows.jsonl": '{"frage": "Who?", "context": "Ada came.", "antwort": "Ada"}',
}


@pytest.mark.parametrize("name", GERMAN)
def test_answers_in_a_column_of_another_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(GERMAN[name])
    columns = {"question": "frage"}
    with pytest.raises(InputError) as caught:
        list(read_examples(path, DataFormat(columns)))
    assert "--column answer=NAME" in caught.value.remedy
    (example,) = read_examples(path, DataFormat(columns | {"answer": "antwort"}))
    assert example.answers == (Span(0, "Ada"),)
