"""Encoder readers: a pretrained encoder of transformers and a span head over its layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from readlet.models.config import norm_gamma
from readlet.models.encoder.config import EncoderConfig
from readlet.models.encoder.recipe import EncoderRecipe
from readlet.models.family import Floats, LayerView, SpanFamily
from readlet.models.pretrained.encoder import PretrainedEncoder
from readlet.models.pretrained.family import (
    PretrainedFamily,
    PretrainedScorer,
    read_tokenizer,
    with_attention,
)
from readlet.models.pretrained.inputs import SubwordInputs, load_subwords
from readlet.models.torch_scorer import SpanLogits, TorchScorer, eagerly
from readlet.nn.layer_mix import SIDES, LayerMix, make_layer_mix
from readlet.nn.softmax import normalised
from readlet.recipe.recipe import Recipe
from readlet.text.arrays import Arrays, Batches, check_length
from readlet.text.rows import Rows, Stored
from readlet.text.subwords import SubwordEncoder, SubwordRows, layout_of
from readlet.text.tensors import SubwordBatch, as_tensors, subword_batches
from readlet.types import Example


class EncoderReader(nn.Module):
    """Scores of the context's tokens; those of "no answer" are the scores of the CLS token."""

    def __init__(
        self,
        encoder: PretrainedEncoder,
        mix: LayerMix,
        null_token: int,  # index of the CLS token
        *,
        null: bool,
        loss_gamma: float | None = None,  # cap of NormSoftmax in the loss; None: standard softmax
        token_dropout: float = 0.0,
        mask_token: int = 0,  # what replaces a dropped token
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.mix = mix
        self.null_token = null_token
        self.null = null
        self.loss_gamma = loss_gamma
        self.token_dropout = token_dropout
        self.mask_token = mask_token

    def forward(self, batch: SubwordBatch) -> SpanLogits:
        scores = self.mix(self.states(batch))  # (B, T, 2)
        null = scores[:, self.null_token].unsqueeze(1)  # (B, 1, 2)
        width = scores.shape[1]
        # From tokens to positions of the context, whose start differs between rows.
        token = batch.first.unsqueeze(1) + torch.arange(width, device=scores.device)  # (B, T)
        token = token.clamp(max=width - 1).unsqueeze(-1)  # (B, T, 1); beyond: not allowed
        places = scores.gather(1, token.expand_as(scores))  # (B, T, 2)
        allowed = batch.allowed  # (B, T)
        if self.loss_gamma is not None:
            places, null = self._normalised(places, null, allowed, self.loss_gamma)
        start, end = places.unbind(dim=-1)  # (B, T) each
        return SpanLogits(start, end, allowed, null.squeeze(1) if self.null else None)

    def states(self, batch: SubwordBatch) -> tuple[Tensor, ...]:
        """The states that the mix reads: (B, T, H) each."""
        tokens = self._dropped(batch.tokens)  # (B, T)
        states: tuple[Tensor, ...] = self.encoder(
            tokens, batch.types, batch.keep, all_layers=self.mix.reads_all_layers
        )
        return states

    def _dropped(self, tokens: Tensor) -> Tensor:
        """In training the mask token replaces some tokens, except CLS, which scores "no answer"."""
        if not self.token_dropout or not self.training:
            return tokens
        drop = torch.rand(tokens.shape, device=tokens.device) < self.token_dropout  # (B, T)
        drop[:, self.null_token] = False
        return torch.where(drop, self.mask_token, tokens)  # (B, T)

    def _normalised(
        self, places: Tensor, null: Tensor, allowed: Tensor, gamma: float
    ) -> tuple[Tensor, Tensor]:
        """Scores whose softmax is the NormSoftmax of the given ones."""
        both = torch.cat([null, places], dim=1)  # (B, 1 + T, 2)
        first = (torch.ones_like if self.null else torch.zeros_like)(allowed[:, :1])  # (B, 1)
        keep = torch.cat([first, allowed], dim=1).unsqueeze(-1)  # (B, 1 + T, 1)
        scaled = normalised(both, keep, 1, gamma)  # (B, 1 + T, 2)
        return scaled[:, 1:], scaled[:, :1]


@dataclass
class EncoderScorer(PretrainedScorer, TorchScorer):
    """The network and its tokenizer."""

    module: EncoderReader
    encoder: SubwordEncoder
    settings: EncoderConfig

    @classmethod
    def on_network(
        cls, network: PretrainedEncoder, encoder: SubwordEncoder, settings: EncoderConfig
    ) -> "EncoderScorer":
        module = EncoderReader(
            with_attention(settings.attention, network),
            make_layer_mix(settings.model.mix, network.width, network.layers),
            encoder.layout.null,
            null=settings.null_answer,
            loss_gamma=norm_gamma(settings.loss, network.width),
            token_dropout=settings.model.token_dropout,
            mask_token=encoder.layout.mask,
        )
        return cls(module, encoder, settings)

    def batches(self, rows: Rows, batch_size: int, *, seed: int = 0) -> Batches[SubwordBatch]:
        assert isinstance(rows, SubwordRows)
        return subword_batches(rows, self.encoder, batch_size, null=self.can_abstain, seed=seed)

    def inputs(self) -> SubwordInputs:
        return SubwordInputs(self.encoder, self.settings)

    def scores_of(self, arrays: Arrays) -> tuple[Floats, Floats, Floats | None]:
        """Scores of a batch made in another process: starts, ends and "no answer"."""
        nothing = torch.zeros(0)  # labels are for training
        batch = SubwordBatch(rows=nothing, labels=nothing, weight=nothing, **as_tensors(arrays))
        return self.scores_of_batch(batch)

    def layer_view(self, rows: Rows, row: int) -> LayerView:
        assert isinstance(rows, SubwordRows)
        batches, number = self.batches(rows, 1), np.array([row], np.int32)
        self.module.eval()
        with torch.inference_mode(), eagerly():
            batch = batches.make(batches.least_shape(number), number).to(self.device)
            states, mix = self.module.states(batch), self.module.mix
            scores = mix(states)[0]  # (T, 2)
            shape = (len(scores), mix.layers, 2)
            weights = mix.weights(states).expand(1, *shape)[0].movedim(0, 1)  # (N, T, 2)
            parts = mix.contributions(states)  # (1, T, N, 2)
        name_of = self.encoder.tokenizer.id_to_token
        return LayerView(
            mix=self.settings.model.mix,
            tokens=tuple(name_of(token) or "" for token in batch.tokens[0].tolist()),
            first=int(batch.first[0]),
            null=self.encoder.layout.null,
            weights=weights.float().cpu().numpy(),
            contributions=None if parts is None else parts[0].movedim(0, 1).float().cpu().numpy(),
            scores=scores.float().cpu().numpy(),
            normalised=self.module.loss_gamma is not None,
        )


class EncoderFamily(PretrainedFamily, SpanFamily):
    """Builds, trains and loads encoder readers."""

    trial_lengths = (96, 160)

    def check_recipe(self, recipe: Recipe) -> None:
        """Load the encoder: that takes a second, and encoding the data may take minutes."""
        if not recipe.training.start:
            self.build(recipe, self.fit_encoder(recipe, ()), can_abstain=False)

    def fit_encoder(self, recipe: Recipe, examples: Sequence[Example]) -> SubwordEncoder:
        typed, name = _typed(recipe), _typed(recipe).model.encoder
        tokenizer, layout, config = read_tokenizer(name, layout_of)
        made = SubwordEncoder(tokenizer, layout, typed.data.windows, config)
        check_length(made.longest, config, name)
        return made

    def restore_encoder(self, recipe: Recipe, stored: Stored) -> SubwordEncoder:
        made = SubwordEncoder.from_stored(stored, _typed(recipe).data.windows)
        check_length(made.longest, made.config, _typed(recipe).model.encoder)
        return made

    def restore_rows(self, stored: Stored) -> SubwordRows:
        return SubwordRows.from_stored(stored)

    def build(self, recipe: Recipe, encoder: SubwordEncoder, *, can_abstain: bool) -> EncoderScorer:
        network = self.trained_network(recipe, encoder.config, SIDES)
        settings = _typed(recipe).config(null_answer=can_abstain)
        return EncoderScorer.on_network(network, encoder, settings)

    def load(self, folder: Path, config: dict[str, Any]) -> EncoderScorer:
        return EncoderScorer.stored_in(folder, load_subwords(folder, config))


def _typed(recipe: Recipe) -> EncoderRecipe:
    assert isinstance(recipe, EncoderRecipe)
    return recipe
