"""What may stand where a reader is asked for: a folder, `bundled`, or `baseline`."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from readlet.bundled import bundled_reader
from readlet.errors import bad_input
from readlet.storage.json_files import read_json
from readlet.types import N_BEST, Prediction

BUNDLED, BASELINE = "bundled", "baseline"
# Of readers whose config.json does not list them.
_FIRST_FILES = ("model.safetensors", "vocabulary.json")


class Answerer(Protocol):
    """What commands and pages need of a reader."""

    @property
    def name(self) -> str: ...

    @property
    def no_answer_threshold(self) -> float: ...

    def answer(self, question: str, context: str, n_best: int = N_BEST) -> Prediction: ...

    def answer_batch(
        self, pairs: Iterable[tuple[str, str]], n_best: int = N_BEST
    ) -> Iterator[Prediction]: ...


def reader_folder(name: str | Path) -> Path:
    """Where a reader lies: its folder, or that of the `bundled` one."""
    if name != BUNDLED:
        return Path(name)
    folder = bundled_reader()
    if folder is None:
        fault = "this copy of Readlet has no reader inside"
        remedy = f"name a reader's folder (one of this name: ./{BUNDLED}), or `{BASELINE}`"
        raise bad_input(BUNDLED, "", fault, remedy)
    return folder


def reader_files(name: str | Path) -> list[Path]:
    """The files that make a reader what it is: recipe, weights, vocabulary or tokenizer."""
    folder = reader_folder(name)
    config = read_json(folder / "config.json")
    return [folder / "config.json", *(folder / file for file in config.get("files", _FIRST_FILES))]


def warn_of_namesake(name: str) -> None:
    """A folder that happens to have the name is not taken for the reader."""
    if (Path(name) / "config.json").is_file():
        what = f"`{name}` is the reader that comes with Readlet"
        print(f"readlet: {what}; for the folder here write ./{name}", file=sys.stderr)
