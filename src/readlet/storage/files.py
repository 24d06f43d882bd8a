"""Files in and out: text with the place of every fault, and outputs that are whole or absent."""

import codecs
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TextIO, cast

from readlet.errors import ReadletError, bad_input

CHUNK = 1 << 20
# One row or article longer than this is a mistake in the file, and would fill the memory.
MAX_PIECE = 64 << 20


@contextmanager
def open_bytes(path: Path) -> Iterator[io.BufferedIOBase]:
    """Open a plain or gzip file (told by its content); complain in one line when it fails."""
    try:
        with path.open("rb") as raw:
            is_gzip = raw.peek(2)[:2] == b"\x1f\x8b"
            yield gzip.GzipFile(fileobj=raw) if is_gzip else raw
    except IsADirectoryError:
        raise bad_input(path, "", "is a directory", "name a file inside it") from None
    except FileNotFoundError:
        raise bad_input(path, "", "no such file", "check the path") from None
    except PermissionError:
        raise bad_input(path, "", "may not be read", "change its permissions") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        fault = f"the gzip data is damaged or ends early ({error})"
        place = f"byte {path.stat().st_size}" if isinstance(error, EOFError) else ""
        raise bad_input(path, place, fault, "copy or download it again") from None
    except OSError as error:  # a file used as a folder, a name too long, a failing disk
        fault = f"cannot be read ({error.strerror})"
        raise bad_input(path, "", fault, "check the path") from None


def text_chunks(path: Path) -> Iterator[str]:
    """The text of a file in pieces, without byte order mark; invalid UTF-8 is told by its byte."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    consumed = 0  # bytes that the decoder has turned into text
    empty = True
    with open_bytes(path) as stream:
        while True:
            data = stream.read(CHUNK)
            pending = len(decoder.getstate()[0])
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                place = f"byte {consumed + error.start}"
                raise bad_input(path, place, "not UTF-8 text", "convert it to UTF-8") from None
            consumed += pending + len(data) - len(decoder.getstate()[0])
            if empty and text:
                text = text.removeprefix("\ufeff")
                empty = not text  # a byte order mark alone is no text
            if text:
                yield text
            if not data:
                break
    if empty:
        raise bad_input(path, "", "the file is empty", "check how it was made")


def text_lines(path: Path) -> Iterator[str]:
    """Lines with their newline, split at newline characters only and never endlessly long."""
    pieces: list[str] = []  # of a line that goes on; joined once, when its end is found
    number = 1
    for chunk in text_chunks(path):
        *lines, rest = chunk.split("\n")
        if lines:
            lines[0] = "".join((*pieces, lines[0]))
            pieces.clear()
        for line in lines:
            yield line + "\n"
        number += len(lines)
        pieces.append(rest)
        if sum(map(len, pieces)) > MAX_PIECE:
            fault = f"longer than {MAX_PIECE >> 20} MiB"
            raise bad_input(path, f"line {number}", fault, "put one record on each line")
    if any(pieces):
        yield "".join(pieces)


def check_place(path: Path) -> None:
    """That a file can be written there: who works for long before it is asks first."""
    if path.is_dir():
        raise bad_input(path, "", "is a directory", "name a file to write")
    if not path.parent.is_dir():
        raise bad_input(path, "", "its folder does not exist", f"create {path.parent} first")


def make_readable(path: Path) -> None:
    """The usual permissions of a new file."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o666 & ~umask)


@contextmanager
def atomic_text(path: Path) -> Iterator[TextIO]:
    """Write text (gzip when the name ends in .gz) that appears under its name only when whole."""
    check_place(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise bad_input(
            path, "", f"cannot be written ({error.strerror})", "choose another"
        ) from None
    try:
        with os.fdopen(handle, "wb") as raw:
            zipped = path.suffix == ".gz"
            # mtime=0: the same content gives the same bytes.
            binary = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if zipped else raw
            # Half a surrogate pair has no UTF-8; its backslash form is what JSON writes for it.
            text = io.TextIOWrapper(
                cast(IO[bytes], binary), encoding="utf-8", errors="backslashreplace", newline="\n"
            )
            yield text
            text.flush()
            text.detach()
            if zipped:
                binary.close()
            raw.flush()
            os.fsync(raw.fileno())
        make_readable(Path(name))  # mkstemp makes private files
        os.replace(name, path)
    except OSError as error:
        raise ReadletError(f"{path}: not written: {error.strerror}; free some space") from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def write_text(path: Path, text: str) -> None:
    """A small file, whole or absent."""
    with atomic_text(path) as stream:
        stream.write(text)
