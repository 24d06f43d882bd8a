import csv
import gzip
import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read, read_examples
from readlet.data.columns import PLAIN, DataFormat, parse_columns
from readlet.errors import ReadletError
from readlet.types import NO_OFFSET, Example, Span

CONTEXT = 'The "Heron", a ferry, crosses\nthe bay daily.'
FERRY = Example(
    "f1",
    "What crosses the bay?",
    CONTEXT,
    (Span(4, '"Heron"'), Span(4, '"Heron", a ferry')),
    title="Ferries",
    language="en",
)
NOBODY = Example("f2", "Who steers it?", CONTEXT, is_impossible=True, title="Ferries")


def questions(path: Path, data_format: DataFormat = PLAIN) -> list[Example]:
    items = list(read(path, data_format))
    assert all(isinstance(item, Example) for item in items)
    return items  # type: ignore[return-value]


@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_csv_with_quotes_and_line_ends_in_cells(
    tmp_path: Path, delimiter: str, line_end: str
) -> None:
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator=line_end)
        writer.writerow(["id", "question", "context", "answers", "is_impossible", "title"])
        answers = json.dumps([{"text": a.text, "answer_start": a.start} for a in FERRY.answers])
        writer.writerow(["f1", FERRY.question, CONTEXT, answers, "False", "Ferries"])
        writer.writerow(["f2", NOBODY.question, CONTEXT, "", "true", "Ferries"])
    ferry, nobody = questions(path)
    assert ferry == Example("f1", FERRY.question, CONTEXT, FERRY.answers, title="Ferries")
    assert nobody == NOBODY


def test_answer_without_start_needs_a_single_occurrence(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"question": "Q", "context": "red, blue, red", "answer": answer}
        for answer in ("blue", "red", "green")
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    starts = [example.answers[0].start for example in questions(path)]
    assert starts == [5, -1, -1]  # `data check` finds -1, and can repair it


def test_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    spans = [{"text": a.text, "answer_start": a.start} for a in FERRY.answers]
    table = arrow.table(
        {
            "id": ["f1", "f2"],
            "question": [FERRY.question, NOBODY.question],
            "passage": [CONTEXT, CONTEXT],
            "answers": [spans, []],
            "title": ["Ferries", "Ferries"],
            "language": ["en", None],
        }
    )
    path = tmp_path / "looks-like.json"
    parquet.write_table(table, path)
    assert list(read(path, DataFormat({"context": "passage"}))) == [FERRY, NOBODY]
    with pytest.warns(UserWarning, match="column 'passage' is read as 'context'"):
        assert questions(path) == [FERRY, NOBODY]
    with pytest.raises(ReadletError, match=r"no column 'text' .*--column context=NAME"):
        list(questions(path, DataFormat({"context": "text"})))
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    with pytest.raises(ReadletError, match=r"looks-like\.json"):
        list(read(path))
    path.write_bytes(gzip.compress(content))
    assert list(read(path, DataFormat({"context": "passage"}))) == [FERRY, NOBODY]


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    """The same rows, all of text, in the format that the name says."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".csv":
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        arrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(arrow.Table.from_pylist(rows), path)


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.parquet"])
def test_an_empty_answer_is_none_in_every_format(tmp_path: Path, name: str) -> None:
    asked = {"question": "Who?", "context": "Ada wrote it."}
    for field in ("answer", "answers"):
        write_rows(tmp_path / name, [asked | {field: ""}])
        (example,) = read_examples(tmp_path / name)
        assert (example.answers, example.is_impossible) == ((), True)
    empty = dict.fromkeys(("answers", "answer", "answer_start", "is_impossible"), "")
    write_rows(tmp_path / name, [asked | empty | {"answer": "Ada"}, asked | empty])
    found = [(example.answers, example.is_impossible) for example in read_examples(tmp_path / name)]
    assert found == [((Span(0, "Ada"),), False), ((), True)]
    write_rows(tmp_path / name, [asked | {"answer": "", "answer_start": "0"}])
    (example,) = read_examples(tmp_path / name)  # the start of an empty answer is ignored
    assert (example.answers, example.is_impossible) == ((), True)


@pytest.mark.parametrize("pair", ["context", "context=", "=passage", "colour=red"])
def test_bad_column_pair(pair: str) -> None:
    with pytest.raises(ReadletError, match=f"--column {pair}: "):
        parse_columns([pair])


def test_unlabelled_rows_are_not_impossible(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("question,context,ans\nWho?,Ada wrote it.,Ada\n")
    (example,) = read(path)
    assert isinstance(example, Example)
    assert (example.is_impossible, example.is_labelled) == (False, False)
    with pytest.raises(ReadletError, match="unlabelled"):
        list(read_examples(path))


def test_the_order_of_lines_does_not_matter(tmp_path: Path) -> None:
    """Empty answers mark an impossible question; a line without the field is unlabelled."""
    rows: list[dict[str, Any]] = [
        {"id": "none", "question": "Who?", "context": "Ada wrote it."},
        {"id": "empty", "question": "Who?", "context": "Ada wrote it.", "answers": []},
        {"id": "null", "question": "Who?", "context": "Ada wrote it.", "answers": None},
        {"id": "ada", "question": "Who?", "context": "Ada wrote it.", "answer": "Ada"},
    ]
    path = tmp_path / "rows.jsonl"
    for order in permutations(rows):
        path.write_text("".join(json.dumps(row) + "\n" for row in order))
        impossible = {item.id: item.is_impossible for item in questions(path)}
        assert impossible == {"none": False, "empty": True, "null": True, "ada": False}


def test_squad_is_detected_by_a_late_key(tmp_path: Path) -> None:
    path = tmp_path / "late.json"
    path.write_text('{"meta": {"note": "%s"}, "data": []}' % ("x" * 100_000))
    assert list(read(path)) == []


@pytest.mark.parametrize(
    ("context", "cell", "answers"),
    [
        ("Anna went home.", "Anna", (Span(0, "Anna"),)),
        ("It was in 1881.", "1881", (Span(10, "1881"),)),
        ("That is true.", "true", (Span(8, "true"),)),
        ("Anna [1] went.", "[1] went", (Span(5, "[1] went"),)),
        ("Anna went home.", '""Anna""', (Span(0, "Anna"),)),
        ("Anna saw Anna.", "Anna", (Span(NO_OFFSET, "Anna"),)),
        ("Anna went home.", "anna", (Span(NO_OFFSET, "anna"),)),  # `data check --fix` repairs it
        ("Anna went home.", "", ()),
    ],
)
def test_answers_may_be_plain_text(
    tmp_path: Path, context: str, cell: str, answers: tuple[Span, ...]
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f'question,context,answers\nWho?,{context},"{cell}"\n')
    (example,) = questions(path)
    assert example.answers == answers
    assert example.is_impossible == (not answers)
