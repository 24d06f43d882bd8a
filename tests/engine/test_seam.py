"""The engine works with any module that turns batches of tensors into a loss."""

import ast
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import readlet.engine
from readlet.engine.loop import Evaluator, TrainingLoop
from readlet.engine.processes import make_accelerator
from readlet.engine.step import BatchPlan
from readlet.recipe.recipe import Training

ROOMS_TO_THE_LEFT = ("storage", "recipe", "engine")


@dataclass(frozen=True)
class Points:
    x: Tensor  # (B, 1)
    y: Tensor  # (B, 1)

    def to(self, device: torch.device) -> "Points":
        return replace(self, x=self.x.to(device), y=self.y.to(device))

    def part(self, index: int, parts: int) -> "Points":
        return replace(self, x=self.x[index::parts], y=self.y[index::parts])


class Line:
    """Points of y = 3x - 1, five of them in two batches."""

    guessing = 20.0

    def epoch(self, number: int) -> list[tuple[int, list[float]]]:
        return [(3, [number / 9, 0.5, 1.0]), (2, [0.2, -1.0])]

    def make(self, shape: int, rows: list[float]) -> Points:
        x = torch.tensor(rows).unsqueeze(1)  # (B, 1)
        assert len(x) == shape
        return Points(x, 3 * x - 1)


class Squares(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(1, 1)

    def forward(self, batch: Points) -> Tensor:
        return (self.line(batch.x) - batch.y).square().mean()  # ()


def test_a_straight_line_is_learned(tmp_path: Path) -> None:
    module = Squares()
    settings = Training(epochs=60, learning_rate=0.1, warmup_steps=0, ema=0.5, l2=0.0)
    evaluator = Evaluator(lambda epoch: {"slope": module.line.weight.item()}, "slope", str)
    loop = TrainingLoop(module, Line(), settings, tmp_path, evaluator, make_accelerator())
    assert loop.run().steps == 120
    assert module.line.weight.item() == pytest.approx(3, abs=0.05)
    assert module.line.bias.item() == pytest.approx(-1, abs=0.05)


def test_the_batches_of_each_step() -> None:
    plan = BatchPlan(Line(), accumulate=1)
    assert plan.steps_per_epoch == 2
    assert [plan.of_step(step) for step in (1, 2, 3)] == [
        [(3, [0.0, 0.5, 1.0])],
        [(2, [0.2, -1.0])],
        [(3, [1 / 9, 0.5, 1.0])],
    ]
    together = BatchPlan(Line(), accumulate=3)
    assert together.steps_per_epoch == 1
    assert together.of_step(10) == Line().epoch(9)


def test_training_imports_no_room_that_knows_a_model() -> None:
    paths = sorted(Path(readlet.engine.__file__).parent.rglob("*.py"))
    assert paths
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("readlet."):
                room = str(node.module).split(".")[1]
                assert room in (*ROOMS_TO_THE_LEFT, "console", "errors", "processes", "types"), (
                    path.name
                )
