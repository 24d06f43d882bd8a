import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read, write_examples
from readlet.errors import ReadletError
from readlet.types import Example, Span

CONTEXT = "Two mills, one river: the Arn."
ANSWERS = [(22, "the Arn"), (26, "Arn"), (26, "Arn")]
QAS = [
    {
        "id": "m1",
        "question": "Which river?",
        "answers": [{"text": text, "answer_start": start} for start, text in ANSWERS],
    }
]
UNASKED = {"context": "Nothing is asked here.", "qas": []}
MILLS = {"title": "Mills", "paragraphs": [{"context": CONTEXT, "qas": QAS}, UNASKED]}
VERSION_1 = {"data": [MILLS, {"title": "Empty", "paragraphs": []}], "version": "1.1"}


def test_version_1(tmp_path: Path) -> None:
    path = tmp_path / "train.json"
    path.write_text(json.dumps(VERSION_1))
    golds = tuple(Span(start, text) for start, text in ANSWERS)
    assert list(read(path)) == [Example("m1", "Which river?", CONTEXT, golds, title="Mills")]


def test_version_2(tmp_path: Path, squad_text: Callable[..., str]) -> None:
    plausible = {"text": "Two", "answer_start": 0}
    no_answer = {"answers": [], "is_impossible": True, "plausible_answers": [plausible]}
    questions: list[dict[str, Any]] = [
        {"id": "no", "question": "How many bridges?", **no_answer},
        {
            "id": "yes",
            "question": "How many mills?",
            "answers": [plausible],
            "is_impossible": False,
        },
    ]
    path = tmp_path / "dev.json"
    path.write_text(squad_text(CONTEXT, questions, version="v2.0"))
    no, yes = (item for item in read(path) if isinstance(item, Example))
    assert no.is_impossible
    assert no.answers == ()
    assert no.plausible_answers == (Span(0, "Two"),)
    assert not yes.is_impossible
    assert yes.answers == (Span(0, "Two"),)


def test_written_file_has_the_official_form(tmp_path: Path, sound: list[Example]) -> None:
    path = tmp_path / "out.json"
    write_examples(path, sound)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["version"] == "v2.0"
    assert [article["title"] for article in document["data"]] == ["Cape Wick", ""]
    # Questions about one context are in one paragraph.
    assert [len(p["qas"]) for article in document["data"] for p in article["paragraphs"]] == [2, 1]
    assert document["data"][0]["paragraphs"][0]["qas"][0]["answers"][0] == {
        "text": "Ada Brook",
        "answer_start": 33,
    }
    answerable = [example for example in sound if example.answers]
    write_examples(path, answerable)
    assert json.loads(path.read_text(encoding="utf-8"))["version"] == "1.1"


GOOD: dict[str, Any] = {"id": "q", "question": "Q", "answers": []}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"id": True}, "article 1, paragraph 1"),
        ({"question": 5}, "question 'q'"),
        ({"answers": 5}, "question 'q'"),
        ({"answers": [{"answer_start": 1}]}, "question 'q', answer 1"),
        ({"answers": [{"text": "a", "answer_start": 1.5}]}, "question 'q', answer 1"),
        ({"answers": [{"text": "a", "answer_start": True}]}, "question 'q', answer 1"),
        ({"is_impossible": "no"}, "question 'q'"),
    ],
)
def test_wrong_value_is_reported_with_its_question(
    tmp_path: Path, squad_text: Callable[..., str], change: dict[str, Any], place: str
) -> None:
    path = tmp_path / "odd.json"
    path.write_text(squad_text("a river", [GOOD | change]))
    with pytest.raises(ReadletError, match=rf"odd\.json: {place}: .*; \w"):
        list(read(path))
