"""Decoding is exact: law 4, against a search over every allowed span."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.inference.decoding import spans_in_order

Span = tuple[float, int, int]


def all_spans(
    start: list[float], end: list[float], allowed: list[bool], max_places: int
) -> list[Span]:
    """Every allowed span in the order of law 4: by score, then first, then length."""
    spans = [
        (float(np.float32(start[i]) + np.float32(end[j])), i, j)
        for i in range(len(start))
        for j in range(i, len(end))
        if j - i < max_places and allowed[i] and allowed[j]
    ]
    return sorted(spans, key=lambda span: (-span[0], span[1], span[2]))


def found(start: list[float], end: list[float], allowed: list[bool], max_places: int) -> list[Span]:
    arrays = np.array(start, np.float32), np.array(end, np.float32), np.array(allowed, np.bool_)
    return [tuple(span) for span in spans_in_order(*arrays, max_places)]


@given(st.data())
def test_equals_brute_force_with_its_ties(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 12))
    # Few different values give many ties; the others none.
    number = data.draw(
        st.sampled_from([st.sampled_from([-1.0, 0.0, 2.0]), st.floats(-1e4, 1e4, width=32)])
    )
    start, end = (data.draw(st.lists(number, min_size=length, max_size=length)) for _ in "se")
    allowed = data.draw(st.lists(st.booleans(), min_size=length, max_size=length))
    max_places = data.draw(st.integers(1, 12))
    wanted = all_spans(start, end, allowed, max_places)
    assert found(start, end, allowed, max_places) == wanted
    # Padding has no influence, whatever its scores.
    padding = data.draw(st.lists(number, max_size=9))
    no = [False] * len(padding)
    assert found([*start, *padding], [*end, *padding], [*allowed, *no], max_places) == wanted


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_equals_brute_force_on_longer_rows(seed: int, max_places: int) -> None:
    generator = np.random.default_rng(seed)
    start, end = generator.normal(size=(2, 60)).astype(np.float32).tolist()
    allowed = (generator.random(60) < 0.8).tolist()
    assert found(start, end, allowed, max_places) == all_spans(start, end, allowed, max_places)


def test_equal_scores_go_to_the_earliest_then_to_the_shortest() -> None:
    """More ties than are ranked at first."""
    spans = found([0.0] * 50, [0.0] * 50, [True] * 50, 4)
    assert [span[1:] for span in spans[:6]] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2)]
    assert len(spans) == 4 * 50 - 6


def test_a_row_without_allowed_places_has_no_span() -> None:
    assert found([1.0, 2.0], [1.0, 2.0], [False, False], 3) == []
    assert found([], [], [], 3) == []


def test_the_best_start_and_end_may_not_form_a_span() -> None:
    start, end = [0.0, 1.0, 9.0, 0.0], [9.0, 2.0, 0.0, 1.0]
    assert found(start, end, [True] * 4, 4)[0] == (10.0, 2, 3)
    assert [span[1] for span in found(start, end, [True] * 4, 1)] == [0, 2, 1, 3]


@pytest.mark.parametrize("score", [-1e30, -1e9, -1e4])
def test_very_low_scores_are_still_spans(score: float) -> None:
    low = [score] * 3
    assert len(found(low, low, [True, False, True], 3)) == 3


def test_only_requested_spans_are_ranked() -> None:
    """A generator: one span of a long row does not take the time of all."""
    start, end = np.random.default_rng(0).normal(size=(2, 3000)).astype(np.float32)
    spans = spans_in_order(start, end, np.ones(3000, np.bool_), 30)
    best = list(islice(spans, 3))
    assert [span.score for span in best] == sorted((s.score for s in best), reverse=True)
    assert best[0].score == max(float((start[: 3000 - k] + end[k:]).max()) for k in range(30))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", ["start", "end"])
def test_scores_that_are_not_finite_end_the_search(bad: float, side: str) -> None:
    """NaN is no score, and minus infinity masks; all other spans are still found, in order."""
    start, end = [1.0, 0.0, 2.0], [0.0, 3.0, 1.0]
    (start if side == "start" else end)[1] = bad
    spans = found(start, end, [True, True, True], 3)
    assert len(spans) == len(set(spans))
    clean = [span for span in spans if np.isfinite(span[0])]
    place = 1 if side == "start" else 2
    others = [span for span in all_spans(start, end, [True] * 3, 3) if span[place] != 1]
    assert clean == sorted(others, key=lambda span: (-span[0], span[1], span[2]))
    assert all(span[place] == 1 and bad == np.inf for span in spans if span not in clean)
