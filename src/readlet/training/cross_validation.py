"""Fine-tuning on few questions, cross-validated.

Few questions cannot be spared for a held-out part. So they are divided, and for each part a reader
is trained on the others, all from the same start. What these readers make of the questions that
they have not seen says how many epochs help, fits the calibration, and is the score that is
reported. The finished reader has the mean of their weights: trained briefly from one start, they
can be averaged, and the mean is no worse than one reader of all questions (Wortsman et al. 2022).
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from readlet.console import say
from readlet.engine.loop import Evaluator, Outcome, Scores, Track, TrainingLog, TrainingLoop
from readlet.evaluation.squad import SPANS
from readlet.evaluation.task import Scored
from readlet.inference.decoding import Predictor
from readlet.inference.fit_calibration import Adaptation, adapt
from readlet.inference.inputs import DEFAULTS, AnswerOptions
from readlet.inference.reader import Reader
from readlet.recipe.recipe import Recipe
from readlet.training.question_answering import SpanEvaluator, SpanObjective
from readlet.training.run_folder import PART
from readlet.training.training_data import Fitted, SplitItems, prepare
from readlet.training.warm_start import mix_in, weights_of
from readlet.types import Example, Prediction

FEW = 200
"""Questions: with so many, a part of them is held out instead."""


def is_cross_validated(
    recipe: Recipe, start: Any, split: SplitItems, accelerator: Accelerator
) -> bool:
    """Whether a reader is fine-tuned on so few questions that none can be spared."""
    if not isinstance(start, Reader) or not start.scorer.can_abstain:
        return False
    own = _own(split)
    given = recipe.data.calibration or accelerator.num_processes > 1
    contexts = {example.context for example in own}
    return not given and len(own) < FEW and len(contexts) > 1


def _own(split: SplitItems) -> list[Example]:
    """All questions but those of `data.replay`."""
    return [*split.train[: len(split.train) - split.replayed], *split.held_out]


def whole(split: SplitItems) -> SplitItems:
    """All questions to train on; they are held out in turn."""
    own = _own(split)
    dev = split.dev if split.files.dev else own
    replayed = split.train[len(split.train) - split.replayed :]
    return split._replace(train=[*own, *replayed], held_out=own, dev=dev)


def divided(examples: Sequence[Example], parts: int, seed: int) -> list[list[Example]]:
    """The questions of a context stay together; parts are of about the same size."""
    counts = Counter(example.context for example in examples)
    drawn = np.random.default_rng(seed).permutation(sorted(counts)).tolist()
    sizes, part_of = [0] * min(parts, len(counts)), {}
    for context in sorted(drawn, key=lambda context: -counts[context]):  # stable
        smallest = sizes.index(min(sizes))
        part_of[context] = smallest
        sizes[smallest] += counts[context]
    return [[e for e in examples if part_of[e.context] == part] for part in range(len(sizes))]


@dataclass
class Epoch:
    """What the readers of all parts are after so many epochs; epoch 0 is the start."""

    predictions: dict[str, Prediction] = field(default_factory=dict)  # with its calibration, by id
    weights: dict[str, Tensor] = field(default_factory=dict)  # their sum


def cross_validate(
    recipe: Recipe,
    objective: SpanObjective,
    split: SplitItems,
    evaluator: SpanEvaluator,
    folder: Path,
    accelerator: Accelerator,
    track: Track | None = None,
) -> tuple[Outcome, Fitted]:
    """Train the readers of the parts. The evaluator's gets their mean weights at the best epoch.

    It is fitted with the predictions of the readers that had not seen the question.
    """
    start, own, scorer = objective.start, _own(split), evaluator.scorer
    assert start is not None
    epochs = [Epoch() for _ in range(recipe.training.epochs + 1)]
    own_rows = scorer.encoder.encode(own)
    predictor = Predictor(scorer, start.calibration, options=AnswerOptions(n_best=1))
    scorer.module.to(accelerator.device)
    for example, prediction in zip(own, predictor.predict(own, own_rows), strict=True):
        epochs[0].predictions[example.id] = prediction
    parts, steps = divided(own, recipe.data.cross_validation, recipe.training.seed), 0
    for number, part in enumerate(parts, 1):
        say(f"part {number} of {len(parts)}: {len(part):,} of {len(own):,} questions held out")
        steps += _train_without(part, epochs, recipe, objective, split, folder, accelerator)
    tried = [_scored(own, epoch, start) for epoch in epochs]
    best = max(range(len(tried)), key=lambda epoch: tried[epoch][2].summary[SPANS.decisive])
    log = TrainingLog(folder, track)
    for number, (_, _, result) in enumerate(tried):
        place = {"step": number * steps // len(tried), "epoch": float(number), "seconds": 0.0}
        log.add(place | result.summary)
        kept = "  <- kept" if number == best else ""
        say(f"after epoch {number}: {SPANS.progress(result.summary)}{kept}")
    if best:
        with torch.no_grad():
            for name, weight in scorer.module.named_parameters():
                weight.copy_(epochs[best].weights[name] / len(parts))
    adaptation, predictions, _ = tried[best]
    calibration = adaptation.calibration
    if recipe.data.dev:
        calibrated = replace(evaluator.predictor, calibration=calibration)
        predictions = calibrated.predict(evaluator.dev.examples, evaluator.dev.rows)
    more = evaluator.no_answer(calibration, predictions)
    outcome = Outcome(steps, rollbacks=0, kept=float(best), best=float(best))
    return outcome, Fitted(calibration, predictions, more, fault="")


def _train_without(
    part: Sequence[Example],
    epochs: list[Epoch],
    recipe: Recipe,
    objective: SpanObjective,
    split: SplitItems,
    folder: Path,
    accelerator: Accelerator,
) -> int:
    """Train a reader on the other questions and note each epoch; returns its steps."""
    start = objective.start
    assert start is not None
    apart = {example.id for example in part}
    others = [example for example in whole(split).train if example.id not in apart]
    held = [*part]
    data = prepare(recipe, start, split._replace(train=others, held_out=held, dev=held))
    scorer = objective.build(data)
    initial = weights_of(start, scorer)
    predictor = Predictor(scorer, start.calibration, options=AnswerOptions(n_best=1))

    def note(epoch: float) -> Scores:
        with _mixed(scorer.module, initial, recipe.training.start_share):
            predictions = predictor.predict(held, data.held_out.rows)
            noted = epochs[round(epoch)]
            noted.predictions |= {e.id: p for e, p in zip(held, predictions, strict=True)}
            for name, weight in scorer.module.named_parameters():
                own = weight.detach().to("cpu", copy=True)
                noted.weights[name] = noted.weights[name] + own if name in noted.weights else own
        return SPANS.score(held, predictions).summary

    shutil.rmtree(folder / PART, ignore_errors=True)  # of an interrupted run
    settings = recipe.training.model_copy(update={"evaluate_every": 1.0, "patience": 0})
    size = min(settings.batch_size, len(data.train.rows))
    loop = TrainingLoop(
        objective.learner(data, scorer, accelerator.device),
        scorer.batches(data.train.rows, size, seed=settings.seed),
        settings,
        folder / PART,
        Evaluator(note, SPANS.decisive, SPANS.progress),
        accelerator,
        groups=scorer.groups(settings),
        saves_last=False,
    )
    (folder / PART).mkdir()
    steps = loop.run().steps
    shutil.rmtree(folder / PART)
    return steps


@contextmanager
def _mixed(module: nn.Module, before: dict[str, Tensor], share: float) -> Iterator[None]:
    """Inside the `with`, the module has its weights mixed with those of the start."""
    own = {name: weight.detach().clone() for name, weight in module.named_parameters()}
    mix_in(module, before, share)
    try:
        yield
    finally:
        with torch.no_grad():
            for name, weight in module.named_parameters():
                weight.copy_(own[name])


def _scored(
    own: Sequence[Example], epoch: Epoch, start: Reader
) -> tuple[Adaptation, list[Prediction], Scored]:
    found = [epoch.predictions[example.id] for example in own]
    adaptation = adapt(start.calibration, own, found)
    predictions = [adaptation.of(prediction, DEFAULTS.level) for prediction in found]
    return adaptation, predictions, SPANS.score(own, predictions)
