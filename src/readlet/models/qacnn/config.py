"""The settings of QACNNnet, a small word-level reader."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from readlet.models.config import Attention, Loss, SpanConfig
from readlet.storage.sections import Depth, OnlyInTraining, Section, Share, Size


def _odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("Input should be odd")
    return value


Odd = Annotated[int, Field(ge=1, le=31), AfterValidator(_odd)]


class QacnnNetwork(Section):
    """The hyperparameters of the network."""

    width: Annotated[int, Field(ge=4, le=2048)] = 128
    """Hidden size of every word after the embedding (d)."""
    character_width: Size = 200
    """Embedding size of characters."""
    character_filters: Annotated[int, Field(ge=0, le=16_384)] = 128
    """Filters of the character convolution, each a feature of the word; 0: no characters."""
    character_kernel: Odd = 5
    """Kernel size of the character convolution."""
    highway_layers: Depth = 2
    """Highway layers after the projection."""
    embedding_convolutions: Depth = 4
    """Convolutions in the embedding encoder block."""
    embedding_kernel: Odd = 7
    """Kernel size in the embedding encoder block."""
    blocks: Depth = 7
    """Model encoder blocks; the same stack is applied three times."""
    convolutions: Depth = 2
    """Convolutions in each model encoder block."""
    kernel: Odd = 5
    """Kernel size in the model encoder blocks."""
    heads: Size = 8
    """Attention heads."""
    head_width: Size = 16
    """Size of each attention head."""
    feed_forward: Size = 128
    """Inner size of the feed-forward sublayers."""
    match_features: bool = True
    """Add a feature that marks the context words that also occur in the question."""
    language_characters: Literal["none", "added", "film"] = "none"
    """How the word's language enters the character convolution: as a vector `added` to each
    character's, or as a scale and shift of each filter (`film`); needs words.languages."""
    dropout: Annotated[Share, OnlyInTraining] = 0.1
    """Dropout rate of words and layers."""
    input_dropout: Annotated[Share, OnlyInTraining] = 0.0
    """Dropout rate at the input of each layer of a block, in addition to that at its output."""
    character_dropout: Annotated[Share, OnlyInTraining] = 0.05
    """Dropout rate of characters."""
    language_dropout: Annotated[Share, OnlyInTraining] = 0.1
    """Fraction of the words whose language is dropped in training."""
    last_survival: Annotated[float, Field(gt=0.0, le=1.0), OnlyInTraining] = 0.9
    """Stochastic depth: probability of keeping the last layer."""


class QacnnConfig(SpanConfig):
    """The settings of a stored reader of this kind; the rest is its vocabulary."""

    kind: Literal["qacnn"] = "qacnn"
    model: QacnnNetwork
    attention: Attention
    loss: Loss
