"""The losses and scores of a training, sent to the tracker that a team uses (by accelerate)."""

from collections.abc import Callable, Iterator, Mapping
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


def check_tracker(name: str) -> None:
    """An error if there is no such tracker, or its library is missing."""
    if name not in TRACKERS:
        raise bad_input("--track", name, "no such tracker", f"give {', '.join(TRACKERS)}")
    if find_spec(name) is None:
        raise bad_input("--track", name, "is not installed", f"pip install {name}")


@contextmanager
def tracked(
    name: str, recipe: Recipe, folder: Path
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A run of this folder's name, with the fields of the recipe; it gets records of the log."""
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS

    place: dict[str, Any] = {"run_name" if name == "mlflow" else "name": folder.name}
    if name == "tensorboard":
        place = {"logging_dir": folder}
    plain = (bool, int, float, str)
    fields = {
        f.path: f.value if isinstance(f.value, plain) else str(f.value) for f in fields_of(recipe)
    }
    try:
        tracker = LOGGER_TYPE_TO_CLASS[name](
            EVENTS if "logging_dir" in place else _PROJECT, **place
        )
        tracker.start()
        tracker.store_init_configuration(fields)
    except Exception as error:  # of any kind: every library has its own
        reason = " ".join(str(error).split())
        raise ReadletError(f"--track {name}: {reason}; set it up, or leave --track out") from error

    def log(record: Mapping[str, Any]) -> None:
        part = "train" if "loss" in record else "dev"
        known = {n: v for n, v in record.items() if n not in _PLACE and v is not None}
        tracker.log({f"{part}/{n}": float(v) for n, v in known.items()}, step=record["step"])

    try:
        yield log
    finally:
        tracker.finish()
