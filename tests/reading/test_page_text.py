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
