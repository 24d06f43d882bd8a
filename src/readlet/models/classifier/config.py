"""The settings of classifiers: a pretrained encoder, a pooler and a class head."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from readlet.models.config import Attention, Config, Gamma, Loss
from readlet.models.encoder.config import MixName
from readlet.storage.sections import (
    AffectsCompilation,
    FileName,
    OnlyInTraining,
    Section,
    Share,
    SourceEncoder,
)

PoolerName = Literal[
    "cls",
    "meanmax",
    "meanmax-mean",
    "meanmax-elementwise",
    "meanmax-mean-elementwise",
    "mswap",
    "swap",
    "stochastic",
    "mean",
    "max",
    "attention",
]
MetricName = Literal["accuracy", "macro_f1", "f1", "matthews_correlation", "pearson"]


def different(names: tuple[str, ...]) -> tuple[str, ...]:
    if len({*names}) < len(names):
        raise ValueError("a name is listed twice")
    return names


class ClassifierNetwork(Section):
    """The encoder, and how the states of its tokens become one vector."""

    encoder: Annotated[FileName, SourceEncoder, AffectsCompilation] = "minilm"
    """Folder of an encoder and its tokenizer, a name on the Hugging Face hub, or `minilm`, which
    comes with the extra of that name."""
    pooler: Annotated[tuple[PoolerName, ...], Field(min_length=1), AfterValidator(different)] = (
        "cls",
    )
    """How tokens are pooled into one vector; the vectors of several poolers are concatenated."""
    mix: Annotated[MixName, AffectsCompilation] = "last"
    """Which layers the pooler reads: `last`; one learned weight for each layer (`scalar`,
    `scalar-softmax`); attention of each token to its layers (`dot`, `weighted`, `encoder`)."""
    dropout: Annotated[Share | None, OnlyInTraining, AffectsCompilation] = None
    """Dropout rate in the encoder; unset: that of its own configuration."""
    head_dropout: Annotated[Share, OnlyInTraining] = 0.1
    """Dropout rate of the pooled vector."""


class ClassLoss(Loss):
    """How the scores of classes become probabilities."""

    gamma: Gamma = 0.01
    """NormSoftmax divides by at most this value; d is the size of the pooled vector. Without a cap
    (infinity) few classes limit the confidence, to 0.76 for ten. Of two classes, scores with a
    deviation below gamma all become 1 and -1: nothing is learned from them."""


class ClassifierConfig(Config):
    """The settings of a stored classifier; the labels are in its tokenizer's file."""

    kind: Literal["classifier"] = "classifier"
    max_length: Annotated[int, Field(ge=1, le=4096)]
    """Maximum length of a text, or of two together, in subwords with the special tokens."""
    metrics: Annotated[tuple[MetricName, ...], Field(min_length=1)]
    """The scores that its predictions get."""
    model: ClassifierNetwork
    attention: Attention
    loss: ClassLoss
