"""The text of a document: plain text, HTML or PDF, from its bytes."""

from html.parser import HTMLParser
from typing import Literal

from readlet.errors import ReadletError
from readlet.reading.pdf_text import pdf_text
from readlet.storage.encodings import encoding_of

DocumentKind = Literal["text", "html", "pdf"]
_UNSEEN = frozenset({"script", "style", "template", "noscript", "head"})
_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt figcaption figure footer form h1 h2 h3 h4 h5 "
    "h6 header hr li main nav ol p pre section table td th tr ul".split()
)


def document_text(data: bytes, kind: DocumentKind, *, seconds: float = 30.0) -> str:
    """The text; an error of one line for a file that has none. A PDF gets so many seconds."""
    if kind == "pdf":
        return _not_empty(pdf_text(data, seconds=seconds))
    if b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ReadletError("the file is no text; give plain text, HTML or PDF")
    chosen = encoding_of(data, "")
    try:
        text = data.decode(chosen).removeprefix("\ufeff")
    except UnicodeError as error:
        place = getattr(error, "start", 0)
        fault = f"byte {place}: not {chosen.upper()} text"
        raise ReadletError(f"{fault}; save it as UTF-8") from None
    return _not_empty(html_text(text) if kind == "html" else text)


def html_text(page: str) -> str:
    """What a page shows, a line for each block. Scripts and styles are left out, never run."""
    parser = _Shown()
    parser.feed(page)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    return "\n".join(line for line in lines if line)


class _Shown(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unseen = ""  # the outermost element that is not shown

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._unseen and tag in _UNSEEN:
            self._unseen = tag
        self._break(tag)
        if tag == "body":  # a page may leave the end of its head out
            self._unseen = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == self._unseen:
            self._unseen = ""
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.parts.append(" ".join(data.split("\n")))

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.parts.append("\n")


def _not_empty(text: str) -> str:
    if not text.strip():
        raise ReadletError("the file has no text; give another one")
    return text
