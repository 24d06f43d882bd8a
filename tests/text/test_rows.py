"""Rows of any tokenisation, and results that are kept by text."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, SearchStrategy

from readlet.text.rows import NO_LABEL, Ints, RowBuilder, Rows, SizedCache, Windows, cached, ints
from readlet.types import Example, Span

EMPTY = "answer without a word: not trained on"
LONG_CONTEXT = "long context: read in windows"
NO_WINDOW = "answer fits into no window: not trained on"


def characters(text: str) -> list[tuple[int, int]]:
    return [(i, i + 1) for i, character in enumerate(text) if not character.isspace()]


def rows_of(examples: Sequence[Example], windows: Windows) -> Rows:
    """Every context is encoded separately, even if it is repeated."""
    builder = RowBuilder(windows)
    offsets: list[tuple[int, int]] = []
    counts = []
    for number, example in enumerate(examples):
        places = characters(example.context)
        counts.append(builder.add(number, example, places, len(offsets)))
        offsets += places
    rows = Rows(offsets=ints(offsets).reshape(-1, 2), **builder.arrays())
    assert counts == np.bincount(rows.row_example, minlength=len(examples)).tolist()
    return rows


def labelled(rows: Rows, row: int, context: str) -> str:
    places = rows.places(row)
    first, last = rows.row_label[row]
    return context[places[first, 0] : places[last, 1]]


@given(st.data(), st.integers(1, 12), st.integers(0, 11))
def test_places_and_labels_have_the_offsets_of_the_text(
    example_lists: SearchStrategy[list[Example]], data: DataObject, size: int, overlap: int
) -> None:
    examples = [e for e in data.draw(example_lists) if all(a.is_in(e.context) for a in e.answers)]
    windows = Windows(size, overlap % size, 9)
    rows = rows_of(examples, windows)
    assert set(rows.row_example.tolist()) == set(range(len(examples)))  # none is missing
    for number, example in enumerate(examples):
        places = characters(example.context)
        gold = example.answers[0] if example.answers else None
        inside = [
            place
            for place, (start, end) in enumerate(places)
            if gold and gold.start < end and start < gold.end
        ]
        mine = np.flatnonzero(rows.row_example == number).tolist()
        starts = windows.starts(len(places))
        assert len(mine) == len(starts)
        holding = [
            start for start in starts if inside and start <= inside[0] and inside[-1] < start + size
        ]
        for row, start in zip(mine, starts, strict=True):
            assert [tuple(place) for place in rows.places(row)] == places[start : start + size]
            if start in holding:
                assert gold is not None
                assert labelled(rows, row, example.context) == gold.text.strip()
                assert rows.row_label[row].tolist() == [inside[0] - start, inside[-1] - start]
            else:
                assert rows.row_label[row].tolist() == [NO_LABEL, NO_LABEL]
            # A window without the answer is impossible, unless the answer could not be labelled.
            assert rows.row_impossible[row] == (
                start not in holding and (gold is None or bool(holding))
            )
        assert rows.notes.get(EMPTY, []).count(example.id) >= bool(gold and not inside)
        assert rows.notes.get(NO_WINDOW, []).count(example.id) >= bool(inside and not holding)


def test_an_answer_in_two_windows_and_one_in_none() -> None:
    context = "abc def ghi"
    examples = [
        Example("both", "?", context, (Span(4, "def"),)),
        Example("none", "?", context, (Span(0, context),)),
        Example("impossible", "?", context),
        Example("white", "?", context, (Span(3, " "),)),
    ]
    rows = rows_of(examples, Windows(6, 3, 9))  # abcdef, defghi
    assert rows.row_example.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert rows.row_window.tolist() == [[9 * n + s, 6] for n in range(4) for s in (0, 3)]
    assert rows.row_label.tolist() == [[3, 5], [0, 2], *[[NO_LABEL] * 2] * 6]
    assert rows.row_impossible.tolist() == [*[False] * 4, True, True, False, False]
    assert rows.notes == {
        LONG_CONTEXT: ["both", "none", "impossible", "white"],
        NO_WINDOW: ["none"],
        EMPTY: ["white"],
    }
    assert rows.trainable(can_abstain=False).tolist() == [0, 1]
    assert rows.trainable(can_abstain=True).tolist() == [0, 1, 4, 5]


def test_no_examples_and_no_places() -> None:
    nothing = rows_of([], Windows(6, 3, 9))
    assert len(nothing) == 0
    assert nothing.row_window.shape == nothing.row_label.shape == nothing.offsets.shape == (0, 2)
    assert nothing.trainable(can_abstain=True).tolist() == []
    empty = rows_of([Example("a", "?", " \n")], Windows(6, 3, 9))
    assert (empty.row_window.tolist(), empty.row_impossible.tolist()) == ([[0, 0]], [True])
    assert empty.places(0).shape == (0, 2)


@dataclass(kw_only=True)
class Spoken(Rows):
    """Rows with an additional array, as an encoder adds it."""

    sounds: Ints  # (places of all texts,)


def test_stored_has_all_arrays_of_a_subclass_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READLET_CACHE", str(tmp_path))
    rows = rows_of([Example("a", "?", "abc def", (Span(3, " "),))], Windows(4, 2, 9))
    own = {field.name: getattr(rows, field.name) for field in fields(Rows)}
    spoken = Spoken(**own, sounds=ints(range(6)))
    stored = spoken.stored()
    assert set(stored[0]) == {field.name for field in fields(Spoken)} - {"notes"}
    cached("key", lambda: stored)
    from_disk = cached("key", lambda: pytest.fail("not in the cache"))
    for given_back in (stored, from_disk):
        again = Spoken.from_stored(given_back)
        assert type(again) is Spoken
        assert again.notes == spoken.notes == {LONG_CONTEXT: ["a"], EMPTY: ["a"]}
        for name, array in stored[0].items():
            assert getattr(again, name).dtype == array.dtype, name
            np.testing.assert_array_equal(getattr(again, name), array)
        np.testing.assert_array_equal(again.places(1), spoken.places(1))


PASSAGE = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil."


@given(st.lists(st.lists(st.text("ab", max_size=4), max_size=4), max_size=12))
def test_results_are_those_of_make_and_memory_is_bounded(calls: list[list[str]]) -> None:
    asked: list[str] = []

    def make(texts: list[str]) -> list[int]:
        assert len(set(texts)) == len(texts)
        asked.extend(texts)
        return [hash(text) for text in texts]

    remembered = SizedCache(make, most=6)
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
