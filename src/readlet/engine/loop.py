"""The training loop. It can be stopped at any time; a resumed run gives the same weights."""

import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from torch import nn

from readlet.console import ProgressBar
from readlet.engine.checkpoint import (
    Checkpoint,
    Guard,
    Progress,
    TrainingState,
    find_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from readlet.engine.optimiser import (
    Average,
    MixedPrecision,
    ParameterGroup,
    learning_rate,
    make_optimizer,
    one_group,
)
from readlet.engine.processes import in_main, memory_mib, stop_signals
from readlet.engine.step import (
    Batch,
    BatchPlan,
    BatchSource,
    EagerStep,
    GraphStep,
    LossMeter,
    Rows,
    Shape,
    can_be_captured,
)
from readlet.errors import FailedTrainingError
from readlet.recipe.recipe import Training
from readlet.storage.files import atomic_text, written_to
from readlet.storage.stored_files import HOW_TO_RESUME, detached, save_tensors

LOG, BEST = "log.jsonl", "best.safetensors"
Scores = dict[str, float]
Track = Callable[[dict[str, Any]], None]
"""Gets every record of the log."""


class TrainingLog:
    """A line of JSON for every check of the loss and every evaluation.

    A resumed run writes the lines of later steps again.
    """

    def __init__(self, folder: Path, track: Track | None = None) -> None:
        self._path = folder / LOG
        self._track = track

    def add(self, values: dict[str, Any]) -> None:
        if self._track is not None:
            self._track(values)
        line = json.dumps(values)
        with written_to(self._path), self._path.open("a") as stream:
            stream.write(line + "\n")

    def cut_after(self, step: int) -> None:
        """Remove the lines of later steps: these will run again and write new lines."""
        if not self._path.exists():
            return
        lines = self._path.read_text().splitlines(keepends=True)
        kept = [line for line in lines if _step_of(line) <= step]
        if kept != lines:
            with atomic_text(self._path) as stream:  # a kill must not lose the curve
                stream.writelines(kept)


def _step_of(line: str) -> int:
    """An incomplete line, after a crash, counts as too late."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError):
        return sys.maxsize


@dataclass(frozen=True)
class Evaluator:
    """How the current weights are scored. The engine does not know the metrics."""

    scores: Callable[[float], Scores]  # called with the epoch
    decisive: str  # the score that decides which evaluation is best: higher is better
    summary: Callable[[Scores], str]  # the scores as text for the user


@dataclass(frozen=True)
class Outcome:
    """A finished run; the module has the averaged weights."""

    steps: int
    rollbacks: int
    kept: float  # the epoch whose weights these are
    best: float  # the epoch of the best evaluation


class TrainingLoop:
    """Runs `module(batch) -> loss` over the epochs. Evaluates the averaged weights.

    With patience, it saves the best weights and may stop early.
    """

    def __init__(
        self,
        module: nn.Module,
        batches: BatchSource,
        settings: Training,
        folder: Path,
        evaluator: Evaluator,
        accelerator: Accelerator,
        began: float | None = None,  # on the clock of time.perf_counter
        groups: list[ParameterGroup] | None = None,  # None: one group of parameters
        *,
        saves_last: bool = True,  # a checkpoint at the end, so that resuming repeats nothing
        track: Track | None = None,
    ) -> None:
        self._saves_last = saves_last
        self._evaluator = evaluator
        self._clock = time.perf_counter() if began is None else began
        self.settings = settings
        self.batches = batches
        self.folder = folder
        self.log = TrainingLog(folder, track)
        self.accelerator = accelerator
        device = accelerator.device
        module.to(device)
        parameters = {n: p for n, p in module.named_parameters() if p.requires_grad}
        self._groups = one_group(parameters.values()) if groups is None else groups
        self.optimizer = make_optimizer(self._groups, settings)
        self.average = Average(parameters, settings.ema)
        self.precision = MixedPrecision(settings.precision, device)
        self.module = module
        self.state = TrainingState(
            parameters, self.optimizer, self.average.shadow, self.precision.scaler
        )
        self.take_step = self._make_step()
        self._plan = BatchPlan(batches, settings.accumulate)
        self.steps_per_epoch = self._plan.steps_per_epoch
        self.total_steps = self.steps_per_epoch * settings.epochs
        self._evaluate_every = max(1, round(settings.evaluate_every * self.steps_per_epoch))
        self._begin(Progress(), self.state.tensors())

    def _begin(self, progress: Progress, good: dict[str, torch.Tensor]) -> None:
        self.progress = progress
        self.guard = Guard(self.settings, self.batches.guessing, progress, good)
        self.window = LossMeter(self.accelerator.device, progress)

    def _make_step(self) -> EagerStep:
        """A CUDA graph where possible: on one GPU, with one batch per step, of most models."""
        module = self.accelerator.prepare_model(self.module)
        rates = [group.rate for group in self._groups]
        parts = (module, self.optimizer, self.average, self.precision, self.settings.clip, rates)
        alone = self.accelerator.num_processes == 1 and self.settings.accumulate == 1
        if self.accelerator.device.type == "cuda" and alone and can_be_captured(self.module):
            return GraphStep(*parts, self.state)
        return EagerStep(*parts)

    def resume(self) -> None:
        """Continue from the newest checkpoint, if there is one."""
        path = find_checkpoint(self.folder)
        if path is not None:
            checkpoint = load_checkpoint(path, self.state.tensors())
            self.state.restore(checkpoint.tensors)
            self._begin(checkpoint.progress, checkpoint.good or checkpoint.tensors)
        if self.accelerator.is_main_process:
            self.log.cut_after(self.progress.step)

    def run(self) -> Outcome:
        """Train to the end; afterwards the module has the averaged weights."""
        self.warm_up()
        self.window.start()
        with stop_signals() as stopped, self._bar() as bar:
            while not self._is_finished():
                self.window.add(*self.advance())
                if self._is_due(self.settings.log_every):
                    self._check(bar)
                with self.window.paused():
                    if self._is_due(self._evaluate_every):
                        self._evaluate(bar)
                    is_halted = self._is_halted(stopped)
                    is_regular = self._is_checkpoint_due(self.settings.checkpoint_every)
                    if is_regular or is_halted:
                        self._save(is_regular=is_regular)
                if is_halted:
                    step = self.progress.step
                    raise KeyboardInterrupt(f"stopped at step {step}; {HOW_TO_RESUME}")
        self._keep_weights()
        self.accelerator.wait_for_everyone()  # the first to continue may remove the folder
        last, best = (
            round(step / self.steps_per_epoch, 2)
            for step in (self.progress.step, self.progress.best_step)
        )
        kept = best if self.settings.patience else last
        return Outcome(self.progress.step, self.progress.rollbacks, kept, best)

    def _keep_weights(self) -> None:
        """The averaged weights; with patience, those of the best evaluation."""
        patience = self.settings.patience
        kept = load_file(self.folder / BEST) if patience else self.average.weights()
        with torch.no_grad():
            for name, parameter in self.module.named_parameters():
                if name in kept:
                    parameter.copy_(kept[name])

    def warm_up(self) -> None:
        """Prepare the step for every shape of batch, so that no later step is slow."""
        for shape, rows in self._plan.one_of_each_shape():
            self.take_step.prepare(self._batch(shape, rows))

    def advance(self) -> tuple[torch.Tensor, int]:
        """Take one step. Returns the loss, still on the device, and the number of examples."""
        step = self.progress.step + 1
        self.module.train()
        listed = self._plan.of_step(step)
        batches = [self._batch(shape, rows) for shape, rows in listed]
        for batch in batches:
            self.take_step.prepare(batch)
        # Every step seeds the generator with its number: no generator state has to be saved.
        # After the preparation, which draws random numbers too.
        torch.manual_seed(_mix(self.settings.seed, step, self.accelerator.process_index))
        loss = self.take_step(batches, self._rate(step), step)
        self.progress.step = step
        return loss, sum(len(rows) for _, rows in listed)  # without filler rows

    def _rate(self, step: int) -> float:
        return learning_rate(self.settings, step, self.total_steps)

    def _batch(self, shape: Shape, rows: Rows) -> Batch:
        whole = self.batches.make(shape, rows)
        part = whole.part(self.accelerator.process_index, self.accelerator.num_processes)
        return part.to(self.accelerator.device)

    def _is_finished(self) -> bool:
        is_last = self.progress.step == self.total_steps
        patience = self.settings.patience
        return is_last or bool(patience and self.progress.evaluations_since_best >= patience)

    def _is_due(self, every: int) -> bool:
        """Whether this step is a multiple of `every`, or the last one."""
        return self.progress.step % every == 0 or self.progress.step == self.total_steps

    def _is_checkpoint_due(self, every: int) -> bool:
        return self._is_due(every) and (self._saves_last or self.progress.step % every == 0)

    def _is_halted(self, stopped: list[int]) -> bool:
        """Whether to stop now: all processes at the same step, or they would deadlock."""
        if self.accelerator.num_processes == 1:
            return bool(stopped)
        if self.progress.step % self.settings.log_every:  # communication takes time
            return False
        own = torch.tensor(float(bool(stopped)), device=self.accelerator.device)  # ()
        return float(self.accelerator.reduce(own, "sum")) > 0

    def _check(self, bar: ProgressBar) -> None:
        """Check the mean loss since the last check; roll back if it is bad."""
        loss, scaling = self._window_loss(), self._scaling()
        if self.guard.is_bad(loss):
            self._roll_back(loss, scaling, bar)
        else:
            self.guard.accept(loss)
            speed = self.window.examples / self.window.seconds()
            values = {
                "loss": loss,
                "learning_rate": self._rate(self.progress.step),
                "examples_per_second": speed,
                "memory_mib": memory_mib(self.accelerator.device),
            }
            self._log(values | scaling)
            bar.show(self.progress.step, f"loss {loss:.3f}, {speed:.0f} examples/s")
        self.progress.updates = self.state.updates()
        self.window.clear()

    def _roll_back(self, loss: float, scaling: dict[str, float], bar: ProgressBar) -> None:
        self.state.restore(self.guard.roll_back())
        mean = self.progress.mean_loss
        finite = loss if math.isfinite(loss) else None  # JSON has no NaN
        self._log({"rollback": True, "loss": finite, "mean_loss": mean} | scaling)
        expected = "" if mean is None else f", running mean {mean:.3f}"
        bar.say(
            f"step {self.progress.step}: loss {loss:.3f}{expected}: "
            "rolled back to the last good weights"
        )

    def _window_loss(self) -> float:
        """Mean loss since the last check, over all processes."""
        total = float(self.accelerator.reduce(self.window.total, "mean"))
        return total / max(self.window.steps, 1)

    def _scaling(self) -> dict[str, float]:
        """In float16: steps skipped by an overflow since the last check, and the loss scale.

        Every skipped step halves the scale.
        """
        if not self.precision.is_scaled:
            return {}
        made = self.state.updates() - self.progress.updates
        return {"skipped_steps": self.window.steps - made, "scale": self.precision.scale()}

    def _evaluate(self, bar: ProgressBar) -> None:
        """Score the averaged weights, in the main process."""
        if not self.accelerator.is_main_process:
            self._compare(0.0)
            return
        epoch = self.progress.step / self.steps_per_epoch
        self.module.eval()
        with self.average.applied(), torch.no_grad():
            scores = self._evaluator.scores(epoch)
        self._log(scores)
        bar.say(f"epoch {epoch:.1f}: {self._evaluator.summary(scores)}")
        self._compare(scores[self._evaluator.decisive])

    def _compare(self, own: float) -> None:
        """Record whether this score is the best so far, and save its weights."""
        decisive = torch.tensor(own, device=self.accelerator.device)  # ()
        score = float(self.accelerator.reduce(decisive, "sum"))  # only the main process has one
        if not math.isfinite(score):
            fault = f"evaluation gave {self._evaluator.decisive} {score}"
            raise FailedTrainingError(f"{fault}; lower training.learning_rate")
        progress = self.progress
        if progress.best_score is not None and score <= progress.best_score:
            progress.evaluations_since_best += 1
            return
        progress.best_score, progress.evaluations_since_best = score, 0
        progress.best_step = progress.step
        if self.settings.patience:
            best = self.folder / BEST
            in_main(self.accelerator, lambda: save_tensors(best, detached(self.average.weights())))

    def _save(self, *, is_regular: bool) -> None:
        """Save a checkpoint; not of a state that the next check would roll back."""
        if self.guard.is_bad(self._window_loss()):
            return
        here = Checkpoint(self.progress, self.state.tensors())
        if is_regular:
            self.guard.good = here.tensors
        else:
            here.good = self.guard.good
        self.progress.window_loss = float(self.accelerator.reduce(self.window.total, "mean"))
        self.progress.window_steps = self.window.steps
        self._seconds()
        in_main(self.accelerator, lambda: save_checkpoint(self.folder, here))

    def _log(self, values: dict[str, Any]) -> None:
        if self.accelerator.is_main_process:
            place = {
                "step": self.progress.step,
                "epoch": round(self.progress.step / self.steps_per_epoch, 4),
                "seconds": round(self._seconds(), 1),
            }
            self.log.add(place | values)

    def _seconds(self) -> float:
        """The duration of the run so far; time while it was stopped does not count."""
        now = time.perf_counter()
        self.progress.seconds += now - self._clock
        self._clock = now
        return self.progress.seconds

    def _bar(self) -> ProgressBar:
        shown = self.accelerator.is_main_process
        return ProgressBar("training", self.total_steps, self.progress.step, shown=shown)


def _mix(seed: int, step: int, process: int) -> int:
    """A seed for every step of every process."""
    return (seed * 1_000_003 + step) * 1_009 + process
