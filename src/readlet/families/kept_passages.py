"""Passages as the first layers of a reader have read them, kept for the next question.

Only readers with `model.apart_layers` have such states. Any thread may ask for them.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from readlet.encoding.remembered import Remembered

BYTES = 256_000_000
"""Of all kept states: some 500 windows of 320 tokens at a width of 384."""


class Numbers(Protocol):
    """An array or a tensor."""

    @property
    def nbytes(self) -> int: ...


States = TypeVar("States", bound=Numbers)


def kept_passages(
    read: Callable[[list[bytes]], list[States]],
) -> Remembered[bytes, States]:
    """States by the tokens of a window; those that were not used for longest are dropped first."""
    return Remembered(read, lambda key, states: len(key) + states.nbytes, BYTES)
