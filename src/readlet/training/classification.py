"""Classifiers in training: built, evaluated and calibrated."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from readlet.console import say
from readlet.engine.loop import Scores
from readlet.engine.processes import is_main_process
from readlet.evaluation.task import Task
from readlet.inference.calibration import (
    TOO_FEW,
    ClassCalibration,
    class_calibration_error,
    fit_class_calibration,
)
from readlet.inference.classifier import (
    Classifier,
    classifications,
    scores_in_order,
    task_of_labels,
)
from readlet.models.classifier.recipe import ClassifierRecipe
from readlet.models.family import ClassFamily, Floats, TrainableClassScorer
from readlet.nn.normsoftmax import warn_of_bound
from readlet.recipe.recipe import Recipe
from readlet.text.labels import Labels, class_balance, class_numbers, require_one_kind
from readlet.training.training_data import Fitted, Part, TrainingData
from readlet.training.warm_start import copy_weights


@dataclass(frozen=True)
class ClassEvaluator:
    """Scores the current weights, with the calibration from before training."""

    scorer: TrainableClassScorer
    batch_size: int
    dev: Part
    recipe: ClassifierRecipe
    calibration: ClassCalibration

    @property
    def labels(self) -> Labels:
        return self.scorer.encoder.labels

    @property
    def task(self) -> Task:
        return task_of_labels(self.labels, self.recipe.data.chosen_metrics)

    def __call__(self) -> Scores:
        predictions = self._predicted(self._scores(), self.calibration)
        return self.task.score(self.dev.examples, predictions).summary

    def of_start(self, start: Classifier) -> "ClassEvaluator":
        scorer: Any = start.scorer
        return replace(self, scorer=scorer, calibration=start.calibration)

    def fitted(self, held_out: Part) -> Fitted:
        on_dev = self._scores()  # (texts, outputs)
        if self.labels.kind == "numbers":
            return Fitted(self.calibration, self._predicted(on_dev, self.calibration), {}, "")
        scores = scores_in_order(self.scorer, held_out.rows, self.batch_size)  # (texts, C)
        calibration = fit_class_calibration(
            scores, held_out.rows.row_label.tolist(), self.calibration
        )
        fault = "" if calibration.texts else f"calibration not fitted: {TOO_FEW}"
        predictions, labels = self._predicted(on_dev, calibration), self.dev.rows.row_label.tolist()
        self._report_collapse(predictions)
        error = class_calibration_error(calibration.probabilities(on_dev), labels)
        return Fitted(calibration, predictions, {"dev_calibration_error": error}, fault)

    def model(
        self, recipe: Any, calibration: ClassCalibration, metrics: dict[str, Any], notice: str
    ) -> Classifier:
        return Classifier(self.scorer, recipe.model_dump(mode="json"), calibration, metrics, notice)

    def _scores(self) -> Floats:
        return scores_in_order(self.scorer, self.dev.rows, self.batch_size)  # (texts, outputs)

    def _predicted(self, scores: Floats, calibration: ClassCalibration) -> list[str]:
        found = classifications(scores, self.labels, calibration)
        return [prediction.label for prediction in found]

    def _report_collapse(self, predictions: list[str]) -> None:
        """A classifier that predicts one class has collapsed: a bad seed or learning rate."""
        labels, predicted = {sentence.label for sentence in self.dev.examples}, {*predictions}
        if len(labels) == 1 and is_main_process():
            fault = f"all texts of dev are labelled {labels.pop()!r:.40}: its scores say little"
            say(f"readlet: {fault}; name texts of all classes in data.dev")
        elif len(predicted) == 1 and is_main_process():
            fault = f"collapsed: it predicts {predicted.pop()!r:.40} for all texts of dev"
            remedy = "change training.learning_rate or training.epochs, or try another seed"
            say(f"readlet: {fault}; {remedy}")


@dataclass
class ClassObjective:
    """A classifier in training."""

    recipe: Recipe
    family: ClassFamily
    start: Classifier | None

    @property
    def typed(self) -> ClassifierRecipe:
        assert isinstance(self.recipe, ClassifierRecipe)
        return self.recipe

    def build(self, data: TrainingData) -> TrainableClassScorer:
        torch.manual_seed(self.recipe.training.seed)
        scorer = self.family.build(self.recipe, data.encoder)
        if self.start is not None:
            copy_weights(self.start, scorer)
            source, encoder = ", ".join(self.recipe.data.train), scorer.encoder
            require_one_kind(source, data.train.examples, pairs=encoder.pairs)
            if encoder.labels.kind == "classes":
                class_numbers(source, data.train.examples, encoder.labels.classes)
        return scorer

    def notes(self, data: TrainingData, scorer: TrainableClassScorer) -> dict[str, list[str]]:
        return data.notes()

    def report(self, data: TrainingData, scorer: TrainableClassScorer) -> None:
        balance, is_classes = (
            class_balance(data.train.examples),
            self.typed.data.labels == "classes",
        )
        lines = [balance.summary(), *(balance.warnings() if is_classes else ())]
        if is_classes and balance.is_scale:
            remedy = "--set data.labels=numbers --set data.metrics="
            lines.append(f"labels with decimals as classes; for a scale give {remedy}")
        for line in lines:
            say(f"readlet: {line}")
        loss, outputs = self.typed.loss, scorer.encoder.labels.outputs
        if loss.softmax == "norm" and loss.gamma == "infinity" and outputs > 1:
            warn_of_bound(outputs, "loss.gamma")

    def learner(
        self, data: TrainingData, scorer: TrainableClassScorer, device: torch.device
    ) -> nn.Module:
        return scorer.learner(self.recipe.training.label_smoothing)

    def evaluator(
        self, data: TrainingData, scorer: TrainableClassScorer, batch_size: int
    ) -> ClassEvaluator:
        before = ClassCalibration() if self.start is None else self.start.calibration
        return ClassEvaluator(scorer, batch_size, data.dev, self.typed, before)
