"""The family of classifiers: a pretrained encoder of transformers, a pooler and a class head."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from readlet.engine.optimiser import ParameterGroup
from readlet.errors import ReadletError
from readlet.models.classifier.config import ClassifierConfig, MetricName
from readlet.models.classifier.network import ClassLearner, SentenceClassifier
from readlet.models.classifier.recipe import ClassifierRecipe
from readlet.models.config import StoredAs, norm_gamma
from readlet.models.encoder.recipe import FineTuning
from readlet.models.family import ClassFamily, Floats
from readlet.models.onnx.model import WEIGHTS
from readlet.models.pretrained.encoder import PretrainedEncoder, build_encoder
from readlet.models.pretrained.family import PretrainedFamily, require_own_tokenizer
from readlet.models.pretrained.inputs import CONFIG, labels_of
from readlet.models.pretrained.parts import (
    STORED_FACTS,
    encoder_fact,
    layer_groups,
    load_parts,
    save_parts,
    slim_weights,
    with_attention,
)
from readlet.models.torch_scorer import ModuleScorer
from readlet.nn.layer_mix import make_layer_mix
from readlet.nn.pooling import make_pooler
from readlet.recipe.recipe import Recipe, Training
from readlet.storage.stored_files import damage_of
from readlet.text.arrays import Batches, check_length
from readlet.text.labels import Labels
from readlet.text.pretrained import load_config, load_tokenizer
from readlet.text.rows import Ints, Stored
from readlet.text.subwords import (
    SentenceEncoder,
    SentenceRows,
    layout_of,
    layout_of_one,
    plain_tokenizer,
)
from readlet.text.tensors import SentenceBatch, sentence_batches
from readlet.types import Sentence

_SHOWN = 20  # classes in the model card


@dataclass
class ClassifierScorer(ModuleScorer):
    """The network and its tokenizer."""

    module: SentenceClassifier
    encoder: SentenceEncoder
    settings: ClassifierConfig

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        return self.settings.metrics

    def batches(
        self, rows: SentenceRows, batch_size: int, *, seed: int = 0
    ) -> Batches[SentenceBatch]:
        return sentence_batches(rows, self.encoder, batch_size, seed=seed)

    def learner(self, label_smoothing: float) -> ClassLearner:
        values = self.encoder.labels.kind == "numbers"
        return ClassLearner(self.module, label_smoothing, values=values)

    def scores(self, rows: SentenceRows, batch_size: int) -> Iterator[tuple[Ints, Floats]]:
        for numbers, found in self.outputs(rows, batch_size):
            yield numbers, found.cpu().numpy()  # (B, outputs)

    def groups(self, settings: Training) -> list[ParameterGroup]:
        assert isinstance(settings, FineTuning)
        module = self.module
        parts = (module.mix, module.pooler, module.head)
        head = [parameter for part in parts for parameter in part.parameters()]
        return layer_groups(module, module.encoder, head, settings)

    def save(self, folder: Path) -> list[str]:
        labels = {"labels": asdict(self.encoder.labels), "pairs": self.encoder.pairs}
        return save_parts(folder, self.module, self.encoder, self.stored, **labels)

    def facts(self) -> list[str]:
        model, labels = self.settings.model, self.encoder.labels
        named = encoder_fact(model.encoder, self.encoder, self.module.encoder)
        poolers = ", ".join(model.pooler)
        reads = "pairs of texts" if self.encoder.pairs else "single texts"
        listed = [
            f"- {named}; mix of layers: {model.mix}; pooler: {poolers}",
            f"- reads {reads} of up to {self.encoder.max_length} subwords",
        ]
        if labels.kind == "numbers":
            listed.append(f"- values: mean {labels.mean:.4g}, deviation {labels.deviation:.4g}")
        else:
            names = ", ".join(f"`{name}`" for name in labels.classes[:_SHOWN])
            more = len(labels.classes) - _SHOWN
            rest = f" and {more} more" if more > 0 else ""
            listed.append(f"- {len(labels.classes)} classes: {names}{rest}")
        return listed + STORED_FACTS[self.stored]

    def slimmed(self, stored: StoredAs = "float16") -> "ClassifierScorer":
        """A copy with rounded weights; it computes in float32."""
        weights = slim_weights(self.module, stored)
        settings = self.settings.model_copy(update={"stored": stored})
        return scorer_with(weights, settings, self.encoder)


def make_scorer(
    settings: ClassifierConfig, encoder: SentenceEncoder, network: PretrainedEncoder
) -> ClassifierScorer:
    model, labels = settings.model, encoder.labels
    pooler = make_pooler(model.pooler, network.width)
    gamma = norm_gamma(settings.loss, pooler.out_width) if labels.kind == "classes" else None
    module = SentenceClassifier(
        with_attention(settings.attention, network),
        make_layer_mix(model.mix, network.width, network.layers, sides=1),
        pooler,
        labels.outputs,
        dropout=model.head_dropout,
        loss_gamma=gamma,
    )
    module.take_pretrained_pooler()
    return ClassifierScorer(module, encoder, settings)


def scorer_with(
    weights: dict[str, torch.Tensor], settings: ClassifierConfig, encoder: SentenceEncoder
) -> ClassifierScorer:
    """The model with these weights, which may be rounded."""
    network = build_encoder(encoder.config, settings.model.dropout)
    scorer = make_scorer(settings, encoder, network)
    scorer.module.load_state_dict({name: w.float() for name, w in weights.items()})
    scorer.module.eval()
    return scorer


_ANY = Labels("classes", ("0", "1", "2"))  # before the data is read


class ClassifierFamily(PretrainedFamily, ClassFamily):
    """Builds, trains and loads classifiers."""

    trial_lengths = (32, 48)

    def check_recipe(self, recipe: Recipe) -> None:
        """Load the encoder: its errors, and those of the pooler, come before any data is read."""
        super().check_recipe(recipe)
        if not recipe.training.start:
            self.build(recipe, self._encoder(_typed(recipe), _ANY, pairs=True))

    def fit_encoder(self, recipe: Recipe, examples: Sequence[Sentence]) -> SentenceEncoder:
        typed = _typed(recipe)
        pairs = bool(examples) and examples[0].second is not None
        return self._encoder(typed, Labels.learned(typed.data.labels, examples), pairs=pairs)

    def _encoder(self, recipe: ClassifierRecipe, labels: Labels, *, pairs: bool) -> SentenceEncoder:
        name, length = recipe.model.encoder, recipe.data.max_length
        tokenizer, config = load_tokenizer(name), load_config(name)
        layout = layout_of(tokenizer) if pairs else layout_of_one(tokenizer)
        plain = plain_tokenizer(tokenizer.backend_tokenizer.to_str())
        made = SentenceEncoder(plain, layout, config, labels, length, pairs=pairs)
        require_own_tokenizer(made.tokenizer, layout, config, name)
        _check_length(made, name)
        return made

    def restore_encoder(self, recipe: Recipe, stored: Stored) -> SentenceEncoder:
        made = SentenceEncoder.from_stored(stored, _typed(recipe).data.max_length)
        _check_length(made, _typed(recipe).model.encoder)
        return made

    def restore_rows(self, stored: Stored) -> SentenceRows:
        return SentenceRows.from_stored(stored)

    def build(self, recipe: Recipe, encoder: SentenceEncoder) -> ClassifierScorer:
        loss = _typed(recipe).loss
        if loss.softmax == "norm" and isinstance(loss.gamma, str) and encoder.labels.outputs == 2:
            # Two scores of deviation 1 are 1 and -1, whatever the weights are: no gradient.
            fault = f"NormSoftmax over two classes learns nothing at {loss.gamma}"
            raise ReadletError(f"loss.gamma: {fault}; give a small number, such as 0.01")
        network = self.trained_network(recipe, encoder.config, sides=1)
        return make_scorer(_typed(recipe).config(), encoder, network)

    def load(self, folder: Path, config: dict[str, Any]) -> ClassifierScorer:
        with damage_of(folder / "config.json"):
            settings = ClassifierConfig.read(config)
        parts = load_parts(folder)
        with damage_of(folder / CONFIG):
            labels, pairs = labels_of(parts.more)
        with damage_of(folder / WEIGHTS):
            encoder = SentenceEncoder(
                parts.tokenizer,
                parts.layout,
                parts.config,
                labels,
                settings.max_length,
                pairs=pairs,
            )
            _check_length(encoder, settings.model.encoder)
            return scorer_with(parts.weights, settings, encoder)


def _check_length(encoder: SentenceEncoder, name: str) -> None:
    field = "data.max_length"
    check_length(encoder.longest, encoder.config, name, field=field, remedy="lower it")


def _typed(recipe: Recipe) -> ClassifierRecipe:
    assert isinstance(recipe, ClassifierRecipe)
    return recipe
