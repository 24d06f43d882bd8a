"""Classifiers: a pretrained encoder of transformers, a pooler and a class head."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from readlet.errors import ReadletError
from readlet.models.classifier.config import ClassifierConfig, MetricName
from readlet.models.classifier.recipe import ClassifierRecipe
from readlet.models.config import norm_gamma
from readlet.models.family import ClassFamily, Floats
from readlet.models.pretrained.encoder import PretrainedEncoder
from readlet.models.pretrained.family import (
    PretrainedFamily,
    PretrainedScorer,
    read_tokenizer,
    with_attention,
)
from readlet.models.pretrained.inputs import SentenceInputs, check_text_length, load_sentences
from readlet.nn.layer_mix import LayerMix, make_layer_mix
from readlet.nn.pooling import BERT_DEVIATION, ClsPooler, Pooler, make_pooler
from readlet.nn.softmax import normalised
from readlet.recipe.recipe import Recipe
from readlet.text.arrays import Batches
from readlet.text.labels import Labels
from readlet.text.rows import Ints, Stored
from readlet.text.subwords import SentenceEncoder, SentenceRows, layout_of, layout_of_one
from readlet.text.tensors import SentenceBatch, sentence_batches
from readlet.types import Sentence

_SHOWN = 20  # classes in the model card


class SentenceClassifier(nn.Module):
    """Scores of the classes, or one value, for each text or pair of texts."""

    def __init__(
        self,
        encoder: PretrainedEncoder,
        mix: LayerMix,
        pooler: Pooler,
        outputs: int,
        *,
        dropout: float = 0.0,
        loss_gamma: float | None = None,  # cap of NormSoftmax in the loss; None: standard softmax
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.mix = mix
        self.pooler = pooler
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(pooler.out_width, outputs)
        nn.init.normal_(self.head.weight, std=BERT_DEVIATION)
        nn.init.zeros_(self.head.bias)
        self.loss_gamma = loss_gamma

    def forward(self, batch: SentenceBatch) -> Tensor:
        """(B, outputs), in float32."""
        states = self.encoder(
            batch.tokens, batch.types, batch.keep, all_layers=self.mix.reads_all_layers
        )
        pooled = self.pooler(self.mix.mixed(states), batch.keep)  # (B, P)
        scores: Tensor = self.head(self.dropout(pooled)).float()  # (B, outputs)
        if self.loss_gamma is None:
            return scores
        every = torch.ones(1, dtype=torch.bool, device=scores.device)  # (1,)
        return normalised(scores, every, -1, self.loss_gamma)  # (B, outputs)

    def take_pretrained_pooler(self) -> None:
        """The pooler of pretraining becomes the `cls` pooler, where the encoder came with one."""
        for part in self.pooler.modules():
            if isinstance(part, ClsPooler) and self.encoder.pretrained_pooler:
                part.dense.load_state_dict(self.encoder.pretrained_pooler)


class ClassLearner(nn.Module):
    """A module that turns a batch into a loss, for training.

    The cross entropy of classes, or the squared error of standardised values.
    """

    def __init__(self, model: SentenceClassifier, label_smoothing: float, *, values: bool) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing
        self.values = values

    def forward(self, batch: SentenceBatch) -> Tensor:
        scores: Tensor = self.model(batch)  # (B, outputs)
        if self.values:
            of_row = (scores.squeeze(1) - batch.labels).square()  # (B,)
        else:
            of_row = F.cross_entropy(
                scores,
                batch.labels.clamp(min=0),  # fillers have -1, and weight 0
                reduction="none",
                label_smoothing=self.label_smoothing,
            )  # (B,)
        return (of_row * batch.weight).sum()  # ()


@dataclass
class ClassifierScorer(PretrainedScorer):
    """The network and its tokenizer."""

    module: SentenceClassifier
    encoder: SentenceEncoder
    settings: ClassifierConfig

    @classmethod
    def on_network(
        cls, network: PretrainedEncoder, encoder: SentenceEncoder, settings: ClassifierConfig
    ) -> "ClassifierScorer":
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
        return cls(module, encoder, settings)

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

    def inputs(self) -> SentenceInputs:
        return SentenceInputs(self.encoder, self.settings)

    def facts(self) -> list[str]:
        labels, (named, *stored) = self.encoder.labels, super().facts()
        reads = "pairs of texts" if self.encoder.pairs else "single texts"
        listed = [
            f"{named}; pooler: {', '.join(self.settings.model.pooler)}",
            f"- reads {reads} of up to {self.encoder.max_length} subwords",
        ]
        if labels.kind == "numbers":
            listed.append(f"- values: mean {labels.mean:.4g}, deviation {labels.deviation:.4g}")
        else:
            names = ", ".join(f"`{name}`" for name in labels.classes[:_SHOWN])
            more = len(labels.classes) - _SHOWN
            rest = f" and {more} more" if more > 0 else ""
            listed.append(f"- {len(labels.classes)} classes: {names}{rest}")
        return listed + stored


_ANY = Labels("classes", ("0", "1", "2"))  # before the data is read


class ClassifierFamily(PretrainedFamily, ClassFamily):
    """Builds, trains and loads classifiers."""

    trial_lengths = (32, 48)

    def check_recipe(self, recipe: Recipe) -> None:
        """Load the encoder: its errors, and those of the pooler, come before any data is read."""
        if not recipe.training.start:
            self.build(recipe, self._encoder(_typed(recipe), _ANY, pairs=True))

    def fit_encoder(self, recipe: Recipe, examples: Sequence[Sentence]) -> SentenceEncoder:
        typed = _typed(recipe)
        pairs = bool(examples) and examples[0].second is not None
        return self._encoder(typed, Labels.learned(typed.data.labels, examples), pairs=pairs)

    def _encoder(self, recipe: ClassifierRecipe, labels: Labels, *, pairs: bool) -> SentenceEncoder:
        name, length = recipe.model.encoder, recipe.data.max_length
        tokenizer, layout, config = read_tokenizer(name, layout_of if pairs else layout_of_one)
        made = SentenceEncoder(tokenizer, layout, config, labels, length, pairs=pairs)
        check_text_length(made, name)
        return made

    def restore_encoder(self, recipe: Recipe, stored: Stored) -> SentenceEncoder:
        made = SentenceEncoder.from_stored(stored, _typed(recipe).data.max_length)
        check_text_length(made, _typed(recipe).model.encoder)
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
        return ClassifierScorer.on_network(network, encoder, _typed(recipe).config())

    def load(self, folder: Path, config: dict[str, Any]) -> ClassifierScorer:
        return ClassifierScorer.stored_in(folder, load_sentences(folder, config))


def _typed(recipe: Recipe) -> ClassifierRecipe:
    assert isinstance(recipe, ClassifierRecipe)
    return recipe
