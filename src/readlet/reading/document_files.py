"""The texts of files and folders that a question is asked about."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from readlet.errors import ReadletError, bad_input
from readlet.progress import track
from readlet.reading.document_text import KINDS, document_text, kind_of
from readlet.storage.files import check_encoding, open_bytes

STANDARD_INPUT = "-"


@dataclass
class DocumentFiles:
    """Texts by path, in order, and what was left out."""

    texts: dict[str, str] = field(default_factory=dict)
    # One line for each file that could not be read, without remedy.
    unreadable: list[str] = field(default_factory=list)
    # Files in folders that have another suffix.
    others: int = 0


def is_one_document(paths: Sequence[str]) -> bool:
    """Whether this is a single file or standard input: its faults are errors."""
    return len(paths) == 1 and (paths[0] == STANDARD_INPUT or not Path(paths[0]).is_dir())


def read_document(path: str, encoding: str = "") -> str:
    """The text of a file, or of standard input for `-`; see `document_text` for its kinds."""
    check_encoding(encoding)
    if path == STANDARD_INPUT:
        data, source = sys.stdin.buffer.read(), "standard input"
    else:
        source = path
        with open_bytes(Path(path)) as stream:
            data = stream.read()
    return document_text(data, kind_of(path, data), source=source, encoding=encoding)


def read_documents(paths: Iterable[str], encoding: str = "") -> DocumentFiles:
    """The texts of files and of all text files in folders; a file that is named twice counts once.

    A file that cannot be read, is empty or is no text is left out and listed. A path that does not
    exist is an error.
    """
    check_encoding(encoding)
    read = DocumentFiles()
    named: dict[str, str] = {}  # by real path
    for path in paths:
        if path != STANDARD_INPUT and not os.path.lexists(path):
            raise bad_input(path, "", "no such file or folder", "check the path")
        for name in _files_of(path, read):
            named.setdefault(os.path.realpath(name) if name != STANDARD_INPUT else name, name)
    for name in track(named.values(), len(named), "reading"):
        try:
            read.texts[name] = read_document(name, encoding)
        except ReadletError as error:
            read.unreadable.append(str(error).rpartition("; ")[0])
    if not read.texts:
        raise _nothing(read)
    return read


def _files_of(path: str, read: DocumentFiles) -> Iterator[str]:
    """The file itself, or the text files below a folder in the order of their names."""
    if path == STANDARD_INPUT or not os.path.isdir(path):
        yield path
        return

    def note(error: OSError) -> None:
        read.unreadable.append(f"{error.filename}: cannot be read ({error.strerror})")

    for folder, inside, names in os.walk(path, onerror=note):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".")):
            if name.lower().endswith(tuple(KINDS)):
                yield os.path.join(folder, name)
            else:
                read.others += 1


def _nothing(read: DocumentFiles) -> ReadletError:
    remedy = f"give text files, or a folder with files that end in {', '.join(KINDS)}"
    fault = "no text to read"
    if read.unreadable:
        fault += f" ({read.unreadable[0]})"
    elif read.others:
        fault += f" ({read.others:,} files have another ending)"
    return ReadletError(f"{fault}; {remedy}")
