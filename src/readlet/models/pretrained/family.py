"""The base of families on pretrained encoders of transformers, for any task."""

from typing import Any

import torch
from tokenizers import Tokenizer

from readlet.errors import ReadletError, bad_input
from readlet.models.classifier.network import SentenceClassifier
from readlet.models.classifier.recipe import ClassifierRecipe
from readlet.models.encoder.network import EncoderReader
from readlet.models.encoder.recipe import EncoderRecipe
from readlet.models.family import Scorer, TrainableFamily, TrainableScorer
from readlet.models.pretrained.encoder import PretrainedEncoder, build_encoder, load_pretrained
from readlet.models.pretrained.parts import with_attention
from readlet.models.torch_scorer import compiles
from readlet.nn.layer_mix import compares_layers, make_layer_mix
from readlet.recipe.recipe import Recipe
from readlet.text.pretrained import encoder_digest, load_config
from readlet.text.subwords import Layout, check_vocabulary


class PretrainedFamily(TrainableFamily):
    """The part that does not depend on the head."""

    trial_lengths: tuple[int, ...]
    """Lengths in the trial of compiled layers; two, since one would be compiled as a constant."""

    def check_recipe(self, recipe: Recipe) -> None:
        if recipe.training.track_softmax:
            fault = "training.track_softmax: not possible in the attention of encoders"
            raise ReadletError(f"{fault}; leave it out, or take a recipe of kind 'qacnn'")

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
        from readlet.engine.optimiser import MixedPrecision

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
        assert isinstance(scorer.module, (EncoderReader, SentenceClassifier))
        scorer.module.compile_blocks()


def require_own_tokenizer(
    tokenizer: Tokenizer, layout: Layout, config: dict[str, Any], name: str
) -> None:
    """Reject a tokenizer that belongs to another network."""
    try:
        check_vocabulary(tokenizer, layout, config)
    except ValueError as error:
        raise bad_input(name, "", str(error), "give one with its own tokenizer") from None


def _pretrained(recipe: Recipe) -> EncoderRecipe | ClassifierRecipe:
    assert isinstance(recipe, (EncoderRecipe, ClassifierRecipe))
    return recipe
