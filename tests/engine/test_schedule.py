"""Learning rates against independently written formulas."""

import math

import pytest

from readlet.engine.optimiser import learning_rate
from readlet.recipe.recipe import Training

TOTAL = 400


def rates(total: int = TOTAL, **settings: object) -> list[float]:
    """The rate of every step, the first at index 1."""
    chosen = Training.model_validate(settings)
    return [math.nan, *(learning_rate(chosen, step, total) for step in range(1, total + 1))]


def test_log_warm_up_of_the_paper() -> None:
    found = rates(total=3000)
    for step in range(1, 3001):
        assert found[step] == pytest.approx(min(1e-3, 1e-3 * math.log(step + 1) / math.log(1000)))
    assert found[998] < found[999] == found[3000] == 1e-3  # full after 1000 steps, counted from 0


@pytest.mark.parametrize("warmup", [0, 1, 2])
def test_log_without_warm_up(warmup: int) -> None:
    found = rates(schedule="log", warmup_steps=warmup)
    assert all(0 < rate <= 1e-3 for rate in found[1:])
    assert found[2] == 1e-3


def test_linear() -> None:
    found = rates(schedule="linear", warmup_steps=100, learning_rate=0.5)
    for step in range(1, 101):
        assert found[step] == pytest.approx(0.5 * step / 100)
    for step in range(100, TOTAL + 1):
        assert found[step] == pytest.approx(0.5 * (TOTAL - step) / 300, abs=1e-12)


def test_cosine() -> None:
    found = rates(schedule="cosine", warmup_steps=100, learning_rate=0.5)
    for step in range(100, TOTAL + 1):
        # half-angle form of (1 + cos) / 2
        assert found[step] == pytest.approx(
            0.5 * math.cos(math.pi / 2 * (step - 100) / 300) ** 2, abs=1e-12
        )


def test_cosine_with_hard_restarts() -> None:
    found = rates(schedule="cosine", warmup_steps=100, restarts=2, learning_rate=0.5)
    for step in range(100, TOTAL):
        within = (step - 100) % 100  # three cycles of 100 steps
        assert found[step] == pytest.approx(
            0.5 * math.cos(math.pi / 2 * within / 100) ** 2, abs=1e-12
        )
    assert found[199] < 0.001 < found[200] == 0.5  # a hard restart
    assert found[299] < 0.001 < found[300] == 0.5


def test_constant() -> None:
    found = rates(schedule="constant", warmup_steps=4, learning_rate=0.5)
    assert found[1:6] == [0.125, 0.25, 0.375, 0.5, 0.5]
    assert set(found[5:]) == {0.5}


@pytest.mark.parametrize("schedule", ["constant", "log"])
def test_final_decay(schedule: str) -> None:
    settings = {"schedule": schedule, "warmup_steps": 4, "learning_rate": 0.5}
    flat, found = rates(**settings), rates(**settings, final_decay=0.25)
    assert found[1:301] == flat[1:301]
    for step in range(300, TOTAL + 1):
        assert found[step] == pytest.approx(0.5 * (TOTAL - step) / 100)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_decaying_schedules_ignore_the_final_decay(schedule: str) -> None:
    with pytest.raises(ValueError, match="final_decay needs a schedule"):
        rates(schedule=schedule, final_decay=0.1)


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine", "log"])
@pytest.mark.parametrize("warmup", [1, 10, 100])
def test_no_jump_at_the_end_of_the_warm_up(schedule: str, warmup: int) -> None:
    found = rates(schedule=schedule, warmup_steps=warmup, learning_rate=1.0)
    assert found[warmup] == pytest.approx(1.0, abs=0.37 if schedule == "log" else 1e-12)
    assert found[warmup + 1] == pytest.approx(1.0, abs=1 / (TOTAL - warmup) + 1e-12)
    assert max(found[1:]) <= 1.0


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
@pytest.mark.parametrize("restarts", [0, 3])
@pytest.mark.parametrize("warmup", [0, 7])
def test_zero_at_the_end(schedule: str, restarts: int, warmup: int) -> None:
    found = rates(schedule=schedule, restarts=restarts, warmup_steps=warmup)
    assert found[TOTAL] == pytest.approx(0.0, abs=1e-15)
    assert min(found[1:-1]) > 0


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine", "log"])
def test_warm_up_longer_than_the_training(schedule: str) -> None:
    found = rates(total=10, schedule=schedule, warmup_steps=50)
    assert found[1:] == sorted(found[1:])
    assert 0 < found[1] < found[10] < 1e-3
