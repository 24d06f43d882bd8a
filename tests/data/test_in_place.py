"""`readlet data check --in-place`: the file itself is repaired, and kept as it was in a backup."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read_examples, repair, write_examples
from readlet.types import Example, Span

Run = Callable[..., Any]
LAMP = "The lamp at Cape Wick was lit by Ada Brook in 1881."


def questions(start: int) -> list[Example]:
    return [
        Example("1", "Who lit the lamp?", LAMP, (Span(start, "Ada Brook"),)),
        Example("2", "Who put it out?", LAMP, is_impossible=True),
    ]


@pytest.mark.parametrize("name", ["d.json", "d.jsonl", "d.json.gz", "rows.json", "squad.txt"])
def test_the_file_keeps_its_format(readlet: Run, tmp_path: Path, name: str) -> None:
    """The format is that of the content: `rows.json` has rows, `squad.txt` articles, zipped."""
    written = {"rows.json": "d.jsonl", "squad.txt": "d.json.gz"}.get(name, name)
    path = tmp_path / name
    (tmp_path / "far").mkdir()
    for start, folder in ((12, tmp_path), (33, tmp_path / "far")):
        write_examples(folder / written, questions(start))
        (folder / written).rename(folder / name)
    path.chmod(0o640)
    old = path.read_bytes()
    done = readlet("data", "check", path, "--in-place")
    assert done.code == 0, done.err
    assert f"Repaired {path}: 2 examples; the old file is {path}.bak" in done.out
    assert "changed: 1 × answer moved to the nearest place (1)" in done.out
    assert path.read_bytes() == (tmp_path / "far" / name).read_bytes()
    assert path.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / f"{name}.bak").read_bytes() == old
    assert len(list(tmp_path.iterdir())) == 3


def test_a_sound_file_is_not_touched(readlet: Run, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    write_examples(path, questions(33))
    spaced = path.read_text().replace('": ', '":   ')  # written again, it would differ
    path.write_text(spaced)
    done = readlet("data", "check", path, "--in-place")
    assert done.code == 0
    assert f"{path}: nothing to repair" in done.out
    assert path.read_text() == spaced
    assert list(tmp_path.iterdir()) == [path]


def test_earlier_backups_are_kept(readlet: Run, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    (tmp_path / "d.jsonl.bak").write_text("mine")
    (tmp_path / "d.jsonl.bak2").symlink_to("nowhere")
    write_examples(path, questions(12))
    old = path.read_bytes()
    done = readlet("data", "check", path, "--in-place", "--json")
    (repaired,) = done.json()["in_place"]
    assert repaired["backup"] == f"{path}.bak3"
    assert (repaired["source"], repaired["written"]) == (str(path), 2)
    assert (tmp_path / "d.jsonl.bak").read_text() == "mine"
    assert (tmp_path / "d.jsonl.bak3").read_bytes() == old


def test_without_hard_links_the_backup_is_a_copy(
    readlet: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: Any) -> None:
        raise OSError

    monkeypatch.setattr(os, "link", unsupported)
    path = tmp_path / "d.jsonl"
    (tmp_path / "d.jsonl.bak").write_text("mine")
    write_examples(path, questions(12))
    path.chmod(0o600)
    old = path.read_bytes()
    assert readlet("data", "check", path, "--in-place").code == 0
    backup = tmp_path / "d.jsonl.bak2"
    assert (backup.read_bytes(), backup.stat().st_mode & 0o777) == (old, 0o600)


def test_links_are_followed(readlet: Run, tmp_path: Path) -> None:
    far, link, twin = tmp_path / "far" / "d.jsonl", tmp_path / "link.jsonl", tmp_path / "twin.jsonl"
    far.parent.mkdir()
    write_examples(far, questions(12))
    old = far.read_bytes()
    link.symlink_to(far)
    twin.hardlink_to(far)
    assert readlet("data", "check", link, "--in-place").code == 0
    assert link.is_symlink()
    assert next(read_examples(far)).answers == (Span(33, "Ada Brook"),)
    assert (far.parent / "d.jsonl.bak").read_bytes() == twin.read_bytes() == old


def test_several_files(readlet: Run, tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.json"
    write_examples(one, questions(12))
    write_examples(two, [*questions(12), Example("3", " ", LAMP, (Span(0, "The"),))])
    done = readlet("data", "check", one, two, "--in-place", "--json")
    assert done.code == 1  # an example was dropped
    assert [len(file["dropped"]) for file in done.json()["in_place"]] == [0, 1]
    assert [readlet("data", "check", path).code for path in (one, two)] == [0, 0]


def test_all_files_are_repaired_or_none(
    readlet: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    write_examples(one, questions(12))
    write_examples(two, [Example("3", " ", LAMP, (Span(0, "The"),))])
    old = one.read_bytes()
    done = readlet("data", "check", one, two, "--in-place")
    assert (done.code, done.out) == (2, "")
    assert f"{two}: no question could be kept, so nothing was changed" in done.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == {
        one: old,
        two: two.read_bytes(),
    }
    twice = readlet("data", "check", one, one, "--in-place")
    assert f"{one}: is given twice; name each file once" in twice.err

    def copy(path: Path, place: Path) -> None:
        if path == two:
            raise PermissionError(13, "Permission denied", str(path))
        place.hardlink_to(path)

    write_examples(two, questions(12))
    monkeypatch.setattr(repair, "_copy", copy)
    assert readlet("data", "check", one, two, "--in-place").code != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.jsonl", "two.jsonl"]
    assert one.read_bytes() == old


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("d.parquet", b"PAR1", "in place; write a repaired copy with --fix OUT"),
        ("s.tsv", b"sentence\tlabel\nFine.\t1\n", ""),
        ("d.jsonl", json.dumps({"question": "", "context": "x"}).encode(), "could be kept"),
        ("d.jsonl.gz", gzip.compress(b'{"question": "Who?"', mtime=0), ""),
    ],
)
def test_nothing_is_written_if_it_fails(
    readlet: Run, tmp_path: Path, name: str, content: bytes, fault: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    done = readlet("data", "check", path, "--in-place")
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith(f"readlet: {path}: ")
    assert fault in line
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == content


@pytest.mark.parametrize("source", ["bundled:dev", "hub:squad@train"])
def test_only_files_of_the_user(readlet: Run, source: str) -> None:
    done = readlet("data", "check", source, "--in-place")
    assert done.code == 2
    assert done.err == (
        f"readlet: {source}: is not a file of yours; write a repaired copy with --fix OUT\n"
    )


def test_fix_names_in_place_as_the_remedy(readlet: Run, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    write_examples(path, questions(12))
    old = path.read_bytes()
    done = readlet("data", "check", path, "--fix", path)
    remedy = "give another file, or repair it with --in-place"
    assert done.err == f"readlet: {path}: is also an input; {remedy}\n"
    both = readlet("data", "check", path, "--fix", tmp_path / "o.json", "--in-place")
    assert "--fix: not with --in-place" in both.err
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


ROW = {"id": "1", "question": "Who?", "context": LAMP, "answers": ["Ada"]}
QA = {"id": "1", "question": "Who?", "answers": [{"text": "Ada", "answer_start": 1}]}
PARAGRAPH = {"context": LAMP, "qas": [QA]}
ARTICLE = {"title": "t", "paragraphs": [PARAGRAPH]}


def squad(article: Any = ARTICLE, **others: Any) -> str:
    return json.dumps({"data": [ARTICLE, article], **others})


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        (
            f"{json.dumps(ROW)}\n\n{json.dumps(ROW | {'annotator': 'B'})}",
            "other fields (annotator)",
        ),
        (json.dumps(ROW | {"a": 1, "passage": "x", "answer_end": 3}), "(a, passage, answer_end)"),
        (json.dumps(ROW | {"answers": [{"text": "Ada", "by": "B"}]}), "other fields (by)"),
        (json.dumps(ROW | dict.fromkeys("abcdefg")), "other fields (a, b, c, d, e and 2 more)"),
        (squad(url="x"), "other fields (url)"),
        (squad(ARTICLE | {"url": "x"}), "other fields (url)"),
        (squad(ARTICLE | {"paragraphs": [PARAGRAPH | {"type": "x"}]}), "other fields (type)"),
        (
            squad(ARTICLE | {"paragraphs": [PARAGRAPH | {"qas": [QA | {"by": "B"}]}]}),
            "other fields (by)",
        ),
        (
            squad(ARTICLE | {"paragraphs": [PARAGRAPH | {"qas": []}]}),
            "paragraphs without questions",
        ),
        (squad(ARTICLE | {"paragraphs": []}), "articles without paragraphs"),
        (squad(version="mine-3"), "its own version ('mine-3')"),
    ],
)
def test_nothing_that_the_file_has_is_lost(
    readlet: Run, tmp_path: Path, text: str, lost: str
) -> None:
    path = tmp_path / "d.json"
    path.write_text(text)
    done = readlet("data", "check", path, "--in-place")
    assert (done.code, done.out) == (2, "")
    assert lost in done.err
    assert "which would not be kept; write a repaired copy with --fix OUT" in done.err
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", [squad(version="1.1"), squad(), json.dumps(ROW) + "\n{"])
def test_what_readlet_writes_itself_is_not_lost(readlet: Run, tmp_path: Path, text: str) -> None:
    path = tmp_path / "d.json"
    path.write_text(text)
    done = readlet("data", "check", path, "--in-place")
    assert f"Repaired {path}" in done.out


def test_named_columns_would_be_renamed(readlet: Run, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"frage": "Who?", "context": LAMP, "answers": ["ada"]}))
    done = readlet("data", "check", path, "--in-place", "--column", "question=frage")
    assert done.code == 2
    assert "would be renamed to Readlet's names; write a repaired copy with --fix OUT" in done.err
    assert list(tmp_path.iterdir()) == [path]


def test_in_place_is_no_remedy_for_tables(readlet: Run, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    write_examples(path, questions(12))
    done = readlet("data", "check", path, "--fix", path)
    assert done.err == f"readlet: {path}: is also an input; give another file\n"


@pytest.mark.parametrize(("encoding", "code"), [("UTF8", 0), ("utf-8", 0), ("latin-1", 2)])
def test_utf8_may_be_named(readlet: Run, tmp_path: Path, encoding: str, code: int) -> None:
    path = tmp_path / "d.jsonl"
    write_examples(path, questions(12))
    done = readlet("data", "check", path, "--in-place", "--encoding", encoding)
    assert done.code == code
