"""The text of pages as browsers show it, whatever tags they leave out."""

import pytest

from readlet.reading.page_text import html_text


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
