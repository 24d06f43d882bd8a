"""The family of encoder readers: a pretrained encoder of transformers and a span head over it."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from readlet.encoding.cache import Stored
from readlet.encoding.pretrained import check_length, encoder_digest, load_config, load_tokenizer
from readlet.encoding.rows import Rows
from readlet.encoding.subwords import (
    SubwordEncoder,
    SubwordRows,
    check_vocabulary,
    layout_from,
    layout_of,
)
from readlet.errors import ReadletError, bad_input
from readlet.families.compiling import compiles
from readlet.families.encoder_scorer import (
    CONFIG,
    TOKENIZER,
    EncoderScorer,
    make_scorer,
    scorer_with,
    with_attention,
)
from readlet.families.family import (
    Encoder,
    SpanScorer,
    TrainableFamily,
    TrainableScorer,
)
from readlet.families.torch_scorer import WEIGHTS, stored_settings, warn_of_short_windows
from readlet.models.encoder_reader import EncoderReader
from readlet.models.pretrained_encoder import (
    build_encoder,
    check_shapes,
    load_pretrained,
    shapes_of,
)
from readlet.nn.layer_mix import make_layer_mix
from readlet.recipe.encoder import EncoderRecipe
from readlet.recipe.recipe import Recipe
from readlet.recipe.softmax import norm_gamma
from readlet.storage.damage import damage_of
from readlet.storage.json_files import read_json
from readlet.storage.tensors import (
    load_tensors,
    refuse_non_finite,
)
from readlet.types import Example

_NETWORK = "encoder.network."  # the names of its weights begin with it
# Values that a layer keeps for the backward pass, per token and unit of width: at least these.
_KEPT = 10


class EncoderFamily(TrainableFamily):
    """Builds, trains and loads encoder readers."""

    def can_refuse(self, recipe: Recipe) -> bool:
        return _typed(recipe).model.null_answer

    def check_recipe(self, recipe: Recipe) -> None:
        """Load the encoder: that takes a second, and encoding the data may take minutes."""
        if recipe.training.track_softmax:
            fault = "training.track_softmax: not possible in the attention of encoders"
            raise ReadletError(f"{fault}; leave it out, or take a recipe of kind 'qacnn'")
        if not recipe.training.start:
            self.build(recipe, self.fit_encoder(recipe, ()), can_refuse=False)

    def encoder_settings(self, recipe: Recipe) -> dict[str, Any]:
        return {"encoder": encoder_digest(_typed(recipe).model.encoder)}

    def fit_encoder(self, recipe: Recipe, examples: Sequence[Example]) -> SubwordEncoder:
        name = _typed(recipe).model.encoder
        tokenizer, config = load_tokenizer(name), load_config(name)
        windows = _typed(recipe).data.windows
        made = SubwordEncoder(tokenizer.backend_tokenizer, layout_of(tokenizer), windows, config)
        try:
            check_vocabulary(made.tokenizer, made.layout, config)
        except ValueError as error:
            raise bad_input(name, "", str(error), "give one with its own tokenizer") from None
        check_length(made.longest, config, name)
        return made

    def restore_encoder(self, recipe: Recipe, stored: Stored) -> SubwordEncoder:
        made = SubwordEncoder.from_stored(stored, _typed(recipe).data.windows)
        check_length(made.longest, made.config, _typed(recipe).model.encoder)
        return made

    def restore_rows(self, stored: Stored) -> SubwordRows:
        return SubwordRows.from_stored(stored)

    def with_encoder_of(self, recipe: Recipe, start: Recipe) -> Recipe:
        model = _typed(recipe).model.model_copy(update={"encoder": _typed(start).model.encoder})
        return recipe.model_copy(update={"model": model})

    def build(self, recipe: Recipe, encoder: Encoder, *, can_refuse: bool) -> EncoderScorer:
        assert isinstance(encoder, SubwordEncoder)
        model = _typed(recipe).model
        if recipe.training.start:  # the weights of the start reader follow
            network = build_encoder(encoder.config, model.dropout)
        else:
            network = load_pretrained(model.encoder, encoder.config, model.dropout)
        return make_scorer(_typed(recipe), encoder, network, can_refuse=can_refuse)

    def load(self, folder: Path, recipe: Recipe, config: dict[str, Any]) -> EncoderScorer:
        with damage_of(folder / "config.json"):
            if not isinstance(recipe, EncoderRecipe):
                raise ValueError(f"its recipe is of kind {recipe.model.kind!r}")
            null, stored = stored_settings(config)
        with damage_of(folder / TOKENIZER):
            tokenizer = _tokenizer_from((folder / TOKENIZER).read_text("utf-8"))
        with damage_of(folder / CONFIG):
            of_encoder = read_json(folder / CONFIG)
            layout = layout_from(of_encoder["layout"])
            network_config = dict(of_encoder["config"])
            check_vocabulary(tokenizer, layout, network_config)
            shapes = shapes_of(network_config)
        with damage_of(folder / WEIGHTS):
            weights = load_tensors(folder / WEIGHTS)
            refuse_non_finite(weights)
            check_shapes(shapes, _of_network(weights))
            encoder = SubwordEncoder(tokenizer, layout, recipe.data.windows, network_config)
            check_length(encoder.longest, network_config, recipe.model.encoder)
            return scorer_with(weights, recipe, encoder, can_refuse=null, stored=stored)

    def least_bytes(self, recipe: Recipe, length: int) -> int:
        """Every layer keeps values for the backward pass, several times the width."""
        if recipe.training.start:  # the recipe's own encoder is not used
            return 0
        config = load_config(_typed(recipe).model.encoder)
        layers, width = config.get("num_hidden_layers", 1), config.get("hidden_size", 1)
        return 4 * _KEPT * int(layers) * int(width) * length

    def compile_ahead(self, recipe: Recipe, device: torch.device, start: SpanScorer | None) -> bool:
        """Compile the layers on random inputs; the layers that are trained reuse the programs."""
        from readlet.training.precision import MixedPrecision

        typed, settings = _typed(recipe), recipe.training
        config = load_config(typed.model.encoder) if start is None else _config_of(start)
        network = with_attention(typed, build_encoder(config, typed.model.dropout))
        mix = make_layer_mix(typed.model.mix, network.width, network.layers)
        module = EncoderReader(network, mix, 0, null=True).to(device).train()
        module.compile_blocks()
        precision = MixedPrecision(settings.precision, device)

        def trial() -> None:
            for length in (96, 160):
                tokens = torch.ones(settings.batch_size, length, dtype=torch.long, device=device)
                keep = torch.ones_like(tokens, dtype=torch.bool)  # (B, T)
                keep[:, -1] = False
                with precision.autocast():
                    states = network(tokens, torch.zeros_like(tokens), keep, all_layers=False)
                states[-1].sum().backward()

        return compiles(trial)

    def compile(self, scorer: TrainableScorer) -> None:
        assert isinstance(scorer.module, EncoderReader)
        scorer.module.compile_blocks()

    def check(self, recipe: Recipe, rows: Rows, *, can_refuse: bool) -> None:
        """NormSoftmax in the loss bounds the confidence in windows of few subwords."""
        if norm_gamma(_typed(recipe).loss, 1) == math.inf:
            warn_of_short_windows(rows, can_refuse=can_refuse)


def _of_network(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(_NETWORK): weight
        for name, weight in weights.items()
        if name.startswith(_NETWORK)
    }


def _tokenizer_from(text: str) -> Tokenizer:
    try:
        return Tokenizer.from_str(text)
    except Exception as error:  # the Rust library raises plain exceptions
        raise ValueError(str(error)) from None


def _config_of(start: SpanScorer) -> dict[str, Any]:
    assert isinstance(start, EncoderScorer)
    return start.encoder.config


def _typed(recipe: Recipe) -> EncoderRecipe:
    assert isinstance(recipe, EncoderRecipe)
    return recipe
