"""The output of a span model: scores of every place as the first and last one of the answer."""

from typing import NamedTuple

from torch import Tensor


class SpanLogits(NamedTuple):
    """A place is a word or a subword of the context. "No answer" has scores of its own."""

    start: Tensor  # (B, L)
    end: Tensor  # (B, L)
    allowed: Tensor  # (B, L) bool: may be part of an answer
    null: Tensor | None = None  # (B, 2) "no answer" as start and end; None: it cannot refuse
