"""The recipe of `classifier`: a pretrained encoder, a pooler and a class head."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from readlet.models.classifier.config import (
    ClassifierConfig,
    ClassifierNetwork,
    ClassLoss,
    MetricName,
    different,
)
from readlet.models.config import Attention, gamma_without_effect
from readlet.models.encoder.recipe import FineTuning, l2_without_effect
from readlet.recipe.recipe import Data, Model, Recipe
from readlet.storage.sections import (
    AffectsCompilation,
    Count,
    FileName,
    Name,
    PartOfNetwork,
    Share,
    SourceFile,
)


class ClassifierData(Data):
    """Which texts are used, and what their labels are."""

    train: Annotated[tuple[FileName, ...], Field(min_length=1), SourceFile] = (
        "bundled:reviews-train",
    )
    """Files of training texts with labels; `bundled:reviews-train` is a small bundled one."""
    dev: Annotated[Name, SourceFile] = "bundled:reviews-dev"
    """File for the evaluations during training; empty: the held-out texts."""
    held_out: Annotated[float, Field(gt=0.0, lt=0.5)] = 0.1
    """Fraction of the training texts of each class held out to fit the calibration; which ones
    follows from a digest of the text, so they are the same for all seeds."""
    labels: Annotated[Literal["classes", "numbers"], PartOfNetwork] = "classes"
    """`numbers`: the labels are values of a scale (regression), not names of classes."""
    metrics: Annotated[tuple[MetricName, ...], AfterValidator(different)] = ()
    """Scores of the classifier; the first one selects the best weights. Empty: accuracy and
    macro_f1, or pearson for numbers."""
    max_length: Annotated[int, Field(ge=8, le=4096)] = 128
    """Maximum length of a text, or of two together, in subwords with the special tokens; of a
    longer one only the beginning is read."""

    @property
    def chosen_metrics(self) -> tuple[MetricName, ...]:
        usual: dict[str, tuple[MetricName, ...]] = {
            "classes": ("accuracy", "macro_f1"),
            "numbers": ("pearson",),
        }
        return self.metrics or usual[self.labels]

    @model_validator(mode="after")
    def _check_metrics(self) -> "ClassifierData":
        for metric in self.metrics:
            if (metric == "pearson") != (self.labels == "numbers"):
                fault = (
                    f"{metric} does not suit data.labels {self.labels}, an empty list always does"
                )
                raise ValueError(f"data.metrics: {fault}")
        return self


class ClassifierModel(ClassifierNetwork, Model):
    """The encoder, and how the states of its tokens become one vector."""

    # Only layers of the encoder are compiled: classifiers with different poolers share them.
    traits = (PartOfNetwork,)

    kind: Annotated[Literal["classifier"], AffectsCompilation] = "classifier"
    """A pretrained encoder with a pooler and a class head, for texts and pairs of texts."""


class ClassifierTraining(FineTuning):
    """How the classifier is trained."""

    epochs: Annotated[int, Field(ge=1, le=10**9)] = 3
    """Passes over the training texts."""
    batch_size: Annotated[int, Field(ge=1, le=2**20), AffectsCompilation] = 16
    """Texts per batch in each process."""
    warmup_steps: Count = 20
    """Steps until the peak learning rate is reached."""
    label_smoothing: Share = 0.0
    """Fraction of the target probability that is spread evenly over the classes."""


class ClassifierRecipe(Recipe):
    """A complete training run of a classifier."""

    data: ClassifierData = ClassifierData()
    model: ClassifierModel = ClassifierModel()
    attention: Attention = Attention()
    loss: ClassLoss = ClassLoss()
    training: ClassifierTraining = ClassifierTraining()

    def config(self) -> ClassifierConfig:
        network = self.model.model_dump(include={*ClassifierNetwork.model_fields})
        return ClassifierConfig(
            max_length=self.data.max_length,
            metrics=self.data.chosen_metrics,
            model=ClassifierNetwork(**network),
            attention=self.attention,
            loss=self.loss,
        )

    def without_effect_in_kind(self) -> list[tuple[str, str]]:
        found = gamma_without_effect(attention=self.attention, loss=self.loss)
        if self.data.labels == "numbers":
            if self.loss.softmax != "standard":
                found.append(("loss.softmax", 'data.labels is "numbers"'))
            if self.training.label_smoothing:
                found.append(("training.label_smoothing", 'data.labels is "numbers"'))
        return found + l2_without_effect(self.training)
