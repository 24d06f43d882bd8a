"""Decoding is exact: law 4, against a search over every allowed span."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from readlet.reading.decoding import best_spans


def all_spans(
    start: list[float], end: list[float], allowed: list[bool], max_words: int
) -> dict[tuple[int, int], float]:
    return {
        (i, j): float(np.float32(start[i]) + np.float32(end[j]))
        for i in range(len(start))
        for j in range(i, len(end))
        if j - i < max_words and allowed[i] and allowed[j]
    }


def check(
    start: list[list[float]], end: list[list[float]], allowed: list[list[bool]], k: int, n: int
) -> None:
    found = best_spans(torch.tensor(start), torch.tensor(end), torch.tensor(allowed), k, n)
    for row in range(len(start)):
        spans = all_spans(start[row], end[row], allowed[row], k)
        exists = found.exists[row].tolist()
        count = sum(exists)
        assert count == min(n, len(spans))
        assert exists == [True] * count + [False] * (len(exists) - count)  # what exists comes first
        pairs = list(zip(found.first[row].tolist(), found.last[row].tolist(), strict=True))[:count]
        assert len(set(pairs)) == count
        scores = found.score[row, :count].tolist()
        assert scores == [spans[pair] for pair in pairs]  # each pair is allowed, with its own score
        # With ties the pairs may differ, the scores may not.
        assert scores == sorted(spans.values(), reverse=True)[:count]


@given(st.data())
def test_equals_brute_force(data: st.DataObject) -> None:
    rows, length = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 9))
    # Few different values give many ties; the others none.
    number = data.draw(
        st.sampled_from([st.sampled_from([-1.0, 0.0, 2.0]), st.floats(-1e4, 1e4, width=32)])
    )

    def table(values: st.SearchStrategy) -> list[list]:
        row = st.lists(values, min_size=length, max_size=length)
        return data.draw(st.lists(row, min_size=rows, max_size=rows))

    check(
        table(number),
        table(number),
        table(st.booleans()),
        data.draw(st.integers(1, 12)),
        data.draw(st.integers(1, 60)),
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 30))
def test_equals_brute_force_on_longer_rows(seed: int, max_words: int, n: int) -> None:
    generator = np.random.default_rng(seed)
    start, end = generator.normal(size=(2, 2, 35)).astype(np.float32)
    allowed = generator.random((2, 35)) < 0.8
    check(start.tolist(), end.tolist(), allowed.tolist(), max_words, n)


def test_a_row_without_allowed_places_has_no_span() -> None:
    keep = torch.tensor([[False] * 6, [True] * 6])
    found = best_spans(torch.randn(2, 6), torch.randn(2, 6), keep, 3, 4)
    assert found.exists.tolist() == [[False] * 4, [True] * 4]
    assert torch.isfinite(found.score).all()


def test_the_best_start_and_end_may_not_fit_together() -> None:
    start, end = torch.tensor([[0.0, 1.0, 9.0, 0.0]]), torch.tensor([[9.0, 2.0, 0.0, 1.0]])
    keep = torch.ones(1, 4, dtype=torch.bool)
    found = best_spans(start, end, keep, 4, 1)
    assert (found.first.item(), found.last.item(), found.score.item()) == (2, 3, 10.0)
    found = best_spans(start, end, keep, 1, 4)
    assert found.first[0].tolist() == found.last[0].tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize("score", [-1e9, -1e4])
def test_very_low_scores_are_still_spans(score: float) -> None:
    low = torch.full((1, 3), score)
    keep = torch.tensor([[True, False, True]])
    found = best_spans(low, low, keep, 3, 9)
    assert int(found.exists.sum()) == 3
