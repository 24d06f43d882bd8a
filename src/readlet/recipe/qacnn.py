"""The recipe of `qacnn`: QACNNnet, a small reader over words."""

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator

from readlet.errors import ReadletError
from readlet.recipe.gamma import ALLOWED, check_gamma
from readlet.recipe.kinds import register_recipe
from readlet.recipe.recipe import FileName, Model, Positive, Recipe, Section, Share, SpanData
from readlet.recipe.traits import OnlyInTraining, PartOfNetwork, ShapesPrograms, SourceFile


def _odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("Input should be odd")
    return value


def _gamma(value: Any) -> float | str:
    """A cap of NormSoftmax; infinity by its name, since JSON has no such number."""
    if isinstance(value, str) and value in ("sqrt(d)", "infinity"):
        return value
    try:
        check_gamma(value)
        cap = float(value)
    except (ReadletError, OverflowError):  # no cap, or whole digits that no float holds
        raise ValueError(f"Input should be {ALLOWED}") from None
    return "infinity" if cap == math.inf else cap


Odd = Annotated[int, Field(ge=1, le=31), AfterValidator(_odd)]
SoftmaxName = Literal["standard", "norm"]
Gamma = Annotated[float | Literal["sqrt(d)", "infinity"], PlainValidator(_gamma)]


class Words(Section):
    """Which words and characters the reader knows."""

    vectors: Annotated[tuple[FileName, ...], SourceFile] = ()
    """Files of word vectors (GloVe or fastText text, also .gz); several are concatenated."""
    max_words: Positive = 200_000
    """At most this many words get a frozen vector, the first of the files."""
    trainable_words: Annotated[int, Field(ge=0)] = 5_000
    """At most this many frequent words without a vector get a trainable one."""
    min_count: Positive = 5
    """A word without a vector must occur this often in training to get a trainable one."""
    width: Positive = 100
    """Features of a word when no vectors are given."""
    max_characters: Annotated[int, Field(ge=4, le=64)] = 16
    """Characters of a word that are read."""
    min_character_count: Positive = 5
    """A rarer character is unknown."""


class QacnnModel(Model):
    """The numbers of QACNNnet; `qacnn-paper` has those of its paper."""

    kind: Literal["qacnn"] = "qacnn"
    """QACNNnet, a small reader of convolutions and attention over words."""
    width: Annotated[int, Field(ge=4, le=2048)] = 128
    """Features of every word after the embedding (d)."""
    character_width: Positive = 200
    """Features of a character."""
    character_filters: Annotated[int, Field(ge=0)] = 128
    """Filters of the character convolution: features that characters add to a word; 0: none."""
    character_kernel: Odd = 5
    """Characters that a filter sees."""
    highway_layers: Positive = 2
    """Highway layers after the projection."""
    embedding_convolutions: Positive = 4
    """Convolutions of the embedding encoder block."""
    embedding_kernel: Odd = 7
    """Words that a convolution of the embedding encoder sees."""
    blocks: Positive = 7
    """Model encoder blocks; the same ones are run three times."""
    convolutions: Positive = 2
    """Convolutions of each model encoder block."""
    kernel: Odd = 5
    """Words that a convolution of a model encoder block sees."""
    heads: Positive = 8
    """Attention heads."""
    head_width: Positive = 16
    """Features of one attention head."""
    feed_forward: Positive = 128
    """Inner width of the feed-forward sublayers."""
    match_features: bool = True
    """Tell each context word whether it stands in the question too."""
    null_answer: bool = True
    """A place for "no answer"; used only when the training data has such questions."""
    dropout: Annotated[Share, OnlyInTraining] = 0.1
    """Dropout of words and layers."""
    input_dropout: Annotated[Share, OnlyInTraining] = 0.0
    """Dropout of what each layer of a block reads, besides that of what it writes."""
    character_dropout: Annotated[Share, OnlyInTraining] = 0.05
    """Dropout of characters."""
    last_survival: Annotated[float, Field(gt=0.0, le=1.0), OnlyInTraining] = 0.9
    """Stochastic depth: probability that the last layer is kept."""


class Attention(Section):
    """How self-attention turns scores into weights."""

    traits = (PartOfNetwork, ShapesPrograms)

    softmax: SoftmaxName = "standard"
    """`norm`: NormSoftmax, which divides the scores by their deviation first."""
    gamma: Gamma = "sqrt(d)"
    """NormSoftmax divides by no more than this; d is the width of a head."""


class Loss(Section):
    """How the scores of first and last words become probabilities."""

    traits = (PartOfNetwork,)

    softmax: SoftmaxName = "standard"
    """`norm`: NormSoftmax over the words of a window, in training and in answering. Without a cap
    few words bound what it can be sure of: 0.76 over ten words, 0.94 over forty, 0.99 over 80."""
    gamma: Gamma = "infinity"
    """NormSoftmax divides by no more than this; d is the width of the model."""


@register_recipe
class QacnnRecipe(Recipe):
    """A whole training run of QACNNnet."""

    data: SpanData = SpanData()
    words: Words = Words()
    model: QacnnModel = QacnnModel()
    attention: Attention = Attention()
    loss: Loss = Loss()

    def idle_in_kind(self) -> list[tuple[str, str]]:
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
