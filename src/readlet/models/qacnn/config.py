"""The recipe of `qacnn`: QACNNnet, a small word-level reader."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from readlet.recipe.field_metadata import OnlyInTraining, SourceFile
from readlet.recipe.recipe import (
    Attention,
    Count,
    Depth,
    FileName,
    Loss,
    Model,
    Positive,
    Recipe,
    Section,
    Share,
    Size,
    SpanData,
    SpanTraining,
    gamma_without_effect,
)
from readlet.text.languages import LANGUAGES


def _odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("Input should be odd")
    return value


def _checked_languages(codes: tuple[str, ...]) -> tuple[str, ...]:
    if unknown := [code for code in codes if code not in LANGUAGES]:
        raise ValueError(f"unknown language {unknown[0]!r:.40}; give codes such as en or es")
    if len(set(codes)) < len(codes):
        raise ValueError("a language is given twice")
    return codes


Odd = Annotated[int, Field(ge=1, le=31), AfterValidator(_odd)]


class Words(Section):
    """Which words and characters the reader knows."""

    vectors: Annotated[tuple[FileName, ...], SourceFile] = ()
    """Files of word vectors (GloVe or fastText text format, also .gz); several are concatenated,
    or put together if there are words.languages."""
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
    languages: Annotated[tuple[str, ...], AfterValidator(_checked_languages)] = ()
    """Languages that the reader distinguishes, as codes such as es: words are looked up, and texts
    split, by language; empty: all texts are read alike."""


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
    language_characters: Literal["none", "added", "film"] = "none"
    """How the word's language enters the character convolution: as a vector `added` to each
    character's, or as a scale and shift of each filter (`film`); needs words.languages."""
    null_answer: bool = True
    """Add a position for "no answer"; used only if the training data has such questions."""
    dropout: Annotated[Share, OnlyInTraining] = 0.1
    """Dropout rate of words and layers."""
    input_dropout: Annotated[Share, OnlyInTraining] = 0.0
    """Dropout rate at the input of each layer of a block, in addition to that at its output."""
    character_dropout: Annotated[Share, OnlyInTraining] = 0.05
    """Dropout rate of characters."""
    language_dropout: Annotated[Share, OnlyInTraining] = 0.1
    """Fraction of the words whose characters are read as of unknown language, in training."""
    last_survival: Annotated[float, Field(gt=0.0, le=1.0), OnlyInTraining] = 0.9
    """Stochastic depth: probability of keeping the last layer."""


class QacnnRecipe(Recipe):
    """A complete training run of QACNNnet."""

    data: SpanData = SpanData()
    words: Words = Words()
    model: QacnnModel = QacnnModel()
    attention: Attention = Attention()
    loss: Loss = Loss()
    training: SpanTraining = SpanTraining()

    def without_effect_in_kind(self) -> list[tuple[str, str]]:
        found = gamma_without_effect(attention=self.attention, loss=self.loss)
        if self.training.start:  # its network and its languages count
            return found
        model = self.model
        conditioned = model.language_characters != "none"
        if conditioned and not self.words.languages:
            found.append(("model.language_characters", "there are no words.languages"))
        if not conditioned and model.language_dropout != QacnnModel().language_dropout:
            found.append(("model.language_dropout", 'model.language_characters is "none"'))
        return found
