"""The family of encoder readers: a pretrained encoder of transformers and a span head over it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from readlet.models.config import norm_gamma
from readlet.models.encoder.config import EncoderConfig
from readlet.models.encoder.network import EncoderReader
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
from readlet.models.torch_scorer import TorchScorer, eagerly
from readlet.nn.layer_mix import SIDES, make_layer_mix
from readlet.recipe.recipe import Recipe
from readlet.text.arrays import Arrays, Batches, check_length
from readlet.text.rows import Rows, Stored
from readlet.text.subwords import SubwordEncoder, SubwordRows, layout_of
from readlet.text.tensors import SubwordBatch, as_tensors, subword_batches
from readlet.types import Example


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
        super().check_recipe(recipe)
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
