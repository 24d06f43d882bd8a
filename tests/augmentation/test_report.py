"""The report on an augmentation: numbers, and samples with their answers marked."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.augmentation.config import AugmentationConfig
from readlet.augmentation.pipeline import made
from readlet.augmentation.report import (
    Samples,
    Tally,
    excerpt,
    write_report,
)
from readlet.types import Example, Span

Written = Callable[..., dict[str, str]]


@pytest.fixture
def written(tmp_path: Path, word_by_word: Any, sound: list[Example]) -> Written:
    """The files of a report on some questions, by their kind."""

    def write(config: AugmentationConfig, examples: list[Example] | None = None) -> dict[str, str]:
        chosen = examples or sound[:2]
        translations, tally, samples = word_by_word(), Tally(config), Samples(config.seed)

        def get(text: str, route: Any) -> Any:
            translations.fill([text], route)
            return translations.get(text, route)

        for one in made(chosen, config, get):
            tally.add(one)
            samples.add(one)
        tally.questions = len(chosen)
        tally.engines["en-es"] = "an engine"
        write_report(tmp_path / "report", tally, samples, "readlet augment 'a & b'")
        files = (tmp_path / "report").iterdir()
        return {path.suffix[1:]: path.read_text("utf-8") for path in files}

    return write


def test_the_files_have_the_same_numbers(written: Written) -> None:
    files = written(AugmentationConfig(to=("es",), keep="all"))
    values = json.loads(files["json"])
    assert values["languages"]["es"]["kept"] == 2
    assert "| es | 2 | 2 | 100.0% | 0 |" in files["md"]
    assert "    readlet augment 'a & b'" in files["md"]
    assert "- en-es: an engine" in files["md"]


def test_texts_of_the_data_cannot_change_the_page(written: Written) -> None:
    evil = "<script>1</script> The lamp was *lit* by [Ada](x).\n# Lamps\n"
    example = Example("<i>", "Who & <u>why</u>?", evil, (Span(evil.index("Ada"), "Ada"),))
    page = written(AugmentationConfig(to=("es",), keep="all", back=True), [example])["md"]
    assert r"> \<script\>1\</script\> The lamp was \*lit\* by \[**Ada**\](x). \# Lamps" in page


def test_an_excerpt_begins_and_ends_with_whole_words() -> None:
    text = "word " * 200 + "answer" + " word" * 200
    shown = excerpt(text, (Span(1000, "answer"),), 0.0)
    assert re.fullmatch(r"…(word )+\*\*answer\*\*( word)+…", shown)
    assert 400 < len(shown) < 600
    assert excerpt("short", (), 0.5) == "short"
