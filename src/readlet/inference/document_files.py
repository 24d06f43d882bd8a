"""The texts of files and folders that a question is asked about: plain text, HTML or PDF."""

import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Literal

from readlet.console import track
from readlet.errors import ReadletError, bad_input, shortened
from readlet.inference.html_text import declared_encoding, html_text
from readlet.processes import Job
from readlet.storage.files import (
    check_encoding,
    decoded_chunks,
    encoding_of,
    is_utf8,
    likely_utf16,
    open_bytes,
)

STANDARD_INPUT = "-"

DocumentKind = Literal["text", "html", "pdf"]
KINDS: dict[str, DocumentKind] = {
    ".txt": "text",
    ".md": "text",
    ".html": "html",
    ".htm": "html",
    ".pdf": "pdf",
}
"""By the ending of the file's name."""
_PDF = b"%PDF-"  # how one begins
# Characters of a page that is read in a process of its own: it takes as long as starting one, and
# other threads, of a server, would wait.
_LARGE_PAGE = 500_000


def kind_of(name: str, data: bytes) -> DocumentKind:
    """The kind of a file; a PDF may have any name, or come from standard input."""
    return "pdf" if data.startswith(_PDF) else KINDS.get(PurePath(name).suffix.lower(), "text")


def document_text(
    data: bytes,
    kind: DocumentKind,
    *,
    source: str | Path = "the file",
    encoding: str | None = None,
    seconds: float = 30.0,
    job: Job | None = None,
) -> str:
    """The text; an error of one line for a file that has none.

    PDFs and large pages are read in a process of their own. It gets so many seconds, and
    `job.kill()` in another thread ends it. `encoding` is None where the user cannot name one; a
    page may name its own.
    """
    if kind == "pdf":
        return _read_apart("pdf_text", data, "the PDF", source, seconds, job)
    is_wide = encoding_of(data, encoding or "").startswith(("utf-16", "utf-32"))
    if b"\0" in data and not is_wide and not likely_utf16(data):
        raise bad_input(source, "", "is not text", "give plain text, HTML or PDF")
    declared = declared_encoding(data) if kind == "html" and not is_utf8(data) else ""
    shown = "".join(decoded_chunks(io.BytesIO(data), source, encoding, declared=declared))
    if kind == "html" and len(shown) > _LARGE_PAGE:
        page = shown.encode("utf-8", "replace")
        shown = _read_apart("html_text", page, "the page", source, seconds, job)
    elif kind == "html":
        shown = html_text(shown)
    if not shown.strip():
        raise bad_input(source, "", "has no text", "give another file")
    return shown


def _read_apart(
    module: str, data: bytes, what: str, source: str | Path, seconds: float, job: Job | None
) -> str:
    try:
        return (job or Job()).text(f"{__package__}.{module}", data=data, seconds=seconds, what=what)
    except ReadletError as error:
        raise ReadletError(f"{shortened(source)}: {error}") from None


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

    A file that cannot be read, is empty or is not text is left out and listed. A path that does not
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
