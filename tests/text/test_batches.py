"""Batches of any rows: every row once, in the smallest shape that fits, in a seeded order."""

import math
from collections import Counter
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from readlet.text.arrays import Batches, Shape
from readlet.text.rows import Ints


class Made(NamedTuple):
    """A fake batch: the arguments of `collate`."""

    shape: Shape
    rows: tuple[int, ...]
    size: int


def collate(shape: Shape, rows: Ints, size: int) -> Made:
    return Made(shape, tuple(rows.tolist()), size)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Ints, list[Shape], Ints]:
    """Lengths in one to three dimensions, shapes of which the last fits all, rows to train on."""
    dimensions = draw(st.integers(1, 3))
    of_row = st.tuples(*[st.integers(0, 9)] * dimensions)
    listed = draw(st.lists(of_row, max_size=30))
    lengths = np.array(listed, np.int32).reshape(-1, dimensions)  # (rows, dimensions)
    shapes = {*draw(st.lists(of_row, max_size=4)), (9,) * dimensions}
    trainable = [row for row in range(len(listed)) if draw(st.booleans())]
    return lengths, sorted(shapes, key=math.prod), np.array(trainable, np.int32)


def batches_of(case: tuple[Ints, list[Shape], Ints], size: int, seed: int = 0) -> Batches[Made]:
    lengths, shapes, trainable = case
    return Batches(lengths, shapes, size, collate, trainable=trainable, seed=seed)


@given(cases(), st.integers(1, 8), st.integers(0, 3))
def test_every_row_occurs_once(case: tuple[Ints, list[Shape], Ints], size: int, epoch: int) -> None:
    lengths, _, trainable = case
    batches = batches_of(case, size)
    trained = [row for _, rows in batches.epoch(epoch) for row in rows.tolist()]
    assert sorted(trained) == trainable.tolist()
    predicted = [row for _, rows in batches.in_order() for row in rows.tolist()]
    assert sorted(predicted) == list(range(len(lengths)))


@given(cases(), st.integers(1, 8), st.integers(0, 3))
def test_rows_get_the_first_shape_that_fits(
    case: tuple[Ints, list[Shape], Ints], size: int, epoch: int
) -> None:
    lengths, shapes, _ = case
    batches = batches_of(case, size)
    for listed in (batches.epoch(epoch), batches.in_order()):
        unfilled = Counter(shape for shape, rows in listed if len(rows) < size)
        assert set(unfilled.values()) <= {1}  # only the last of a shape is not full
        for shape, rows in listed:
            assert 0 < len(rows) <= size
            for row in rows:
                fitting = [s for s in shapes if all(lengths[row] <= s)]
                assert shape == fitting[0]


@given(cases(), st.integers(1, 8))
def test_batches_are_what_collate_makes(case: tuple[Ints, list[Shape], Ints], size: int) -> None:
    batches = batches_of(case, size)
    order = batches.in_order()
    expected = [Made(shape, tuple(rows.tolist()), size) for shape, rows in order]
    assert list(batches) == expected
    assert [batches.make(shape, rows) for shape, rows in order] == expected
    # The largest shape comes first.
    places = [case[1].index(shape) for shape, _ in order]
    assert places == sorted(places, reverse=True)


def many(size: int = 4, seed: int = 0) -> Batches[Made]:
    lengths = np.arange(40, dtype=np.int32)[:, None]  # (rows, 1)
    return batches_of((lengths, [(16,), (40,)], np.arange(40, dtype=np.int32)), size, seed)


def groups(batches: Batches[Made], epoch: int) -> list[tuple[Shape, list[int]]]:
    return [(shape, rows.tolist()) for shape, rows in batches.epoch(epoch)]


def test_the_order_depends_on_seed_and_epoch_only() -> None:
    batches = many(seed=5)
    first = groups(batches, 0)
    batches.epoch(7)
    assert groups(batches, 0) == first == groups(many(seed=5), 0)
    assert groups(batches, 1) != first
    assert groups(many(seed=6), 0) != first
    # Rows are grouped in other batches, and shapes come in another order.
    assert {frozenset(rows) for _, rows in first} != {
        frozenset(rows) for _, rows in groups(batches, 1)
    }
    orders = {tuple(shape for shape, _ in groups(batches, epoch)) for epoch in range(5)}
    assert len(orders) > 1


def test_a_row_at_the_limit_of_a_shape_fits() -> None:
    (first, last) = sorted(many(size=99).in_order())
    assert first[0] == (16,)
    assert first[1].tolist() == list(range(17))
    assert last[0] == (40,)


@given(cases(), st.integers(1, 8), st.integers(1, 60))
def test_batches_by_length(case: tuple[Ints, list[Shape], Ints], size: int, places: int) -> None:
    lengths = case[0]
    batches = batches_of(case, size)
    cuts = batches.by_length(places)
    order = [row for rows in cuts for row in rows.tolist()]
    assert sorted(order) == list(range(len(lengths)))
    assert lengths[order].tolist() == sorted(lengths.tolist(), reverse=True)
    for i, rows in enumerate(cuts):
        assert 0 < len(rows) <= size
        assert len(rows) == 1 or padded_places(lengths[rows]) <= places
        if len(rows) < size and i + 1 < len(cuts):  # the next row would not have fitted
            assert padded_places(lengths[[*rows, cuts[i + 1][0]]]) > places
    assert batches.places() == lengths.sum()


def padded_places(lengths: Ints) -> int:
    return len(lengths) * int(lengths.max(axis=0).sum())
