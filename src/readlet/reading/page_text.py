"""The text that an HTML page shows."""

from html.parser import HTMLParser

_UNSEEN = frozenset({"script", "style", "template", "noscript", "title", "iframe"})
# And what stands beside its neighbours like a word of its own: cells, choices, buttons.
_BLOCKS = frozenset(
    "address article aside blockquote br button caption dd details dialog div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr iframe label legend li main "
    "menu nav ol optgroup option p pre search section select summary table td textarea th tr "
    "ul".split()
)
_KEEP_LINES = frozenset({"pre", "textarea"})


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
        self._depth = 0  # of templates in it
        self._kept = ""  # the outermost element whose lines are kept

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":  # a page may leave the end of its title out
            self._unseen = ""
        if self._unseen:
            self._depth += tag == self._unseen == "template"  # others do not nest
            return
        self._break(tag)
        if tag in _UNSEEN:
            self._unseen, self._depth = tag, 0
        elif tag in _KEEP_LINES:
            self._kept = self._kept or tag

    def handle_endtag(self, tag: str) -> None:
        if self._unseen:
            if tag != self._unseen:
                return
            if self._depth:
                self._depth -= 1
                return
            self._unseen = ""
        if tag == self._kept:
            self._kept = ""
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.parts.append(data if self._kept else data.replace("\n", " "))

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.parts.append("\n")
