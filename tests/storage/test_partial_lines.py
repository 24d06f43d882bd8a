"""Lines of an interrupted task: what is kept, dropped and refused."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from readlet.errors import CannotResumeError, ReadletError
from readlet.storage.partial_lines import PartialLines, partial_lines

TASK = {"reader": "abc", "options": [1, None, True]}


class KilledError(Exception):
    pass


@contextmanager
def task(path: Path, total: int = 10, **changed: object) -> Iterator[PartialLines]:
    with partial_lines(path, task=TASK | changed, chunk=4, total=total) as lines:
        yield lines


def interrupted(path: Path, count: int) -> bytes:
    """The file of a task that was killed after so many records."""
    with suppress(KilledError), task(path) as lines:
        for number in range(lines.done, count):
            lines.append({"n": number, "text": "Łódź\n\ud83d"})
        raise KilledError
    return path.read_bytes()


def finished(path: Path, total: int = 10) -> tuple[int, list[int]]:
    """Continue the task to its end: where it continued, and all its records."""
    with task(path, total) as lines:
        begun = lines.done
        for number in range(begun, total):
            lines.append({"n": number, "text": ""})
        numbers = [record["n"] for record in lines.records()]
    assert not path.exists()
    return begun, numbers


@pytest.mark.parametrize(("count", "kept"), [(0, 0), (3, 0), (4, 4), (7, 4), (8, 8), (10, 10)])
def test_whole_chunks_are_kept(tmp_path: Path, count: int, kept: int) -> None:
    interrupted(tmp_path / "p", count)
    assert finished(tmp_path / "p") == (kept, list(range(10)))


@pytest.mark.parametrize("cut", range(1, 60))
def test_any_cut_continues(tmp_path: Path, cut: int) -> None:
    whole = interrupted(tmp_path / "p", 9)
    (tmp_path / "p").write_bytes(whole[: len(whole) * cut // 60])
    begun, numbers = finished(tmp_path / "p")
    assert begun % 4 == 0
    assert numbers == list(range(10))


def test_lines_after_damage_are_dropped(tmp_path: Path) -> None:
    whole = interrupted(tmp_path / "p", 8)
    lines = whole.split(b"\n")
    lines[6] = b"\0" * len(lines[6])
    (tmp_path / "p").write_bytes(b"\n".join(lines))
    assert finished(tmp_path / "p")[0] == 4


def test_records_are_read_as_written(tmp_path: Path) -> None:
    with task(tmp_path / "p") as lines:
        lines.append({"text": "Łódź\n\ud83d", "score": 0.1 + 0.2})
        assert list(lines.records()) == [{"text": "Łódź\n\ud83d", "score": 0.1 + 0.2}]


def test_another_task_is_refused_and_its_lines_stay(tmp_path: Path) -> None:
    before = interrupted(tmp_path / "p", 5)
    with (
        pytest.raises(CannotResumeError, match=r"p: is the beginning of .* another reader; remove"),
        task(tmp_path / "p", reader="other"),
    ):
        pass
    assert (tmp_path / "p").read_bytes() == before


@pytest.mark.parametrize("content", ["my notes", "my notes\n", "[]\n", '{"a": 1}\n'])
def test_a_foreign_file_is_refused_and_stays(tmp_path: Path, content: str) -> None:
    (tmp_path / "p").write_text(content)
    with pytest.raises(CannotResumeError, match="not the beginning"), task(tmp_path / "p"):
        pass
    assert (tmp_path / "p").read_text() == content


def test_two_processes_never_write_the_same_lines(tmp_path: Path) -> None:
    with (
        task(tmp_path / "p") as lines,
        pytest.raises(ReadletError, match="another process"),
        task(tmp_path / "p"),
    ):
        pass
    assert lines.done == 0


def test_every_chunk_reaches_the_disk(tmp_path: Path) -> None:
    with suppress(KilledError), task(tmp_path / "p") as lines:
        for number in range(6):
            lines.append({"n": number})
        # Without closing: this is what a killed process leaves.
        on_disk = (tmp_path / "p").read_text().splitlines()
        raise KilledError
    assert [json.loads(line) for line in on_disk[1:5]] == [{"n": n} for n in range(4)]
