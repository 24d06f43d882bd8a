"""One of several processes that divide the work: which blocks of the data are its own.

Blocks are divided, not sentences, so that a process collects only the texts of its own. A sentence
in the blocks of two processes may be translated by both.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from readlet.errors import ReadletError

Block = TypeVar("Block")


@dataclass(frozen=True, slots=True)
class Shard:
    """The process `number`, from 0 on, of `count`."""

    number: int = 0
    count: int = 1

    def of(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Every n-th block."""
        return islice(blocks, self.number, None, self.count)

    def size(self, blocks: int) -> int:
        """How many of so many blocks that is."""
        return len(range(self.number, blocks, self.count))


WHOLE = Shard()


def parse_shard(text: str) -> Shard:
    """`3/8` is the third of eight parts."""
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise ReadletError(f"--shard {text!r:.40}: no part of a whole; give one such as 3/8")
    return Shard(int(number) - 1, int(count))
