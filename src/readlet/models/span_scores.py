"""What a span model gives for a batch: scores of every place as first and as last of the answer."""

from typing import NamedTuple

from torch import Tensor


class SpanLogits(NamedTuple):
    """A place is a word or a subword of the context. "No answer" is no place: it has its own."""

    start: Tensor  # (B, L)
    end: Tensor  # (B, L)
    allowed: Tensor  # (B, L) bool: may be part of an answer
    null: Tensor | None = (
        None  # (B, 2) "no answer" as a start and as an end; None: it cannot refuse
    )
