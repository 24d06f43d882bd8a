"""The log of a training in a tracker."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.engine import tracking
from readlet.errors import InputError, ReadletError
from readlet.models.recipe_files import load_recipe
from readlet.training.train import train_reader


def test_tensorboard_has_the_numbers_of_the_log(small_training: list[str], tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="pip install tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    changes = ["training.epochs=2", "training.batch_size=16", "training.log_every=3"]
    changes += ["training.evaluate_every=1"]
    recipe = load_recipe("tiny", [*small_training, *changes])
    train_reader(recipe, tmp_path / "run", track="tensorboard")
    train_reader(recipe, tmp_path / "run", resume=True)  # the files are its own
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    for name in ("train/loss", "train/learning_rate", "dev/f1", "dev/HasAns_exact"):
        part, _, key = name.partition("/")
        own = [line for line in lines if ("loss" in line) == (part == "train")]
        assert len(own) > 1
        found = [(event.step, event.value) for event in events.Scalars(name)]
        assert found == [(line["step"], pytest.approx(line[key])) for line in own]


def test_a_missing_library_is_reported_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "find_spec", lambda _: None)
    for name in ("wandb", "notepad"):
        with pytest.raises(InputError) as caught:
            train_reader(load_recipe("tiny"), tmp_path / "run", track=name)
        assert (caught.value.source, caught.value.place) == ("--track", name)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", tracking.TRACKERS)
def test_every_tracker_gets_the_recipe_and_is_closed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the constructor of accelerate's class, and nothing behind it."""
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS

    calls: list[Any] = []

    def noted(of: str) -> Callable[..., None]:
        return lambda _, *given, **named: calls.append((of, *given, *named.values()))

    kind = LOGGER_TYPE_TO_CLASS[name]
    for method in ("start", "store_init_configuration", "log", "finish"):
        monkeypatch.setattr(kind, method, noted(method))
    with tracking.tracked(name, load_recipe("tiny"), tmp_path) as log:
        log({"step": 3, "epoch": 0.5, "seconds": 1, "loss": None, "rollback": True})
    started, stored, logged, finished = calls
    assert stored[1]["training.epochs"] == 20
    assert logged[1:] == ({"train/rollback": 1.0}, 3)
    assert (started, finished) == (("start",), ("finish",))

    def fail(_: object) -> None:
        raise ValueError("no key\nfor the service")

    monkeypatch.setattr(kind, "start", fail)
    with (
        pytest.raises(ReadletError, match=f"--track {name}: no key for the service"),
        tracking.tracked(name, load_recipe("tiny"), tmp_path),
    ):
        pass
