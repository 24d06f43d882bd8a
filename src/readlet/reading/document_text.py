"""The text of a document: plain text, HTML or PDF, from its bytes."""

import io
from pathlib import Path, PurePath
from typing import Literal

from readlet.errors import ReadletError, bad_input
from readlet.processes import Job
from readlet.reading.html_text import declared_encoding, html_text
from readlet.reading.pdf_text import pdf_text
from readlet.storage.files import decoded_chunks, encoding_of, is_utf8, likely_utf16

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
    """The text; an error of one line for a file that has none. A PDF gets so many seconds.

    `job.kill()` in another thread ends it. `encoding` is None where the user cannot name one; a
    page may name its own.
    """
    if kind == "pdf":
        try:
            return pdf_text(data, seconds=seconds, job=job)
        except ReadletError as error:
            raise ReadletError(f"{source}: {error}") from None
    is_wide = encoding_of(data, encoding or "").startswith(("utf-16", "utf-32"))
    if b"\0" in data and not is_wide and not likely_utf16(data):
        raise bad_input(source, "", "is no text", "give plain text, HTML or PDF")
    declared = declared_encoding(data) if kind == "html" and not is_utf8(data) else ""
    text = "".join(decoded_chunks(io.BytesIO(data), source, encoding, declared=declared))
    shown = html_text(text) if kind == "html" else text
    if not shown.strip():
        raise bad_input(source, "", "has no text", "give another file")
    return shown
