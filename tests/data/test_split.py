"""`data convert` and `data split`: nothing is lost, and no context is in two parts."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.data import read, write_examples
from readlet.data.split import parse_parts, split
from readlet.errors import ReadletError
from readlet.types import Example, Span

Run = Callable[..., Any]
HALVES = {"train": 0.5, "dev": 0.5}


def question(number: int, context: str, title: str = "") -> Example:
    return Example(
        str(number), f"Question {number}?", context, (Span(0, context[:1]),), title=title
    )


def _joined(rows: list[Example]) -> int:
    """The number of groups that share no context and no title, by brute force."""
    groups: list[set[str]] = []
    for row in rows:
        keys = {"".join(row.context.split()).lower(), *filter(None, [row.title])}
        touched = [group for group in groups if group & keys]
        groups = [group for group in groups if not group & keys]
        groups.append(keys.union(*touched))
    return len(groups)


@given(
    keys=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6)), min_size=1, max_size=40),
    seed=st.integers(0, 3),
)
def test_parts_share_no_context_and_no_title(
    tmp_path_factory: pytest.TempPathFactory, keys: list[tuple[int, int]], seed: int
) -> None:
    folder = tmp_path_factory.mktemp("split")
    source = folder / "all.jsonl"
    spellings = ("Passage {}.", "passage  {}.", "PASSAGE\n{}.")
    rows = [
        question(n, spellings[n % 3].format(context), f"Title {title}" if title else "")
        for n, (context, title) in enumerate(keys)
    ]
    write_examples(source, rows)
    if _joined(rows) < 2:
        with pytest.raises(ReadletError, match="1 contexts or articles for 2 parts"):
            split(str(source), folder / "part.csv", HALVES, seed)
        return
    parts = split(str(source), folder / "part.csv", HALVES, seed)
    found = [[e for e in read(part.path) if isinstance(e, Example)] for part in parts]
    assert sorted(int(e.id) for part in found for e in part) == list(range(len(rows)))
    assert all(e == rows[int(e.id)] for part in found for e in part)
    assert all(found)
    for what in (lambda e: "".join(e.context.split()).lower(), lambda e: e.title):
        train, dev = ({what(e) for e in part} - {""} for part in found)
        assert not train & dev
    assert [part.rows for part in parts] == [len(part) for part in found]


def test_shares_and_seeds(tmp_path: Path) -> None:
    source = tmp_path / "all.jsonl"
    write_examples(source, [question(n, f"Passage {n // 3}.") for n in range(900)])
    shares = parse_parts("train=0.8,dev=0.1,test=0.1")
    made = {}
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        (tmp_path / name).mkdir()
        parts = split(str(source), tmp_path / name, shares, seed)
        assert [part.rows for part in parts] == [720, 90, 90]
        assert [part.path.name for part in parts] == ["train.jsonl", "dev.jsonl", "test.jsonl"]
        made[name] = [part.path.read_bytes() for part in parts]
    assert made["a"] == made["b"] != made["c"]
    # The order of the rows does not matter for what goes where.
    shuffled = tmp_path / "shuffled.jsonl"
    write_examples(shuffled, [question(n, f"Passage {n // 3}.") for n in reversed(range(900))])
    parts = split(str(shuffled), tmp_path / "d.jsonl", shares, 0)
    assert sorted(parts[1].path.read_bytes().splitlines()) == sorted(made["a"][1].splitlines())


def test_large_groups_leave_no_part_empty(tmp_path: Path) -> None:
    source = tmp_path / "all.jsonl"
    write_examples(source, [question(n, f"Passage {n // 100}.") for n in range(300)])
    parts = split(str(source), tmp_path / "x.jsonl", {"a": 0.98, "b": 0.01, "c": 0.01}, 0)
    assert [part.rows for part in parts] == [100, 100, 100]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("train", "is no share"),
        ("train=0.5,dev=x", "'x' is no share"),
        ("train=0.5,train=0.5", "'train' is no new name"),
        ("../a=0.5,b=0.5", "is no new name"),
        ("=1", "'' is no new name"),
        ("train=0.5,dev=0.4", "add up to 0.9, not 1"),
        ("train=80,dev=20", "must be between 0 and 1"),
        ("train=nan,dev=0.5", "must be between 0 and 1"),
        ("train=1", "must be between 0 and 1"),
    ],
)
def test_invalid_parts(text: str, error: str) -> None:
    with pytest.raises(ReadletError, match=f"--parts .*{error}"):
        parse_parts(text)


def test_split_command(readlet: Run, tmp_path: Path) -> None:
    source = tmp_path / "all.csv"
    rows = "".join(f"{n},Who?,Passage {n} in Köln.,Köln\n" for n in range(20))
    source.write_bytes(("nr,frage,text,answer\n" + rows).encode("cp1252"))
    words = ["data", "split", source, "--column", "id=nr", "--column", "question=frage"]
    words += ["--encoding", "cp1252", "--out", tmp_path / "parts"]
    done = readlet(*words)
    assert done.code == 0
    assert "parts/train.csv: 16 questions (80.0%) on 16 contexts." in done.out
    again = readlet(*words)
    assert again.code == 2
    assert "train.csv: exists already; remove it, or choose another --out" in again.err
    shown = readlet(*words[:-1], tmp_path / "p.parquet", "--json", "--parts", "a=0.5,b=0.5").json()
    assert [part["questions"] for part in shown["parts"]] == [10, 10]
    assert [Path(part["path"]).name for part in shown["parts"]] == ["p-a.parquet", "p-b.parquet"]
    (found,) = {e.context[-8:] for e in read(tmp_path / "p-a.parquet") if isinstance(e, Example)}
    assert found == "in Köln."


@pytest.mark.parametrize(
    ("out", "error"),
    [
        ("taken", "taken: is a file; name a folder"),
        ("no/such/folder", "its folder does not exist"),
        ("no/such.csv", "its folder does not exist"),
    ],
)
def test_split_checks_its_output_first(readlet: Run, tmp_path: Path, out: str, error: str) -> None:
    (tmp_path / "taken").write_text("mine")
    done = readlet("data", "split", tmp_path / "absent.csv", "--out", tmp_path / out)
    assert (done.code, done.out) == (2, "")
    assert error in done.err


@pytest.mark.parametrize(
    ("out", "parts"),
    [
        ("csv", ["csv/a.jsonl", "csv/b.jsonl"]),
        ("Parts.CSV", ["Parts-a.csv", "Parts-b.csv"]),
        ("Parts.Json.GZ", ["Parts-a.json.gz", "Parts-b.json.gz"]),
    ],
)
def test_a_format_is_a_suffix_in_any_case(tmp_path: Path, out: str, parts: list[str]) -> None:
    source = tmp_path / "all.jsonl"
    write_examples(source, [question(n, f"Passage {n}.") for n in range(4)])
    done = split(str(source), tmp_path / out, {"a": 0.5, "b": 0.5}, 0)
    assert [part.path for part in done] == [tmp_path / part for part in parts]
    assert sum(len(list(read(part.path))) for part in done) == 4


def test_capitals_in_the_name_of_an_output(tmp_path: Path) -> None:
    out = tmp_path / "OUT.CSV.GZ"
    write_examples(out, [question(1, "Passage.")])
    assert out.read_bytes()[:2] == b"\x1f\x8b"
    assert [item.id for item in read(out)] == ["1"]


@pytest.mark.parametrize("out", ["parts.csv", "parts"])
def test_a_part_that_cannot_be_written_leaves_none(readlet: Run, tmp_path: Path, out: str) -> None:
    source = tmp_path / "all.csv"  # JSONL; the parts are CSV
    rows = [question(n, f"Passage {n}.") for n in range(20)]
    unlabelled = replace(rows[0], answers=(), is_labelled=False)
    write_examples(tmp_path / "rows.jsonl", [*rows, unlabelled])
    (tmp_path / "rows.jsonl").rename(source)
    halves = ("--parts", "a=0.5,b=0.5")
    for seed in range(5):  # in some of them the second part fails
        done = readlet("data", "split", source, "--out", tmp_path / out, "--seed", seed, *halves)
        assert (done.code, done.out) == (2, "")
        assert "cannot store labelled and unlabelled questions in one file" in done.err
        assert list(tmp_path.iterdir()) == [source]


def test_too_few_contexts(readlet: Run, tmp_path: Path) -> None:
    source = tmp_path / "all.jsonl"
    write_examples(source, [question(n, f"Passage {n}.", "One") for n in range(9)])
    done = readlet("data", "split", source, "--out", tmp_path / "parts")
    assert done.code == 2
    assert "1 contexts or articles for 3 parts; give more data or fewer parts" in done.err
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("name", ["o.json", "o.jsonl", "o.csv", "o.tsv", "o.parquet", "o.csv.gz"])
def test_convert(readlet: Run, tmp_path: Path, sound: list[Example], name: str) -> None:
    one, two, out = tmp_path / "one.json", tmp_path / "two.jsonl", tmp_path / name
    write_examples(one, sound)
    others = [replace(e, id=f"{e.id}'", question=f"Again: {e.question}") for e in sound]
    write_examples(two, others)
    done = readlet("data", "convert", one, two, "--out", out, "--json")
    counts = {"questions": 6, "contexts": 2, "unlabelled": 0, "repeated_ids": 0}
    assert done.json() == counts | {"without_place": 0}
    found = list(read(out))
    assert sorted(found, key=str) == sorted([*sound, *others], key=str)
    if name == "o.json":  # each context once
        articles = json.loads(out.read_text())["data"]
        assert [len(p["qas"]) for article in articles for p in article["paragraphs"]] == [4, 2]
    else:
        assert found == [*sound, *others]


def test_convert_keeps_faults_and_reports_repeated_ids(readlet: Run, tmp_path: Path) -> None:
    source, out = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text("question,context,answer,answer_start\nWho?,Ada came.,Ada,3\n")
    done = readlet("data", "convert", source, source, "--out", out)
    assert done.code == 0
    assert "2 questions on 1 contexts." in done.out
    assert "1 × repeated id: kept as it is" in done.out
    assert [e.answers for e in read(out) if isinstance(e, Example)] == [(Span(3, "Ada"),)] * 2


def test_convert_reports_answers_without_a_place(readlet: Run, tmp_path: Path) -> None:
    source, out = tmp_path / "a.csv", tmp_path / "b.json"
    rows = "Who won?,Ada met Bob. Ada won.,Ada\nWho met?,Ada met Bob.,Bob\n"
    source.write_text(f"question,context,answer\n{rows}")
    done = readlet("data", "convert", source, "--out", out)
    assert done.code == 0
    assert "1 × answer without a place in its context: written as -1; find it with" in done.out
    starts = [answer.start for e in read(out) if isinstance(e, Example) for answer in e.answers]
    assert sorted(starts) == [-1, 8]


@pytest.mark.parametrize(
    ("text", "out", "error"),
    [
        ("question,context\nWho?\n", "o.csv", "line 2: 1 cells under 2 column names"),
        ("question,context\nWho?,Ada\n", "o.txt", "unknown output format; end the name in .json"),
        ("question,context\nWho?,Ada\n", "a.csv", "is also an input"),
    ],
)
def test_convert_refuses(readlet: Run, tmp_path: Path, text: str, out: str, error: str) -> None:
    source = tmp_path / "a.csv"
    source.write_text(text)
    done = readlet("data", "convert", source, "--out", tmp_path / out)
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert error in line
    assert list(tmp_path.iterdir()) == [source]
