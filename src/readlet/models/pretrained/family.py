"""Models on pretrained encoders of transformers, for any task: all but the head."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from tokenizers import Tokenizer

from readlet.engine.optimiser import MixedPrecision, ParameterGroup, grouped
from readlet.errors import ReadletError, bad_input
from readlet.models.classifier.config import ClassifierConfig
from readlet.models.classifier.recipe import ClassifierRecipe
from readlet.models.config import Attention, StoredAs, norm_gamma
from readlet.models.encoder.config import EncoderConfig
from readlet.models.encoder.recipe import EncoderRecipe, FineTuning
from readlet.models.family import Scorer, TrainableFamily, TrainableScorer
from readlet.models.onnx.model import WEIGHTS
from readlet.models.pretrained.encoder import (
    PretrainedEncoder,
    build_encoder,
    load_pretrained,
    shapes_of,
)
from readlet.models.pretrained.inputs import CONFIG, SentenceInputs, SubwordInputs
from readlet.models.pretrained.norm_attention import use_norm_attention
from readlet.models.torch_scorer import ModuleScorer, compiles
from readlet.models.weights import STORED_FACTS, check_shapes, read_weights, rounded
from readlet.nn.layer_mix import compares_layers, make_layer_mix
from readlet.recipe.recipe import Recipe, Training
from readlet.storage.stored_files import damage_of
from readlet.text.pretrained import encoder_digest, load_config, load_tokenizer
from readlet.text.subwords import (
    Layout,
    SentenceEncoder,
    SubwordEncoder,
    check_vocabulary,
    plain_tokenizer,
)

_NETWORK = "encoder.network."  # the names of its weights begin with it


@dataclass
class PretrainedScorer(ModuleScorer):
    """An encoder of transformers with a head, and its tokenizer."""

    module: Any  # with the parts `encoder` and `mix`
    encoder: SubwordEncoder | SentenceEncoder
    settings: EncoderConfig | ClassifierConfig

    @classmethod
    @abstractmethod
    def on_network(cls, network: PretrainedEncoder, encoder: Any, settings: Any) -> Self:
        """A model with this network and a new head."""

    @classmethod
    def with_weights(cls, weights: dict[str, torch.Tensor], encoder: Any, settings: Any) -> Self:
        """The model with these weights, which may be rounded."""
        scorer = cls.on_network(
            build_encoder(encoder.config, settings.model.dropout), encoder, settings
        )
        scorer.module.load_state_dict({name: w.float() for name, w in weights.items()})
        scorer.module.eval()
        return scorer

    @classmethod
    def stored_in(cls, folder: Path, inputs: SubwordInputs | SentenceInputs) -> Self:
        """The model that `save` wrote; `damage_of` reports damaged files."""
        with damage_of(folder / CONFIG):
            shapes = shapes_of(inputs.encoder.config)
        with damage_of(folder / WEIGHTS):
            weights = read_weights(folder / WEIGHTS)
            of_network = {
                name.removeprefix(_NETWORK): weight
                for name, weight in weights.items()
                if name.startswith(_NETWORK)
            }
            check_shapes(shapes, of_network)
            return cls.with_weights(weights, inputs.encoder, inputs.settings)

    @abstractmethod
    def inputs(self) -> SubwordInputs | SentenceInputs:
        """Its tokenizer with the settings: all that is needed besides the weights."""

    def save(self, folder: Path) -> list[str]:
        return [*super().save(folder), *self.inputs().save(folder)]

    def groups(self, settings: Training) -> list[ParameterGroup]:
        """The rate falls by a factor from each layer to the one below."""
        assert isinstance(settings, FineTuning)
        blocks = self.module.encoder.blocks
        # Parameters of the encoder outside its layers are below them: the embeddings.
        depth = {id(parameter): 0 for parameter in self.module.encoder.parameters()}
        for number, block in enumerate(blocks, start=1):
            depth |= {id(parameter): number for parameter in block.parameters()}
        top = len(blocks) + 1

        def factor(parameter: torch.nn.Parameter) -> float:
            return float(settings.layer_decay ** (top - depth.get(id(parameter), top)))

        return grouped(self.module, settings.weight_decay, factor)

    def facts(self) -> list[str]:
        model, network = self.settings.model, self.module.encoder
        kind = f"{self.encoder.config.get('model_type')}, {network.layers} layers"
        sizes = f"of width {network.width}, {self.encoder.tokenizer.get_vocab_size():,} subwords"
        named = f"encoder {Path(model.encoder).name} ({kind} {sizes})"
        return [f"- {named}; mix of layers: {model.mix}", *STORED_FACTS[self.stored]]

    def slimmed(self, stored: StoredAs = "float16") -> Self:
        """A copy with rounded weights; it computes in float32."""
        settings = self.settings.model_copy(update={"stored": stored})
        return self.with_weights(rounded(self.module, stored), self.encoder, settings)


def with_attention(attention: Attention, network: PretrainedEncoder) -> PretrainedEncoder:
    if attention.softmax == "norm":
        config = network.network.config
        of_head = network.width // int(getattr(config, "num_attention_heads", 1))
        use_norm_attention(network.network, norm_gamma(attention, of_head))
    return network


def read_tokenizer(
    name: str, layout_of: Callable[[Any], Layout]
) -> tuple[Tokenizer, Layout, dict[str, Any]]:
    """The tokenizer of an encoder, its layout of a row, and the configuration of its network."""
    tokenizer, config = load_tokenizer(name), load_config(name)
    plain, layout = plain_tokenizer(tokenizer.backend_tokenizer.to_str()), layout_of(tokenizer)
    try:
        check_vocabulary(plain, layout, config)
    except ValueError as error:
        raise bad_input(name, "", str(error), "give one with its own tokenizer") from None
    return plain, layout, config


class PretrainedFamily(TrainableFamily):
    """The part that does not depend on the head."""

    trial_lengths: tuple[int, ...]
    """Lengths in the trial of compiled layers; two, since one would be compiled as a constant."""

    def encoder_settings(self, recipe: Recipe) -> dict[str, Any]:
        return {"encoder": encoder_digest(_pretrained(recipe).model.encoder)}

    def with_encoder_of(self, recipe: Recipe, start: Recipe) -> Recipe:
        typed = _pretrained(recipe)
        model = typed.model.model_copy(update={"encoder": _pretrained(start).model.encoder})
        return recipe.model_copy(update={"model": model})

    def network(self, recipe: Recipe, config: dict[str, Any]) -> PretrainedEncoder:
        """The encoder with its pretrained weights, or those of the start, which follow."""
        model = _pretrained(recipe).model
        if recipe.training.start:
            return build_encoder(config, model.dropout)
        return load_pretrained(model.encoder, config, model.dropout)

    def trained_network(
        self, recipe: Recipe, config: dict[str, Any], sides: int
    ) -> PretrainedEncoder:
        """The network to train, if every parameter of the mix over it can learn."""
        network, mix = self.network(recipe, config), _pretrained(recipe).model.mix
        if network.layers == 1 and compares_layers(mix, sides):
            fault = f"{mix!r} weights several layers, and this encoder has only one"
            raise ReadletError(f"model.mix: {fault}; take 'last', or a deeper encoder")
        return network

    def compile_ahead(self, recipe: Recipe, device: torch.device, start: Scorer | None) -> bool:
        """Compile the layers in a trial; the layers that are trained reuse the programs."""
        typed, settings = _pretrained(recipe), recipe.training
        own = None if start is None else getattr(start.encoder, "config", None)
        if own is None:  # its weights were read by the check: a copy is faster than drawing some
            plain = self.network(recipe, load_config(typed.model.encoder))
        else:
            plain = build_encoder(own, typed.model.dropout)
        network = with_attention(typed.attention, plain)
        mix = make_layer_mix(typed.model.mix, network.width, network.layers)
        network.to(device).train().compile_blocks(all_layers=mix.reads_all_layers)
        precision = MixedPrecision(settings.precision, device)

        def trial() -> None:
            for length in self.trial_lengths:
                tokens = torch.ones(settings.batch_size, length, dtype=torch.long, device=device)
                keep = torch.ones_like(tokens, dtype=torch.bool)  # (B, T)
                keep[:, -1] = False
                with precision.autocast():
                    states = network(tokens, torch.zeros_like(tokens), keep, all_layers=False)
                torch.autograd.backward(states[-1].sum())

        return compiles(trial)

    def compile(self, scorer: TrainableScorer) -> None:
        assert isinstance(scorer, PretrainedScorer)
        module = scorer.module
        module.encoder.compile_blocks(all_layers=module.mix.reads_all_layers)


def _pretrained(recipe: Recipe) -> EncoderRecipe | ClassifierRecipe:
    assert isinstance(recipe, (EncoderRecipe, ClassifierRecipe))
    return recipe
