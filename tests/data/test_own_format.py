"""Rows keep the format of their file: its columns, its separator, its other fields."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read, read_examples, write_examples
from readlet.data.check import check
from readlet.data.split import cut
from readlet.errors import ReadletError
from readlet.types import Example, Span

Run = Callable[..., Any]


def question(number: int, context: str, title: str = "") -> Example:
    return Example(f"q{number}", f"Question {number}?", context, (Span(0, "The"),), title=title)


def test_an_article_stays_in_one_part(tmp_path: Path) -> None:
    """Unless it has more rows than a part: then it is cut between contexts."""
    sizes = {"A": 3, "B": 4, "C": 2, "D": 12, "E": 1}
    rows = [
        question(100 * n + at, f"The {title} {at // 2}.", title)
        for n, (title, size) in enumerate(sizes.items())
        for at in range(size)
    ]
    write_examples(tmp_path / "all.json", rows)
    paths = cut(str(tmp_path / "all.json"), tmp_path / "parts", 7)
    assert [path.name for path in paths] == [f"all-{n:05}.json" for n in range(1, 5)]
    parts = [[item for item in read(path) if isinstance(item, Example)] for path in paths]
    assert [item for part in parts for item in part] == rows
    assert [len(part) for part in parts] == [7, 2, 6, 7]
    contexts = [{(item.title, item.context) for item in part} for part in parts]
    assert sum(map(len, contexts)) == len(set.union(*contexts))
    for title in "ABCE":
        assert sum(any(item.title == title for item in part) for part in parts) == 1


def test_a_context_without_a_title_stays_whole(tmp_path: Path) -> None:
    rows = [question(n, f"The {n // 3}.") for n in range(9)]
    write_examples(tmp_path / "all.jsonl", rows)
    paths = cut(str(tmp_path / "all.jsonl"), tmp_path / "parts", 4)
    assert [len(list(read(path))) for path in paths] == [3, 3, 3]
    assert [len(list(read(path))) for path in cut(str(paths[0]), tmp_path / "p", 1)] == [3]


ROWS = {
    "a.csv": 'ticket;question;context;answer;;\n7;Who?;Ada came.;Ada;x;\n8;When?;"In; May.";;;y\n',
    "a.tsv": 'no\ttext\tlabel\n1\t"fine\tgood\n2\tdull "\tbad\n',
    "a.jsonl": '{"q": 1, "text": "fine", "label": 1}\n{"text": "dull", "label": 0, "meta": [2]}\n',
    "a.json": '[\n{"question": "Who?", "context": "Ada came.", "answer": "Ada", "by": "B"}\n]\n',
}


@pytest.mark.parametrize("name", ROWS)
def test_parts_put_together_are_the_file(tmp_path: Path, name: str) -> None:
    source = tmp_path / name
    source.write_text(ROWS[name])
    rows = list(read(source))
    paths = cut(str(source), tmp_path / "parts", 1)
    assert len(paths) == len(rows)
    head = ROWS[name].splitlines()[0] + "\n" if name[-3:] in ("csv", "tsv") else ""
    whole = head + "".join(path.read_text().removeprefix(head) for path in paths)
    assert whole == ROWS[name]


def test_cut_command(readlet: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)
    table = {
        "question": ["a"] * 5,
        "context": [*"vwxyz"],
        "n": [1, None, 3, 4, 5],
    }
    parquet.write_table(pyarrow.table(table), "data.parquet")
    shown = readlet("data", "cut", "data.parquet", "--rows", 2, "--json").json()
    assert shown["parts"] == [f"data-parts/data-0000{n}.parquet" for n in (1, 2, 3)]
    parts = [parquet.read_table(path) for path in shown["parts"]]
    assert pyarrow.concat_tables(parts).to_pydict() == table
    assert readlet("data", "cut", "data.parquet", "--rows", 2).code == 2  # it has files
    Path("none.jsonl").write_text(json.dumps({"data": []}))
    with pytest.raises(ReadletError, match=r"none\.jsonl"):
        cut("none.jsonl", Path("other"), 2)


def fixed(source: Path, out: Path, run: Run) -> str:
    assert run("data", "check", source, "--fix", out).code == 0
    assert all(isinstance(item, Example) for item in read_examples(out))
    assert check([str(out)]).counts()[0] == 0
    return out.read_text()


def test_a_repaired_table_keeps_columns_and_separator(readlet: Run, tmp_path: Path) -> None:
    source = tmp_path / "faq.csv"
    source.write_text(
        "ticket;question;context;answer;;\n"
        '7;Who?;"Ada ""A"" came.";Ada ;x;\n'
        "8;What?;Some ‘tea’, or so.;tea;;\n"
        "9;Where?;A den, a den.;den;;"
    )
    shown = fixed(source, tmp_path / "out.csv", readlet)
    assert shown.splitlines() == [
        "ticket;question;context;answer;;;answer_start",
        '7;Who?;"Ada ""A"" came.";Ada;x;;',
        "8;What?;Some ‘tea’, or so.;tea;;;",
        "9;Where?;A den, a den.;den;;;2",
    ]
    assert fixed(source, tmp_path / "out.tsv", readlet).startswith("ticket\tquestion\t")
    assert '"id"' in fixed(source, tmp_path / "out.jsonl", readlet)  # a format of other columns


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.parquet"])
def test_repaired_records_keep_other_fields(readlet: Run, tmp_path: Path, name: str) -> None:
    answers = {"text": ["ada"], "answer_start": [3]}
    row = {"n": 3, "asked": "Who?", "context": "Ada came.", "answers": answers, "by": {"who": "B"}}
    source, out = tmp_path / name, tmp_path / f"out-{name}"
    if name == "a.parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist([row]), source)
    else:
        source.write_text(json.dumps([row] if name == "a.json" else row))
    assert readlet("data", "check", source, "--fix", out, "--column", "question=asked").code == 0
    if name == "a.parquet":
        (found,) = parquet.read_table(out).to_pylist()
    else:
        found = json.loads(out.read_text())
        found = found[0] if name == "a.json" else found
    assert found == row | {"answers": {"text": ["Ada"], "answer_start": [0]}}


def test_the_last_line_agrees_with_the_findings(readlet: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    ends = []
    for answer, question in (("Ada", "Who?"), ("Ada", "Who &amp; why?"), ("Bob", "Who &amp; why?")):
        path.write_text(f"question,context,answer\n{question},Ada came.,{answer}\n")
        ends.append(readlet("data", "check", path).out.strip().splitlines()[-1])
    assert ["1 note" in end for end in ends] == [False, True, True]
    assert ["1 error" in end for end in ends] == [False, False, True]
