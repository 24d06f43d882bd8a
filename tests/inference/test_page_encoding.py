"""Pages are decoded as they say, unless that is wrong or the user knows better."""

import pytest

from readlet.inference.document_files import document_text
from readlet.inference.html_text import declared_encoding

CAFE = "<p>The café closed in 1891.</p>"
SHOWN = "The café closed in 1891."
LATIN = '<meta charset="iso-8859-1">'


@pytest.mark.parametrize(
    ("meta", "encoding"),
    [
        (LATIN, "latin-1"),
        ("<!-- <meta charset=utf-8> --><META CHARSET=Windows-1252 >", "cp1252"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=macintosh">', "mac-roman"),
        ("<meta content='text/html;charset=gb2312' http-equiv=content-type>", "gb18030"),
        ("<meta name=viewport content='charset=koi8-r'><meta charset=cp1252>", "cp1252"),
        ("<meta charset=utf-8>", "utf-8"),
        (LATIN, "utf-8"),  # what the bytes are counts
        (LATIN, "utf-16"),  # a byte order mark counts
    ],
)
@pytest.mark.parametrize("given", [None, ""])
def test_the_encoding_that_a_page_names(meta: str, encoding: str, given: str | None) -> None:
    page = f"<html><head>{meta}<title>T</title>{CAFE}".encode(encoding)
    assert document_text(page, "html", encoding=given) == SHOWN


def test_quotes_of_windows_in_pages_that_name_latin_1() -> None:
    assert document_text(f"{LATIN}<p>“A” – b".encode("cp1252"), "html") == "“A” – b"


def test_a_given_encoding_comes_first() -> None:
    page = f"{LATIN}{CAFE}".encode("mac-roman")
    assert document_text(page, "html", encoding="mac-roman") == SHOWN


@pytest.mark.parametrize("label", ["klingon", "punycode", "unicode_escape", "hex", "\0", "utf-16"])
def test_other_encodings_are_not_taken_from_a_page(label: str) -> None:
    assert declared_encoding(f"<meta charset='{label}'>".encode()) == ""


def test_only_the_head_is_searched() -> None:
    assert declared_encoding(b" " * 900 + LATIN.encode()) == "cp1252"
    assert declared_encoding(b" " * 1100 + LATIN.encode()) == ""
