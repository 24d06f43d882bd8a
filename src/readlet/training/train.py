"""From a recipe to a trained reader or classifier: what `readlet train` calls.

As a program it encodes the data of the recipe on its standard input into the cache.
"""

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from readlet.console import say
from readlet.engine.checkpoint import remove_checkpoints
from readlet.engine.loop import WITH_RESUME, Outcome, TrainingLoop
from readlet.engine.processes import in_main, is_main_process, make_accelerator
from readlet.engine.weight_selection import BEST, Evaluator, Scores
from readlet.errors import FailedTrainingError, bad_input, memory_reported
from readlet.evaluation.significance import difference_p
from readlet.evaluation.task import Scored, Task
from readlet.inference.reader import Reader
from readlet.inference.trained_model import TrainedModel, default_batch_size
from readlet.models.family import ClassFamily, SpanFamily, TrainableFamily, TrainableScorer
from readlet.models.kinds import kind_named, trainable_family
from readlet.models.recipe_files import recipe_of
from readlet.processes import own_command
from readlet.recipe.recipe import (
    Recipe,
    RecipeField,
    changed_fields,
    fields_with,
    fields_without_effect,
)
from readlet.storage.files import atomic_text
from readlet.storage.sections import (
    OnlyInTraining,
    PartOfNetwork,
    SourceEncoder,
    SourceFile,
    SourceReader,
)
from readlet.training.cross_validation import (
    CrossValidated,
    cross_validate,
    is_cross_validated,
    whole,
)
from readlet.training.objective import (
    Objective,
    TaskEvaluator,
    mix_in,
    module_of,
    weights_of,
)
from readlet.training.question_answering import SpanEvaluator, SpanObjective
from readlet.training.run_folder import (
    NOTES,
    check_data,
    check_run_folder,
    claimed_folder,
    is_finished,
)
from readlet.training.training_data import (
    RecentData,
    TrainingData,
    data_files,
    prepare,
    read_split,
)


def objective_of(recipe: Recipe, start: TrainedModel | None) -> Objective:
    """The objective of a recipe, and of the model that training starts from."""
    family = trainable_family(recipe.model.kind)
    if isinstance(family, ClassFamily):
        from readlet.inference.classifier import Classifier
        from readlet.training.classification import ClassObjective

        assert start is None or isinstance(start, Classifier)
        return ClassObjective(recipe, family, start)
    assert isinstance(family, SpanFamily)
    assert start is None or isinstance(start, Reader)
    return SpanObjective(recipe, family, start)


@dataclass(frozen=True)
class Trained:
    """A trained model and its predictions on dev, as its task scores them."""

    model: TrainedModel
    examples: Sequence[Any]
    predictions: Sequence[Any]
    task: Task


Watch = Callable[[float, Scores], None]
"""Called with the epoch and the scores of every evaluation; an exception ends the training."""


def train_reader(recipe: Recipe, folder: str | Path, *, resume: bool = False) -> TrainedModel:
    """Train, calibrate on the held-out items, score on dev, and save the reader or classifier.

    With `resume` an interrupted run of the same recipe continues.

    >>> from readlet import load_recipe
    >>> recipe = load_recipe("tiny", ["training.epochs=1", "data.share=0.05"])
    >>> reader = train_reader(recipe, "runs/tiny")
    >>> sorted(reader.metrics["dev"])[:2]
    ['HasAns_exact', 'HasAns_f1']
    """
    folder = Path(folder)
    data_files(recipe)
    in_main(make_accelerator(), lambda: check_run_folder(recipe, folder, resume=resume))
    if resume and is_finished(folder, lambda: load_start(recipe)[1]):
        say(f"{folder}: is finished; nothing to resume")
        return _load(folder, recipe)
    model = train(recipe, folder, resume=resume).model
    if is_main_process():
        if getattr(recipe.training, "stored", "") == "int8":
            model = _written_small(model, folder)
        else:
            model.write(folder)
        remove_checkpoints(folder)
        (folder / BEST).unlink(missing_ok=True)
    make_accelerator().wait_for_everyone()
    return model


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


def _load(name: str | Path, recipe: Recipe) -> TrainedModel:
    if kind_named(recipe.model.kind).task == "spans":
        return Reader.load(name, device="cpu")
    from readlet.inference.classifier import Classifier

    return Classifier.load(name, device="cpu")


def train(
    recipe: Recipe,
    folder: Path,
    *,
    resume: bool,
    recent: RecentData | None = None,
    watch: Watch | None = None,
    how_to_resume: str = WITH_RESUME,
    saves_last: bool = True,
) -> Trained:
    """Train, calibrate and score. The folder gets checkpoints and the log; no model is saved.

    With `saves_last` the last step has a checkpoint too.
    """
    began = time.perf_counter()
    recent = RecentData() if recent is None else recent
    start, recipe = load_start(recipe)
    family, settings = trainable_family(recipe.model.kind), recipe.training
    family.check_recipe(recipe)
    split = None if recent.find(recipe) else read_split(recipe)
    accelerator = make_accelerator()
    device = accelerator.device
    objective = objective_of(recipe, start)
    objective.load_teachers()
    _warn_of_seen_fold(recipe, start)
    with (
        claimed_folder(recipe, folder, accelerator, resume=resume),
        memory_reported("lower training.batch_size", FailedTrainingError),
    ):
        if crosses := is_cross_validated(recipe, start, split, accelerator):
            assert split is not None
            data = prepare(recipe, start, whole(split))
        else:
            is_compiled = _compile_while_encoding(
                family, recipe, accelerator, start, prepares=split is not None
            )
            with accelerator.main_process_first():  # the others find what it has cached
                data = recent.find(recipe) or recent.add(recipe, prepare(recipe, start, split))
        check_data(recipe, data.key, folder, resume=resume)
        scorer = build_scorer(recipe, data, start)
        if accelerator.is_main_process:
            _report_notes(objective, data, scorer, folder)
            _report_idle(recipe)
            objective.report(data, scorer)
        evaluator = objective.evaluator(data, scorer, default_batch_size(device.type))
        if crosses:
            assert isinstance(objective, SpanObjective)
            assert isinstance(evaluator, SpanEvaluator)
            assert split is not None
            crossed = cross_validate(recipe, objective, split, evaluator, folder, accelerator)
            outcome = Outcome(crossed.steps, 0, float(crossed.epoch), float(crossed.epoch))
            return _finish(recipe, data, evaluator, outcome, start, crossed)
        initial = weights_of(start, scorer) if start is not None else {}
        if is_compiled:
            family.compile(scorer)
        learner = objective.learner(data, scorer, device)
        rows = data.train.rows
        size = _rows_per_batch(settings.batch_size, len(rows), accelerator.num_processes)
        batches = scorer.batches(rows, size, seed=settings.seed)
        loop = TrainingLoop(
            learner,
            batches,
            settings,
            folder,
            _watched(evaluator, watch),
            accelerator,
            began,
            how_to_resume,
            scorer.groups(settings),
            saves_last=saves_last,
        )
        if resume:
            loop.resume()
        outcome = loop.run()
        mix_in(scorer.module, initial, settings.start_share)
        return _finish(recipe, data, evaluator, outcome, start)


def build_scorer(
    recipe: Recipe, data: TrainingData, start: TrainedModel | None = None
) -> TrainableScorer:
    """The model to train: with random weights, drawn from the seed, or those of a start."""
    torch.manual_seed(recipe.training.seed)
    return objective_of(recipe, start).build(data)


def _compile_while_encoding(
    family: TrainableFamily,
    recipe: Recipe,
    accelerator: Accelerator,
    start: TrainedModel | None,
    *,
    prepares: bool,
) -> bool:
    """On a GPU, compile while another process encodes the data. Returns whether it compiled."""
    if accelerator.device.type != "cuda":
        return False
    encodes = prepares and accelerator.is_main_process
    with encoding_in_background(recipe) if encodes else nullcontext():
        of_start = None if start is None else start.scorer
        return family.compile_ahead(recipe, accelerator.device, of_start)


def _rows_per_batch(wanted: int, rows: int, processes: int) -> int:
    """Rows of a batch of all processes. Batches are filled up, so not more than there are rows."""
    return min(wanted, -(-rows // processes)) * processes


def _watched(evaluator: TaskEvaluator, watch: Watch | None) -> Evaluator:
    def evaluate(epoch: float) -> Scores:
        scores = evaluator()
        if watch is not None:
            watch(epoch, scores)
        return scores

    return Evaluator(evaluate, evaluator.task.decisive, evaluator.task.progress)


def _finish(
    recipe: Recipe,
    data: TrainingData,
    evaluator: TaskEvaluator,
    outcome: Outcome,
    start: TrainedModel | None,
    crossed: CrossValidated | None = None,
) -> Trained:
    """Calibrate the trained model on the held-out items, and score it on dev."""
    task, examples = evaluator.task, data.dev.examples
    if crossed is None:
        fitted = evaluator.fitted(data.held_out)
    else:
        assert isinstance(evaluator, SpanEvaluator)
        fitted = crossed.fitted(evaluator, has_dev=bool(recipe.data.dev))
    if fitted.fault and is_main_process():
        remedy = "raise data.held_out, or name a file in data.calibration"
        if recipe.data.calibration:
            remedy = f"add {task.noun} to data.calibration"
        say(f"{fitted.fault}; {remedy}")
    scored = task.score(examples, fitted.predictions)
    own = f"the {task.noun} themselves, cross-validated" if crossed else f"the held-out {task.noun}"
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


def _warn_of_seen_fold(recipe: Recipe, start: TrainedModel | None) -> None:
    """With folds, a part of the contexts must be new to the reader, and to its start."""
    own = (recipe.data.folds, recipe.data.fold)
    if start is None or not recipe.data.folds:
        return
    before = recipe_of(start.recipe).data
    if (before.folds, before.fold) != own:
        fault = f"the start reader was not trained without part {recipe.data.fold}"
        warnings.warn(f"data.fold: {fault}, so the new one knows it", stacklevel=2)


def _report_idle(recipe: Recipe) -> None:
    for field, reason in fields_without_effect(recipe):
        warnings.warn(f"{field} does nothing: {reason}", stacklevel=2)


def _report_notes(
    objective: Objective, data: TrainingData, scorer: TrainableScorer, folder: Path
) -> None:
    """Every changed or skipped item is counted on the screen and listed in a file."""
    notes = objective.notes(data, scorer)
    with atomic_text(folder / NOTES) as stream:
        json.dump(notes, stream, ensure_ascii=False, indent=1)
    for reason, ids in notes.items():
        say(f"{len(ids):,} × {reason}")


# --- the model that training starts from ----------------------------------------------------------


def load_start(recipe: Recipe) -> tuple[TrainedModel | None, Recipe]:
    """The model that training starts from, and the recipe with its network.

    Fields of the network that the recipe does not set are those of the start; a field that is set
    must have the same value.
    """
    name = recipe.training.start
    if not name:
        return None, recipe
    start = _load(name, recipe)  # on the CPU: training moves it
    before = recipe_of(start.recipe)
    recipe = _with_network_of(before, recipe)
    refuse_other_network(before, recipe)
    if not hasattr(start.scorer, "module"):
        fault = "that reader cannot be trained"
        raise bad_input(recipe.training.start, "training.start", fault, "give another reader")
    return start, recipe


def _with_network_of(start: Recipe, recipe: Recipe) -> Recipe:
    if start.model.kind != recipe.model.kind:
        return recipe
    for field in _network(recipe):
        section = getattr(recipe, field.section)
        if field.name not in section.model_fields_set:
            taken = {field.name: getattr(getattr(start, field.section), field.name)}
            recipe = recipe.model_copy(update={field.section: section.model_copy(update=taken)})
    return recipe


def _network(recipe: Recipe) -> list[RecipeField]:
    """The fields that define the network of a reader, not how it is trained."""
    # Files of initial weights have no effect: those of the start reader are used.
    others = fields_with(recipe, OnlyInTraining, SourceFile, SourceReader, SourceEncoder)
    return [field for field in fields_with(recipe, PartOfNetwork) if field not in others]


def refuse_other_network(start: Recipe, recipe: Recipe) -> None:
    """Raise an error if the recipe defines another network than that of the start reader."""
    network = {field.path for field in _network(recipe)}
    changed = changed_fields(start.model_dump(mode="json"), recipe)
    other = [field for field in changed if field in network]
    if other:
        fault = f"that reader has another {', '.join(other)}"
        remedy = "set the same values in the recipe"
        raise bad_input(recipe.training.start, "training.start", fault, remedy)


def scores_before(
    start: TrainedModel, evaluator: TaskEvaluator, data: TrainingData, after: Scored
) -> dict[str, float]:
    """The scores of the start on dev, and the p-value of the difference to them.

    It is calibrated on the same items.
    """
    start.scorer.move_to(str(make_accelerator().device))
    task, same = evaluator.task, evaluator.of_start(start)
    before = task.score(data.dev.examples, same.fitted(data.held_out).predictions)
    start.scorer.move_to("cpu")
    p = difference_p(task.metric(task.decisive), after.items, before.items)
    return {name: before.summary[name] for name in task.headline} | {f"{task.decisive}_p": p}


@contextmanager
def encoding_in_background(recipe: Recipe) -> Iterator[None]:
    """Another process encodes the data into the cache; wait for it at the end.

    On a GPU this one compiles meanwhile: both take half a minute of one core. If the
    helper fails, `prepare` does the work itself and reports the error.
    """
    command, null = own_command("readlet.training.train"), subprocess.DEVNULL
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=null, stderr=null) as helper:
        try:
            with suppress(BrokenPipeError):  # it has died already
                helper.stdin.write(recipe.model_dump_json().encode())  # type: ignore[union-attr]
                helper.stdin.close()  # type: ignore[union-attr]
            yield
        except BaseException:
            helper.kill()
            raise


def _main() -> None:
    """Encode the data of the recipe on standard input."""
    from readlet.models.recipe_files import parse_recipe

    start, recipe = load_start(parse_recipe(json.load(sys.stdin), "standard input"))
    prepare(recipe, start)


if __name__ == "__main__":
    _main()
