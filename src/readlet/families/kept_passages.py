"""Passages as the first layers of a reader have read them, kept for the next question.

Only readers with `model.apart_layers` have such states. Any thread may ask for them.
"""

from collections.abc import Callable
from typing import TypeVar

from readlet.encoding.remembered import Remembered

BYTES = 256_000_000
"""Of all kept states: some 500 windows of 320 tokens at a width of 384."""
States = TypeVar("States")


def kept_passages(
    read: Callable[[list[bytes]], list[States]], numbers: int
) -> Remembered[bytes, States]:
    """States by the tokens of a window; those that were not used for longest are dropped first.

    `numbers` are those of a token's states, in float32.
    """
    # A token has four bytes in a key, as each of the numbers has.
    return Remembered(read, len, BYTES // numbers)
