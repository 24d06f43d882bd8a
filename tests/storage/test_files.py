import errno
import gzip
import os
from pathlib import Path

import pytest

from readlet.errors import ReadletError
from readlet.storage.files import (
    CHUNK,
    MAX_PIECE,
    atomic_text,
    text_chunks,
    text_lines,
    write_text,
    written_to,
)


def whole(path: Path) -> str:
    return "".join(text_chunks(path))


def test_gzip_is_detected_by_content(tmp_path: Path) -> None:
    path = tmp_path / "plain-name.txt"
    path.write_bytes(gzip.compress("naïve ☕".encode()))
    assert whole(path) == "naïve ☕"
    path.write_text("not zipped", encoding="utf-8")
    assert whole(path) == "not zipped"


def test_byte_order_mark_is_removed_only_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "marked"
    path.write_text("\ufeffone\ufeff", encoding="utf-8")
    assert whole(path) == "one\ufeff"


@pytest.mark.parametrize(
    "content",
    [b"", b"\xef\xbb\xbf", gzip.compress(b"")],
    ids=["nothing", "a byte order mark", "nothing, zipped"],
)
def test_file_without_text_is_empty(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "nothing"
    path.write_bytes(content)
    with pytest.raises(ReadletError, match="nothing: the file is empty; "):
        whole(path)


@pytest.mark.parametrize(
    ("content", "byte"),
    [
        (b"\xff", 0),
        (b"caf\xe9 au lait", 3),
        ("€".encode() + b"\x80", 3),
        (b"ends inside \xe2\x82", 12),
        (b"a" * (CHUNK + 5) + b"\xff", CHUNK + 5),
        # A valid character across the boundary must not change the count.
        (b"a" * (CHUNK - 1) + "€uro ".encode() + b"\xfe", CHUNK - 1 + 7),
        # An invalid one across the boundary begins in the previous chunk.
        (b"a" * (CHUNK - 2) + b"\xe2\x82" + b"A", CHUNK - 2),
        (b"a" * (CHUNK - 1) + b"\xf0\x9f\x92", CHUNK - 1),
        (b"a" * (3 * CHUNK - 1) + b"\xe2" + b"z", 3 * CHUNK - 1),
    ],
    ids=lambda value: len(value) if isinstance(value, bytes) else f"at {value}",
)
def test_invalid_utf8_is_reported_with_its_byte(tmp_path: Path, content: bytes, byte: int) -> None:
    path = tmp_path / "latin"
    path.write_bytes(content)
    with pytest.raises(
        ReadletError, match=rf"latin: byte {byte}: not UTF-8 text.*; save it as UTF-8"
    ):
        whole(path)


def test_truncated_gzip(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    zipped = gzip.compress(os.urandom(4000).hex().encode())
    path.write_bytes(zipped[:-400])
    with pytest.raises(ReadletError, match=r"cut\.gz: byte \d+: the gzip data is damaged"):
        whole(path)


def test_gzip_with_a_damaged_middle(tmp_path: Path) -> None:
    path = tmp_path / "bad.gz"
    zipped = bytearray(gzip.compress(os.urandom(4000).hex().encode()))
    zipped[len(zipped) // 2] ^= 0xFF
    path.write_bytes(zipped)
    with pytest.raises(ReadletError, match=r"bad\.gz: the gzip data is damaged"):
        whole(path)


def test_lines_end_at_newlines_only(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes("a\u2028b\x85c\rd\r\ne\n\nf".encode())
    assert list(text_lines(path)) == ["a\u2028b\x85c\rd\r\n", "e\n", "\n", "f"]


def test_lines_across_chunks(tmp_path: Path) -> None:
    lines = ["x" * (CHUNK - 1) + "\n", "é" * CHUNK + "\n", "y" * (2 * CHUNK + 3) + "\n", "end\n"]
    path = tmp_path / "lines"
    path.write_text("".join(lines), encoding="utf-8")
    assert list(text_lines(path)) == lines


def test_endless_line_is_rejected_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "endless.gz"
    member = gzip.compress(b"z" * CHUNK)  # gzip files may be joined: this makes 65 MiB cheaply
    path.write_bytes(gzip.compress(b"first\nsecond\n") + member * ((MAX_PIECE // CHUNK) + 1))
    lines = text_lines(path)
    assert [next(lines), next(lines)] == ["first\n", "second\n"]
    with pytest.raises(ReadletError, match="line 3: longer than 64 MiB; put one record on each"):
        next(lines)


def test_atomic_text_appears_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")
    with atomic_text(path) as stream:
        stream.write("néw\n")
        stream.flush()
        assert path.read_text() == "old"
    assert path.read_bytes() == "néw\n".encode()
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.parametrize("name", ["out.json", "out.json.gz"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_atomic_text_leaves_nothing_behind(
    tmp_path: Path, name: str, error: type[BaseException]
) -> None:
    def write() -> None:
        with atomic_text(tmp_path / name) as stream:
            stream.write("half of it")
            raise error

    with pytest.raises(error):
        write()
    assert list(tmp_path.iterdir()) == []


def test_atomic_gzip_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with atomic_text(tmp_path / name) as stream:
            stream.write("the same")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert whole(tmp_path / "a.gz") == "the same"


def test_atomic_text_into_a_missing_folder_or_onto_a_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(ReadletError, match="its folder does not exist; create "),
        atomic_text(tmp_path / "no" / "out.json"),
    ):
        pass
    with pytest.raises(ReadletError, match="is a directory; "), atomic_text(tmp_path):
        pass


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    """By the next one that writes the same file; only those that nobody has written to lately."""
    names = (".a.jsonl.ab12cd34.readlet", ".a.jsonl.settings", ".b.jsonl.ab12cd34.readlet")
    old, *mine = (tmp_path / name for name in names)
    for path in (old, *mine):
        path.write_text("half")
        os.utime(path, (0, 0))
    in_use = tmp_path / ".a.jsonl.ef56gh78.readlet"
    in_use.write_text("half")
    write_text(tmp_path / "a.jsonl", "whole")
    assert set(tmp_path.iterdir()) == {tmp_path / "a.jsonl", in_use, *mine}


def test_a_full_disk_is_reported_with_the_file(tmp_path: Path) -> None:
    def write(filename: str | None) -> None:
        with atomic_text(tmp_path / "out.json"):
            raise OSError(errno.ENOSPC, "No space left on device", filename)

    with pytest.raises(ReadletError, match=r"out\.json: not written: No space left on device; "):
        write(None)
    with pytest.raises(OSError, match=r"No space .*'input'"):  # not of this file
        write("input")
    with pytest.raises(OSError, match=r"No space .*out\.log"), written_to(tmp_path / "out.log"):
        raise OSError(errno.ENOSPC, "No space left on device")
