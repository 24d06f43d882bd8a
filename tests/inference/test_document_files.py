"""Text of files that users send: never what a page runs, and a reason where there is none."""

import gzip
import io
import json
import os
import stat
import struct
import time
import warnings
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from readlet.errors import ReadletError
from readlet.inference import document_files, office_files
from readlet.inference.document_files import document_text, read_bytes, read_documents
from readlet.inference.document_index import DocumentIndex
from readlet.inference.document_text import DocumentText, Part, dumped, markdown_parts
from readlet.inference.inputs import is_passage
from readlet.inference.office_files import office_parts
from readlet.inference.pdf_text import joined_lines, pdf_parts, without_running_heads
from readlet.processes import Job

WORDS = b"BT /F1 12 Tf 20 200 Td (The kettle was patented in 1891.) Tj ET"


def test_text_is_decoded() -> None:
    assert document_text("Été 1891".encode("utf-16"), "text") == "Été 1891"
    assert document_text(b"\xef\xbb\xbfa <b>", "text") == "a <b>"


@pytest.mark.parametrize(
    ("data", "kind", "fault"),
    [
        (b"\x89PNG\0\x1a", "text", "not text"),
        (b"\xff\xd8\xff\xe1 photo", "markdown", "not text"),
        (bytes(range(1, 256)) * 2, "text", "not text"),
        (struct.pack("<99h", *range(99)), "text", "not text"),  # sound: every other byte is 0
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
    with pytest.raises(ReadletError, match="cancelled"):
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
        (b"PK\x03\x04 a zip file", "not a PDF"),
        (made_pdf(WORDS)[:200], "damaged"),
        (bomb, "too much memory"),
    ):
        with pytest.raises(ReadletError, match=fault):
            pdf_parts(data)


def test_words_and_lines_of_a_pdf_are_joined() -> None:
    pages = [
        "The lamp at Cape Wick burned oil until the keep-",
        "ers bought a well-",
        "known burner from Ghent, which was twice as bright.",
        "It is well-known today.",
        "Price list",
        "Lamp 12",
        "- oil",
    ]
    assert joined_lines(["\n".join(pages)]) == [
        "The lamp at Cape Wick burned oil until the keepers bought a well-known burner from Ghent, "
        "which was twice as bright. It is well-known today.\nPrice list\nLamp 12\n- oil"
    ]


def test_ligatures_of_a_pdf_are_typed() -> None:
    assert joined_lines(["The o\ufb03ce \ufb01nds a \ufb06amp"]) == ["The office finds a stamp"]


def test_running_heads_and_page_numbers_are_dropped() -> None:
    pages = [
        f"Harbour Board  Report {n}\nText of page {n}.\nMore of it.\n- {n} -" for n in (7, 8, 9)
    ]
    kept = without_running_heads(pages)
    assert kept == [f"Text of page {n}.\nMore of it." for n in (7, 8, 9)]
    assert without_running_heads(pages[:1]) == [pages[0]]
    short = [f"Part {n}\n{n + 3}" for n in range(3)]
    assert without_running_heads(short) == ["Part 0", "Part 1", "Part 2"]
    assert without_running_heads(["Rooms\n5", "Beds\n5"]) == ["Rooms\n5", "Beds\n5"]


def test_a_sentence_goes_on_over_pages() -> None:
    document = DocumentText.of([Part("page 1", "It was lit"), Part("page 2", "by Ada.")])
    assert document.text == "It was lit by Ada."
    assert document.place(document.text.index("Ada")) == "page 2"


def docx(path: Path | None = None) -> bytes:
    made = pytest.importorskip("docx").Document()
    made.add_paragraph("For all guests.")
    made.add_heading("Tariffs", 1)
    table = made.add_table(2, 3)
    for row, cells in zip(
        table.rows, [("Plan", "Price", "Data"), ("Basic", "9 €", "")], strict=True
    ):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    made.add_heading("Ending", 2)
    made.add_paragraph("Thirty days\tnotice.")
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def xlsx() -> bytes:
    book = pytest.importorskip("openpyxl").Workbook()
    sheet = book.active
    sheet.title = "Oil"
    for row in (["Prices of 1881"], ["Item", "EUR"], ["Lamp", 12.0], [], ["Wick", 1.5]):
        sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def test_word_files_have_headings_and_rows_with_their_header() -> None:
    found = read_bytes(docx(), "docx")
    assert "Plan: Basic; Price: 9 €" in found.text
    assert found.place(found.text.index("9 €")) == "“Tariffs”, row 2"
    assert found.place(found.text.index("Thirty")) == "“Ending”"
    assert found.place(0) == "line 1"


def test_rows_of_sheets_and_tables_are_read_with_their_header() -> None:
    sheet = read_bytes(xlsx(), "xlsx")
    assert sheet.text.split("\n")[2:] == ["Item: Lamp; EUR: 12", "Item: Wick; EUR: 1.5"]
    assert sheet.place(sheet.text.index("1.5")) == "Oil, row 5"
    table = read_bytes('Item;EUR\nLamp;12,5\n"Oil;\nfine";3\n'.encode("utf-16"), "csv")
    assert table.text.split("\n")[1:] == ["Item: Lamp; EUR: 12,5", "Item: Oil; fine; EUR: 3"]
    assert table.place(table.text.index("12,5")) == "row 2"


def test_an_email_is_its_head_and_its_text() -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "ada@wick.example", "Café und Öl"
    message.set_content("<h1>Oil</h1><p>It comes on <b>Monday</b>.", subtype="html")
    message.add_attachment(b"x", maintype="image", subtype="png", filename="lamp.png")
    text = document_text(message.as_bytes(), "eml")
    assert text.startswith("From: ada@wick.example\nSubject: Café und Öl\nAttached: lamp.png")
    assert text.endswith("It comes on Monday.")


@pytest.mark.parametrize("kind", ["docx", "xlsx", "eml"])
def test_damaged_office_files_are_one_line(kind: str) -> None:
    for data in (b"", b"PK\x03\x04 no archive", b"\0" * 99):
        with pytest.raises(ReadletError, match="damaged"):
            office_parts(kind, data)


def test_an_archive_that_unpacks_to_too_much_is_not_unpacked() -> None:
    bomb = io.BytesIO(docx())
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/media/zeros", b"0" * 210_000_000)
    assert len(bomb.getvalue()) < 1_000_000
    with pytest.raises(ReadletError, match="unpacked file is too large"):
        office_parts("docx", bomb.getvalue())


def test_parts_of_pages_and_markdown_have_the_names_of_their_headings() -> None:
    text = "Intro\n\n# Oil #\nIt is dear.\n"
    markdown = read_bytes(text.encode(), "markdown")
    assert markdown.text == text
    assert markdown.place(text.index("dear")) == "“Oil”"
    page = read_bytes(b"Intro<h2><i>Fish</i> oil</h2>It is dear.", "html")
    assert page.text == "Intro\nFish oil\nIt is dear."
    assert page.place(page.text.index("dear")) == "“Fish oil”"
    assert page.place(0) == "line 1"


def test_a_folder_is_read_with_guessed_encodings_and_reasons(tmp_path: Path) -> None:
    (tmp_path / "prices.docx").write_bytes(docx())
    (tmp_path / "old.txt").write_bytes("caf\xe9 noir".encode("cp1252"))
    (tmp_path / "bad.xlsx").write_bytes(b"nothing")
    (tmp_path / "photo.png").write_bytes(b"x")
    read = read_documents([str(tmp_path)])
    assert sorted(Path(name).name for name in read.texts) == ["old.txt", "prices.docx"]
    assert read.guessed == [f"{tmp_path / 'old.txt'}: read as cp1252"]
    assert [Path(line.split(":")[0]).name for line in read.unreadable] == ["bad.xlsx"]
    assert read.others == 1


def test_an_index_follows_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READLET_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "kiln.md").write_text("# Kiln\n\nAda Brook built it.")
    (folder / "mill.txt").write_text("The mill burned down.")
    first = read_documents([str(folder)], keep=True)
    again = read_documents([str(folder)])
    assert again.documents == first.documents
    opened: list[str] = []
    read = document_files.read_document

    def noted(name: str, encoding: str = "", **given: bool) -> DocumentText:
        opened.append(Path(name).name)
        return read(name, encoding, **given)

    monkeypatch.setattr(document_files, "read_document", noted)
    read_documents([str(folder)])
    assert opened == []
    (folder / "mill.txt").write_text("The mill was rebuilt in 1910.")
    (folder / "kiln.md").unlink()
    (folder / "new.txt").write_text("A new text.")
    changed = read_documents([str(folder)])
    assert opened == ["mill.txt", "new.txt"]
    assert list(changed.texts.values()) == ["The mill was rebuilt in 1910.", "A new text."]
    kept = DocumentIndex.of(str(folder))
    assert {Path(name).name for name in kept.files} == {"mill.txt", "new.txt"}
    kept.path.write_bytes(b"damaged")  # it is made again
    assert read_documents([str(folder)]).documents == changed.documents


def test_a_folder_without_an_index_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READLET_CACHE", str(tmp_path / "cache"))
    (tmp_path / "kiln.txt").write_text("Ada Brook built it.")
    read_documents([str(tmp_path)])
    assert not (tmp_path / "cache").exists()


def processor_time(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def test_headings_and_lines_take_linear_time() -> None:
    """Twenty thousand characters took seconds; headings keep their names."""
    heading = f"# {'#' * 20_000} a"
    assert processor_time(lambda: list(markdown_parts(heading))) < 0.5
    page = "word-\n" * 20_000
    assert processor_time(lambda: joined_lines([page])) < 1
    labels = [label for label, _ in markdown_parts("\n# Oil ##\n####### no\n## C # \t\nx\n#\t##\n")]
    assert labels == ["", "“Oil”", "“C”", ""]


def test_markdown_is_as_it_was_and_a_large_one_is_read_in_a_process_of_its_own() -> None:
    text = "\n \n# Oil #\n\n\nIt is dear.\n"
    assert read_bytes(text.encode(), "markdown").text == text
    job = Job()
    job.kill()
    with pytest.raises(ReadletError, match="cancelled"):
        read_bytes(b"# a\n" * 200_000, "markdown", job=job)


def test_what_a_small_file_becomes_is_bounded() -> None:
    with pytest.raises(ReadletError, match="split it"):
        dumped(Part("row", "x" * 1_000_000) for _ in range(1_000))
    with pytest.raises(ReadletError, match="split it"):
        dumped(Part("", "") for _ in range(1_000_000))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_only_regular_files_of_a_folder_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_files, "_MOST_OF_TEXT", 1_000)
    (tmp_path / "good.txt").write_text("Ada Brook built it.")
    (tmp_path / "link.md").symlink_to(tmp_path / "good.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "zeros.txt").symlink_to("/dev/zero")
    (tmp_path / "bomb.txt").write_bytes(gzip.compress(b"a " * 1_000_000))
    read = read_documents([str(tmp_path)])
    assert [Path(name).name for name in read.documents] == ["good.txt"]
    reasons = {Path(line.split(": ")[0]).name: line for line in read.unreadable}
    assert reasons.keys() == {"pipe.txt", "zeros.txt", "bomb.txt"}
    with pytest.raises(ReadletError, match="larger than"):  # named directly: bounded, too
        document_files.read_document("/dev/zero")


def test_an_index_is_private_and_a_full_disk_loses_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READLET_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "kiln.txt").write_text("Ada Brook built it.")
    read_documents([str(folder)], keep=True)
    kept = DocumentIndex.of(str(folder)).path
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    kept.write_bytes(gzip.compress(b"[" * 100_000))
    assert not DocumentIndex.of(str(folder)).files

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(json, "dump", full)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert read_documents([str(folder)], keep=True).documents
    assert len(warned) == 1


def test_a_stray_cell_and_a_long_row() -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    sheet = book.active
    sheet.append(["Item", "EUR"])
    sheet.cell(300_000, 1, "stray")
    file = io.BytesIO()
    book.save(file)
    assert office_parts("xlsx", file.getvalue())[-1].text == "Item: stray"
    sheet.append(range(501))
    file = io.BytesIO()
    book.save(file)
    with pytest.raises(ReadletError, match="more than 500 cells"):
        office_parts("xlsx", file.getvalue())


def test_a_sheet_is_read_whole_whatever_size_it_names() -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (["Item", "EUR"], ["Oil", 12], ["Wick", 3]):
        book.active.append(row)
    sound, changed = io.BytesIO(), io.BytesIO()
    book.save(sound)
    with zipfile.ZipFile(sound) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'ref="A1:B3"', b'ref="A1"'))
    assert [part.text for part in office_parts("xlsx", changed.getvalue())] == [
        "Item | EUR",
        "Item: Oil; EUR: 12",
        "Item: Wick; EUR: 3",
    ]


def test_far_cells_of_a_sheet_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    for number in range(1, 9):
        book.active.cell(number, 16_384, "far")
    file = io.BytesIO()
    book.save(file)
    monkeypatch.setattr(office_files, "_MOST_OF_SHEET", 100_000)
    with pytest.raises(ReadletError, match="too large"):
        office_parts("xlsx", file.getvalue())


_MULTIPART = "Content-Type: multipart/mixed; boundary=a\n\n"


@pytest.mark.parametrize(
    ("mail", "most"),
    [
        ("Subject: {}\n\nOil is dear.", "x "),
        ("Subject: x\nTo: {}\n\nOil is dear.", "a@b.org, "),
        ("Subject: x\nContent-Disposition: x;{}\n\nOil is dear.", "a*0*=b;"),
        (f"Subject: x\n{_MULTIPART}{{}}", "--a\n\n"),
        (f"Subject: x\n{_MULTIPART}{{}}", f"--a\n{_MULTIPART}"),
    ],
    ids=["subject", "recipients", "parameters", "parts", "nested parts"],
)
def test_hostile_emails_take_little_time(mail: str, most: str) -> None:
    """Half a megabyte took five to fifty seconds."""
    data = mail.format(most * (600_000 // len(most))).encode()

    def read() -> None:
        try:
            assert office_parts("eml", data)[-1].text == "Oil is dear."
        except ReadletError:
            assert b"multipart" in data

    assert processor_time(read) < 1.5


def test_a_text_is_a_passage_by_its_words() -> None:
    assert is_passage("The kiln. " * 1_000)
    assert not is_passage("a " * 30_000)
