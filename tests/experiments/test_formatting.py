"""The formats of a report: their numbers, escaping, and a self-contained page."""

import re
import string
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from readlet.experiments.differences import Difference
from readlet.experiments.formatting import html, markdown, significance_sign
from readlet.experiments.report import Report, ReportRow

COMMAND = "readlet experiment report bridges"
HOSTILE = "<script>x|y & z_1 {a} \\b ^~ [c] *d* `e` $f$ #g 100%"
SIGNS = st.text(alphabet=string.punctuation + "aé1 ", min_size=1).filter(str.strip)
MakeRow = Callable[..., ReportRow]
MakeReport = Callable[..., Report]
FORMATS = {"markdown": markdown, "html": html}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_has_the_same_contents(form: str, make_report: MakeReport) -> None:
    text = FORMATS[form](make_report(), COMMAND)
    parts = ["The effect of a wider layer", "A made-up paper", "base", "wide", "via French"]
    parts += ["73.68", "61.00", "0.25", "readlet augment", "0/2"]
    parts += [COMMAND, "torch 2.9", "0.030", "Holm"]
    parts += {
        "markdown": ["**71.50**", r"+1.50\*"],
        "html": ["<strong>71.50</strong>", "+1.50*"],
    }[form]
    for part in parts:
        assert part in text


@given(SIGNS)
def test_markdown_shows_names_literally(
    make_row: MakeRow, make_report: MakeReport, name: str
) -> None:
    report = make_report(rows=[make_row(name)], title=name, note=name.replace("`", ""))
    text = markdown(report, COMMAND)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    opened = next(n for n, token in enumerate(tokens) if token.type == "td_open")
    seen = "".join(child.content for child in tokens[opened + 1].children or [])
    assert seen == " ".join(name.split())
    assert not any("html" in token.type for token in tokens)
    assert len(re.findall("^## ", text, re.M)) == 4  # neither more nor fewer headings


class Page(HTMLParser):
    """The tags of a page with their attributes; `script` would be a name that was not escaped."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_escapes_everything_and_is_self_contained(
    make_row: MakeRow, make_report: MakeReport
) -> None:
    report = make_report(
        **dict.fromkeys(["title", "source", "note"], HOSTILE),
        remarks=[HOSTILE],
        machines=[HOSTILE],
        rows=[make_row(HOSTILE), make_row("wide")],
        differences=[Difference(HOSTILE, "wide", "f1", 1, None, None, None, 1, None)],
    )
    page = Page(html(report, HOSTILE))
    names = [tag for tag, _ in page.tags]
    assert not {"script", "link", "img", "iframe"} & {*names}
    assert not any("src" in attributes for _, attributes in page.tags)
    assert names.count("table") == 2
    assert all(a.get("scope") for tag, a in page.tags if tag == "th")


@pytest.mark.parametrize(
    ("over_items", "over_seeds", "sign"),
    [(0.01, 0.03, "*"), (0.01, None, "†"), (0.01, 0.2, ""), (0.2, 0.01, ""), (None, 0.01, "")],
)
def test_a_difference_is_significant_over_items_and_over_seeds(
    over_items: float | None, over_seeds: float | None, sign: str
) -> None:
    found = Difference("a", "b", "f1", 1.0, 0.5, 1.5, over_items, 2, over_seeds)
    assert significance_sign(found) == sign
