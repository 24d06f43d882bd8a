"""The recipe of `qacnn`: QACNNnet, a small word-level reader."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from readlet.models.config import Attention, Loss, gamma_without_effect
from readlet.models.qacnn.config import QacnnConfig, QacnnNetwork
from readlet.recipe.recipe import Model, Recipe, SpanData, SpanTraining
from readlet.storage.sections import Count, FileName, Positive, Section, Size, SourceFile
from readlet.text.languages import LANGUAGES


def _checked_languages(codes: tuple[str, ...]) -> tuple[str, ...]:
    if unknown := [code for code in codes if code not in LANGUAGES]:
        raise ValueError(f"unknown language {unknown[0]!r:.40}; give codes such as en or es")
    if len(set(codes)) < len(codes):
        raise ValueError("a language is given twice")
    return codes


class Words(Section):
    """Which words and characters the reader knows."""

    vectors: Annotated[tuple[FileName, ...], SourceFile] = ()
    """Files of word vectors (GloVe or fastText text format, also .gz); several are concatenated,
    or merged if there are words.languages."""
    max_words: Positive = 200_000
    """Maximum number of words with a frozen vector; the first ones in the files are kept."""
    trainable_words: Count = 5_000
    """Maximum number of frequent words without a vector that get a trainable one."""
    min_count: Positive = 5
    """Minimum count in the training data for a word without a vector to get a trainable one."""
    width: Size = 100
    """Embedding size of words when no vectors are given."""
    max_characters: Annotated[int, Field(ge=4, le=64)] = 16
    """Maximum number of characters read of each word."""
    min_character_count: Positive = 5
    """Minimum count of a character in the training data; rarer ones are treated as unknown."""
    languages: Annotated[tuple[str, ...], AfterValidator(_checked_languages)] = ()
    """Languages that the reader distinguishes, as codes such as es: words are looked up, and texts
    split, by language; empty: all texts are treated alike."""


class QacnnModel(QacnnNetwork, Model):
    """The hyperparameters of QACNNnet; the recipe `qacnn-paper` has those of the paper."""

    kind: Literal["qacnn"] = "qacnn"
    """QACNNnet, a small word-level reader with convolutions and attention."""
    null_answer: bool = True
    """Add a position for "no answer"; used only if the training data has such questions."""


class QacnnRecipe(Recipe):
    """A complete training run of QACNNnet."""

    data: SpanData = SpanData()
    words: Words = Words()
    model: QacnnModel = QacnnModel()
    attention: Attention = Attention()
    loss: Loss = Loss()
    training: SpanTraining = SpanTraining()

    def config(self, *, null_answer: bool) -> QacnnConfig:
        sizes = self.model.model_dump(include={*QacnnNetwork.model_fields})
        return QacnnConfig(
            **self.data.lengths,
            null_answer=null_answer,
            model=QacnnNetwork(**sizes),
            attention=self.attention,
            loss=self.loss,
        )

    def without_effect_in_kind(self) -> list[tuple[str, str]]:
        found = gamma_without_effect(attention=self.attention, loss=self.loss)
        if self.training.start:  # its network and its languages decide
            return found
        model = self.model
        conditioned = model.language_characters != "none"
        if conditioned and not self.words.languages:
            found.append(("model.language_characters", "there are no words.languages"))
        if not conditioned and model.language_dropout != QacnnModel().language_dropout:
            found.append(("model.language_dropout", 'model.language_characters is "none"'))
        return found
