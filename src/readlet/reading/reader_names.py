"""How readers are named: a folder, `bundled`, or `baseline`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from readlet.bundled import bundled_reader
from readlet.errors import bad_input
from readlet.reading.asked import Asked
from readlet.reading.saving import DEFAULT_FILES
from readlet.storage.config_files import read_json
from readlet.storage.corruption import stored_file
from readlet.terminal import say
from readlet.types import N_BEST, Prediction

BUNDLED, BASELINE = "bundled", "baseline"


class Answerer(Protocol):
    """The interface of readers for commands and the web page."""

    @property
    def name(self) -> str: ...

    @property
    def no_answer_threshold(self) -> float: ...

    @property
    def moves_refusals(self) -> bool:
        """Whether `impossible_share` moves its no-answer probability; it is refused elsewhere."""
        ...

    def answer(
        self,
        question: str,
        context: str,
        n_best: int = N_BEST,
        *,
        threshold: float | None = None,
        impossible_share: float | None = None,
        always_answer: bool = False,
        language: str = "",
        question_language: str = "",
    ) -> Prediction: ...

    def answer_batch(
        self,
        pairs: Iterable[Asked],
        n_best: int = N_BEST,
        *,
        threshold: float | None = None,
        impossible_share: float | None = None,
        always_answer: bool = False,
    ) -> Iterator[Prediction]: ...


def reader_folder(name: str | Path) -> Path:
    """The folder of a reader, or of the `bundled` one."""
    if name != BUNDLED:
        return Path(name)
    folder = bundled_reader()
    if folder is None:
        fault = "this copy of Readlet comes without a reader"
        remedy = f"name a reader's folder (./{BUNDLED} for one of this name), or `{BASELINE}`"
        raise bad_input(BUNDLED, "", fault, remedy)
    return folder


def reader_files(name: str | Path) -> list[Path]:
    """The files that define a reader: recipe, calibration, weights, vocabulary or tokenizer."""
    folder = reader_folder(name)
    config = read_json(folder / "config.json")
    files = config.get("files", DEFAULT_FILES)
    if not isinstance(files, (list, tuple)) or not all(map(_is_file_name, files)):
        fault = "is damaged (files: not a list of names)"
        raise bad_input(folder / "config.json", "", fault, "copy the folder again")
    return [stored_file(folder / name) for name in ("config.json", "calibration.json", *files)]


def _is_file_name(name: Any) -> bool:
    return isinstance(name, str) and "\0" not in name and Path(name).name == name


def warn_of_same_named_folder(name: str) -> None:
    """A folder in the current directory that has this name too is not used."""
    if (Path(name) / "config.json").is_file():
        what = f"`{name}` is the reader that comes with Readlet"
        say(f"readlet: {what}; for the folder here write ./{name}")
