"""Readers accept pairs, or dicts as Hugging Face users write them, and nothing else."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from readlet.errors import ReadletError
from readlet.inference.baseline import LexicalBaseline
from readlet.inference.inputs import Answerer
from readlet.types import Example

LAMP = "The lamp at Cape Wick was lit by Ada Brook in 1881."
PAIRS = [("Who lit the lamp?", LAMP), ("When?", LAMP)]


@pytest.fixture(params=["baseline", "random"])
def reader(request: pytest.FixtureRequest, random_reader: Callable[..., Any]) -> Answerer:
    return LexicalBaseline() if request.param == "baseline" else random_reader(LAMP)


def test_dicts_are_answered_like_pairs(reader: Answerer) -> None:
    dicts = [
        {"id": 7, "context": context, "question": question, "answers": {"text": []}}
        for question, context in PAIRS
    ]
    expected = list(reader.answer_batch(PAIRS))
    examples = [Example(str(n), *pair) for n, pair in enumerate(PAIRS)]
    assert list(reader.answer_batch(examples)) == expected
    assert list(reader.answer_batch(dicts)) == expected
    assert list(reader.answer_batch(map(MappingProxyType, dicts))) == expected
    assert list(reader.answer_batch([list(pair) for pair in PAIRS])) == expected  # type: ignore[misc]
    assert reader.answer(question=PAIRS[0][0], context=LAMP) == expected[0]


@pytest.mark.parametrize(
    ("asked", "fault"),
    [
        ([{"question": "Who?"}], "item 1: a dict without 'context'"),
        ([PAIRS[0], "ab"], "item 2: a str"),
        ([("Who?", LAMP, "x")], "item 1: a tuple of 3"),
        ([{"question": "Who?", "context": None}], "item 1: its context"),
        ({"question": "Who?", "context": LAMP}, "answer_batch: a single dict"),
        (PAIRS[0], "item 1: a str"),
    ],
)
def test_anything_else_is_refused(reader: Answerer, asked: Any, fault: str) -> None:
    with pytest.raises(ReadletError, match=fault):
        list(reader.answer_batch(asked))
