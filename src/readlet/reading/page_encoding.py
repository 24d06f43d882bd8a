"""The encoding that an HTML page names in a `meta` element."""

import codecs
import re
from html.parser import HTMLParser

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
    parser = _Declared()
    parser.feed(page[:_HEAD].decode("latin-1"))  # any byte is a character, and tags are ASCII
    try:
        name = codecs.lookup(parser.label).name
    except (LookupError, ValueError):  # ValueError: a null character in it
        return ""
    name = _READ_AS.get(name, name)
    return name if name in _KNOWN else ""


class _Declared(HTMLParser):
    label = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta" or self.label:
            return
        given = {name: value or "" for name, value in attrs}
        self.label = given.get("charset", "").strip()
        if given.get("http-equiv", "").strip().lower() == "content-type":
            found = _CHARSET.search(given.get("content", ""))
            self.label = self.label or (found[1] if found else "")
