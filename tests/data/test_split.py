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
    parts = split(str(shuffled), tmp_path / "d", shares, 0)
    assert sorted(parts[1].path.read_bytes().splitlines()) == sorted(made["a"][1].splitlines())


def test_large_groups_leave_no_part_empty(tmp_path: Path) -> None:
    source = tmp_path / "all.jsonl"
    write_examples(source, [question(n, f"Passage {n // 100}.") for n in range(300)])
    parts = split(str(source), tmp_path / "x", {"a": 0.98, "b": 0.01, "c": 0.01}, 0)
    assert [part.rows for part in parts] == [100, 100, 100]


@pytest.mark.parametrize(
    "text",
    [
        "train",
        "train=0.5,dev=x",
        "train=0.5,train=0.5",
        "../a=0.5,b=0.5",
        "train=0.5,dev=0.4",
        "train=80,dev=20",
        "train=nan,dev=0.5",
    ],
)
def test_invalid_parts(text: str) -> None:
    with pytest.raises(ReadletError, match="--parts "):
        parse_parts(text)


def test_split_command(readlet: Run, tmp_path: Path) -> None:
    source = tmp_path / "all.csv"
    rows = "".join(f"{n},Who?,Passage {n} in Köln.,Köln\n" for n in range(20))
    source.write_bytes(("nr,frage,text,answer\n" + rows).encode("cp1252"))
    words = ["data", "split", source, "--column", "id=nr", "--column", "question=frage"]
    words += ["--encoding", "cp1252", "--out", tmp_path / "parts"]
    done = readlet(*words)
    assert done.code == 0
    assert readlet(*words).code == 2  # the parts exist
    shown = readlet(*words[:-1], tmp_path / "p", "--json", "--parts", "a=0.5,b=0.5").json()
    assert [part["questions"] for part in shown["parts"]] == [10, 10]
    assert [Path(part["path"]).name for part in shown["parts"]] == ["a.csv", "b.csv"]
    (found,) = {e.context[-8:] for e in read(tmp_path / "p/a.csv") if isinstance(e, Example)}
    assert found == "in Köln."


def test_a_part_that_cannot_be_written_leaves_none(readlet: Run, tmp_path: Path) -> None:
    source = tmp_path / "all.csv"  # JSONL; the parts are CSV
    rows = [question(n, f"Passage {n}.") for n in range(20)]
    unlabelled = replace(rows[0], answers=(), is_labelled=False)
    write_examples(tmp_path / "rows.jsonl", [*rows, unlabelled])
    (tmp_path / "rows.jsonl").rename(source)
    halves = ("--parts", "a=0.5,b=0.5")
    for seed in range(5):  # in some of them the second part fails
        done = readlet(
            "data", "split", source, "--out", tmp_path / "parts", "--seed", seed, *halves
        )
        assert (done.code, done.out) == (2, "")
        assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("name", ["o.json", "o.jsonl", "o.csv", "o.tsv", "o.parquet", "o.csv.gz"])
def test_convert(readlet: Run, tmp_path: Path, sound: list[Example], name: str) -> None:
    one, two, out = tmp_path / "one.json", tmp_path / "two.jsonl", tmp_path / name
    write_examples(one, sound)
    others = [replace(e, id=f"{e.id}'", question=f"Again: {e.question}") for e in sound]
    write_examples(two, others)
    done = readlet("data", "convert", one, two, "--out", out, "--json")
    assert done.json() == {"questions": 6}
    found = list(read(out))
    assert sorted(found, key=str) == sorted([*sound, *others], key=str)
    if name == "o.json":  # each context once
        articles = json.loads(out.read_text())["data"]
        assert [len(p["qas"]) for article in articles for p in article["paragraphs"]] == [4, 2]
    else:
        assert found == [*sound, *others]
