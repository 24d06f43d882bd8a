"""The scripts about languages: XQuAD across two languages, and words that are spelled alike."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readlet.errors import ReadletError
from readlet.types import Example, Span

Load = Callable[[str], Any]

ENGLISH = Example("1", "Who?", "Ada lit it.", (Span(0, "Ada"),), language="en")
SPANISH = Example("1", "¿Quién?", "La encendió Ada.", (Span(12, "Ada"),), language="es")


@pytest.fixture
def xquad(tmp_path: Path) -> Path:
    """A folder with a question in two languages."""
    for code, example in (("en", ENGLISH), ("es", SPANISH)):
        answers = [{"text": "Ada", "answer_start": example.answers[0].start}]
        qa = {"id": "1", "question": example.question, "answers": answers}
        data = {"data": [{"paragraphs": [{"context": example.context, "qas": [qa]}]}]}
        path = tmp_path / f"xquad.{code}.json.gz"
        path.write_bytes(gzip.compress(json.dumps(data).encode()))
    return tmp_path


def test_questions_are_asked_about_other_passages(load_script: Load, xquad: Path) -> None:
    script = load_script("languages")
    english, spanish, across = (listed[0] for listed in script.xquad_sets(xquad).values())
    assert (english.question, english.context) == (ENGLISH.question, ENGLISH.context)
    assert (spanish.language, spanish.question_language) == ("es", "es")
    assert (across.question, across.context) == (ENGLISH.question, SPANISH.context)
    assert (across.language, across.question_language) == ("es", "en")
    assert across.answers == SPANISH.answers
    with pytest.raises(ReadletError, match="the files have different questions"):
        script.joined([ENGLISH], [])


def test_the_tables_of_readers(load_script: Load) -> None:
    script = load_script("languages")
    low, high = np.zeros((40, 2)), np.ones((40, 2))
    found = {
        "baseline": {"English": [low, low], "Spanish": [high, low]},
        "language added": {"English": [high, high], "Spanish": [high, low]},
    }
    lines = script.table(found)
    assert lines[2] == "| baseline | 0.0 / 0.0 ± 0.0 | 50.0 / 50.0 ± 70.7 |"
    better, same = script.differences(found, [("language added", "baseline")])[2:]
    row = "| language added | baseline | English | +100.00 | +100.00 to +100.00 | 0.000 |"
    assert better == row
    assert same.endswith("| Spanish | +0.00 | +0.00 to +0.00 | 1.000 |")
