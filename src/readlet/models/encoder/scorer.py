"""The family of encoder readers: a pretrained encoder of transformers and a span head over it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from readlet.engine.optimiser import ParameterGroup
from readlet.models.config import StoredAs, norm_gamma
from readlet.models.encoder.config import EncoderConfig
from readlet.models.encoder.network import EncoderReader
from readlet.models.encoder.recipe import EncoderRecipe, FineTuning
from readlet.models.family import Floats, LayerView, SpanFamily
from readlet.models.onnx.model import WEIGHTS
from readlet.models.pretrained.encoder import PretrainedEncoder, build_encoder
from readlet.models.pretrained.family import PretrainedFamily, require_own_tokenizer
from readlet.models.pretrained.inputs import SubwordInputs
from readlet.models.pretrained.parts import (
    STORED_FACTS,
    encoder_fact,
    layer_groups,
    load_parts,
    save_parts,
    slim_weights,
    with_attention,
)
from readlet.models.torch_scorer import TorchScorer, eagerly
from readlet.nn.layer_mix import SIDES, make_layer_mix
from readlet.recipe.recipe import Recipe, Training
from readlet.storage.stored_files import damage_of
from readlet.text.arrays import Arrays, Batches, check_length
from readlet.text.pretrained import load_config, load_tokenizer
from readlet.text.rows import Rows, Stored
from readlet.text.subwords import SubwordEncoder, SubwordRows, layout_of, plain_tokenizer
from readlet.text.tensors import SubwordBatch, as_tensors, subword_batches
from readlet.types import Example


@dataclass
class EncoderScorer(TorchScorer):
    """The network and its tokenizer."""

    module: EncoderReader
    encoder: SubwordEncoder
    settings: EncoderConfig

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

    def groups(self, settings: Training) -> list[ParameterGroup]:
        assert isinstance(settings, FineTuning)
        return layer_groups(
            self.module, self.module.encoder, self.module.mix.parameters(), settings
        )

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

    def save(self, folder: Path) -> list[str]:
        return save_parts(folder, self.module, self.encoder, self.stored)

    def facts(self) -> list[str]:
        model = self.settings.model
        named = encoder_fact(model.encoder, self.encoder, self.module.encoder)
        return [f"- {named}; mix of layers: {model.mix}", *STORED_FACTS[self.stored]]

    def slimmed(self, stored: StoredAs = "float16") -> "EncoderScorer":
        """A copy with rounded weights; it computes in float32."""
        weights = slim_weights(self.module, stored)
        settings = self.settings.model_copy(update={"stored": stored})
        return scorer_with(weights, settings, self.encoder)


def make_scorer(
    settings: EncoderConfig, encoder: SubwordEncoder, network: PretrainedEncoder
) -> EncoderScorer:
    mix = make_layer_mix(settings.model.mix, network.width, network.layers)
    module = EncoderReader(
        with_attention(settings.attention, network),
        mix,
        encoder.layout.null,
        null=settings.null_answer,
        loss_gamma=norm_gamma(settings.loss, network.width),
        token_dropout=settings.model.token_dropout,
        mask_token=encoder.layout.mask,
    )
    return EncoderScorer(module, encoder, settings)


def scorer_with(
    weights: dict[str, torch.Tensor], settings: EncoderConfig, encoder: SubwordEncoder
) -> EncoderScorer:
    """The model with these weights, which may be rounded."""
    network = build_encoder(encoder.config, settings.model.dropout)
    scorer = make_scorer(settings, encoder, network)
    scorer.module.load_state_dict({name: w.float() for name, w in weights.items()})
    scorer.module.eval()
    return scorer


class EncoderFamily(PretrainedFamily, SpanFamily):
    """Builds, trains and loads encoder readers."""

    trial_lengths = (96, 160)

    def can_abstain(self, recipe: Recipe) -> bool:
        return _typed(recipe).model.null_answer

    def check_recipe(self, recipe: Recipe) -> None:
        """Load the encoder: that takes a second, and encoding the data may take minutes."""
        super().check_recipe(recipe)
        if not recipe.training.start:
            self.build(recipe, self.fit_encoder(recipe, ()), can_abstain=False)

    def fit_encoder(self, recipe: Recipe, examples: Sequence[Example]) -> SubwordEncoder:
        name = _typed(recipe).model.encoder
        tokenizer, config = load_tokenizer(name), load_config(name)
        windows = _typed(recipe).data.windows
        plain = plain_tokenizer(tokenizer.backend_tokenizer.to_str())
        made = SubwordEncoder(plain, layout_of(tokenizer), windows, config)
        require_own_tokenizer(made.tokenizer, made.layout, config, name)
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
        return make_scorer(_typed(recipe).config(null_answer=can_abstain), encoder, network)

    def load(self, folder: Path, config: dict[str, Any]) -> EncoderScorer:
        with damage_of(folder / "config.json"):
            settings = EncoderConfig.read(config)
        parts = load_parts(folder)
        with damage_of(folder / WEIGHTS):
            encoder = SubwordEncoder(parts.tokenizer, parts.layout, settings.windows, parts.config)
            check_length(encoder.longest, parts.config, settings.model.encoder)
            return scorer_with(parts.weights, settings, encoder)


def _typed(recipe: Recipe) -> EncoderRecipe:
    assert isinstance(recipe, EncoderRecipe)
    return recipe
