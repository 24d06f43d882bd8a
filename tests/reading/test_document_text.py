"""Text of files that users send: never what a page runs, and a reason where there is none."""

import io
import zlib
from typing import Any

import pytest

from readlet.errors import ReadletError
from readlet.reading import pdf_text as pdf
from readlet.reading.document_text import document_text


def made_pdf(stream: bytes, *, packed: bool = False) -> bytes:
    """A PDF of one page with this content."""
    data = zlib.compress(stream, 9) if packed else stream
    filtered = b"/Filter /FlateDecode " if packed else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< " + filtered + b"/Length %d >>\nstream\n" % len(data) + data + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    file = b"%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(file))
        file += b"%d 0 obj\n" % number + content + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(file)
    file += b"xref\n0 6\n0000000000 65535 f \n" + table
    return file + b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start


WORDS = b"BT /F1 12 Tf 20 200 Td (The kettle was patented in 1891.) Tj ET"


def test_text_is_decoded() -> None:
    assert document_text("Été 1891".encode("utf-16"), "text") == "Été 1891"
    assert document_text(b"\xef\xbb\xbfa <b>", "text") == "a <b>"


@pytest.mark.parametrize(
    ("data", "kind", "fault"),
    [
        (b"\x89PNG\0\x1a", "text", "no text"),
        (b"caf\xe9", "text", "byte 3: not UTF-8"),
        (b"\xff\xfe\x00", "text", "not UTF-16"),
        (b" \n", "text", "no text"),
        (b"<script>alert(1)</script>", "html", "no text"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, kind: Any, fault: str) -> None:
    with pytest.raises(ReadletError, match=fault):
        document_text(data, kind)


def test_a_pdf_is_read_in_a_process_of_its_own() -> None:
    pytest.importorskip("pypdf")
    assert document_text(made_pdf(WORDS), "pdf") == "The kettle was patented in 1891."


def test_a_pdf_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(ReadletError, match=r"within 0\.01 s"):
        document_text(made_pdf(WORDS), "pdf", seconds=0.01)


def test_pdfs_without_text_say_so() -> None:
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
            pdf._extracted(data)
