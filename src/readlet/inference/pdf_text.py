"""The text of a PDF page by page, read in a subprocess.

A PDF is a program of sorts: a small one may unpack to gigabytes, or take hours to parse.

It has lines, not sentences: lines of a paragraph and hyphenated words are joined, and running
heads and feet are left out.
"""

import io
import logging
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from readlet.errors import ReadletError, extra_needed
from readlet.inference.document_text import Part, dumped
from readlet.processes import write_text

_MOST = 20_000_000  # characters, and bytes of a stream once it is unpacked
_ENCRYPTED = "the PDF is encrypted; save it without a password"
_IMAGES = "the PDF has no text, only images; run text recognition (OCR) on it first"
_TOO_MUCH = "the PDF takes too much memory or time; split it, or save it again"
_DAMAGED = "the PDF is damaged, or not a PDF; save it again"


def pdf_parts(data: bytes) -> list[Part]:
    """The text of each page; an error of one line for a file that has none."""
    pages = joined_lines(without_running_heads(_pages(data)))
    return [Part(f"page {number:,}", page) for number, page in enumerate(pages, 1)]


def _pages(data: bytes) -> list[str]:
    with extra_needed("documents"):
        from pypdf import PasswordType, PdfReader, overwrite_configuration
        from pypdf.errors import DependencyError, LimitReachedError, PyPdfError
    limits: dict[str, Any] = {
        f"{name}_maximum_output_length": _MOST
        for name in ("zlib", "lzw", "run_length", "jbig2", "array_based_stream")
    }
    try:
        overwrite_configuration(**limits)
        reader = PdfReader(io.BytesIO(data))
        # Many files are encrypted with an empty password, only to forbid printing.
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise ReadletError(_ENCRYPTED)
        pages, characters = list[str](), 0
        for page in reader.pages:
            pages.append(page.extract_text().strip())
            characters += len(pages[-1])
            if characters > _MOST:
                raise ReadletError(f"the PDF has more than {_MOST:,} characters; split it")
    except DependencyError:  # a cipher that needs another library
        raise ReadletError(_ENCRYPTED) from None
    except LimitReachedError:
        raise ReadletError(_TOO_MUCH) from None
    except (PyPdfError, ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, ReadletError):
            raise
        raise ReadletError(_DAMAGED) from None
    if not any(pages):
        raise ReadletError(_IMAGES)
    return pages


_AT_EDGE = 2  # lines of a page that may be a running head or foot
_OF_PAGES = 0.5  # the share of pages that have it, and
_LEAST_PAGES = 3
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(r"[-–—\s]*(?:[Pp]age\s+)?#(?:\s*(?:/|of)\s*#)?[-–—\s]*")


def without_running_heads(pages: Sequence[str]) -> list[str]:
    """The pages without running heads and feet, which may differ in page numbers."""
    lines = [[line.strip() for line in page.split("\n") if line.strip()] for page in pages]
    seen = Counter(form for page in lines for form in {_form(page[i]) for i in _edges(page)})
    needed = max(_LEAST_PAGES, _OF_PAGES * sum(map(bool, lines)))
    # Of pages of any length, numbers that grow with the pages.
    numbers = {
        (at, i): int(number[0][:9]) - at
        for at, page in enumerate(lines)
        for i in {0, len(page) - 1}
        if page
        and _PAGE_NUMBER.fullmatch(_form(page[i]))
        and (number := _DIGITS.search(page[i])) is not None
    }
    shifts = Counter(numbers.values())
    found = []
    for at, page in enumerate(lines):
        dropped = {i for i in _edges(page) if seen[_form(page[i])] >= needed}
        dropped |= {
            i for i in {0, len(page) - 1} if (at, i) in numbers and shifts[numbers[at, i]] > 1
        }
        found.append("\n".join(line for i, line in enumerate(page) if i not in dropped))
    return found


def _form(line: str) -> str:
    return _DIGITS.sub("#", line)


def _edges(page: Sequence[str]) -> set[int]:
    count, most = len(page), min(_AT_EDGE, len(page) // 4)  # a short page is mostly text
    return {*range(most), *range(count - most, count)}


_LIGATURES = {0xFB00 + at: typed for at, typed in enumerate("ff fi fl ffi ffl st st".split())}
_HYPHENS = ("-", "\u2010", "\u00ad")
_LONGEST = 100  # letters of a word
_HYPHENATED = re.compile(rf"(\w{{1,{_LONGEST}}})[{''.join(_HYPHENS)}]\Z")
_FULL = 0.75  # of the longest lines: a line of this length may go on in the next one
_NEW_LINE = re.compile(r"[-•*▪·–—○●]\s|\(?\w{1,3}[.)]\s|[|]")  # an item of a list
_ENDS = (".", "!", "?", ":", ";", "”", '"')


def joined_lines(pages: Sequence[str]) -> list[str]:
    """The pages with joined paragraphs, without hyphenation and ligatures.

    A line goes on in the next one if it is about as long as the longest ones, or ends within a
    word. Short lines, of tables, lists and addresses, are kept.
    """
    pages = [page.translate(_LIGATURES) for page in pages]
    words = Counter(re.findall(r"\w+(?:-\w+)*", "\n".join(pages).lower()))
    return [_joined(page.split("\n"), words) for page in pages]


def _joined(lines: Sequence[str], words: Counter[str]) -> str:
    lengths = sorted(map(len, lines))
    full = _FULL * lengths[int(0.9 * (len(lengths) - 1))]
    parts = [lines[0]]
    tail = lines[0][-_LONGEST - 1 :]  # of the text so far: all of it for every line is quadratic
    for before, line in pairwise(lines):
        divided = _HYPHENATED.search(tail) if tail.endswith(_HYPHENS) else None
        if divided and line[:1].islower():
            rest = re.match(r"\w+", line)
            assert rest is not None
            whole = f"{divided[1]}{rest[0]}".lower()
            # Elsewhere always written with a hyphen: it belongs to the word.
            hyphen = f"{divided[1]}-{rest[0]}".lower()
            parts[-1] = parts[-1][:-1]
            tail = tail[:-1]
            added = ("-" if words[hyphen] and not words[whole] else "") + line
        elif (
            len(before) < full
            or _NEW_LINE.match(line)
            or (before.endswith(_ENDS) and len(before) < 0.9 * full / _FULL)
        ):
            added = "\n" + line
        else:
            added = " " + line
        parts.append(added)
        tail = (tail + added[-_LONGEST - 1 :])[-_LONGEST - 1 :]
    return "".join(parts)


if __name__ == "__main__":
    logging.disable()  # the library's warnings are about details of the file
    write_text(lambda data: dumped(pdf_parts(data)))
