"""Parts of the data: which blocks belong to which process."""

from itertools import chain

import pytest

from readlet.augment.shards import WHOLE, Shard, parse_shard
from readlet.errors import ReadletError


@pytest.mark.parametrize("count", [1, 3, 8])
def test_every_block_has_one_process(count: int) -> None:
    for blocks in (0, 1, 7, 8, 9):
        shares = [list(Shard(number, count).of(range(blocks))) for number in range(count)]
        assert sorted(chain.from_iterable(shares)) == list(range(blocks))
        assert [Shard(n, count).size(blocks) for n in range(count)] == list(map(len, shares))
    assert list(WHOLE.of("abc")) == ["a", "b", "c"]


def test_a_part_counts_from_one() -> None:
    assert parse_shard("1/8") == Shard(0, 8)
    assert parse_shard("8/8") == Shard(7, 8)


@pytest.mark.parametrize("text", ["0/8", "9/8", "3", "a/b", "1/0", "-1/8", "1/8/9", "", "²/3"])
def test_what_is_no_part(text: str) -> None:
    with pytest.raises(ReadletError, match="no part of a whole; give one such as 3/8"):
        parse_shard(text)
