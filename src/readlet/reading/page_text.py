"""The text that an HTML page shows."""

from html.parser import HTMLParser

_UNSEEN = frozenset({"script", "style", "template", "noscript", "title"})
_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt figcaption figure footer form h1 h2 h3 h4 h5 "
    "h6 header hr li main nav ol p pre section table td th tr ul".split()
)


def html_text(page: str) -> str:
    """What a page shows, a line for each block. Scripts and styles are left out, never run."""
    parser = _Shown()
    parser.feed(page)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    return "\n".join(line for line in lines if line)


class _Shown(HTMLParser):
    """Head and body need no tags: what a head may have is not shown anyway."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unseen = ""  # the outermost element that is not shown

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._unseen and tag in _UNSEEN:
            self._unseen = tag
        self._break(tag)
        if tag == "body":  # a page may leave the end of its title out
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
