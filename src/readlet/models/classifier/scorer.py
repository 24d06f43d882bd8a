"""The scorer of classifiers: the network, its tokenizer and its labels, on disk and as batches."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from readlet.engine.optimiser import ParameterGroup
from readlet.models.classifier.config import ClassifierConfig, MetricName
from readlet.models.classifier.network import ClassLearner, SentenceClassifier
from readlet.models.config import StoredAs, norm_gamma
from readlet.models.encoder.recipe import FineTuning
from readlet.models.family import Floats
from readlet.models.pretrained.encoder import PretrainedEncoder, build_encoder
from readlet.models.pretrained.parts import (
    STORED_FACTS,
    encoder_fact,
    layer_groups,
    save_parts,
    slim_weights,
    with_attention,
)
from readlet.models.torch_scorer import ModuleScorer
from readlet.nn.layer_mix import make_layer_mix
from readlet.nn.pooling import make_pooler
from readlet.recipe.recipe import Training
from readlet.text.arrays import Batches
from readlet.text.rows import Ints
from readlet.text.subwords import SentenceEncoder, SentenceRows
from readlet.text.tensors import SentenceBatch, sentence_batches

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
