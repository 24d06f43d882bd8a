"""The family of encoder readers: a pretrained encoder of transformers and a span head over it."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from readlet.models.config import norm_gamma
from readlet.models.encoder.config import EncoderConfig
from readlet.models.encoder.recipe import EncoderRecipe
from readlet.models.encoder.scorer import EncoderScorer, make_scorer, scorer_with
from readlet.models.family import SpanFamily
from readlet.models.onnx.model import WEIGHTS
from readlet.models.pretrained.family import PretrainedFamily, require_own_tokenizer
from readlet.models.pretrained.parts import load_parts
from readlet.models.torch_scorer import warn_of_short_windows
from readlet.nn.layer_mix import SIDES
from readlet.recipe.recipe import Recipe
from readlet.storage.stored_files import damage_of
from readlet.text.arrays import check_length
from readlet.text.pretrained import load_config, load_tokenizer
from readlet.text.rows import Rows, Stored
from readlet.text.subwords import SubwordEncoder, SubwordRows, layout_of
from readlet.types import Example


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
        made = SubwordEncoder(tokenizer.backend_tokenizer, layout_of(tokenizer), windows, config)
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

    def check(self, recipe: Recipe, rows: Rows, *, can_abstain: bool) -> None:
        """NormSoftmax in the loss bounds the confidence in windows of few subwords."""
        if norm_gamma(_typed(recipe).loss, 1) == math.inf:
            warn_of_short_windows(rows, can_abstain=can_abstain)


def _typed(recipe: Recipe) -> EncoderRecipe:
    assert isinstance(recipe, EncoderRecipe)
    return recipe
