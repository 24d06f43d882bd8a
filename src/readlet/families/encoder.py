"""The family of encoder readers: a pretrained encoder of transformers and a span head over it."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from tokenizers import Tokenizer

from readlet.encoding.batches import Batches
from readlet.encoding.cache import Stored
from readlet.encoding.pretrained import check_length, encoder_digest, load_config, load_tokenizer
from readlet.encoding.rows import Rows
from readlet.encoding.subword_batches import SubwordBatch, subword_batches
from readlet.encoding.subwords import (
    SubwordEncoder,
    SubwordRows,
    check_vocabulary,
    layout_from,
    layout_of,
)
from readlet.families.family import Encoder, LayerView, TrainableFamily, TrainableScorer
from readlet.families.torch_scorer import WEIGHTS, TorchScorer, in_half_precision
from readlet.models.encoder_reader import EncoderReader
from readlet.models.norm_encoders import use_norm_attention
from readlet.models.pretrained_encoder import (
    PretrainedEncoder,
    build_encoder,
    check_shapes,
    load_pretrained,
)
from readlet.nn.layer_mix import make_layer_mix
from readlet.nn.norm_loss import highest_confidence, warn_of_bound
from readlet.recipe.encoder import EncoderRecipe, EncoderTraining
from readlet.recipe.recipe import Recipe, Training
from readlet.recipe.softmax import norm_gamma
from readlet.storage.damage import damage_of
from readlet.storage.files import write_text
from readlet.storage.json_files import read_json, write_json
from readlet.storage.tensors import (
    detached,
    in_precision,
    load_tensors,
    refuse_non_finite,
    save_tensors,
)
from readlet.training.optimiser import ParameterGroup, grouped
from readlet.types import Example

StoredAs = Literal["float32", "float16"]
_CONFIG, _TOKENIZER = "encoder.json", "tokenizer.json"
_NETWORK = "encoder.network."  # the names of its weights begin with it
# Values that a layer keeps for the backward pass, per token and unit of width: at least these.
_KEPT = 10


@dataclass
class EncoderScorer(TorchScorer):
    """The network and its tokenizer."""

    module: EncoderReader
    encoder: SubwordEncoder
    recipe: EncoderRecipe
    # The dtype of the weights on disk. For float16 they must be rounded already (`slimmed` does
    # that), or the loaded reader would differ from the saved one.
    stored: StoredAs = "float32"

    def batches(self, rows: Rows, batch_size: int, *, seed: int = 0) -> Batches[SubwordBatch]:
        assert isinstance(rows, SubwordRows)
        return subword_batches(rows, self.encoder, batch_size, null=self.can_refuse, seed=seed)

    def groups(self, settings: Training) -> list[ParameterGroup]:
        """The rate falls by a factor from each layer to the one below."""
        assert isinstance(settings, EncoderTraining)
        blocks = self.module.encoder.blocks
        depth = {id(p): len(blocks) + 1 for p in self.module.mix.parameters()}
        for number, block in enumerate(blocks, start=1):
            depth |= {id(p): number for p in block.parameters()}
        top = len(blocks) + 1

        def factor(parameter: torch.nn.Parameter) -> float:
            # What is neither in a layer nor in the head lies below: the embeddings.
            return float(settings.layer_decay ** (top - depth.get(id(parameter), 0)))

        return grouped(self.module, settings.weight_decay, factor)

    def layer_view(self, rows: Rows, row: int) -> LayerView:
        assert isinstance(rows, SubwordRows)
        batches, layout = self.batches(rows, 1), self.encoder.layout
        asked, places = rows.row_question[row, 1], rows.row_window[row, 1]
        length = int(asked + places) + layout.special
        self.module.eval()
        with torch.inference_mode(), torch.compiler.set_stance("force_eager"):
            batch = batches.make((length,), np.array([row], np.int32)).to(self.device)
            states, mix = self.module.states(batch), self.module.mix
            scores = mix(states)[0]  # (T, 2)
            shape = (length, mix.layers, 2)
            weights = mix.weights(states).expand(1, *shape)[0].movedim(0, 1)  # (N, T, 2)
            parts = mix.contributions(states)  # (1, T, N, 2)
        name_of = self.encoder.tokenizer.id_to_token
        return LayerView(
            mix=self.recipe.model.mix,
            tokens=tuple(name_of(token) or "" for token in batch.tokens[0].tolist()),
            first=int(batch.first[0]),
            null=layout.null,
            weights=weights.float().cpu().numpy(),
            contributions=None if parts is None else parts[0].movedim(0, 1).float().cpu().numpy(),
            scores=scores.float().cpu().numpy(),
            normalised=self.module.loss_gamma is not None,
        )

    def save(self, folder: Path) -> list[str]:
        dtype = torch.float16 if self.stored == "float16" else torch.float32
        weights = in_precision(dtype, detached(dict(self.module.state_dict())))
        save_tensors(folder / WEIGHTS, weights)
        write_text(folder / _TOKENIZER, self.encoder.tokenizer.to_str(pretty=True))
        layout = self.encoder.layout._asdict()
        write_json(folder / _CONFIG, {"config": self.encoder.config, "layout": layout})
        return [WEIGHTS, _TOKENIZER, _CONFIG]

    def config(self) -> dict[str, Any]:
        return super().config() | {"stored": self.stored}

    def facts(self) -> list[str]:
        model, config = self.recipe.model, self.encoder.config
        named = f"{config.get('model_type')}, {self.module.encoder.layers} layers"
        listed = [
            f"- encoder {Path(model.encoder).name} ({named} of width {self.module.encoder.width}, "
            f"{self.encoder.tokenizer.get_vocab_size():,} subwords); mix of layers: {model.mix}"
        ]
        if self.stored == "float16":
            listed.append("- weights stored in half precision")
        return listed

    def slimmed(self) -> "EncoderScorer":
        """A copy with all weights rounded to half precision; it computes in float32."""
        weights = in_half_precision(dict(self.module.state_dict()))
        return _scorer_with(
            weights, self.recipe, self.encoder, can_refuse=self.can_refuse, stored="float16"
        )


class EncoderFamily(TrainableFamily):
    """Builds, trains and loads encoder readers."""

    def can_refuse(self, recipe: Recipe) -> bool:
        return _typed(recipe).model.null_answer

    def check_recipe(self, recipe: Recipe) -> None:
        """Load the encoder: that takes a second, and encoding the data may take minutes."""
        if not recipe.training.start:
            self.build(recipe, self.fit_encoder(recipe, ()), can_refuse=False)

    def encoder_settings(self, recipe: Recipe) -> dict[str, Any]:
        return {"encoder": encoder_digest(_typed(recipe).model.encoder)}

    def fit_encoder(self, recipe: Recipe, examples: Sequence[Example]) -> SubwordEncoder:
        name = _typed(recipe).model.encoder
        tokenizer, config = load_tokenizer(name), load_config(name)
        windows = _typed(recipe).data.windows
        made = SubwordEncoder(tokenizer.backend_tokenizer, layout_of(tokenizer), windows, config)
        check_vocabulary(made.tokenizer, made.layout, config)
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
        return _scorer(_typed(recipe), encoder, network, can_refuse=can_refuse)

    def load(self, folder: Path, recipe: Recipe, config: dict[str, Any]) -> EncoderScorer:
        typed = _typed(recipe)
        with damage_of(folder / "config.json"):
            null = config["null_answer"]
            if not isinstance(null, bool):
                raise ValueError(f"null_answer: {null!r:.40} is neither true nor false")
            stored = config.get("stored", "float32")
            if stored not in get_args(StoredAs):
                raise ValueError(f"weights stored as {stored!r:.40}")
        with damage_of(folder / _TOKENIZER):
            tokenizer = _tokenizer_from((folder / _TOKENIZER).read_text("utf-8"))
        with damage_of(folder / _CONFIG):
            of_encoder = read_json(folder / _CONFIG)
            layout = layout_from(of_encoder["layout"])
            network_config = dict(of_encoder["config"])
            check_vocabulary(tokenizer, layout, network_config)
        with damage_of(folder / WEIGHTS):
            weights = load_tensors(folder / WEIGHTS)
            refuse_non_finite(weights)
            check_shapes(network_config, _of_network(weights))
            encoder = SubwordEncoder(tokenizer, layout, typed.data.windows, network_config)
            check_length(encoder.longest, network_config, typed.model.encoder)
            return _scorer_with(weights, typed, encoder, can_refuse=null, stored=stored)

    def least_bytes(self, recipe: Recipe, length: int) -> int:
        """Every layer keeps values for the backward pass, several times the width."""
        if recipe.training.start:  # the recipe's own encoder is not used
            return 0
        config = load_config(_typed(recipe).model.encoder)
        layers, width = config.get("num_hidden_layers", 1), config.get("hidden_size", 1)
        return 4 * _KEPT * int(layers) * int(width) * length

    def compile_ahead(self, recipe: Recipe, device: torch.device) -> bool:
        """Compile the layers on random inputs; the layers that are trained reuse the programs."""
        from torch._dynamo.exc import TorchDynamoException  # takes two seconds: only on a GPU

        from readlet.training.precision import MixedPrecision

        typed = _typed(recipe)
        network = build_encoder(load_config(typed.model.encoder), typed.model.dropout)
        mix = make_layer_mix(typed.model.mix, network.width, network.layers)
        module = EncoderReader(_with_attention(typed, network), mix, 0, null=True).to(device)
        module.compile_blocks()
        module.train()
        precision = MixedPrecision(recipe.training.precision, device)
        try:
            for length in (96, 160):
                tokens = torch.ones(
                    recipe.training.batch_size, length, dtype=torch.long, device=device
                )  # (B, T)
                keep = torch.ones_like(tokens, dtype=torch.bool)  # (B, T)
                keep[:, -1] = False
                with precision.autocast():
                    states = module.encoder(
                        tokens, torch.zeros_like(tokens), keep, all_layers=mix.reads_all_layers
                    )
                states[-1].sum().backward()
        except TorchDynamoException as error:
            cause = str(getattr(error, "inner_exception", error)).strip()
            reason = cause.splitlines()[0] if cause else type(error).__name__
            warnings.warn(f"training runs slower, not compiled ({reason})", stacklevel=2)
            return False
        return True

    def compile(self, scorer: TrainableScorer) -> None:
        assert isinstance(scorer.module, EncoderReader)
        scorer.module.compile_blocks()

    def check(self, recipe: Recipe, rows: Rows, *, can_refuse: bool) -> None:
        """NormSoftmax in the loss bounds the confidence in windows of few subwords."""
        if norm_gamma(_typed(recipe).loss, 1) == math.inf:
            lengths = np.unique(rows.row_window[:, 1])
            places = [int(length) + can_refuse for length in lengths if length > 0]
            lowest = min(places, key=highest_confidence, default=1)
            warn_of_bound(lowest, "places (a short window)", "loss.gamma")


def _scorer(
    recipe: EncoderRecipe,
    encoder: SubwordEncoder,
    network: PretrainedEncoder,
    *,
    can_refuse: bool,
    stored: StoredAs = "float32",
) -> EncoderScorer:
    mix = make_layer_mix(recipe.model.mix, network.width, network.layers)
    module = EncoderReader(
        _with_attention(recipe, network),
        mix,
        encoder.layout.null,
        null=can_refuse,
        loss_gamma=norm_gamma(recipe.loss, network.width),
        token_dropout=recipe.model.token_dropout,
        mask_token=encoder.layout.mask,
    )
    return EncoderScorer(module, encoder, recipe.data.max_answer, can_refuse, recipe, stored)


def _scorer_with(
    weights: dict[str, torch.Tensor],
    recipe: EncoderRecipe,
    encoder: SubwordEncoder,
    *,
    can_refuse: bool,
    stored: StoredAs,
) -> EncoderScorer:
    """The model with these weights, which may be in half precision."""
    network = build_encoder(encoder.config, recipe.model.dropout)
    scorer = _scorer(recipe, encoder, network, can_refuse=can_refuse, stored=stored)
    scorer.module.load_state_dict({name: w.float() for name, w in weights.items()})
    scorer.module.eval()
    return scorer


def _with_attention(recipe: EncoderRecipe, network: PretrainedEncoder) -> PretrainedEncoder:
    if recipe.attention.softmax == "norm":
        config = network.network.config
        of_head = network.width // int(getattr(config, "num_attention_heads", 1))
        use_norm_attention(network.network, norm_gamma(recipe.attention, of_head))
    return network


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


def _typed(recipe: Recipe) -> EncoderRecipe:
    assert isinstance(recipe, EncoderRecipe)
    return recipe
