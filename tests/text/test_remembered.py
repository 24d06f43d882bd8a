"""Texts are split once while they are remembered, and not too many are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.text.rows import SizedCache
from readlet.types import Example

PASSAGE = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil."


@given(st.lists(st.lists(st.text("ab", max_size=4), max_size=4), max_size=12))
def test_results_are_those_of_make_and_memory_is_bounded(calls: list[list[str]]) -> None:
    asked: list[str] = []

    def make(texts: list[str]) -> list[int]:
        assert len(set(texts)) == len(texts)
        asked.extend(texts)
        return [hash(text) for text in texts]

    remembered = SizedCache(make, len, most=6)
    last: list[str] = []  # the same memory, as a plain list
    for texts in calls:
        asked.clear()
        assert remembered(texts) == [hash(text) for text in texts]
        assert set(asked) == set(texts) - set(last)
        old = [text for text in dict.fromkeys(texts) if text in last]
        for text in [*old, *(t for t in dict.fromkeys(texts) if t not in old)]:
            last = [*(t for t in last if t != text), text]
            while sum(map(len, last)) > 6:
                last.pop(0)


@pytest.mark.parametrize("kind", ["words", "subwords"])
def test_a_second_question_does_not_split_the_passage_again(
    kind: str,
    random_reader: Callable[..., Any],
    random_encoder_reader: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = random_reader(PASSAGE) if kind == "words" else random_encoder_reader()
    encoder, split = reader.scorer.encoder, []
    if kind == "words":
        from readlet.text import word_features

        whole = word_features.word_spans
        monkeypatch.setattr(
            word_features, "word_spans", lambda *t: (split.append(t[0]), whole(*t))[1]
        )
    else:

        class Counting:
            def __getattr__(self, name: str) -> Any:
                return getattr(tokenizer, name)

            def encode_batch(self, texts: list[str], **options: Any) -> Any:
                split.extend(texts)
                return tokenizer.encode_batch(texts, **options)

        tokenizer = encoder.tokenizer
        encoder.tokenizer = Counting()
    questions = [Example(str(n), question, PASSAGE) for n, question in enumerate(("Who?", "When?"))]
    first, second = (encoder.encode([question]) for question in questions)
    assert split.count(PASSAGE) == 1
    assert np.array_equal(first.offsets[: len(second.places(0))], second.places(0))
    assert reader.answer("Who?", PASSAGE).n_best
    assert split.count(PASSAGE) == 1
