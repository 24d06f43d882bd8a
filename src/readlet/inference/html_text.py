"""HTML pages: the text that they show, under its headings, and the encoding that they name.

Pages come from anywhere, and `html.parser` takes hours for some of a few megabytes, more or fewer
in each version of Python. This scanner goes through a page once, whatever is in it: no part of its
expression ever gives back what it took. What never ends (a comment, a tag, a quoted value, a
script) ends with the page, as in browsers.
"""

import codecs
import gc
import re
from collections.abc import Iterator
from functools import lru_cache
from html import unescape

from readlet.inference.document_text import Part, dumped, heading_label, row_label
from readlet.inference.table_rows import OF_TABLES, TableRows
from readlet.processes import write_text

_UNSEEN = frozenset({"template", "noscript", "title", "iframe"})  # besides scripts and styles
# And what stands beside its neighbours like a word of its own: cells, choices, buttons.
_BLOCKS = frozenset(
    "address article aside blockquote br button caption dd details dialog div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr iframe label legend li main "
    "menu nav ol optgroup option p pre search section select summary table td textarea th tr "
    "ul".split()
)
_KEEP_LINES = frozenset({"pre", "textarea"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_MEANING = _UNSEEN | _BLOCKS | _KEEP_LINES | OF_TABLES | {"body"}  # other tags change nothing
_MARK = "\0"  # before a heading, while a page is read; no page shows it
_ROW_MARK = _MARK * 2  # around the number of a row

# As the standard of HTML reads them: a quote means something only after `=`.
_ATTRIBUTE = r"""
    [^ \t\n\r\f/>] [^ \t\n\r\f/>=]*+
    (?: [ \t\n\r\f]*+ = [ \t\n\r\f]*+ (?: "[^"]*+"?+ | '[^']*+'?+ | [^ \t\n\r\f>]*+ ) )?+
"""
_ATTRIBUTES = rf"(?: [ \t\n\r\f/]++ | {_ATTRIBUTE} )*+"
# A script reaches to its end tag, `</script`; its tag alone may close it, in pages that are XML.
_MARKUP = re.compile(
    rf"""
    < (?:
        ((?i:script|style)) (?=[ \t\n\r\f/>]) {_ATTRIBUTES}
            (?: (?<!/)> .*? (?= </ (?i:\1) [ \t\n\r\f/>] | \Z ) | >?+ )
      | (/? [a-zA-Z] [^ \t\n\r\f/>]*+) {_ATTRIBUTES} >?+
      | !-- (?: -?> | .*? (?: --!?> | \Z ) )
      | [!?/] [^>]*+ >?+
    )
    """,
    re.VERBOSE | re.DOTALL,
)
"""A script, a tag (its name is group 2), a comment, or something else that is not shown."""


def html_text(page: str) -> str:
    """What a page shows, a line for each block. Scripts and styles are left out, never run.

    Head and body need no tags: what a head may have is not shown anyway.
    """
    return "\n".join(part.text for part in html_parts(page))


def html_parts(page: str) -> Iterator[Part]:
    """The same, in parts under their headings; those without text are left out."""
    label, lines = "", list[str]()
    for line in _lines(page.replace(_MARK, " ")):
        if line.startswith(_ROW_MARK):
            number, _, row = line.removeprefix(_ROW_MARK).partition(_ROW_MARK)
            if lines:
                yield Part(label, "\n".join(lines))
            yield Part(row_label(label, int(number)), row)
            lines = []
            continue
        if line.startswith(_MARK):
            line = " ".join(line.replace(_MARK, " ").split())
            if not line:
                continue
            if lines:
                yield Part(label, "\n".join(lines))
            label, lines = heading_label(line), []
        lines.append(line)
    if lines:
        yield Part(label, "\n".join(lines))


def _lines(page: str) -> list[str]:
    """The lines that have text; a heading begins with a mark, a row with two and its number."""
    parts: list[str] = []
    tables = TableRows(parts, _ROW_MARK)
    unseen = ""  # the outermost element that is not shown
    depth = 0  # of templates in it
    kept = ""  # the outermost element whose lines are kept
    at = 0
    for markup in _MARKUP.finditer(page):
        start, end = markup.span()
        if start > at and not unseen:
            parts.append(_shown(page[at:start], kept))
        at = end
        tag = (markup[2] or "").lower()
        is_end = tag[:1] == "/"
        if (tag[1:] if is_end else tag) not in _MEANING:
            continue
        if tag == "body":  # a page may leave the end of its title out
            unseen = ""
        if unseen:
            if tag == unseen == "template" and page[end - 2] != "/":  # others do not nest
                depth += 1
            elif tag == f"/{unseen}" and depth:
                depth -= 1
            elif tag == f"/{unseen}":
                unseen = ""
                _break(parts, tag[1:])
            continue
        if is_end:
            tag = tag[1:]
            kept = "" if tag == kept else kept
            if tag in OF_TABLES:
                tables.end(tag)
        elif page[end - 2] != "/":
            if tag in _UNSEEN:
                unseen, depth = tag, 0
            elif tag in _KEEP_LINES:
                kept = kept or tag
            if tag in OF_TABLES:
                tables.begin(tag, markup[0])
        _break(parts, tag)
        if tag in _HEADINGS and not is_end:
            parts.append(_MARK)
    if not unseen:
        parts.append(_shown(page[at:], kept))
    tables.end("tr")  # the last one may be open
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return [line for line in lines if line]


def _shown(text: str, kept: str) -> str:
    if "&" in text:
        text = _REFERENCE.sub(_referred, _LONG_NUMBER.sub("\ufffd", text))
    return text if kept or "\n" not in text else text.replace("\n", " ")


def _referred(reference: re.Match[str]) -> str:
    text = reference[0]
    return _character(text) if len(text) <= _KEPT else unescape(text)


# Ampersands are many in some files, and what follows them is nearly always the same. No name has
# fewer than two letters.
_character = lru_cache(1 << 12)(unescape)
_KEPT = 40  # characters; numbers may have any length
_REFERENCE = re.compile("&(?:#[0-9]++;?|#[xX][0-9a-fA-F]++;?|[a-zA-Z][a-zA-Z0-9]{1,31};?)")
# No character has one, and Python does not read numbers of thousands of digits.
_LONG_NUMBER = re.compile("&#[0-9]{9,}+;?+")


def _break(parts: list[str], tag: str) -> None:
    if tag in _BLOCKS and parts and parts[-1] != "\n":
        parts.append("\n")


_HEAD = 1024  # bytes; by the standard of HTML it stands there
# Those of the standard. Python knows more, some of which take quadratic time.
_KNOWN = frozenset(
    "utf-8 cp866 cp874 cp932 cp949 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 "
    "iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 "
    "iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u mac-roman mac-cyrillic gbk gb18030 big5 "
    "big5hkscs euc_jp iso2022_jp".split()
)
# Read as their supersets, as browsers do: pages name the one and use the other.
_READ_AS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([^\s;\"']+)", re.IGNORECASE)


def declared_encoding(page: bytes) -> str:
    """Python's name of the encoding that a page declares; nothing if there is none it knows."""
    head = page[:_HEAD].decode("latin-1")  # any byte is a character, and tags are ASCII
    labels = (_label(tag[0]) for tag in _MARKUP.finditer(head) if (tag[2] or "").lower() == "meta")
    try:
        name = codecs.lookup(next(filter(None, labels), "")).name
    except (LookupError, ValueError):  # ValueError: a null character in it
        return ""
    name = _READ_AS.get(name, name)
    return name if name in _KNOWN else ""


def _label(meta: str) -> str:
    """What a `meta` element says of the encoding of its page."""
    given: dict[str, str] = {}
    for attribute in re.findall(_ATTRIBUTE, meta[len("<meta") :].rstrip(">"), re.VERBOSE):
        name, _, value = attribute.partition("=")
        given.setdefault(name.strip().lower(), value.strip(" \t\n\r\f\"'"))
    if label := given.get("charset"):
        return label
    said = _CHARSET.search(given.get("content", ""))
    return said[1] if said and given.get("http-equiv", "").lower() == "content-type" else ""


if __name__ == "__main__":
    gc.disable()  # there are no cycles, and its passes over millions of parts take as long again
    write_text(lambda page: dumped(html_parts(page.decode("utf-8"))))
