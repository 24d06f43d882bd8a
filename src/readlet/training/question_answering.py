"""Readers in training: built, distilled, evaluated and calibrated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from readlet.console import say
from readlet.engine.loop import Scores
from readlet.engine.optimiser import MixedPrecision
from readlet.engine.processes import is_main_process
from readlet.evaluation.squad import SPANS, no_answer_area
from readlet.evaluation.task import Task
from readlet.inference.calibration import UNCALIBRATED, Calibration
from readlet.inference.decoding import Predictor
from readlet.inference.fit_calibration import TOO_FEW, TOO_FEW_OF_A_KIND, adapt, calibrate
from readlet.inference.inputs import AnswerOptions, languages_of
from readlet.inference.reader import Reader
from readlet.models.family import SpanFamily, TrainableSpanScorer
from readlet.models.torch_scorer import Teacher
from readlet.recipe.recipe import Recipe, SpanTraining
from readlet.text.rows import LONG_QUESTION
from readlet.training.run_folder import digest_of_reader
from readlet.training.training_data import Fitted, Part, TrainingData
from readlet.training.warm_start import copy_weights
from readlet.types import Prediction

# Below it docs/results/finetune.md measured no gain to rely on.
_FEW_QUESTIONS = 50
_GAINED = (
    "of a kind that is new to the reader, 64 gained 8 points of F1 and 150 gained 11; "
    "of kinds that it was trained on, none"
)


@dataclass(frozen=True)
class SpanEvaluator:
    """Scores the current weights, with the calibration from before training."""

    scorer: TrainableSpanScorer
    batch_size: int
    dev: Part
    calibration: Calibration = UNCALIBRATED  # that of the start reader, if there is one
    adapts: bool = False  # the calibration is that of the start, moved to the held-out questions
    languages: tuple[str, ...] = ()  # those of the training passages

    @property
    def task(self) -> Task:
        return SPANS

    @property
    def predictor(self) -> Predictor:
        return Predictor(self.scorer, self.calibration, self.batch_size, AnswerOptions(n_best=1))

    def __call__(self) -> Scores:
        predictions = self.predictor.predict(self.dev.examples, self.dev.rows)
        if self.scorer.can_abstain:
            predictions = raw_no_answer(self.calibration, predictions)
        return SPANS.score(self.dev.examples, predictions).summary

    def of_start(self, start: Reader) -> "SpanEvaluator":
        """It is calibrated in the same way: otherwise a new threshold alone might be the gain."""
        scorer: Any = start.scorer
        return replace(self, scorer=scorer, calibration=start.calibration)

    def fitted(self, held_out: Part) -> Fitted:
        fault = ""
        if self.adapts:
            predictions = self.predictor.predict(held_out.examples, held_out.rows)
            calibration = adapt(self.calibration, held_out.examples, predictions).calibration
        else:
            calibration = calibrate(
                self.predictor, held_out.examples, held_out.rows, self.calibration
            )
            fault = unfitted(calibration, self.calibration, self.scorer.can_abstain)
        calibrated = replace(self.predictor, calibration=calibration)
        predictions = calibrated.predict(self.dev.examples, self.dev.rows)
        return Fitted(calibration, predictions, self.no_answer(calibration, predictions), fault)

    def no_answer(
        self, calibration: Calibration, predictions: Sequence[Prediction]
    ) -> dict[str, Any]:
        if not self.scorer.can_abstain:
            return {}
        examples = self.dev.examples
        raw = SPANS.score(examples, raw_no_answer(calibration, predictions)).summary
        found: dict[str, Any] = {"dev_raw": {name: raw[name] for name in SPANS.headline}}
        has_answer = [bool(example.answers) for example in examples]
        area = no_answer_area([p.no_answer for p in predictions], has_answer)
        return found | ({} if area is None else {"no_answer_area": area})

    def model(
        self, recipe: Recipe, calibration: Calibration, metrics: dict[str, Any], notice: str
    ) -> Reader:
        values = recipe.model_dump(mode="json")
        return Reader(self.scorer, values, calibration, metrics, notice, languages=self.languages)


@dataclass
class SpanObjective:
    """A reader in training."""

    recipe: Recipe
    family: SpanFamily
    start: Reader | None

    def __post_init__(self) -> None:
        """Load the teachers, so that their errors come before any slow work."""
        training = self.recipe.training
        names = training.teacher if isinstance(training, SpanTraining) else ()
        self.teachers = [Reader.load(name, device="cpu") for name in names]

    def build(self, data: TrainingData) -> TrainableSpanScorer:
        """The model to train: with random weights, drawn from the seed, or those of a start."""
        torch.manual_seed(self.recipe.training.seed)
        start = self.start
        abstains = has_impossible(data) or (start is not None and start.scorer.can_abstain)
        can_abstain = self.family.can_abstain(self.recipe) and abstains
        scorer = self.family.build(self.recipe, data.encoder, can_abstain=can_abstain)
        if start is not None:
            # Only one of the two may be able to abstain: its parameters are new, or left out.
            copy_weights(start, scorer, strict=start.scorer.can_abstain == can_abstain)
        return scorer

    def notes(self, data: TrainingData, scorer: TrainableSpanScorer) -> dict[str, list[str]]:
        """The ids of changed or skipped items by reason."""
        notes = data.notes(LONG_QUESTION)
        if has_impossible(data) and not scorer.can_abstain:
            impossible = [example.id for example in data.train.examples if not example.answers]
            notes["question without an answer: left out, as model.null_answer is false"] = (
                impossible
            )
        return notes

    def report(self, data: TrainingData, scorer: TrainableSpanScorer) -> None:
        """Print what to know about the data before training."""
        own = len(data.train.examples) - data.replayed
        if self.start is not None and own < _FEW_QUESTIONS:
            fault = f"{own:,} training questions may be too few for any gain"
            say(f"readlet: {fault}; give {_FEW_QUESTIONS} or more")
        elif self.start is not None:
            say(f"readlet: {own:,} questions; {_GAINED} (see the guide)")

    def learner(
        self, data: TrainingData, scorer: TrainableSpanScorer, device: torch.device
    ) -> nn.Module:
        taught = self._taught(data, scorer, device) if self.teachers else None
        return scorer.learner(data.train.rows, self.recipe.training.label_smoothing, taught)

    def _taught(
        self, data: TrainingData, scorer: TrainableSpanScorer, device: torch.device
    ) -> Teacher:
        from readlet.training.distillation import ask_teachers, count_untaught, remembered

        settings = self.recipe.training
        assert isinstance(settings, SpanTraining)

        def ask() -> Teacher:
            # They compute in the precision of the training: large ones could take longer than it.
            with MixedPrecision(settings.precision, device).autocast():
                return ask_teachers(
                    self.teachers,
                    data.train.examples,
                    data.train.rows,
                    settings.teacher_share,
                    temperature=settings.teacher_temperature,
                    can_abstain=scorer.can_abstain,
                    device=str(device),
                )

        determined_by = {
            "data": (data.key, scorer.encoder.cut()),
            "teachers": [digest_of_reader(name) for name in settings.teacher],
            "how": (settings.teacher_temperature, scorer.can_abstain, settings.precision),
        }
        taught = remembered(ask, settings.teacher_share, determined_by)
        untaught = count_untaught(taught, data.train.rows, can_abstain=scorer.can_abstain)
        if untaught and is_main_process():
            say(f"{untaught:,} × training question without a teacher: only its label is learned")
        return taught

    def evaluator(
        self, data: TrainingData, scorer: TrainableSpanScorer, batch_size: int
    ) -> SpanEvaluator:
        start = self.start
        return SpanEvaluator(
            scorer,
            batch_size,
            data.dev,
            UNCALIBRATED if start is None else start.calibration,
            adapts=start is not None
            and start.scorer.can_abstain
            and not self.recipe.data.calibration,
            languages=_languages(data, start),
        )


def _languages(data: TrainingData, start: Reader | None) -> tuple[str, ...]:
    """Those of the training passages and of the start; none if the start does not know its own."""
    if start is not None and not start.languages:
        return ()
    before = () if start is None else start.languages
    return tuple(dict.fromkeys((*before, *languages_of(data.train.examples))))


def has_impossible(data: TrainingData) -> bool:
    """Whether some training question has no answer; windows without an answer do not count."""
    return any(not example.answers for example in data.train.examples)


def raw_no_answer(fitted: Calibration, predictions: Sequence[Prediction]) -> list[Prediction]:
    """The predictions if "no answer" wins whenever its score is highest, as without calibration."""
    even = fitted.no_answer(0.0)  # its probability when it has the score of the best answer
    return [prediction.at_threshold(even) for prediction in predictions]


def unfitted(fitted: Calibration, default: Calibration, can_abstain: bool) -> str:
    """Why the calibration, or a part of it, was not fitted; empty if it was."""
    if not fitted.questions:
        return f"calibration not fitted: {TOO_FEW}"
    of_no_answer = (fitted.no_answer_slope, fitted.no_answer_bias)
    if can_abstain and of_no_answer == (default.no_answer_slope, default.no_answer_bias):
        return f"no-answer probability not fitted: {TOO_FEW_OF_A_KIND}"
    return ""
