"""From a recipe to a reader's folder: what `readlet train` calls."""

import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator

from readlet.encoding.batches import Batches, FormTables, shapes
from readlet.encoding.features import LONG_QUESTION, Features
from readlet.errors import FailedTrainingError
from readlet.fitting.background import preparing_aside
from readlet.fitting.run_folder import check_data, claimed_folder
from readlet.fitting.starting import load_start, mix_in
from readlet.fitting.teaching import ask_teacher
from readlet.fitting.training_data import Corpora, Corpus, prepare, read_parts
from readlet.metrics.squad import rules_of, score_questions, summary
from readlet.models.qacnn import QACNN
from readlet.models.span_loss import SpanLoss
from readlet.nn.norm_loss import highest_confidence, warn_of_bound
from readlet.nn.softmax_tracker import tracked_softmax
from readlet.reading.calibration import Calibration
from readlet.reading.fit_calibration import TOO_FEW, TOO_FEW_OF_A_KIND, calibrate
from readlet.reading.predictor import Predictor
from readlet.reading.reader import Reader
from readlet.recipe.recipe import Recipe, Training, idle_fields, norm_gamma
from readlet.storage.files import atomic_text
from readlet.training.loop import (
    WITH_RESUME,
    Exam,
    Outcome,
    Scores,
    TrainingLoop,
)
from readlet.training.precision import MixedPrecision, check_precision
from readlet.training.processes import is_main_process, make_accelerator
from readlet.types import Example, Prediction


@dataclass(frozen=True)
class Trained:
    """A trained reader and what it says to the dev questions."""

    reader: Reader
    examples: Sequence[Example]
    said: Sequence[Prediction]


Watch = Callable[[float, Scores], None]
"""Called with the epoch and the scores of every evaluation; what it raises ends the training."""


def train_reader(recipe: Recipe, folder: Path, *, resume: bool) -> Reader:
    """Train, calibrate on the held-out questions, score on dev, and save the reader."""
    reader = train(recipe, folder, resume=resume).reader
    if is_main_process():
        reader.save(folder)
    make_accelerator().wait_for_everyone()
    return reader


def train(
    recipe: Recipe,
    folder: Path,
    *,
    resume: bool,
    corpora: Corpora | None = None,
    watch: Watch | None = None,
    how_to_resume: str = WITH_RESUME,
) -> Trained:
    """Train, calibrate and score. The folder gets checkpoints and the log; no reader is saved."""
    began = time.perf_counter()
    corpora = Corpora() if corpora is None else corpora
    parts = None if corpora.find(recipe) else read_parts(recipe)
    start = load_start(recipe)
    teacher = Reader.load(recipe.training.teacher) if recipe.training.teacher else None
    accelerator = make_accelerator()
    check_precision(recipe.training.precision, accelerator.device)
    with claimed_folder(recipe, folder, accelerator, resume=resume), _full_memory_told():
        is_compiled = _compile_meanwhile(recipe, accelerator, prepares=parts is not None)
        with accelerator.main_process_first():  # the others find what it has cached
            corpus = corpora.find(recipe) or corpora.add(recipe, prepare(recipe, start, parts))
        check_data(recipe, corpus, folder, resume=resume)
        model = build_model(recipe, corpus) if start is None else start.model
        weights = model.named_parameters() if start is not None else ()
        began_with = {name: weight.detach().clone() for name, weight in weights}
        if is_compiled:
            model.compile_blocks()
        null = recipe.model.null_answer and corpus.has_impossible
        if accelerator.is_main_process:
            _tell_notes(recipe, corpus, folder)
            _tell_idle(recipe)
            _tell_bound(recipe, corpus, null=null)
        module = _make_module(recipe, corpus, model, teacher, accelerator.device, null=null)
        batches = _make_batches(recipe, corpus, accelerator.num_processes, null=null)
        size = 256 if accelerator.device.type == "cuda" else 32
        predictor = Predictor(model, recipe.data, null, Calibration(), batch_size=size, n_best=1)
        settings = recipe.training
        exam = _make_exam(predictor, corpus, settings, watch)
        loop = TrainingLoop(
            module, batches, settings, folder, exam, accelerator, began, how_to_resume
        )
        if resume:
            loop.resume()
        outcome = loop.run()
        mix_in(model, began_with, settings.start_share)
        return _finish(recipe, corpus, predictor, outcome, start)


@contextmanager
def _full_memory_told() -> Iterator[None]:
    try:
        yield
    except torch.OutOfMemoryError:
        fault = "the GPU's memory is full"
        raise FailedTrainingError(f"{fault}; lower training.batch_size") from None


def _compile_meanwhile(recipe: Recipe, accelerator: Accelerator, *, prepares: bool) -> bool:
    """On a GPU, compile while another process encodes the data; whether that went well."""
    if accelerator.device.type != "cuda":
        return False
    aside = prepares and accelerator.is_main_process
    with preparing_aside(recipe) if aside else nullcontext():
        return compile_ahead(recipe, accelerator.device)


def _make_module(
    recipe: Recipe,
    corpus: Corpus,
    model: QACNN,
    teacher: Reader | None,
    device: torch.device,
    *,
    null: bool,
) -> SpanLoss:
    taught = None
    if teacher is not None:
        known, examples = corpus.vocabulary, corpus.train_examples
        taught = ask_teacher(teacher, recipe, known, examples, corpus.train, device)
    smoothing = recipe.training.label_smoothing
    return SpanLoss(model, FormTables(corpus.train), smoothing, taught, null=null)


def _make_exam(
    predictor: Predictor, corpus: Corpus, settings: Training, watch: Watch | None
) -> Exam:
    def evaluate(epoch: float) -> Scores:
        scores = score(corpus.dev_examples, predictor.predict(corpus.dev_examples, corpus.dev))
        if settings.track_softmax:
            scores |= _softmax_statistics(predictor, corpus.dev)
        if watch is not None:
            watch(epoch, scores)
        return scores

    return Exam(evaluate, "f1", lambda scores: f"EM {scores['exact']:.2f}, F1 {scores['f1']:.2f}")


def _finish(
    recipe: Recipe, corpus: Corpus, predictor: Predictor, outcome: Outcome, start: Reader | None
) -> Trained:
    """Calibrate the trained model on the held-out questions, and score it on dev."""
    fitted = calibrate(predictor, corpus.held_out_examples, corpus.held_out)
    if is_main_process():
        _tell_unfitted(fitted, null=predictor.null)
    said = replace(predictor, calibration=fitted).predict(corpus.dev_examples, corpus.dev)
    metrics: dict[str, Any] = {
        "dev_source": recipe.data.dev or "the held-out questions",
        "dev": score(corpus.dev_examples, said),
        "steps": outcome.steps,
        "rollbacks": outcome.rollbacks,
    }
    model, null = predictor.model.cpu(), predictor.null
    reader = Reader(model, corpus.vocabulary, recipe, fitted, null, metrics)
    if start is not None:  # its words and its licence go with its weights
        recipe = recipe.model_copy(update={"words": start.recipe.words})
        reader = replace(reader, recipe=recipe, notice=start.notice)
    return Trained(reader, corpus.dev_examples, said)


def _make_batches(recipe: Recipe, corpus: Corpus, processes: int, *, null: bool) -> Batches:
    listed = shapes(recipe.data.max_context, recipe.data.max_question, null=null)
    size = recipe.training.batch_size * processes
    return Batches(corpus.train, listed, size, null=null, seed=recipe.training.seed)


def _softmax_statistics(predictor: Predictor, features: Features) -> Scores:
    """Variance and entropy of every softmax of attention, for one batch of questions."""
    few = replace(predictor, batch_size=32)  # all scores of every head are held at once
    with tracked_softmax(predictor.model) as tracked:
        next(few.scores(features, only_fullest=True))
    return {
        f"softmax.{number:02d}.{found.layer}.{name}": value
        for number, found in enumerate(tracked)
        for name, value in (("variance", found.variance), ("entropy", found.entropy))
    }


def build_model(recipe: Recipe, corpus: Corpus) -> QACNN:
    torch.manual_seed(recipe.training.seed)
    known = corpus.vocabulary
    return QACNN(recipe, corpus.frozen, known.trainable_rows, known.character_count)


def compile_ahead(recipe: Recipe, device: torch.device) -> bool:
    """Compile the blocks' programs with random numbers; the blocks that are trained find them.

    False where this torch cannot, for want of a C compiler, say: training goes on without.
    """
    from torch._dynamo.exc import TorchDynamoException  # two seconds, which a CPU need not wait

    model = QACNN(recipe, torch.zeros(1, 1), 1, 1).to(device)
    model.compile_blocks()
    precision = MixedPrecision(recipe.training.precision, device)
    keep = torch.ones(recipe.training.batch_size, 160, dtype=torch.bool, device=device)  # (B, L)
    try:
        for block in (model.encoder, model.blocks[0]):
            with precision.autocast():
                x = torch.randn(*keep.shape, recipe.model.width, device=device)  # (B, L, D)
                out = block(x.requires_grad_(), keep)  # (B, L, D)
            out.sum().backward()
    except TorchDynamoException as error:
        cause = str(getattr(error, "inner_exception", error)).strip()
        reason = cause.splitlines()[0] if cause else type(error).__name__
        warnings.warn(f"training without compiled programs: slower ({reason})", stacklevel=2)
        return False
    return True


def score(examples: Sequence[Example], said: Sequence[Prediction]) -> Scores:
    """Official exact match and F1; 2.0 rules if any question is impossible."""
    answers = {e.id: p.text for e, p in zip(examples, said, strict=True)}
    return summary(score_questions(examples, answers, rules_of(examples)))


def _tell_unfitted(fitted: Calibration, *, null: bool) -> None:
    remedy = "raise data.held_out, or name a file in data.calibration"
    if not fitted.questions:
        print(f"calibration not fitted: {TOO_FEW}; {remedy}", file=sys.stderr)
    elif null and not fitted.has_fitted_refusals:
        print(f"refusals not fitted: {TOO_FEW_OF_A_KIND}; {remedy}", file=sys.stderr)


def _tell_idle(recipe: Recipe) -> None:
    for field, reason in idle_fields(recipe):
        warnings.warn(f"{field} does nothing: {reason}", stacklevel=2)


def _tell_bound(recipe: Recipe, corpus: Corpus, *, null: bool) -> None:
    """NormSoftmax in the loss: the fewer the words of a window, the less sure it can be."""
    if norm_gamma(recipe.loss, recipe.model.width) == math.inf:
        lengths = np.unique(corpus.train.row_window[:, 1])
        places = [int(length) + null for length in lengths if length > 0]
        least_sure = min(places, key=highest_confidence, default=1)
        warn_of_bound(least_sure, "places, a short window,", "loss.gamma")


def _tell_notes(recipe: Recipe, corpus: Corpus, folder: Path) -> None:
    """Law 7: what was not taken as it stands is counted on the screen and listed in a file."""
    notes = dict(corpus.train.notes)
    if corpus.has_impossible and not recipe.model.null_answer:
        impossible = [example.id for example in corpus.train_examples if not example.answers]
        notes["question without an answer: left out, as model.null_answer is false"] = impossible
    asked = {"dev": corpus.dev}
    if corpus.held_out is not corpus.dev:
        asked["calibration"] = corpus.held_out
    for part, features in asked.items():  # nothing is learned from them: answers may be anywhere
        if ids := features.notes.get(LONG_QUESTION):
            notes[f"{part}: {LONG_QUESTION}"] = ids
    with atomic_text(folder / "notes.json") as stream:
        json.dump(notes, stream, ensure_ascii=False, indent=1)
    for what, ids in notes.items():
        print(f"{len(ids):,} × {what}", file=sys.stderr)
