"""The output of a span model: scores of every place as the first and last one of the answer.

The span loss: the cross entropy of the first and the last place of the answer.

The target is the gold answer, and with a teacher (a reader that was trained before) also its
probabilities, which carry more information than one label (distillation, Hinton et al. 2015).
"""

from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from readlet.nn.softmax import masked_log_softmax


class SpanLogits(NamedTuple):
    """A place is a word or a subword of the context. "No answer" has scores of its own."""

    start: Tensor  # (B, L)
    end: Tensor  # (B, L)
    allowed: Tensor  # (B, L) bool: may be part of an answer
    null: Tensor | None = None  # (B, 2) "no answer" as start and end; None: it cannot abstain


class SpanBatch(Protocol):
    """The fields of a batch that the loss uses."""

    @property
    def rows(self) -> Tensor: ...  # (B,) row numbers; -1: filler
    @property
    def labels(self) -> Tensor: ...  # (B, 2) first and last place of the answer; -1: no answer
    @property
    def weight(self) -> Tensor: ...  # (B,) share in the loss; 0: filler


class Targets(NamedTuple):
    """A teacher's probabilities for a batch."""

    start: Tensor  # (B, L); zeros where it has none
    end: Tensor  # (B, L)
    exists: Tensor  # (B,) 1 or 0
    null: Tensor | None = None  # (B, 2) "no answer" as start and end; None: always 0


class Teacher(nn.Module):
    """A teacher's probabilities for all rows of the training data, concatenated."""

    start: Tensor
    end: Tensor
    first: Tensor
    length: Tensor
    null: Tensor | None

    def __init__(
        self, start: Tensor, end: Tensor, length: Tensor, share: float, null: Tensor | None = None
    ) -> None:
        super().__init__()
        self.share = share
        self.register_buffer("start", start)  # (places of all rows,)
        self.register_buffer("end", end)  # (places of all rows,)
        self.register_buffer("length", length)  # (rows,) places of each; 0: no probabilities
        self.register_buffer("first", length.cumsum(0) - length)  # (rows,)
        self.register_buffer("null", null)  # (rows, 2), or None

    def forward(self, rows: Tensor, width: int) -> Targets:
        """Row numbers (B,) and the padded width L."""
        known = rows.clamp(min=0)  # (B,) filler rows have the number -1, and weight 0
        place = torch.arange(width, device=rows.device)  # (L,)
        length = self.length[known]  # (B,)
        inside = place < length.unsqueeze(1)  # (B, L)
        at = torch.where(inside, self.first[known].unsqueeze(1) + place, 0)  # (B, L)
        start, end = (
            torch.where(inside, of_places[at].float(), 0.0) for of_places in (self.start, self.end)
        )  # (B, L)
        null = None if self.null is None else self.null[known]  # (B, 2)
        return Targets(start, end, (length > 0).float(), null)


class SpanLearner(nn.Module):
    """A module that turns a batch into a loss, for training."""

    def __init__(
        self, model: nn.Module, label_smoothing: float, teacher: Teacher | None = None
    ) -> None:
        super().__init__()
        self.model = model  # batch -> SpanLogits
        self.label_smoothing = label_smoothing
        self.teacher = teacher

    def forward(self, batch: SpanBatch) -> Tensor:
        scores: SpanLogits = self.model(batch)
        if self.teacher is None:
            return span_loss(scores, batch, self.label_smoothing)
        taught = self.teacher(batch.rows, scores.start.shape[1])
        return span_loss(scores, batch, self.label_smoothing, taught, self.teacher.share)


def span_loss(
    scores: SpanLogits,
    batch: SpanBatch,
    label_smoothing: float,
    taught: Targets | None = None,
    share: float = 0.0,
) -> Tensor:
    """Weighted sum of -log p_start - log p_end over the rows.

    With a teacher, the cross entropy with its probabilities has the weight `share`.
    """
    loss = batch.weight.new_zeros(())  # ()
    # "No answer" is one more class, before all places: label -1 becomes index 0.
    before = int(scores.null is not None)
    keep = F.pad(scores.allowed, (before, 0), value=True)  # (B, 1 + L), or (B, L)
    labels = (batch.labels + before).clamp(min=0)  # (B, 2)
    for side, logits in enumerate((scores.start, scores.end)):
        if scores.null is not None:
            logits = torch.cat([scores.null[:, side : side + 1], logits], dim=1)  # (B, 1 + L)
        log_p = masked_log_softmax(logits, keep)  # (B, 1 + L)
        of_row = _gold(log_p, keep, labels[:, side], label_smoothing)  # (B,)
        if taught is not None:
            target = (taught.start, taught.end)[side]  # (B, L)
            if taught.null is None or not before:
                target = F.pad(target, (before, 0))  # (B, 1 + L)
            else:
                target = torch.cat([taught.null[:, side : side + 1], target], dim=1)  # (B, 1 + L)
            learned = -(target * log_p.masked_fill(~keep, 0.0)).sum(dim=1)  # (B,)
            of_row = of_row + share * taught.exists * (learned - of_row)  # (B,)
        loss = loss + (of_row * batch.weight).sum()  # ()
    return loss


def _gold(log_p: Tensor, keep: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    gold = -log_p.gather(1, labels.unsqueeze(1)).squeeze(1)  # (B,)
    if smoothing == 0.0:
        return gold
    count = keep.sum(dim=1).clamp(min=1)  # (B,)
    spread = -log_p.masked_fill(~keep, 0.0).sum(dim=1) / count  # (B,)
    return (1 - smoothing) * gold + smoothing * spread
