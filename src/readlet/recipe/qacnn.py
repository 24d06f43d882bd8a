"""The recipe of `qacnn`: QACNNnet, a small word-level reader."""

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator

from readlet.errors import ReadletError
from readlet.recipe.gamma import ALLOWED, check_gamma
from readlet.recipe.kinds import register_recipe
from readlet.recipe.recipe import (
    Count,
    Depth,
    FileName,
    Model,
    Positive,
    Recipe,
    Section,
    Share,
    Size,
    SpanData,
)
from readlet.recipe.traits import AffectsCompilation, OnlyInTraining, PartOfNetwork, SourceFile


def _odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("Input should be odd")
    return value


def _gamma(value: Any) -> float | str:
    """A cap of NormSoftmax; infinity is stored by name because JSON has no such number."""
    if isinstance(value, str) and value in ("sqrt(d)", "infinity"):
        return value
    try:
        check_gamma(value)
        cap = float(value)
    except (ReadletError, OverflowError):  # not a cap, or an integer too large for a float
        raise ValueError(f"Input should be {ALLOWED}") from None
    return "infinity" if cap == math.inf else cap


Odd = Annotated[int, Field(ge=1, le=31), AfterValidator(_odd)]
SoftmaxName = Literal["standard", "norm"]
Gamma = Annotated[float | Literal["sqrt(d)", "infinity"], PlainValidator(_gamma)]


class Words(Section):
    """Which words and characters the reader knows."""

    vectors: Annotated[tuple[FileName, ...], SourceFile] = ()
    """Files of word vectors (GloVe or fastText text format, also .gz); several are concatenated."""
    max_words: Positive = 200_000
    """Maximum number of words with a frozen vector; the first ones in the files are kept."""
    trainable_words: Count = 5_000
    """Maximum number of frequent words without a vector that get a trainable one."""
    min_count: Positive = 5
    """Minimum count in the training data for a word without a vector to get a trainable one."""
    width: Size = 100
    """Embedding size of words when no vectors are given."""
    max_characters: Annotated[int, Field(ge=4, le=64)] = 16
    """Maximum number of characters that are read of each word."""
    min_character_count: Positive = 5
    """Minimum count of a character in the training data; rarer ones are treated as unknown."""


class QacnnModel(Model):
    """The hyperparameters of QACNNnet; the recipe `qacnn-paper` has those of the paper."""

    kind: Literal["qacnn"] = "qacnn"
    """QACNNnet, a small word-level reader with convolutions and attention."""
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
    null_answer: bool = True
    """Add a position for "no answer"; used only if the training data has such questions."""
    dropout: Annotated[Share, OnlyInTraining] = 0.1
    """Dropout rate of words and layers."""
    input_dropout: Annotated[Share, OnlyInTraining] = 0.0
    """Dropout rate at the input of each layer of a block, in addition to that at its output."""
    character_dropout: Annotated[Share, OnlyInTraining] = 0.05
    """Dropout rate of characters."""
    last_survival: Annotated[float, Field(gt=0.0, le=1.0), OnlyInTraining] = 0.9
    """Stochastic depth: probability of keeping the last layer."""


class Attention(Section):
    """How self-attention turns scores into weights."""

    traits = (PartOfNetwork, AffectsCompilation)

    softmax: SoftmaxName = "standard"
    """`norm`: NormSoftmax, which first divides the scores by their standard deviation."""
    gamma: Gamma = "sqrt(d)"
    """NormSoftmax divides by at most this value; d is the size of a head."""


class Loss(Section):
    """How the start and end scores become probabilities."""

    traits = (PartOfNetwork,)

    softmax: SoftmaxName = "standard"
    """`norm`: NormSoftmax over the words of a window, in training and prediction. Without a cap, a
    short window limits the confidence: to 0.76 for 10 words, 0.94 for 40, 0.99 for 80."""
    gamma: Gamma = "infinity"
    """NormSoftmax divides by at most this value; d is the hidden size of the model."""


@register_recipe
class QacnnRecipe(Recipe):
    """A complete training run of QACNNnet."""

    data: SpanData = SpanData()
    words: Words = Words()
    model: QacnnModel = QacnnModel()
    attention: Attention = Attention()
    loss: Loss = Loss()

    def without_effect_in_kind(self) -> list[tuple[str, str]]:
        chosen: dict[str, Attention | Loss] = {"attention": self.attention, "loss": self.loss}
        return [
            (f"{section}.gamma", f'{section}.softmax is not "norm"')
            for section, part in chosen.items()
            if part.softmax == "standard" and part.gamma != type(part)().gamma
        ]


def norm_gamma(chosen: Attention | Loss, width: int) -> float | None:
    """The cap of NormSoftmax as a number; None for the standard softmax."""
    if chosen.softmax == "standard":
        return None
    named = {"sqrt(d)": math.sqrt(width), "infinity": math.inf}
    return named[chosen.gamma] if isinstance(chosen.gamma, str) else chosen.gamma
