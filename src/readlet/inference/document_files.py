"""Texts of files and folders to ask questions about.

Plain text, Markdown, HTML, PDF, Word, Excel, CSV, e-mail: one function from a file to its text.
"""

import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath
from typing import IO, Any, Literal, get_args

from readlet.console import track
from readlet.errors import EncodingError, ReadletError, bad_input, shortened
from readlet.inference.document_index import DocumentIndex
from readlet.inference.document_text import DocumentText, Part, loaded, markdown_parts
from readlet.processes import Job
from readlet.storage.files import (
    check_encoding,
    decoded_chunks,
    encoding_of,
    is_binary,
    is_utf8,
    likely_encoding,
    likely_utf16,
    open_bytes,
)

STANDARD_INPUT = "-"

DocumentKind = Literal["text", "html", "pdf", "markdown", "docx", "xlsx", "csv", "eml"]
KINDS: dict[str, DocumentKind] = {
    ".txt": "text",
    ".md": "markdown",
    ".html": "html",
    ".htm": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".xlsx": "xlsx",
    ".csv": "csv",
    ".eml": "eml",
}
"""By the ending of the file's name."""
_PDF = b"%PDF-"  # how one begins
_NAMES = {"pdf": "PDF", "docx": "Word file", "xlsx": "Excel file", "csv": "table", "eml": "e-mail"}
_ROWS = ("xlsx", "csv")  # kinds whose parts are rows
# Bytes of a file, unpacked: of text, and of files that hold pictures too. Devices have no end, and
# what a small file unpacks to has hardly one.
_MOST_OF_TEXT, _MOST = 64 << 20, 256 << 20
# Characters of a page that is read in a subprocess: it takes as long as starting one, and
# other threads, of a server, would wait.
_LARGE_PAGE = 500_000


def kind_of(name: str, data: bytes) -> DocumentKind:
    """The kind of a file; a PDF may have any name, or come from standard input."""
    return "pdf" if data.startswith(_PDF) else KINDS.get(PurePath(name).suffix.lower(), "text")


def read_bytes(
    data: bytes,
    kind: DocumentKind,
    *,
    source: str | Path = "the file",
    encoding: str | None = None,
    guess: bool = False,
    seconds: float = 30.0,
    job: Job | None = None,
) -> DocumentText:
    """The text and its parts; an error of one line for a file that has none.

    All except plain text and small pages are read in a subprocess. It has a time limit in seconds,
    and `job.kill()` in another thread ends it. `encoding` is None where the user cannot name one; a
    page may name its own. With `guess`, text in another encoding is read as the likeliest one.
    """
    if kind not in get_args(DocumentKind):
        raise ReadletError(f"kind {kind!r:.40}; must be one of {', '.join(get_args(DocumentKind))}")
    if kind in ("pdf", "docx", "xlsx", "eml"):
        found = _of_parts(_read_apart(kind, data, source, seconds, job), kind)
    else:
        shown, guessed = _decoded(data, kind, source, encoding, guess=guess)
        if kind == "text":
            found = DocumentText(shown)
        elif kind == "csv" or len(shown) > _LARGE_PAGE:
            encoded = shown.encode("utf-8", "replace")
            found = _of_parts(_read_apart(kind, encoded, source, seconds, job), kind)
        else:
            from readlet.inference.html_text import html_parts

            read = markdown_parts if kind == "markdown" else html_parts
            found = _of_parts(read(shown), kind)
        found = replace(found, guessed_encoding=guessed)
    if not found.text.strip():
        raise bad_input(source, "", "has no text", "give another file")
    return found


def document_text(data: bytes, kind: DocumentKind, **given: Any) -> str:
    """The text alone; see `read_bytes`."""
    return read_bytes(data, kind, **given).text


def _decoded(
    data: bytes, kind: DocumentKind, source: str | Path, encoding: str | None, *, guess: bool
) -> tuple[str, str]:
    """The text, and the encoding if it was guessed."""
    if is_binary(data, encoding_of(data, encoding or "")):
        raise bad_input(source, "", "is not text", f"give a file of {', '.join(KINDS)}")
    declared = ""
    if kind == "html" and not is_utf8(data):
        from readlet.inference.html_text import declared_encoding

        declared = declared_encoding(data)
    try:
        chunks = decoded_chunks(io.BytesIO(data), source, encoding, declared=declared)
        return "".join(chunks), ""
    except EncodingError:
        try:
            data.decode(encoding_of(data, encoding or declared))
        except UnicodeDecodeError as error:
            likely = likely_utf16(data) or likely_encoding(data, error.start)
        else:
            likely = likely_utf16(data)
        if guess and likely and not encoding:
            with suppress(UnicodeError):
                return data.decode(likely), likely
        raise


def _of_parts(parts: Iterable[Part], kind: DocumentKind) -> DocumentText:
    between = {"markdown": "", "html": "\n", **dict.fromkeys(_ROWS, "\n")}
    return DocumentText.of(parts, between.get(kind, "\n\n"))


def _read_apart(
    kind: DocumentKind, data: bytes, source: str | Path, seconds: float, job: Job | None
) -> list[Part]:
    modules = {"pdf": "pdf_text", "html": "html_text", "markdown": "document_text"}
    module = modules.get(kind, "office_files")
    what = f"the {_NAMES.get(kind, 'page')}"
    try:
        read = (job or Job()).text(
            f"{__package__}.{module}", kind, data=data, seconds=seconds, what=what
        )
    except ReadletError as error:
        raise ReadletError(f"{shortened(source)}: {error}") from None
    return loaded(read)


@dataclass
class DocumentFiles:
    """Documents by path, in order, and what was left out."""

    documents: dict[str, DocumentText] = field(default_factory=dict)
    # One line for each file that could not be read, without remedy.
    unreadable: list[str] = field(default_factory=list)
    # Files in folders that have another suffix.
    others: int = 0

    @property
    def texts(self) -> dict[str, str]:
        return {name: document.text for name, document in self.documents.items()}

    @property
    def guessed(self) -> list[str]:
        """A line for each file whose encoding was guessed."""
        return [
            f"{name}: read as {document.guessed_encoding}"
            for name, document in self.documents.items()
            if document.guessed_encoding
        ]


def is_one_document(paths: Sequence[str]) -> bool:
    """Whether this is a single file or standard input: its faults are errors."""
    return len(paths) == 1 and (paths[0] == STANDARD_INPUT or not Path(paths[0]).is_dir())


def read_document(path: str, encoding: str = "", *, only_regular: bool = False) -> DocumentText:
    """The text of a file, or of standard input for `-`; see `KINDS`.

    The result records an encoding that had to be guessed. With `only_regular`, pipes and devices
    are errors.
    """
    check_encoding(encoding)
    if path == STANDARD_INPUT:
        source = "standard input"
        data, kind = _bounded(sys.stdin.buffer, path, source)
    else:
        source = path
        with open_bytes(Path(path), only_regular=only_regular) as stream:
            data, kind = _bounded(stream, path, source)
    return read_bytes(data, kind, source=source, encoding=encoding, guess=True)


def _bounded(
    stream: IO[bytes] | io.BufferedIOBase, name: str, source: str
) -> tuple[bytes, DocumentKind]:
    """All bytes and their kind: the one place where the user's documents are read."""
    most = _MOST_OF_TEXT
    data = stream.read(most + 1)
    kind = kind_of(name, data)
    if kind in ("pdf", "docx", "xlsx", "eml"):
        most = _MOST
        data += stream.read(most + 1 - len(data))
    if len(data) > most:
        raise bad_input(source, "", f"is larger than {most >> 20} MiB", "split it")
    return data, kind


def read_documents(
    paths: Iterable[str], encoding: str = "", *, keep: bool = False
) -> DocumentFiles:
    """Files, and those below folders whose endings are known; one that is named twice counts once.

    A file that cannot be read, is empty or is not text is left out and listed. A path that does not
    exist is an error. Of a folder with an index only what has changed is read, and with `keep` an
    index is made.
    """
    check_encoding(encoding)
    read = DocumentFiles()
    named: dict[str, tuple[str, DocumentIndex | None]] = {}  # by real path
    given = set[str]()  # and not found in a folder
    for path in paths:
        given.add(path)
        if path != STANDARD_INPUT and not os.path.lexists(path):
            raise bad_input(path, "", "no such file or folder", "check the path")
        index = DocumentIndex.of(path) if os.path.isdir(path) else None
        if index is not None and not keep and not index.exists:
            index = None
        for name in _files_of(path, read):
            real = os.path.realpath(name) if name != STANDARD_INPUT else name
            named.setdefault(real, (name, index))
    try:
        for name, index in track(named.values(), len(named), "reading"):
            try:
                read_one = partial(read_document, only_regular=name not in given)
                read.documents[name] = (
                    index.read(name, encoding, read_one)
                    if index is not None
                    else read_one(name, encoding)
                )
            except ReadletError as error:
                read.unreadable.append(str(error).rpartition("; ")[0])
    finally:  # an interrupted call has read something too
        for index in {id(index): index for _, index in named.values() if index}.values():
            index.save({name for name, own in named.values() if own is index})
    if not read.documents:
        raise _nothing(read)
    return read


def _files_of(path: str, read: DocumentFiles) -> Iterator[str]:
    """The file itself, or those below a folder that have a known ending, in order."""
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
    remedy = f"give files, or a folder with files that end in {', '.join(KINDS)}"
    fault = "no text to read"
    if read.unreadable:
        fault += f" ({read.unreadable[0]})"
    elif read.others:
        fault += f" ({read.others:,} files have another ending)"
    return ReadletError(f"{fault}; {remedy}")
