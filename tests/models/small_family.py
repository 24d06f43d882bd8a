"""A kind of reader in one file, unknown to the package: pieces between spaces, hashed."""

import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from readlet.models.config import SpanConfig
from readlet.models.family import SpanFamily
from readlet.models.kinds import register_kind
from readlet.models.torch_scorer import SpanLogits, TorchScorer
from readlet.recipe.recipe import Model, Recipe, SpanData, SpanTraining
from readlet.text.arrays import Batches, Shape, padded
from readlet.text.rows import Ints, RowBuilder, Rows, Stored, Windows, ints
from readlet.text.tensors import RowBatch, row_tensors
from readlet.types import Example


class PiecesModel(Model):
    kind: Literal["pieces"] = "pieces"
    width: int = 24
    buckets: int = 512  # pieces are hashed into so many numbers


class PiecesConfig(SpanConfig):
    kind: Literal["pieces"] = "pieces"
    model: PiecesModel


class PiecesRecipe(Recipe):
    data: SpanData = SpanData()
    model: PiecesModel = PiecesModel()
    training: SpanTraining = SpanTraining()


@dataclass(kw_only=True)
class PieceRows(Rows):
    pieces: Ints  # (pieces of all texts,) number of each
    row_question: Ints  # (rows, 2) first piece of the question, and number of pieces


@dataclass(frozen=True)
class PieceEncoder:
    windows: Windows
    buckets: int

    def encode(self, examples: Sequence[Example]) -> PieceRows:
        rows, offsets, pieces, questions = RowBuilder(self.windows), [], [], []
        for number, example in enumerate(examples):
            first = len(offsets)
            for text in (example.context, example.question):
                offsets += (spans := [match.span() for match in re.finditer(r"\S+", text)])
                pieces += [self._number(text[start:end]) for start, end in spans]
            middle = len(offsets) - len(spans)
            added = rows.add(number, example, offsets[first:middle], first)
            questions += [(middle, min(len(spans), self.windows.max_question))] * added
        spans, asked = (ints(pairs).reshape(-1, 2) for pairs in (offsets, questions))
        return PieceRows(**rows.arrays(), offsets=spans, pieces=ints(pieces), row_question=asked)

    def stored(self) -> Stored:
        return {}, {}

    def cut(self) -> dict[str, Any]:
        return asdict(self)

    def _number(self, piece: str) -> int:
        return 1 + zlib.crc32(piece.lower().encode("utf-8", "surrogatepass")) % (self.buckets - 1)


@dataclass(frozen=True)
class PieceBatch(RowBatch):
    context: Tensor  # (B, L)
    question: Tensor  # (B, Q)


class PiecesNetwork(nn.Module):
    def __init__(self, settings: PiecesConfig) -> None:
        super().__init__()
        width = settings.model.width
        self.embedding = nn.Embedding(settings.model.buckets, width, padding_idx=0)
        self.mix = nn.Conv1d(width, width, 5, padding=2)
        self.score = nn.Linear(2 * width, 2)
        self.null = nn.Linear(width, 2) if settings.null_answer else None

    def forward(self, batch: PieceBatch) -> SpanLogits:
        x = self.embedding(batch.context)  # (B, L, D)
        q = self.embedding(batch.question).sum(1, keepdim=True)  # (B, 1, D)
        x = x + self.mix(x.transpose(1, 2)).transpose(1, 2).relu()  # (B, L, D)
        scores = self.score(torch.cat([x, x * q], dim=-1))  # (B, L, 2)
        null = None if self.null is None else self.null(q.squeeze(1))  # (B, 2)
        return SpanLogits(scores[..., 0], scores[..., 1], batch.context != 0, null)


class PiecesScorer(TorchScorer):
    def batches(self, rows: Rows, batch_size: int, *, seed: int = 0) -> Batches[PieceBatch]:
        windows, longest_question = self.encoder.windows, self.encoder.windows.max_question

        def collate(shape: Shape, numbers: Ints, size: int) -> PieceBatch:
            context = padded(rows.pieces, rows.row_window[numbers], (size, *shape))
            question = padded(rows.pieces, rows.row_question[numbers], (size, longest_question))
            texts = map(torch.from_numpy, (context, question))
            return PieceBatch(*row_tensors(rows, numbers, size).values(), *texts)

        return Batches(
            rows.row_window[:, 1:],
            [(windows.max_context // 2,), (windows.max_context,)],
            batch_size,
            collate,
            trainable=rows.trainable(can_abstain=self.can_abstain),
            guessing=2 * math.log(windows.max_context),
            seed=seed,
        )


class PiecesFamily(SpanFamily):
    def encoder_settings(self, recipe: Recipe) -> dict[str, Any]:
        return {"buckets": recipe.model.buckets}

    def fit_encoder(self, recipe: Recipe, examples: Sequence[Example]) -> PieceEncoder:
        return PieceEncoder(recipe.data.windows, recipe.model.buckets)

    def restore_encoder(self, recipe: Recipe, stored: Stored) -> PieceEncoder:
        return self.fit_encoder(recipe, [])

    def restore_rows(self, stored: Stored) -> PieceRows:
        return PieceRows.from_stored(stored)

    def build(self, recipe: Recipe, encoder: PieceEncoder, *, can_abstain: bool) -> PiecesScorer:
        settings = PiecesConfig(**recipe.data.lengths, null_answer=can_abstain, model=recipe.model)
        return PiecesScorer(PiecesNetwork(settings), encoder, settings)

    def load(self, folder: Path, config: dict[str, Any]) -> PiecesScorer:
        settings = PiecesConfig.read(config)
        encoder = PieceEncoder(settings.windows, settings.model.buckets)
        scorer = PiecesScorer(PiecesNetwork(settings), encoder, settings)
        scorer.load_weights(folder)
        return scorer


register_kind("pieces", PiecesFamily, PiecesRecipe)
