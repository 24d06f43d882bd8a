"""The bases of scorers with a torch module: batches in, NumPy scores out; the loss of spans.

Inference runs eagerly: compiling for it would cost more than it saves.
Compilation before training: a trial run, so that a machine without a compiler still trains.
"""

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from readlet.engine.optimiser import ParameterGroup, one_group
from readlet.errors import memory_reported
from readlet.models.config import Config, SpanConfig, StoredAs, config_of
from readlet.models.family import AnyEncoder, Encoder, Floats, SpanScores
from readlet.models.onnx.model import WEIGHTS
from readlet.models.weights import on_disk, read_weights
from readlet.nn.softmax import masked_log_softmax
from readlet.recipe.recipe import Training
from readlet.storage.stored_files import damage_of, save_tensors
from readlet.text.arrays import Batches
from readlet.text.rows import AnyRows, Ints, Rows
from readlet.text.tensors import RowBatch


class SpanLogits(NamedTuple):
    """A position is a word or a subword of the context. "No answer" has separate scores."""

    start: Tensor  # (B, L)
    end: Tensor  # (B, L)
    allowed: Tensor  # (B, L) bool: may be part of an answer
    null: Tensor | None = None  # (B, 2) "no answer" as start and end; None: it cannot abstain


class SpanBatch(Protocol):
    """The fields of a batch that the loss uses."""

    @property
    def rows(self) -> Tensor: ...  # (B,) row numbers; -1: filler
    @property
    def labels(self) -> Tensor: ...  # (B, 2) first and last position of the answer; -1: no answer
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
    # "No answer" is one more class, before all positions: label -1 becomes index 0.
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


_LOCK = Lock()
_SCORING = Lock()
_INSIDE = 0
_IS_SET = False
_STANCE = ExitStack()


@contextmanager
def eagerly() -> Iterator[None]:
    """Inside the `with`, compiled modules run eagerly.

    Torch has one setting for all threads, and would not restore it if two of them overlap: the
    first thread sets it, the last one restores it. Setting it imports the compiler, which takes
    two seconds; nothing is compiled before it is imported.
    """
    global _INSIDE, _IS_SET
    with _LOCK:
        if not _IS_SET and "torch._dynamo" in sys.modules:
            _STANCE.enter_context(torch.compiler.set_stance("force_eager"))
            _IS_SET = True
        _INSIDE += 1
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE -= 1
            if not _INSIDE:
                _STANCE.close()
                _IS_SET = False


def compiles(trial: Callable[[], None]) -> bool:
    """Run a trial of compiled parts; False, with a warning, if torch cannot compile them.

    A C compiler may be missing, for example.
    """
    from torch._dynamo.exc import TorchDynamoException  # takes two seconds: only on a GPU

    try:
        trial()
    except TorchDynamoException as error:
        cause = str(getattr(error, "inner_exception", error)).strip()
        reason = cause.splitlines()[0] if cause else type(error).__name__
        warnings.warn(f"training runs slower, not compiled ({reason})", stacklevel=2)
        return False
    return True


_SMALLER = "load the reader with a smaller batch_size, or free some memory"


@dataclass
class ModuleScorer(ABC):
    """A module with its encoder, for any task. A subclass defines how rows become batches."""

    module: nn.Module
    encoder: AnyEncoder
    settings: Config

    @abstractmethod
    def batches(self, rows: Any, batch_size: int, *, seed: int = 0) -> Batches[Any]: ...

    def scoring(self, rows: Any) -> Callable[[Any], Any]:
        """The module for inference; work that all batches share can be done here, once."""
        return self.module

    def outputs(self, rows: AnyRows, batch_size: int) -> Iterator[tuple[Ints, Any]]:
        """Row numbers (B,) and what the module returns for them, batch by batch."""
        batches = self.batches(rows, min(batch_size, max(len(rows), 1)))
        self.module.eval()
        score = self.scoring(rows)
        for shape, numbers in batches.in_order():
            with memory_reported(_SMALLER), torch.inference_mode(), eagerly():
                batch: RowBatch = batches.make(shape, numbers, filled=False).to(self.device)
                found = score(batch)
            yield numbers, found

    def groups(self, settings: Training) -> list[ParameterGroup]:
        return one_group(self.module.parameters())

    @property
    def device(self) -> torch.device:
        return next(self.module.parameters()).device

    @property
    def parameters(self) -> int:
        """Trainable ones only: frozen word vectors do not count."""
        return sum(p.numel() for p in self.module.parameters() if p.requires_grad)

    def move_to(self, device: str) -> None:
        self.module.to(device)

    def save(self, folder: Path) -> list[str]:
        save_tensors(folder / WEIGHTS, on_disk(dict(self.module.state_dict()), self.stored))
        return [WEIGHTS]

    def load_weights(self, folder: Path) -> None:
        with damage_of(folder / WEIGHTS):
            self.module.load_state_dict(read_weights(folder / WEIGHTS))

    @property
    def stored(self) -> StoredAs:
        """The dtype of the weights on disk.

        Unless float32, they are already rounded (by `slimmed`): the loaded model computes
        as the saved one.
        """
        return self.settings.stored

    def config(self) -> dict[str, Any]:
        return config_of(self.settings)

    def facts(self) -> list[str]:
        return []


@dataclass
class TorchScorer(ModuleScorer):
    """A reader's module with its encoder."""

    encoder: Encoder
    settings: SpanConfig

    @property
    def max_answer(self) -> int:
        return self.settings.max_answer

    @property
    def can_abstain(self) -> bool:
        return self.settings.null_answer

    def over(self, rows: Rows) -> nn.Module:
        """The module for batches of these rows: a batch in, `SpanLogits` out."""
        return self.module

    def scoring(self, rows: Rows) -> Callable[[Any], SpanLogits]:
        return self.over(rows).to(self.device)

    def learner(self, rows: Rows, label_smoothing: float, teacher: Teacher | None) -> SpanLearner:
        return SpanLearner(self.over(rows), label_smoothing, teacher)

    def scores(self, rows: Rows, batch_size: int) -> Iterator[tuple[Ints, SpanScores]]:
        for numbers, found in self.outputs(rows, batch_size):
            yield numbers, _as_numpy(found)

    def scores_of_batch(self, batch: RowBatch) -> tuple[Floats, Floats, Floats | None]:
        """Scores of starts, ends and "no answer"; may be called from several threads.

        While one of them waits for its scores, the next one gives its batch to the device. The lock
        bounds the memory to that of one batch.
        """
        self.module.eval()
        with memory_reported(_SMALLER), torch.inference_mode(), eagerly():
            moved = batch.to(self.device)
            with _SCORING:
                found = self.module(moved)
                start, end = _sent_back(found.start), _sent_back(found.end)  # (B, L) each
                null = None if found.null is None else _sent_back(found.null)  # (B, 2)
                is_async = self.device.type == "cuda"
                stream = torch.cuda.current_stream(self.device) if is_async else None
                ready = stream and stream.record_event()
            if ready is not None:
                ready.synchronize()
        return start.numpy(), end.numpy(), None if null is None else null.numpy()


def _sent_back(scores: torch.Tensor) -> torch.Tensor:
    """A copy on the CPU; from a GPU it is complete once the queued work is."""
    if scores.device.type != "cuda":
        return scores.float().cpu()
    host = torch.empty(scores.shape, pin_memory=True)
    return host.copy_(scores, non_blocking=True)


def _as_numpy(found: SpanLogits) -> SpanScores:
    start, end = (side.float().cpu().numpy() for side in (found.start, found.end))  # (B, L)
    null = None if found.null is None else found.null.float().cpu().numpy()  # (B, 2)
    return SpanScores(start, end, found.allowed.cpu().numpy(), null)
