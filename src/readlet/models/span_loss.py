"""What training makes smaller: the doubt about the first and the last word of the answer.

The gold answer is one target. A teacher, a reader that was trained before, can be another: what it
holds possible tells more than the one answer that was marked (Hinton et al. 2015).
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from readlet.encoding.batches import Batch, FormTables
from readlet.models.qacnn import QACNN, SpanScores
from readlet.nn.softmax import masked_log_softmax


class Targets(NamedTuple):
    """What the teacher says of a batch."""

    start: Tensor  # (B, L) probabilities; zeros where it has no say
    end: Tensor  # (B, L)
    has_say: Tensor  # (B,) 1 or 0


class Teacher(nn.Module):
    """A teacher's probabilities for every row of the training data, one row after the other."""

    start: Tensor
    end: Tensor
    first: Tensor
    length: Tensor

    def __init__(self, start: Tensor, end: Tensor, length: Tensor, share: float) -> None:
        super().__init__()
        self.share = share
        self.register_buffer("start", start)  # (words of all rows,)
        self.register_buffer("end", end)  # (words of all rows,)
        self.register_buffer("length", length)  # (rows,) words of each; 0: it has no say
        self.register_buffer("first", length.cumsum(0) - length)  # (rows,)

    def forward(self, rows: Tensor, width: int, null: int) -> Targets:
        """Row numbers (B,), padded width, and by how many places the null place moves the words."""
        known = rows.clamp(min=0)  # (B,) filler rows have no number, and no weight either
        place = torch.arange(width, device=rows.device) - null  # (L,)
        length = self.length[known]  # (B,)
        inside = (place >= 0) & (place < length.unsqueeze(1))  # (B, L)
        at = torch.where(inside, self.first[known].unsqueeze(1) + place, 0)  # (B, L)
        start, end = (
            torch.where(inside, of_words[at].float(), 0.0) for of_words in (self.start, self.end)
        )  # (B, L)
        return Targets(start, end, (length > 0).float())


class SpanLoss(nn.Module):
    """What training needs: a module that turns a batch into a loss."""

    def __init__(
        self,
        model: QACNN,
        tables: FormTables,
        label_smoothing: float,
        teacher: Teacher | None = None,
        null: bool = False,
    ) -> None:
        super().__init__()
        self.model = model
        self.tables = tables
        self.label_smoothing = label_smoothing
        self.teacher = teacher
        self.null = null

    def forward(self, batch: Batch) -> Tensor:
        scores = self.model(batch, self.tables)
        if self.teacher is None:
            return span_loss(scores, batch, self.label_smoothing)
        said = self.teacher(batch.rows, batch.context.shape[1], int(self.null))
        return span_loss(scores, batch, self.label_smoothing, said, self.teacher.share)


def span_loss(
    scores: SpanScores,
    batch: Batch,
    label_smoothing: float,
    said: Targets | None = None,
    share: float = 0.0,
) -> Tensor:
    """Weighted sum of -log p_start - log p_end over the rows.

    With a teacher, `share` of it is the cross entropy with its probabilities.
    """
    loss = batch.weight.new_zeros(())  # ()
    for side, logits in enumerate((scores.start, scores.end)):
        log_p = masked_log_softmax(logits, scores.keep)  # (B, L)
        of_row = _gold(log_p, scores.keep, batch.labels[:, side], label_smoothing)  # (B,)
        if said is not None:
            taught = -(said[side] * log_p.masked_fill(~scores.keep, 0.0)).sum(dim=1)  # (B,)
            of_row = of_row + share * said.has_say * (taught - of_row)  # (B,)
        loss = loss + (of_row * batch.weight).sum()  # ()
    return loss


def _gold(log_p: Tensor, keep: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    gold = -log_p.gather(1, labels.unsqueeze(1)).squeeze(1)  # (B,)
    if smoothing == 0.0:
        return gold
    count = keep.sum(dim=1).clamp(min=1)  # (B,)
    spread = -log_p.masked_fill(~keep, 0.0).sum(dim=1) / count  # (B,)
    return (1 - smoothing) * gold + smoothing * spread
