"""The text of pages as browsers show it, whatever tags they leave out, in time linear in it."""

import time
from html import escape, unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.inference import html_text as html_text_module
from readlet.inference.html_text import html_parts, html_text


def test_pages_are_read_as_they_are_shown() -> None:
    page = """<!doctype html><head><title>T</title><style>p { color: red }</style></head>
    <body onload="alert(1)"><script>document.write("no")</script><h1>The  kettle</h1>
    <p>It was <b>patented</b> in&nbsp;1891 &amp; sold.<br>Twice.</p><template>x</template>
    <p>1 &lt; 2"""
    assert html_text(page) == "The kettle\nIt was patented in 1891 & sold.\nTwice.\n1 < 2"


@pytest.mark.parametrize(
    "page",
    [
        "<head><title>T<body>Shown",
        "<p>Shown<script>hidden",
        "Shown",
        "<html><head><title>T</title><meta charset=utf-8><p>Shown</p></html>",
        "<head><title>T</title><noscript><link href=x></noscript><base href=y>Shown",
        "<!doctype html><title>T</title><b>Shown</b>",
    ],
)
def test_pages_that_leave_tags_out(page: str) -> None:
    assert html_text(page) == "Shown"


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        (
            "<details><summary>Price</summary>The lamp costs $12.</details>after",
            ["Price", "The lamp costs $12.", "after"],
        ),
        (
            "Colour<select><option>Red<option>Blue</option></select><label>Name</label>"
            "<textarea>Ada</textarea><button>Send</button>now",
            ["Colour", "Red", "Blue", "Name", "Ada", "Send", "now"],
        ),
        (
            "<fieldset><legend>Size</legend>12</fieldset>cm"
            "<table><caption>Lamps</caption><tr><td>1<td>2</table>",
            ["Size", "12", "cm", "Lamps", "1", "2"],
        ),
        ("one<iframe src=x>no frames here</iframe>two", ["one", "two"]),
        ("a <b>few</b> <i>words</i> on\na <a href=x>line</a>", ["a few words on a line"]),
    ],
)
def test_words_of_different_blocks_stay_apart(page: str, shown: list[str]) -> None:
    assert html_text(page).split("\n") == shown


@pytest.mark.parametrize(
    "page",
    [
        "tail<template><template>q</template>after</template>end",
        "tail<template><p>q</p><noscript>r</template>end",
        "tail<noscript><noscript>q</noscript>end",
    ],
)
def test_elements_that_are_not_shown_end_where_they_end(page: str) -> None:
    assert html_text(page) == "tailend"


def test_lines_that_the_page_keeps() -> None:
    page = "<pre>x = 1\n  <b>y</b>\n\nz</pre>not\nhere<textarea>a\nb</textarea>c\nd"
    assert html_text(page) == "x = 1\ny\nz\nnot here\na\nb\nc d"


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("a<!-- <p> --!>b<!-->c<!--->d<!-- > -- -->e", "abcde"),
        ("a<!doctype html '>'>b<?php echo 1 ?>c</ p>d</>e<!>f<![CDATA[g]]>h", "a'>bcdefh"),
        ("1 <2 and 3<=4 <\u00e9> <", "1 <2 and 3<=4 <\u00e9> <"),
        ("""a<b c="1>2" d='3>4' e=5/6>b<b "c>d</b e=">">f""", "abdf"),
        ("a<b =\">b<b c=d'>e<b c = '>'>f<b c='>'d>g", "abefg"),
        ("a<script>'<p>' </scripts> </script/ x>b<STYLE x='>'>c</style >d", "abd"),
        ("a<script/>b<script x='y'/>c<template/>d<title/>e<pre/>f\ng", "abcde\nf g"),
        ("a<b c='", "a"),
        ("a<b", "a"),
        ("a<!-- b", "a"),
        ("a<script>b</script", "a"),
        ("a<script ", "a"),
        ("&#233;&eacute;&eacute&#xe9&bogus; &", "éééé&bogus; &"),
        (f"a&#{'9' * 5000};b&#{'0' * 5000}", "a\ufffdb\ufffd"),
    ],
)
def test_markup_is_read_by_the_standard(page: str, shown: str) -> None:
    assert html_text(page) == shown


@given(st.text("&#;xaltgmpAZ19é notin", max_size=20))
def test_references_are_those_of_the_standard(text: str) -> None:
    assert html_text(text).split() == unescape(text).split()


_WORDS = st.text("ab &<>'\"\n\xa0é", max_size=8).map(escape)
_ATTRIBUTES = st.one_of(
    _WORDS.map(lambda value: f' x="{value}"'),
    st.text("ab>", max_size=4).map(lambda value: f" x = '{value}'"),
    st.sampled_from(["", " ", " x=a/b ", " disabled\n", " x='' y"]),
)


def _elements(names: str, content: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def element(name: str, attributes: str, inside: str) -> str:
        return f"<{name}{attributes}>{inside}</{name}>"

    return st.builds(element, st.sampled_from(names.split()), _ATTRIBUTES, content)


_PAGES = st.recursive(
    st.one_of(
        _WORDS,
        st.sampled_from(["<br/>", "<hr x>", "<!-- <p> > -->", "<!doctype html>"]),
        _elements("script STYLE", st.just("a < <b> '</p>'")),
        _elements("title iframe noscript textarea pre", _WORDS),
    ),
    lambda content: st.lists(
        st.one_of(content, _elements("p DIV b i td template section", content)), max_size=5
    ).map("".join),
    max_leaves=12,
)


@given(_PAGES)
def test_sane_pages_are_read_as_by_pythons_parser(page: str) -> None:
    reference = _Reference()
    reference.feed(page)
    reference.close()
    lines = (" ".join(line.split()) for line in reference.text.split("\n"))
    assert html_text(page) == "\n".join(line for line in lines if line)


class _Reference(HTMLParser):
    """For pages that close what they open."""

    text = ""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.text += self._break(tag)
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:  # not <br/>
            assert self.open.pop() == tag
            self.text += self._break(tag)

    def handle_data(self, data: str) -> None:
        if not {"script", "style", "template", "title", "iframe", "noscript"} & {*self.open}:
            kept = {"pre", "textarea"} & {*self.open}
            self.text += data if kept else data.replace("\n", " ")

    def _break(self, tag: str) -> str:
        block = tag in ("br", "hr", "p", "div", "td", "pre", "section", "iframe", "textarea")
        return "\n" if block and "template" not in self.open else ""


HOSTILE = (
    "<a |<a b='|<a b=\"|<x/|<x y=|<a =|<a b='>|<!--|<!-- --|<![CDATA[|<!|<?|</|<|</a|<script|"
    "<script>|<script></scrip|<title>|<textarea>|<template>|<div>|<pre>\n|&|&#|&#1|&#x|&notit|&amp;|<!-|"
    "<a b=c |<meta |<meta charset=|<table>|<table><tr><th>|<tr><td>x|<td>|<th colspan=999>x|"
    "<td rowspan=999>x|<tr><th>x<th rowspan=999>y<tr><td>z|<td colspan"
).split("|")


@pytest.mark.parametrize("pattern", HOSTILE)
def test_hostile_pages_take_little_time(pattern: str) -> None:
    """Nothing is quadratic: 100 KB took minutes."""
    page = pattern * (100_000 // len(pattern))
    before = time.process_time()
    html_text(page)
    html_text(f"<{page}")
    html_text(f"<a {page}")
    html_text(f"<!--{page}")
    html_text("<table><tr>" + "<th rowspan=999 colspan=999>column" * 99 + f"<tr>{page}")
    assert time.process_time() - before < 2


def test_rows_of_tables_are_read_with_their_header() -> None:
    page = """<h2>Plans</h2><table><thead><tr><th rowspan=2>Tariff<th colspan=2>Price
        <tr><th>Monthly<th>Yearly</thead>
        <tr><td>Plus</td><td>19&nbsp;EUR</td><td>190 EUR</td></tr>
        <tr><td rowspan="2">Max<td><p>29</p><p>EUR</p><td></td>
        <tr><td>31 EUR<td>300 EUR</table>
        <table><tr><th>Notice<td>30 days<tr><th>Fee<td></table>"""
    *_, plus, most, more, notice, fee = html_parts(page)
    assert plus.text == "Tariff: Plus; Monthly: 19 EUR; Yearly: 190 EUR"
    assert plus.label == "“Plans”, row 3"
    assert most.text == "Tariff: Max; Monthly: 29 EUR"
    assert more.text == "Tariff: Max; Monthly: 31 EUR; Yearly: 300 EUR"
    assert (notice.text, fee.text) == ("Notice: 30 days", "Fee")


def test_layout_is_no_table() -> None:
    page = "<table><tr><td>Menu<td><h1>News</h1><table><tr><th>A<th>B<tr><td>1<td>2</table>more"
    assert html_text(page) == "Menu\nNews\nA | B\nA: 1; B: 2\nmore"


def test_long_references_are_not_kept() -> None:
    """Four thousand of a megabyte would stay in memory."""
    before = html_text_module._character.cache_info().currsize
    assert html_text(f"a&#x{'0' * 5_000}41;b") == "aAb"
    assert html_text_module._character.cache_info().currsize == before
