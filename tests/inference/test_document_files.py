"""Text of files that users send: never what a page runs, and a reason where there is none."""

import io
from collections.abc import Callable
from typing import Any

import pytest

from readlet.errors import ReadletError
from readlet.inference.document_files import document_text
from readlet.inference.pdf_text import pdf_text
from readlet.processes import Job

WORDS = b"BT /F1 12 Tf 20 200 Td (The kettle was patented in 1891.) Tj ET"


def test_text_is_decoded() -> None:
    assert document_text("Été 1891".encode("utf-16"), "text") == "Été 1891"
    assert document_text(b"\xef\xbb\xbfa <b>", "text") == "a <b>"


@pytest.mark.parametrize(
    ("data", "kind", "fault"),
    [
        (b"\x89PNG\0\x1a", "text", "not text"),
        (b"caf\xe9", "text", "byte 3: not UTF-8"),
        (b"\xff\xfe\x00", "text", "not UTF-16"),
        (b" \n", "text", "no text"),
        (b"<script>alert(1)</script>", "html", "no text"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, kind: Any, fault: str) -> None:
    with pytest.raises(ReadletError, match=fault):
        document_text(data, kind)


def test_a_pdf_is_read_in_a_process_of_its_own(made_pdf: Callable[..., bytes]) -> None:
    pytest.importorskip("pypdf")
    assert document_text(made_pdf(WORDS), "pdf") == "The kettle was patented in 1891."


def test_a_pdf_that_takes_too_long_is_given_up(made_pdf: Callable[..., bytes]) -> None:
    with pytest.raises(ReadletError, match=r"within 0\.01 s"):
        document_text(made_pdf(WORDS), "pdf", seconds=0.01)


LARGE_PAGE = "<p>“A” &amp; é</p>" * 40_000


def test_a_large_page_is_read_in_a_process_of_its_own() -> None:
    assert document_text(LARGE_PAGE.encode(), "html").split("\n") == ["“A” & é"] * 40_000
    job = Job()
    job.kill()
    with pytest.raises(ReadletError, match="given up"):
        document_text(LARGE_PAGE.encode(), "html", job=job)
    with pytest.raises(ReadletError, match=r"the page was not read within 0\.01 s"):
        document_text(LARGE_PAGE.encode(), "html", seconds=0.01)


def test_pdfs_without_text_say_so(made_pdf: Callable[..., bytes]) -> None:
    """What the process does, without a process for each."""
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(made_pdf(WORDS)))
    writer.encrypt("secret", algorithm="RC4-128")
    encrypted = io.BytesIO()
    writer.write(encrypted)
    bomb = made_pdf(b"q Q " * 10_000_000, packed=True)
    assert len(bomb) < 200_000
    for data, fault in (
        (encrypted.getvalue(), "encrypted"),
        (made_pdf(b"q Q"), "only images"),
        (b"PK\x03\x04 a zip file", "no PDF"),
        (made_pdf(WORDS)[:200], "damaged"),
        (bomb, "too much memory"),
    ):
        with pytest.raises(ReadletError, match=fault):
            pdf_text(data)
