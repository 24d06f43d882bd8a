"""The losses and scores of a training, sent to the tracker that a team uses (by accelerate)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from readlet.errors import ReadletError, bad_input
from readlet.recipe.recipe import Recipe, fields_of

TRACKERS = ("tensorboard", "wandb", "mlflow", "trackio")
EVENTS = "tensorboard"
"""Folder of TensorBoard's files in the folder of a run."""
_PROJECT = "readlet"
_PLACE = ("step", "epoch", "seconds")


class Tracker:
    """A run in a tracker; it gets the records of the log."""

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker

    def log(self, record: Mapping[str, Any]) -> None:
        """A record with a loss is of training, one without is an evaluation."""
        part = "train" if "loss" in record else "dev"
        values = {
            f"{part}/{name}": float(value)
            for name, value in record.items()
            if name not in _PLACE and value is not None
        }
        self._tracker.log(values, step=record["step"])


def check_tracker(name: str) -> None:
    """An error if there is no such tracker, or its library is missing."""
    if name not in TRACKERS:
        raise bad_input("--track", name, "no such tracker", f"give {', '.join(TRACKERS)}")
    if find_spec(name) is None:
        raise bad_input("--track", name, "is not installed", f"pip install {name}")


@contextmanager
def tracked(name: str, recipe: Recipe, folder: Path) -> Iterator[Tracker]:
    """A run of this folder's name, with the fields of the recipe. Call it in the main process."""
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS

    place: dict[str, Any] = {"run_name" if name == "mlflow" else "name": folder.name}
    if name == "tensorboard":
        place = {"logging_dir": folder}
    fields = {field.path: field.value for field in fields_of(recipe)}
    plain = (bool, int, float, str)
    project = EVENTS if name == "tensorboard" else _PROJECT
    try:
        tracker = LOGGER_TYPE_TO_CLASS[name](project, **place)
        tracker.start()
        tracker.store_init_configuration(
            {path: v if isinstance(v, plain) else str(v) for path, v in fields.items()}
        )
    except Exception as error:  # of any kind: every library has its own
        reason = " ".join(str(error).split())
        raise ReadletError(f"--track {name}: {reason}; set it up, or leave --track out") from error
    try:
        yield Tracker(tracker)
    finally:
        tracker.finish()
