"""From a recipe to a trained reader: what `readlet train` calls."""

import json
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from readlet.encoding.rows import LONG_QUESTION, Rows
from readlet.errors import FailedTrainingError, memory_reported
from readlet.families import trainable_family
from readlet.families.family import TrainableFamily, TrainableScorer
from readlet.fitting.background import encoding_in_background
from readlet.fitting.run_folder import NOTES, check_data, check_run_folder, claimed_folder
from readlet.fitting.spans import SpanEvaluator, raw_refusals, unfitted
from readlet.fitting.starting import (
    copy_weights,
    keeps_refusals,
    load_start,
    mix_in,
    scores_before,
    weights_of,
)
from readlet.fitting.teaching import ask_teachers, count_untaught
from readlet.fitting.training_data import RecentData, TrainingData, data_files, prepare, read_split
from readlet.machine import memory_bytes
from readlet.metrics.refusals import refusal_area
from readlet.metrics.span_task import SPANS
from readlet.metrics.task import Task
from readlet.models.span_loss import Teacher
from readlet.reading.calibration import UNCALIBRATED
from readlet.reading.reader import Reader, default_batch_size
from readlet.recipe.recipe import Recipe, fields_without_effect
from readlet.storage.files import atomic_text
from readlet.terminal import say
from readlet.training.loop import WITH_RESUME, Outcome, TrainingLoop
from readlet.training.precision import check_precision
from readlet.training.processes import in_main, is_main_process, make_accelerator
from readlet.training.weight_selection import Evaluator, Scores
from readlet.types import Example, Prediction

# The fewest with which docs/results/finetune.md measured a gain.
_FEW_QUESTIONS = 50


@dataclass(frozen=True)
class Trained:
    """A trained reader and its predictions on dev."""

    reader: Reader
    examples: Sequence[Example]
    predictions: Sequence[Prediction]
    task: Task = SPANS


Watch = Callable[[float, Scores], None]
"""Called with the epoch and the scores of every evaluation; an exception ends the training."""


def train_reader(recipe: Recipe, folder: Path, *, resume: bool) -> Reader:
    """Train, calibrate on the held-out questions, score on dev, and save the reader."""
    data_files(recipe)
    in_main(make_accelerator(), lambda: check_run_folder(recipe, folder, resume=resume))
    reader = train(recipe, folder, resume=resume).reader
    if is_main_process():
        reader.write(folder)
    make_accelerator().wait_for_everyone()
    return reader


def train(
    recipe: Recipe,
    folder: Path,
    *,
    resume: bool,
    recent: RecentData | None = None,
    watch: Watch | None = None,
    how_to_resume: str = WITH_RESUME,
) -> Trained:
    """Train, calibrate and score. The folder gets checkpoints and the log; no reader is saved."""
    began = time.perf_counter()
    recent = RecentData() if recent is None else recent
    start, recipe = load_start(recipe)
    family, settings = trainable_family(recipe.model.kind), recipe.training
    family.check_recipe(recipe)
    questions = None if recent.find(recipe) else read_split(recipe)
    accelerator = make_accelerator()
    device = accelerator.device
    teachers = [Reader.load(name, device="cpu") for name in settings.teacher]  # errors come early
    check_precision(settings.precision, device)
    with (
        claimed_folder(recipe, folder, accelerator, resume=resume),
        memory_reported("lower training.batch_size", FailedTrainingError),
    ):
        is_compiled = _compile_while_encoding(
            family, recipe, accelerator, start, prepares=questions is not None
        )
        with accelerator.main_process_first():  # the others find what it has cached
            data = recent.find(recipe) or recent.add(recipe, prepare(recipe, start, questions))
        check_data(recipe, data.key, folder, resume=resume)
        scorer = build_scorer(recipe, data, start)
        initial = weights_of(start, scorer) if start is not None else {}
        if is_compiled:
            family.compile(scorer)
        if accelerator.is_main_process:
            if start is not None:
                _report_few(data)
            _report_notes(recipe, data, folder, can_refuse=scorer.can_refuse)
            _report_idle(recipe)
            family.check(recipe, data.train.rows, can_refuse=scorer.can_refuse)
        taught = _taught(recipe, data, teachers, scorer, device) if teachers else None
        rows = data.train.rows
        size = _rows_per_batch(settings.batch_size, len(rows), accelerator.num_processes)
        if device.type == "cpu":
            _refuse_larger_than_memory(size, family.least_bytes(recipe, _longest(rows)))
        learner = scorer.learner(rows, settings.label_smoothing, taught)
        batches = scorer.batches(rows, size, seed=settings.seed)
        eval_batch_size = default_batch_size(device.type)
        evaluator = SpanEvaluator(
            scorer,
            eval_batch_size,
            data.dev,
            settings.track_softmax,
            UNCALIBRATED if start is None else start.calibration,
            keeps_refusals=start is not None and keeps_refusals(recipe, start),
        )
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
        )
        if resume:
            loop.resume()
        outcome = loop.run()
        mix_in(scorer.module, initial, settings.start_share)
        return _finish(recipe, data, evaluator, outcome, start)


def build_scorer(
    recipe: Recipe, data: TrainingData, start: Reader | None = None
) -> TrainableScorer:
    """The model to train: with random weights, drawn from the seed, or those of a start reader."""
    family = trainable_family(recipe.model.kind)
    refuses = data.has_impossible or (start is not None and start.scorer.can_refuse)
    can_refuse = family.can_refuse(recipe) and refuses
    torch.manual_seed(recipe.training.seed)
    scorer = family.build(recipe, data.encoder, can_refuse=can_refuse)
    if start is not None:
        copy_weights(start, scorer)
    return scorer


def _taught(
    recipe: Recipe,
    data: TrainingData,
    teachers: Sequence[Reader],
    scorer: TrainableScorer,
    device: torch.device,
) -> Teacher:
    taught = ask_teachers(
        teachers,
        data.train.examples,
        data.train.rows,
        recipe.training.teacher_share,
        temperature=recipe.training.teacher_temperature,
        can_refuse=scorer.can_refuse,
        device=str(device),
    )
    untaught = count_untaught(taught, data.train.rows, can_refuse=scorer.can_refuse)
    if untaught and is_main_process():
        say(f"{untaught:,} × training question without a teacher: only its label is learned")
    return taught


def _compile_while_encoding(
    family: TrainableFamily,
    recipe: Recipe,
    accelerator: Accelerator,
    start: Reader | None,
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


def _longest(rows: Rows) -> int:
    return int(rows.row_window[:, 1].max(initial=0))


def _refuse_larger_than_memory(rows: int, bytes_of_row: int) -> None:
    """Refuse what cannot work. Linux would grant the memory, and kill the process when it is used.

    A GPU has no such promises: there the allocation itself fails.
    """
    has, least = memory_bytes(), rows * bytes_of_row
    if has is not None and least > has:
        fault = f"a batch of {rows:,} rows takes {least >> 30:,} GiB or more"
        remedy = f"this machine has {has >> 30:,}; lower training.batch_size"
        raise FailedTrainingError(f"{fault}; {remedy}")


def _watched(evaluator: SpanEvaluator, watch: Watch | None) -> Evaluator:
    def evaluate(epoch: float) -> Scores:
        scores = evaluator()
        if watch is not None:
            watch(epoch, scores)
        return scores

    return Evaluator(evaluate, SPANS.decisive, SPANS.progress)


def _finish(
    recipe: Recipe,
    data: TrainingData,
    evaluator: SpanEvaluator,
    outcome: Outcome,
    start: Reader | None,
) -> Trained:
    """Calibrate the trained model on the held-out questions, and score it on dev."""
    fitted, predictions = evaluator.calibrated(data.held_out)
    wants_refusals = evaluator.scorer.can_refuse and not evaluator.keeps_refusals
    fault = unfitted(fitted, evaluator.calibration, wants_refusals=wants_refusals)
    if fault and is_main_process():
        kept = "" if start is None else ", that of the start reader is kept"
        remedy = "raise data.held_out, or name a file in data.calibration"
        if recipe.data.calibration:
            remedy = "add questions to data.calibration"
        say(f"{fault}{kept}; {remedy}")
    scored = SPANS.score(data.dev.examples, predictions)
    metrics: dict[str, Any] = {
        "dev_source": recipe.data.dev or recipe.data.calibration or "the held-out questions",
        "dev": scored.summary,
        "steps": outcome.steps,
        "rollbacks": outcome.rollbacks,
    }
    if evaluator.scorer.can_refuse:
        raw = SPANS.score(data.dev.examples, raw_refusals(fitted, predictions)).summary
        metrics["dev_raw"] = {name: raw[name] for name in SPANS.headline}
        has_answer = [bool(example.answers) for example in data.dev.examples]
        area = refusal_area([p.no_answer for p in predictions], has_answer)
        if area is not None:
            metrics["refusal_area"] = area
    notice = ""
    if start is not None:
        metrics["start"] = scores_before(start, evaluator, data, scored)
        metrics["keeps_refusals"] = evaluator.keeps_refusals
        # Its encoder and its licence belong to its weights.
        family = trainable_family(recipe.model.kind)
        recipe, notice = family.with_encoder_of(recipe, start.recipe), start.notice
    reader = Reader(evaluator.scorer, recipe, fitted, metrics, notice)
    return Trained(reader, data.dev.examples, predictions)


def _report_few(data: TrainingData) -> None:
    own = len(data.train.examples) - data.replayed
    if own < _FEW_QUESTIONS:
        fault = f"{own:,} training questions may be too few to teach a reader anything"
        say(f"readlet: {fault}; give {_FEW_QUESTIONS} or more")


def _report_idle(recipe: Recipe) -> None:
    for field, reason in fields_without_effect(recipe):
        warnings.warn(f"{field} does nothing: {reason}", stacklevel=2)


def _report_notes(recipe: Recipe, data: TrainingData, folder: Path, *, can_refuse: bool) -> None:
    """Every changed or skipped example is counted on the screen and listed in a file (law 7)."""
    notes = dict(data.train.rows.notes)
    if data.has_impossible and not can_refuse:
        impossible = [example.id for example in data.train.examples if not example.answers]
        notes["question without an answer: left out, as model.null_answer is false"] = impossible
    others = {"dev": data.dev.rows}
    if data.held_out.rows is not data.dev.rows:
        others["calibration"] = data.held_out.rows
    for part, rows in others.items():  # not trained on: notes on answers do not matter
        if ids := rows.notes.get(LONG_QUESTION):
            notes[f"{part}: {LONG_QUESTION}"] = ids
    with atomic_text(folder / NOTES) as stream:
        json.dump(notes, stream, ensure_ascii=False, indent=1)
    for reason, ids in notes.items():
        say(f"{len(ids):,} × {reason}")
