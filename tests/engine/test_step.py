"""The captured step against the eager one: the same weights, to rounding."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from readlet.engine.checkpoint import TrainingState
from readlet.engine.optimiser import Average, MixedPrecision, make_optimizer, one_group
from readlet.engine.step import EagerStep, GraphStep, tensors_of

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="a captured step needs a GPU")

DEVICE = torch.device("cuda")
SETTINGS = [
    # A captured step draws other random numbers than an eager one: there must be none.
    *("model.dropout=0", "model.character_dropout=0", "model.last_survival=1"),
    # Larger than the rounding error of a gradient near zero, which Adam would make a full step.
    "training.epsilon=0.01",
]
# Every step has another rate: a captured step that kept the first rate would be noticed.
RATES = [0.01, 0.003, 0.02, 0.005, 0.01, 0.002, 0.01, 0.004]
# Tolerance, relative to the change of the state in training. Sums in another order
# change the last digit; where products round to 8 or 11 bits, that grows to hundredths.
TOLERANCE = {"float32": 0.01, "float16": 0.05, "bfloat16": 0.1}
KINDS = ("weight.", "average.", "exp_avg.", "exp_avg_sq.")


@dataclass
class Run:
    """A module with its optimiser, and a step of either kind."""

    step: EagerStep
    state: TrainingState
    batches: list[Any]
    losses: list[Tensor]

    def rescale(self, scale: float) -> None:
        """Set the loss scale; it has an effect in float16 only."""
        self.state.restore(self.state.tensors() | {"scale": torch.tensor(scale)})

    def advance(self, first: int, last: int) -> None:
        """Take the steps from `first` up to `last`, counted from 1."""
        for number in range(first, last + 1):
            batch = self.batches[number - 1]
            self.step.prepare(batch)
            self.losses.append(self.step([batch], RATES[number - 1], number))


def sizes(batch: Any) -> tuple[torch.Size, ...]:
    return tuple(tensor.shape for tensor in tensors_of(batch).values())


def two_sizes(source: Any) -> list[Any]:
    """As many batches as steps: the fourth is the first of another size."""
    made = [source.make(*listed).to(DEVICE) for listed in source.epoch(0)]
    common = [batch for batch in made if sizes(batch) == sizes(made[0])]
    other = [batch for batch in made if sizes(batch) != sizes(made[0])]
    assert len(common) >= 3
    assert other
    order = [common[0], common[1], common[2], other[0], common[0], other[-1], common[1], other[0]]
    assert len(order) == len(RATES)
    return order


@pytest.fixture
def make_run(make_parts: Callable[..., Any]) -> Callable[..., Run]:
    def make(*, captured: bool, precision: str, taught: bool = False) -> Run:
        settings, module, source = make_parts(*SETTINGS, taught=taught)
        module.to(DEVICE).train()
        parameters = {n: p for n, p in module.named_parameters() if p.requires_grad}
        optimizer = make_optimizer(one_group(parameters.values()), settings)
        average = Average(parameters, 0.9)
        mixed = MixedPrecision(precision, DEVICE)  # type: ignore[arg-type]
        state = TrainingState(parameters, optimizer, average.shadow, mixed.scaler)
        parts = (module, optimizer, average, mixed, settings.clip, (1.0,))
        step = GraphStep(*parts, state) if captured else EagerStep(*parts)
        run = Run(step, state, two_sizes(source), [])
        run.rescale(2.0**8)  # far from overflow, where rounding decides what is skipped
        return run

    return make


def assert_same(found: Run, wanted: Run, beginning: dict[str, Tensor], precision: str) -> None:
    tolerance = TOLERANCE[precision]
    losses, expected = torch.stack(found.losses), torch.stack(wanted.losses)  # (steps,)
    torch.testing.assert_close(losses, expected, rtol=tolerance, atol=tolerance)
    here, there = found.state.tensors(), wanted.state.tensors()
    assert here.keys() == there.keys() == beginning.keys()
    assert here["adam_steps"] == there["adam_steps"]
    for kind in KINDS:
        names = [name for name in here if name.startswith(kind)]
        assert names
        apart = torch.cat([(here[name] - there[name]).flatten() for name in names]).norm()
        way = torch.cat([(there[name] - beginning[name]).flatten() for name in names]).norm()
        assert way > 0
        assert apart <= tolerance * way, f"{kind}: {apart / way:.2g} of the way"


@pytest.mark.parametrize("taught", [False, True])
@pytest.mark.parametrize("precision", list(TOLERANCE))
def test_equals_the_eager_step(make_run: Callable[..., Run], precision: str, taught: bool) -> None:
    """With a batch size that first occurs, and is captured, in the middle of training."""
    graph = make_run(captured=True, precision=precision, taught=taught)
    plain = make_run(captured=False, precision=precision, taught=taught)
    beginning = plain.state.tensors()
    for run in (graph, plain):
        run.advance(1, len(RATES))
    assert int(graph.state.updates()) == len(RATES)
    assert_same(graph, plain, beginning, precision)


@pytest.mark.parametrize("precision", list(TOLERANCE))
def test_after_a_rollback(make_run: Callable[..., Run], precision: str) -> None:
    """Captured steps continue from the restored weights, also with a size captured before."""
    graph = make_run(captured=True, precision=precision)
    plain = make_run(captured=False, precision=precision)
    beginning = plain.state.tensors()
    for run in (graph, plain):
        run.advance(1, 2)
        good = run.state.tensors()
        run.advance(3, 5)
        run.state.restore(good)
        restored = run.state.tensors()
        assert all(torch.equal(tensor, good[name]) for name, tensor in restored.items())
        run.advance(3, len(RATES))
    assert_same(graph, plain, beginning, precision)


def test_repeats_itself_after_a_rollback(make_run: Callable[..., Run]) -> None:
    run = make_run(captured=True, precision="float32")
    run.advance(1, 2)
    good = run.state.tensors()
    run.advance(3, 5)
    run.state.restore(good)
    run.advance(3, 5)
    first, again = torch.stack(run.losses[2:5]), torch.stack(run.losses[5:])  # (3,)
    torch.testing.assert_close(again, first, rtol=1e-4, atol=1e-4)


def test_capturing_leaves_no_trace(make_run: Callable[..., Run]) -> None:
    run = make_run(captured=True, precision="float32")
    before = run.state.tensors()
    for batch in run.batches:
        run.step.prepare(batch)
    after = run.state.tensors()
    assert all(torch.equal(tensor, before[name]) for name, tensor in after.items())


def test_an_overflow_skips_a_captured_step(make_run: Callable[..., Run]) -> None:
    run = make_run(captured=True, precision="float16")
    run.rescale(2.0**40)
    before = run.state.tensors()
    run.advance(1, 2)
    after = run.state.tensors()
    assert run.state.updates() == 0
    assert float(after["scale"]) == 2.0**38
    kept = [name for name in before if name.startswith(("weight.", "exp_avg"))]
    assert all(torch.equal(after[name], before[name]) for name in kept)
    run.rescale(2.0**8)
    run.advance(3, 5)
    assert run.state.updates() == 3
    assert float(run.state.tensors()["scale"]) == 2.0**8
