"""The training loop: it can be stopped at any moment, and goes on as if it had not been."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from torch import nn

from readlet.encoding.batches import Batch, Batches, Shape
from readlet.encoding.features import Ints
from readlet.errors import FailedTrainingError, ReadletError
from readlet.progress import TrainingBar
from readlet.recipe.recipe import Training
from readlet.storage.tensors import detached, save_tensors
from readlet.training.average import Average
from readlet.training.checkpoint import (
    Checkpoint,
    Progress,
    find_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from readlet.training.guard import is_bad, running_mean
from readlet.training.log import TrainingLog, memory_mib
from readlet.training.loss_meter import LossMeter
from readlet.training.precision import MixedPrecision
from readlet.training.processes import in_main
from readlet.training.schedule import learning_rate
from readlet.training.signals import stop_signals
from readlet.training.state import TrainingState
from readlet.training.step import EagerStep, GraphStep, make_optimizer

_MAX_ROLLBACKS = 5
_BEST = "best.safetensors"

WITH_RESUME = "go on with --resume"  # what `readlet train` tells

Scores = dict[str, float]


@dataclass(frozen=True)
class Exam:
    """How weights are judged: what is measured is not the loop's to know."""

    scores: Callable[[float], Scores]  # asked at an epoch
    decisive: str  # the score by which one evaluation is better than another: the higher the better
    told: Callable[[Scores], str]  # what the user reads of them


@dataclass(frozen=True)
class Outcome:
    """What a finished run tells; the module holds the averaged weights."""

    steps: int
    rollbacks: int


class TrainingLoop:
    """Runs `module(batch) -> loss` over the epochs. The exam is of the averaged weights."""

    def __init__(
        self,
        module: nn.Module,
        batches: Batches,
        settings: Training,
        folder: Path,
        exam: Exam,
        accelerator: Accelerator,
        began: float | None = None,  # on the clock of time.perf_counter
        how_to_resume: str = WITH_RESUME,  # told to whoever stops it
    ) -> None:
        self._how_to_resume = how_to_resume
        self._clock = time.perf_counter() if began is None else began
        self.settings = settings
        self.batches = batches
        self.folder = folder
        self.log = TrainingLog(folder)
        self.exam = exam
        self.accelerator = accelerator
        device = accelerator.device
        module.to(device)
        parameters = {n: p for n, p in module.named_parameters() if p.requires_grad}
        self.optimizer = make_optimizer(list(parameters.values()), settings)
        self.average = Average(parameters, settings.ema)
        precision = MixedPrecision(settings.precision, device)
        self.module = module
        self.state = TrainingState(parameters, self.optimizer, self.average, precision.scaler)
        self.take_step = self._make_step(precision)
        self.progress = Progress()
        self._epochs: dict[int, list[tuple[Shape, Ints]]] = {}  # only the current epoch's
        per_epoch = len(batches.epoch(0))
        if not per_epoch:
            raise ReadletError("data.train: no answer that can be learned; name other files")
        self.steps_per_epoch = -(-per_epoch // settings.accumulate)
        self.total_steps = self.steps_per_epoch * settings.epochs

    def _make_step(self, precision: MixedPrecision) -> EagerStep:
        """Captured where that is possible: on a GPU of its own, a batch a step, no scaling."""
        module = self.accelerator.prepare_model(self.module)
        parts = (module, self.optimizer, self.average, precision, self.settings.clip)
        alone = self.accelerator.num_processes == 1 and self.settings.accumulate == 1
        if self.accelerator.device.type == "cuda" and alone and not precision.is_scaled:
            return GraphStep(*parts, self.state)
        return EagerStep(*parts)

    def resume(self) -> None:
        """Go on from the newest checkpoint, if there is one."""
        path = find_checkpoint(self.folder)
        if path is not None:
            checkpoint = load_checkpoint(path, self.state.tensors())
            self.state.restore(checkpoint.tensors)
            self.progress = checkpoint.progress
        if self.accelerator.is_main_process:
            self.log.cut_after(self.progress.step)

    def run(self) -> Outcome:
        """Train to the end; afterwards the module has the averaged weights."""
        good = self.state.tensors()
        window = LossMeter(self.accelerator.device, self.progress)
        every = max(1, round(self.settings.evaluate_every * self.steps_per_epoch))
        self.warm_up()
        with stop_signals() as stopped, self._bar() as bar:
            while self.progress.step < self.total_steps and not self._is_exhausted():
                window.add(*self.advance())
                step, last = self.progress.step, self.progress.step == self.total_steps
                if step % self.settings.log_every == 0 or last:
                    self._look(window, good, bar)
                with window.paused():
                    if step % every == 0 or last:
                        self._evaluate(bar)
                    halted = self._is_halted(stopped)
                    if step % self.settings.checkpoint_every == 0 or last or halted:
                        good = self._save(window, good)
                if halted:
                    bar.say(f"stopped at step {step}; {self._how_to_resume}")
                    raise KeyboardInterrupt
        self._keep_weights()
        self.accelerator.wait_for_everyone()  # the first to go on may remove the folder
        return Outcome(self.progress.step, self.progress.rollbacks)

    def _keep_weights(self) -> None:
        """The averaged weights; those of the best evaluation when training may stop early."""
        kept = self.average.shadow
        if self.settings.patience:
            kept = load_file(self.folder / _BEST)  # to the CPU: `copy_` brings it where it belongs
        with torch.no_grad():
            for name, parameter in self.module.named_parameters():
                if name in kept:
                    parameter.copy_(kept[name])

    def warm_up(self) -> None:
        """Prepare the step for every shape of batch, so that training then has an even pace."""
        for shape, rows in dict(self.batches.epoch(0)).items():
            self.take_step.prepare(self._batch(shape, rows))

    def advance(self) -> tuple[torch.Tensor, int]:
        """Take one step. The loss, still on the device, and the questions of all processes."""
        step = self.progress.step + 1
        self.module.train()
        listed = self._next_batches(step)
        batches = [self._batch(shape, rows) for shape, rows in listed]
        for batch in batches:
            self.take_step.prepare(batch)
        # Every step draws its own random numbers from its number: nothing to save, or to lose.
        # After the preparation, which draws some too.
        torch.manual_seed(_mix(self.settings.seed, step, self.accelerator.process_index))
        loss = self.take_step(batches, self._rate(step), step)
        self.progress.step = step
        return loss, sum(len(rows) for _, rows in listed)  # filler rows are no questions

    def _rate(self, step: int) -> float:
        return learning_rate(self.settings, step, self.total_steps)

    def _next_batches(self, step: int) -> list[tuple[Shape, Ints]]:
        epoch, position = divmod(step - 1, self.steps_per_epoch)
        if epoch not in self._epochs:
            self._epochs = {epoch: self.batches.epoch(epoch)}
        first = position * self.settings.accumulate
        return self._epochs[epoch][first : first + self.settings.accumulate]

    def _batch(self, shape: Shape, rows: Ints) -> Batch:
        whole = self.batches.make(shape, rows)
        part = whole.part(self.accelerator.process_index, self.accelerator.num_processes)
        return part.to(self.accelerator.device)

    def _is_exhausted(self) -> bool:
        patience = self.settings.patience
        return bool(patience) and self.progress.evaluations_since_best >= patience

    def _is_halted(self, stopped: list[int]) -> bool:
        """Whether to stop now: all processes at the same step, or they would wait for ever."""
        if self.accelerator.num_processes == 1:
            return bool(stopped)
        if self.progress.step % self.settings.log_every:  # asking the others takes time
            return False
        told = torch.tensor(float(bool(stopped)), device=self.accelerator.device)
        return float(self.accelerator.reduce(told, "sum")) > 0

    def _look(self, window: LossMeter, good: dict[str, Any], bar: TrainingBar) -> None:
        """Read the losses since the last look; roll back if something went wrong."""
        loss = self._loss_of(window)
        if self._is_bad(loss):
            self.progress.rollbacks += 1
            self.progress.rollbacks_in_a_row += 1
            if self._diverges():
                raise FailedTrainingError(
                    f"training diverges: {self.progress.rollbacks - 1} rollbacks; "
                    "lower training.learning_rate or raise training.warmup_steps"
                )
            self.state.restore(good)
            number = loss if math.isfinite(loss) else None  # JSON has no NaN
            self._log({"rollback": True, "loss": number, "mean_loss": self.progress.mean_loss})
            before = self.progress.mean_loss
            usual = "" if before is None else f", usually {before:.3f}"
            bar.say(
                f"step {self.progress.step}: loss {loss:.3f}{usual}: "
                "rolled back to the last good weights"
            )
        else:
            self.progress.rollbacks_in_a_row = 0
            self.progress.mean_loss = running_mean(self.progress.mean_loss, loss)
            speed = window.examples / window.seconds()
            self._log(
                {
                    "loss": loss,
                    "learning_rate": self._rate(self.progress.step),
                    "examples_per_second": speed,
                    "memory_mib": memory_mib(self.accelerator.device),
                }
            )
            bar.show(self.progress.step, f"loss {loss:.3f}, {speed:.0f} examples/s")
        window.clear()

    def _is_bad(self, loss: float) -> bool:
        guessing = 2 * math.log(max(shape.context for shape in self.batches.shapes))
        return is_bad(loss, self.progress.mean_loss, self.settings.spike, guessing)

    def _diverges(self) -> bool:
        """Rolled back again and again, in a row or at a third of all looks so far."""
        if self.progress.rollbacks_in_a_row > _MAX_ROLLBACKS:
            return True
        looks = -(-self.progress.step // self.settings.log_every)
        return self.progress.rollbacks > max(_MAX_ROLLBACKS, looks / 3)

    def _loss_of(self, window: LossMeter) -> float:
        """Mean loss of the window over all processes."""
        total = float(self.accelerator.reduce(window.total, "mean"))
        return total / max(window.steps, 1)

    def _evaluate(self, bar: TrainingBar) -> None:
        score = 0.0
        if self.accelerator.is_main_process:
            epoch = self.progress.step / self.steps_per_epoch
            self.module.eval()
            with self.average.applied(), torch.no_grad():
                scores = self.exam.scores(epoch)
            self._log(scores)
            bar.say(f"epoch {epoch:.1f}: {self.exam.told(scores)}")
            score = scores[self.exam.decisive]
        decisive = torch.tensor(score, device=self.accelerator.device)  # ()
        score = float(self.accelerator.reduce(decisive, "sum"))  # only the main process has one
        if not math.isfinite(score):
            remedy = "lower training.learning_rate"
            raise FailedTrainingError(f"evaluation gave {self.exam.decisive} {score}; {remedy}")
        best = self.progress.best_score
        improved = best is None or score > best
        if improved:
            self.progress.best_score = score
        self.progress.evaluations_since_best = (
            0 if improved else self.progress.evaluations_since_best + 1
        )
        if improved and self.settings.patience:
            in_main(self.accelerator, self._save_best)

    def _save_best(self) -> None:
        weights = detached(self.average.shadow)
        save_tensors(self.folder / _BEST, weights, how_to_resume=self._how_to_resume)

    def _save(self, window: LossMeter, good: dict[str, Any]) -> dict[str, Any]:
        """A checkpoint of here; not of a state that the next look will roll back."""
        loss = self._loss_of(window)
        if self._is_bad(loss):
            return good
        self.progress.window_loss = float(self.accelerator.reduce(window.total, "mean"))
        self.progress.window_steps = window.steps
        tensors = self.state.tensors()
        self._seconds()
        here = Checkpoint(self.progress, tensors)
        how = self._how_to_resume
        in_main(self.accelerator, lambda: save_checkpoint(self.folder, here, how_to_resume=how))
        return tensors

    def _log(self, values: dict[str, Any]) -> None:
        if self.accelerator.is_main_process:
            place = {
                "step": self.progress.step,
                "epoch": round(self.progress.step / self.steps_per_epoch, 4),
                "seconds": round(self._seconds(), 1),
            }
            self.log.add(place | values)

    def _seconds(self) -> float:
        """How long the run has taken; while it was stopped, no time passed."""
        now = time.perf_counter()
        self.progress.seconds += now - self._clock
        self._clock = now
        return self.progress.seconds

    @contextmanager
    def _bar(self) -> Iterator[TrainingBar]:
        shown = self.accelerator.is_main_process
        with TrainingBar(self.total_steps, self.progress.step, shown=shown) as bar:
            yield bar


def _mix(seed: int, step: int, process: int) -> int:
    """A seed for every step of every process."""
    return (seed * 1_000_003 + step) * 1_009 + process
