"""Unique ids of a stream equal those of a list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.data.datasets import StreamedIds, with_own_ids
from readlet.types import Example

IDS = st.lists(st.sampled_from(["a", "a-2", "a-2-2", "a-3", "b", "", "-2", "\ud83d"]) | st.text())


def own_ids(ids: list[str]) -> tuple[int, list[str]]:
    streamed = StreamedIds()
    for identity in ids:
        streamed.add(identity)
    repeated = streamed.count_repeated()
    return repeated, [streamed.own_id(identity) for identity in ids]


@given(IDS)
def test_they_equal_those_of_a_list(ids: list[str]) -> None:
    expected = [e.id for e in with_own_ids([Example(identity, "", "") for identity in ids])]
    assert own_ids(ids) == (len(ids) - len(set(ids)), expected)
    assert len(set(expected)) == len(ids)


@pytest.mark.parametrize("digest", [lambda identity: 7, len])
def test_equal_digests_are_harmless(monkeypatch: pytest.MonkeyPatch, digest: object) -> None:
    monkeypatch.setattr("readlet.data.datasets._digest", digest)
    ids = ["ab", "cd", "ab", "ef"]
    with pytest.MonkeyPatch.context():
        streamed = StreamedIds()
        for identity in ids:
            streamed.add(identity)
        streamed.count_repeated()
        first = [streamed.own_id(identity) for identity in ids[:2]]
    assert first == ["ab", "cd"]
