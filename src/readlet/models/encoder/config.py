"""The settings of readers on a pretrained encoder."""

from typing import Annotated, Literal

from readlet.models.config import Attention, Loss, SpanConfig
from readlet.storage.sections import FileName, OnlyInTraining, Section, Share, SourceEncoder

MixName = Literal["last", "scalar", "scalar-softmax", "dot", "weighted", "encoder"]


class EncoderNetwork(Section):
    """The encoder and how its layers are mixed."""

    encoder: Annotated[FileName, SourceEncoder] = "minilm"
    """Folder of an encoder and its tokenizer, a name on the Hugging Face hub, or `minilm`, which
    comes with the extra of that name."""
    mix: MixName = "last"
    """Which layers the span head reads: `last`; one learned weight for each layer (`scalar`,
    `scalar-softmax`); attention of each token to its layers (`dot`, `weighted`, `encoder`)."""
    dropout: Annotated[Share | None, OnlyInTraining] = None
    """Dropout rate in the encoder; unset: that of its own configuration."""
    token_dropout: Annotated[Share, OnlyInTraining] = 0.0
    """Fraction of the tokens that the mask token replaces in training, against overfitting."""


class EncoderConfig(SpanConfig):
    """The settings of a stored reader of this kind; the rest is its tokenizer's."""

    kind: Literal["encoder"] = "encoder"
    model: EncoderNetwork
    attention: Attention
    loss: Loss
