"""Unique ids: a number is appended to repeated ones.

Ids may repeat: rows without ids are numbered per file, and translations keep their ids.
"""

import warnings
from array import array
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

from readlet.types import Example, Sentence

if TYPE_CHECKING:  # numpy takes time to import, and reading a recipe needs this module
    import numpy as np

Item = TypeVar("Item", Example, Sentence)


def with_own_ids(examples: Sequence[Item]) -> list[Item]:
    """The same items with unique ids."""
    ids = StreamedIds()
    for example in examples:
        ids.add(example.id)
    if not ids.count_repeated():
        return list(examples)
    own = [ids.own_id(example.id) for example in examples]
    return [
        e if e.id == name else replace(e, id=name) for e, name in zip(examples, own, strict=True)
    ]


def warn_of_repeated_ids(examples: Sequence[Item], consequence: str) -> None:
    if repeated := len(examples) - len({example.id for example in examples}):
        warnings.warn(f"{repeated:,} × repeated id: {consequence}", stacklevel=3)


class StreamedIds:
    """Own ids for a stream of any length, in 8 bytes for each id.

    Add all ids first, then ask for the own id of each one, in the same order.
    """

    def __init__(self) -> None:
        self._digests = array("Q")
        self._next: dict[str, int] = {}  # of repeated ids: the next number to append

    def add(self, identity: str) -> None:
        self._digests.append(_digest(identity))

    def count_repeated(self) -> int:
        """How many ids occurred before; call it once, after the last id is added."""
        import numpy as np

        found, counts = np.unique(np.array(self._digests, np.uint64), return_counts=True)
        total, self._digests = len(self._digests), array("Q")
        self._known = found  # sorted
        self._repeated = found[counts > 1]
        return total - len(found)

    def own_id(self, identity: str) -> str:
        """The id itself the first time; then with a number that gives an id not in the stream."""
        if not _contains(self._repeated, identity):
            return identity
        if identity not in self._next:
            self._next[identity] = 2
            return identity
        number = self._next[identity]
        while _contains(self._known, own := f"{identity}-{number}"):
            number += 1
        self._next[identity] = number + 1
        return own

    def new_id(self, preferred: str, of: str) -> str:
        """An id for an item made from the one with the id `of`: neither in the stream nor given.

        The preferred one, unless it is taken. It must differ for every item of the stream, but for
        those with the same id.
        """
        is_free = not _contains(self._known, preferred)
        if is_free and not _contains(self._repeated, of):
            return preferred
        number = self._next.get(preferred, 1 if is_free else 2)
        own = preferred if number == 1 else f"{preferred}-{number}"
        while _contains(self._known, own):
            number += 1
            own = f"{preferred}-{number}"
        self._next[preferred] = number + 1
        return own


def _digest(identity: str) -> int:
    data = identity.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest())


def _contains(digests: "np.ndarray[tuple[int], np.dtype[np.uint64]]", identity: str) -> bool:
    """Two ids with one digest do no harm: a number is skipped, or an id is tracked needlessly."""
    import numpy as np

    digest = np.uint64(_digest(identity))
    place = int(np.searchsorted(digests, digest))
    return place < len(digests) and bool(digests[place] == digest)
