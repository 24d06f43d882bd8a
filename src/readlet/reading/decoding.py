"""The best spans of a window: an exact search over all allowed ones, without listing them all."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from readlet.nn.softmax import MASKED


class BestSpans(NamedTuple):
    """The n best spans of each row, best first. Fewer are possible: `exists` tells."""

    score: Tensor  # (B, N)
    first: Tensor  # (B, N) position of the first word
    last: Tensor  # (B, N) position of the last word
    exists: Tensor  # (B, N)


def best_spans(start: Tensor, end: Tensor, allowed: Tensor, max_words: int, n: int) -> BestSpans:
    """Maximise start[i] + end[j] over i <= j < i + max_words, both allowed.

    `start`, `end` and `allowed` are (B, L). Only the band of `max_words` diagonals is computed.
    """
    length = start.shape[1]
    band = min(max_words, length)
    # Row i of a window view holds positions i, i + 1, ..., i + band - 1.
    ends = F.pad(end, (0, band - 1)).unfold(1, band, 1)  # (B, L, K)
    ends_allowed = F.pad(allowed, (0, band - 1), value=False).unfold(1, band, 1)  # (B, L, K)
    valid = allowed.unsqueeze(2) & ends_allowed  # (B, L, K)
    scores = (start.unsqueeze(2) + ends).masked_fill(~valid, MASKED)  # (B, L, K)
    count = min(n, length * band)
    best, index = scores.flatten(1).topk(count, dim=1)  # (B, N), (B, N)
    exists = valid.flatten(1).gather(1, index)  # (B, N)
    first = torch.div(index, band, rounding_mode="floor")  # (B, N)
    return BestSpans(best, first, first + index % band, exists)
