"""Reading continues after a malformed row: all of them are reported, all others are read."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read, read_examples
from readlet.data.check import check
from readlet.data.faults import Fault
from readlet.data.repair import repair_file
from readlet.errors import InputError, ReadletError
from readlet.types import Example

GOOD = '{"id": "%s", "question": "Who?", "context": "Ada came.", "answers": ["Ada"]}'


def read_both(path: Path) -> tuple[list[str], list[str]]:
    """The ids that were read, and the places of the faults."""
    faults: list[InputError] = []
    ids = [item.id for item in read(path, on_fault=faults.append)]
    return ids, [error.place for error in faults]


def test_jsonl(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [
        GOOD % 1,
        "not JSON",
        "",
        '{"id": "4", "question": "Who?"}',
        '{"id": "5", "question": 5, "context": "c"}',
        "[1]",
        GOOD % 7,
        '{"question": "Q", "context": "c", "answers": [{"text": "c", "answer_start": "x"}]}',
        GOOD % 9,
    ]
    path.write_text("\n".join(lines))
    places = ["line 2, column 1", "line 4", "line 5", "line 6", "line 8, answer 1"]
    assert read_both(path) == (["1", "7", "9"], places)


CSV = "id,question,context,answer\n"


@pytest.mark.parametrize(
    ("rows", "ids", "places"),
    [
        ("1,a,b\n2,a,b,b\n3,a,b,b,b\n4,a,b,b\n", ["2", "4"], ["line 2", "line 4"]),
        # An unclosed quote reaches to the next quote, or to the end of the file.
        ('1,"a,b,b\n2,a,b,b\n3,"a",b,b\n4,a,b,b\n', ["4"], ["line 2 and the next 2"]),
        ('1,"a,b,b\n2,a,b,b\n3,a,b,b\n', [], ["line 2 and the next 2"]),
        ('1,"a"x,b,b\n2,"a\nb",b,b\n3,"a,b\n', ["2"], ["line 2", "line 5"]),
        ("\n\n1,a,b,b\n\n2\n", ["1"], ["line 6"]),
    ],
)
def test_csv(tmp_path: Path, rows: str, ids: list[str], places: list[str]) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(CSV + rows)
    assert read_both(path) == (ids, places)
    path.write_text((CSV + rows).replace("\n", "\r\n"))
    assert read_both(path) == (ids, places)
    with pytest.raises(ReadletError, match=rf"rows.csv: {places[0]}: .*lists all malformed rows"):
        list(read_examples(path))


def test_squad(tmp_path: Path) -> None:
    good = {"id": "q1", "question": "Who?", "answers": [{"text": "Ada", "answer_start": 0}]}
    paragraph: dict[str, Any] = {"context": "Ada came.", "qas": [good, {"id": "q2"}, 3, {}]}
    data = [
        7,
        {"title": "no paragraphs"},
        {"paragraphs": [paragraph, {"qas": []}, {"context": "c"}, "x"]},
        {"paragraphs": [{"context": "Ada came.", "qas": [good | {"id": "q3"}]}]},
    ]
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"data": data}))
    assert read_both(path) == (
        ["q1", "q3"],
        [
            "record 1 (line 1)",
            "record 2",
            "question 'q2'",
            "article 3, paragraph 1",
            "article 3, paragraph 1",
            "article 3, paragraph 2",
            "article 3, paragraph 3",
            "article 3, paragraph 4",
        ],
    )


def test_records(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(f'[\n{GOOD % 1},\n{{"question": "Q"}},\n{GOOD % 3}]')
    assert read_both(path) == (["1", "3"], ["record 2 (line 3)"])


def test_parquet_rows_with_nulls(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {
        "question": ["Who?", None, "Who?", "Who?"],
        "context": ["Ada came.", "c", None, "Ada came."],
        "answers": [[{"text": "Ada", "answer_start": 0}], None, None, None],
    }
    path = tmp_path / "rows.parquet"
    parquet.write_table(arrow.table(columns), path)
    assert read_both(path) == (["1", "4"], ["row 2", "row 3"])


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("cut.gz", gzip.compress((GOOD % 1 + "\n").encode() * 30_000)[:-40], "the gzip data"),
        ("cut.json", f"[{GOOD % 1}, {GOOD % 2}".encode(), "expected ','"),
    ],
)
def test_what_ends_early_is_one_finding(
    tmp_path: Path, name: str, content: bytes, fault: str
) -> None:
    path, out = tmp_path / name, tmp_path / "out.jsonl"
    path.write_bytes(content)
    (file,) = check([str(path)]).files
    assert file.questions > 1
    assert file.counts()[Fault.UNREADABLE] == 1
    (finding,) = (f for f in file.findings if f.fault is Fault.UNREADABLE)
    assert finding.detail.startswith(fault)
    changes = repair_file(str(path), out)
    (reason,) = (reason for reason in changes.dropped if reason.startswith("rest of the file"))
    assert fault in reason


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.json", "out.parquet"])
def test_unlabelled_questions_are_kept(
    readlet: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    path, out = tmp_path / "rows.csv", tmp_path / name
    path.write_text("question,context\nWho?,Ada came.\nWhen?,Ada came.\n")
    (file,) = readlet("data", "check", path, "--json").json()["files"]
    assert (file["unlabelled"], file["unanswerable"]) == (2, 0)
    assert file["problems"] == {"unlabelled question": 2}
    assert readlet("data", "check", path, "--fix", out).code == 0
    kept = [item for item in read(out) if isinstance(item, Example)]
    assert [(e.question, e.is_labelled, e.is_impossible) for e in kept] == [
        ("Who?", False, False),
        ("When?", False, False),
    ]
