"""From a recipe to a trained reader or classifier: what `readlet train` calls."""

import json
import time
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readlet.console import say
from readlet.engine.checkpoint import remove_checkpoints
from readlet.engine.loop import BEST, Evaluator, Outcome, TrainingLoop
from readlet.engine.processes import in_main, is_main_process, make_accelerator
from readlet.engine.tracking import check_tracker, tracked
from readlet.errors import FailedTrainingError, memory_reported
from readlet.evaluation.task import Task
from readlet.inference.trained_model import TrainedModel, default_batch_size
from readlet.models.family import ClassFamily, SpanFamily
from readlet.models.kinds import trainable_family
from readlet.models.recipe_files import recipe_of
from readlet.recipe.recipe import Recipe, fields_without_effect
from readlet.storage.files import atomic_text
from readlet.training.cross_validation import cross_validate, is_cross_validated, whole
from readlet.training.question_answering import SpanObjective
from readlet.training.run_folder import (
    NOTES,
    check_data,
    check_run_folder,
    claimed_folder,
    is_finished,
)
from readlet.training.training_data import (
    Fitted,
    RecentData,
    TrainingData,
    data_files,
    prepare,
    read_split,
)
from readlet.training.warm_start import (
    load_model,
    load_start,
    mix_in,
    module_of,
    scores_before,
    weights_of,
)

if TYPE_CHECKING:
    from readlet.training.classification import ClassObjective


def objective_of(recipe: Recipe, start: Any) -> "SpanObjective | ClassObjective":
    """The objective of a recipe, and of the model that training starts from."""
    family = trainable_family(recipe.model.kind)
    if isinstance(family, ClassFamily):
        from readlet.training.classification import ClassObjective

        return ClassObjective(recipe, family, start)
    assert isinstance(family, SpanFamily)
    return SpanObjective(recipe, family, start)


@dataclass(frozen=True)
class Trained:
    """A trained model and its predictions on dev, as its task scores them."""

    model: TrainedModel
    examples: Sequence[Any]
    predictions: Sequence[Any]
    task: Task


def train_reader(
    recipe: Recipe, folder: str | Path, *, resume: bool = False, track: str = ""
) -> TrainedModel:
    """Train, calibrate on the held-out items, score on dev, and save the reader or classifier.

    With `resume` an interrupted run of the same recipe continues. `track` sends losses and scores
    to tensorboard, wandb, mlflow or trackio.

    >>> from readlet import load_recipe
    >>> recipe = load_recipe("tiny", ["training.epochs=1", "data.share=0.05"])
    >>> reader = train_reader(recipe, "runs/tiny")
    >>> sorted(reader.metrics["dev"])[:2]
    ['HasAns_exact', 'HasAns_f1']
    """
    folder = Path(folder)
    if track:
        check_tracker(track)
    data_files(recipe)
    in_main(make_accelerator(), lambda: check_run_folder(recipe, folder, resume=resume))
    if resume and is_finished(folder, lambda: _started(recipe)[1]):
        say(f"{folder}: is finished; nothing to resume")
        return load_model(folder, recipe)
    model = train(recipe, folder, resume=resume, track=track).model
    if is_main_process():
        if getattr(recipe.training, "stored", "") == "int8":
            model = _written_small(model, folder)
        else:
            model.write(folder)
        remove_checkpoints(folder)
        (folder / BEST).unlink(missing_ok=True)
    make_accelerator().wait_for_everyone()
    return model


def _started(recipe: Recipe) -> tuple[TrainedModel | None, Recipe]:
    """The model that training starts from, if any, and the recipe with its network."""
    return load_start(recipe) if recipe.training.start else (None, recipe)


def _written_small(model: TrainedModel, folder: Path) -> TrainedModel:
    """The model in eight bits, with an ONNX model beside its weights."""
    from readlet.export.beside_weights import add_onnx_model
    from readlet.inference.slimming import slim
    from readlet.models.weights import round_at_random

    round_at_random(module_of(model))
    small = slim(model, stored="int8")
    small.write(folder)
    add_onnx_model(folder)
    return small


def train(
    recipe: Recipe,
    folder: Path,
    *,
    resume: bool,
    recent: RecentData | None = None,
    saves_last: bool = True,
    track: str = "",
) -> Trained:
    """Train, calibrate and score. The folder gets checkpoints and the log; no model is saved.

    With `saves_last` the last step has a checkpoint too.
    """
    began = time.perf_counter()
    recent = RecentData() if recent is None else recent
    start, recipe = _started(recipe)
    family, settings = trainable_family(recipe.model.kind), recipe.training
    family.check_recipe(recipe)
    split = None if recent.find(recipe) else read_split(recipe)
    accelerator = make_accelerator()
    device = accelerator.device
    objective = objective_of(recipe, start)
    crosses = False
    if split is not None and recipe.data.cross_validation:
        crosses = is_cross_validated(recipe, start, split, accelerator)
    with (
        claimed_folder(recipe, folder, accelerator, resume=resume),
        memory_reported("lower training.batch_size", FailedTrainingError),
        tracked(track, recipe, folder) if track and is_main_process() else nullcontext() as log_to,
    ):
        if crosses:
            assert split is not None
            data = prepare(recipe, start, whole(split))
        else:
            is_compiled = device.type == "cuda" and family.compile_ahead(
                recipe, device, None if start is None else start.scorer
            )
            with accelerator.main_process_first():  # the others find what it has cached
                data = recent.find(recipe) or recent.add(recipe, prepare(recipe, start, split))
        check_data(recipe, data.key, folder, resume=resume)
        scorer: Any = objective.build(data)
        if accelerator.is_main_process:
            _report(objective, data, scorer, folder)
        evaluator: Any = objective.evaluator(data, scorer, default_batch_size(device.type))
        if crosses:
            assert isinstance(objective, SpanObjective)
            assert split is not None
            outcome, fitted = cross_validate(
                recipe, objective, split, evaluator, folder, accelerator, log_to
            )
            own = f"the {evaluator.task.noun} themselves, cross-validated"
            return _finish(recipe, data, evaluator, outcome, fitted, start, own)
        initial = {} if start is None else weights_of(start, scorer)
        if is_compiled:
            family.compile(scorer)
        rows, processes = data.train.rows, accelerator.num_processes
        # Batches are filled up, so they are not larger than the data.
        size = min(settings.batch_size, -(-len(rows) // processes)) * processes
        task = evaluator.task
        loop = TrainingLoop(
            objective.learner(data, scorer, device),
            scorer.batches(rows, size, seed=settings.seed),
            settings,
            folder,
            Evaluator(lambda _: evaluator(), task.decisive, task.progress),
            accelerator,
            began,
            scorer.groups(settings),
            saves_last=saves_last,
            track=log_to,
        )
        if resume:
            loop.resume()
        outcome = loop.run()
        if start is not None:
            mix_in(scorer.module, initial, settings.start_share)
        fitted = evaluator.fitted(data.held_out)
        own = f"the held-out {task.noun}"
        return _finish(recipe, data, evaluator, outcome, fitted, start, own)


def _finish(
    recipe: Recipe,
    data: TrainingData,
    evaluator: Any,
    outcome: Outcome,
    fitted: Fitted,
    start: TrainedModel | None,
    own: str,  # what was scored if the recipe names no file
) -> Trained:
    """Score the calibrated model on dev, and put it together with its metrics and notice."""
    task, examples = evaluator.task, data.dev.examples
    if fitted.fault and is_main_process():
        remedy = "raise data.held_out, or name a file in data.calibration"
        if recipe.data.calibration:
            remedy = f"add {task.noun} to data.calibration"
        say(f"{fitted.fault}; {remedy}")
    scored = task.score(examples, fitted.predictions)
    metrics: dict[str, Any] = {
        "dev_source": recipe.data.dev or recipe.data.calibration or own,
        "dev": scored.summary,
        "steps": outcome.steps,
        "rollbacks": outcome.rollbacks,
        **fitted.metrics,
    }
    metrics |= {"kept_epoch": outcome.kept, "best_epoch": outcome.best}
    notice = ""
    if start is not None:
        metrics["start"] = scores_before(start, evaluator, data, scored)
        # Its encoder and its licence belong to its weights.
        family = trainable_family(recipe.model.kind)
        recipe = family.with_encoder_of(recipe, recipe_of(start.recipe))
        if start.notice:
            name = recipe.training.start
            about = "What follows is the notice of that model, and describes it, not this one."
            notice = f"Fine-tuned from {name}. {about}\n\n{start.notice}"
    model = evaluator.model(recipe, fitted.calibration, metrics, notice)
    return Trained(model, examples, fitted.predictions, task)


def _report(
    objective: "SpanObjective | ClassObjective", data: TrainingData, scorer: Any, folder: Path
) -> None:
    """What to know before training.

    Every changed or skipped item is counted on the screen and listed in a file.
    """
    notes = objective.notes(data, scorer)
    with atomic_text(folder / NOTES) as stream:
        json.dump(notes, stream, ensure_ascii=False, indent=1)
    for reason, ids in notes.items():
        say(f"{len(ids):,} × {reason}")
    for field, reason in fields_without_effect(objective.recipe):
        warnings.warn(f"{field} does nothing: {reason}", stacklevel=2)
    objective.report(data, scorer)
