"""The report on an augmentation: numbers, marks in samples, nothing from outside."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from readlet.augment.parts import made
from readlet.augment.plan import Plan
from readlet.augment.report import check_report, excerpt, write_report
from readlet.augment.tally import Tally
from readlet.augment.text_statistics import BINS, FieldStatistics, TextStatistics, word_overlap
from readlet.errors import ReadletError
from readlet.types import Example, Span

Written = Callable[..., dict[str, str]]


@pytest.fixture
def written(tmp_path: Path, word_by_word: Any, sentences: Any, sound: list[Example]) -> Written:
    """The files of a report on some questions, by their kind."""

    def write(plan: Plan, examples: list[Example] | None = None) -> dict[str, str]:
        chosen = examples or sound[:2]
        translations, tally, statistics = word_by_word(), Tally(plan), TextStatistics(plan)

        def get(text: str, route: Any) -> Any:
            translations.fill([text], route)
            return translations.get(text, route)

        for example in chosen:
            statistics.add_old(example)
        for one in made(chosen, plan, get):
            tally.add(one)
            statistics.add(one)
        statistics.finish()
        tally.questions = len(chosen)
        tally.engines["en-es"] = "an engine <1>"
        page = write_report(tmp_path / "report", tally, statistics, "readlet augment 'a & b'")
        assert page.name == "augmentation.html"
        files = (tmp_path / "report").iterdir()
        return {path.suffix[1:]: path.read_text("utf-8") for path in files}

    return write


class _Page(HTMLParser):
    """Tags that are still open, and addresses of outside resources."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.addresses += [str(v) for name, v in attributes if name in ("src", "href")]

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_files_have_the_same_numbers(written: Written) -> None:
    files = written(Plan(to=("es",), keep="all"))
    values = json.loads(files["json"])
    assert values["languages"]["es"]["kept"] == 2
    assert values["texts"]["fields"]["context"]["pairs"] == 1  # one context for two questions
    assert values["texts"]["fields"]["question"]["pairs"] == 2
    assert values["texts"]["vocabulary"]["all"] > values["texts"]["vocabulary"]["old"]
    assert "| es | 2 | 2 | 100.0% | 0 |" in files["md"]
    assert "100.0% kept" in files["html"]


def test_the_page_is_whole_and_needs_nothing_else(written: Written) -> None:
    text = written(Plan(to=("es", "fr"), keep="all"))["html"]
    page = _Page(text)
    assert (page.open, page.addresses) == ([], [])
    assert "url(" not in text
    assert "an engine &lt;1&gt;" in text
    assert "readlet augment &#39;a &amp; b&#39;" in text


def test_texts_of_the_data_cannot_change_the_page(written: Written, sound: list[Example]) -> None:
    evil = "<script>1</script> The lamp was lit by <b>Ada</b>. "
    example = Example("<i>", "Who & <u>why</u>?", evil, (Span(evil.index("Ada"), "Ada"),))
    text = written(Plan(to=("es",), keep="all", back=True), [example])["html"]
    assert _Page(text).open == []
    assert "<script" not in text
    assert "<u>" not in text


def test_answers_are_marked_on_both_sides(written: Written) -> None:
    text = written(Plan(to=("es",), keep="all"))["html"]
    marks = re.findall("<mark>(.*?)</mark>", text)
    assert "Ada Brook in 1881" in marks
    assert "Adaes Brookes ines 1881" in marks


def test_losses_and_copies_are_shown(written: Written, sound: list[Example]) -> None:
    plan = Plan(to=("es",), back=True, fields=("question",))
    other = replace(sound[0], id="was", question="Who was it?")
    text = written(plan, [sound[0], other])["html"]
    assert "copies of the source" in text
    assert "Kept: context unchanged" in text
    assert "100.0% kept" in text  # a copy is no loss


def test_an_excerpt_begins_and_ends_with_whole_words() -> None:
    text = "word " * 200 + "answer" + " word" * 200
    shown = str(excerpt(text, (Span(1000, "answer"),), 0.0))
    assert re.fullmatch(r"…(word )+<mark>answer</mark>( word)+…", shown)
    assert 400 < len(shown) < 600
    assert str(excerpt("short", (), 0.5)) == "short"


def test_overlapping_answers_are_marked_once() -> None:
    answers = (Span(0, "a b"), Span(2, "b c"), Span(0, "a"))
    assert str(excerpt("a b c", answers, 0.0)) == "<mark>a b</mark> c"


def test_only_reports_are_replaced(tmp_path: Path, written: Written) -> None:
    written(Plan(to=("es",), keep="all"))
    check_report(tmp_path / "report")
    (tmp_path / "report" / "augmentation.md").write_text("my notes")
    with pytest.raises(ReadletError, match="was not made by this command"):
        check_report(tmp_path / "report")


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [("a b c d", "d c b a", 1.0), ("a a b", "a b b", 2 / 3), ("a", "b", 0.0), ("", "", 1.0)],
)
def test_overlap_counts_words_in_any_order(one: str, other: str, overlap: float) -> None:
    assert word_overlap(one, other) == pytest.approx(overlap)


def test_length_ratios() -> None:
    found = FieldStatistics()
    found.add("ab", "ab")
    found.add("ab", "abc" * 10)
    assert found.ratios[BINS // 2] == 1
    assert found.ratios[BINS] == 1  # all that are longer
    assert found.mean_ratio == pytest.approx(8.0)
    assert found.near_duplicates == 1


def test_the_curve_of_the_vocabulary_stays_short(sound: list[Example]) -> None:
    """Its last point is exact."""
    statistics = TextStatistics(Plan(to=("es",)))
    for number in range(3000):
        statistics.add_old(replace(sound[0], question=f"word{number}"))
        statistics.end_block()
    statistics.finish()
    assert 100 <= len(statistics.growth) <= 257
    assert statistics.growth[-1].questions == 3000
    first = statistics.growth[0]
    assert statistics.growth[-1].old - first.old == 3000 - first.questions
