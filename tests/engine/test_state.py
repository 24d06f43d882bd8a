"""Everything that a step changes is in the state, and is restored to the bit."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from readlet.engine.loop import TrainingLoop

MakeLoop = Callable[..., TrainingLoop]


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    assert set(one) == set(other)
    return all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def advance(loop: TrainingLoop, steps: int) -> list[float]:
    return [float(loop.advance()[0]) for _ in range(steps)]


def test_restored_steps_repeat_themselves(make_loop: MakeLoop, tmp_path: Path) -> None:
    loop = make_loop(tmp_path)
    advance(loop, 3)
    at_three = loop.state.tensors()
    losses = advance(loop, 4)
    at_seven = loop.state.tensors()
    assert not same(at_three, at_seven)
    assert float(at_seven["adam_steps"]) == 7

    loop.state.restore(at_three)  # into a loop whose optimiser has a state already
    assert same(loop.state.tensors(), at_three)
    loop.progress.step = 3
    assert advance(loop, 4) == losses
    assert same(loop.state.tensors(), at_seven)

    fresh = make_loop(tmp_path, "training.seed=0")  # and into one without
    fresh.state.restore(at_three)
    fresh.progress.step = 3
    assert advance(fresh, 4) == losses
    assert same(fresh.state.tensors(), at_seven)


def test_state_before_the_first_step(make_loop: MakeLoop, tmp_path: Path) -> None:
    loop = make_loop(tmp_path)
    beginning = loop.state.tensors()
    losses = advance(loop, 3)
    loop.state.restore(beginning)
    loop.progress.step = 0
    assert advance(loop, 3) == losses


@pytest.mark.parametrize("part", ["weight.", "average.", "exp_avg.", "exp_avg_sq.", "adam_steps"])
def test_every_part_matters(make_loop: MakeLoop, tmp_path: Path, part: str) -> None:
    """Without one of the parts of the state, training would continue differently."""
    loop = make_loop(tmp_path)
    advance(loop, 3)
    at_three = loop.state.tensors()
    advance(loop, 2)
    at_five = loop.state.tensors()
    lacking = {n: torch.ones_like(t) if n.startswith(part) else t for n, t in at_three.items()}
    assert not same(lacking, at_three)
    loop.state.restore(lacking)
    loop.progress.step = 3
    advance(loop, 2)
    assert not same(loop.state.tensors(), at_five)
