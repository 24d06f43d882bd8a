"""Tab-separated files of three GLUE tasks. They have no quoting: a quote is a plain character."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from readlet.errors import InputError, bad_input
from readlet.formats.malformed import OnFault, raise_fault
from readlet.storage.files import text_lines
from readlet.types import Sentence

Task = Literal["cola", "sst2", "mrpc"]
_MRPC_HEADER = ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"]


def glue_task(first_line: str) -> Task | None:
    """The task of a file, by its first line; None if it is no GLUE file."""
    cells = first_line.rstrip("\r\n").split("\t")
    if cells == ["sentence", "label"]:
        return "sst2"
    if cells == _MRPC_HEADER:
        return "mrpc"
    # CoLA has no header: source, label, the author's mark, sentence.
    if len(cells) == 4 and cells[1] in ("0", "1") and cells[2] in ("", "*", "?", "?*"):
        return "cola"
    return None


def read_glue(
    path: Path, task: Task, *, encoding: str = "", on_fault: OnFault = raise_fault
) -> Iterator[Sentence]:
    for number, line in enumerate(text_lines(path, encoding), 1):
        if number == 1 and task != "cola":
            continue
        try:
            sentence = _sentence(path, task, number, line)
        except InputError as error:
            on_fault(error)
        else:
            yield sentence


def _sentence(path: Path, task: Task, number: int, line: str) -> Sentence:
    columns = {"cola": 4, "sst2": 2, "mrpc": 5}[task]
    cells = line.rstrip("\r\n").split("\t")
    place = f"line {number}"
    if len(cells) != columns:
        fault = f"{len(cells)} cells instead of {columns}"
        raise bad_input(path, place, fault, "separate cells with one tab, without quotes")
    label = cells[{"cola": 1, "sst2": 1, "mrpc": 0}[task]]
    if label not in ("0", "1"):
        raise bad_input(path, place, f"label {label!r:.20}", "a label is 0 or 1")
    if task == "mrpc":
        return Sentence(str(number - 1), cells[3], int(label), second=cells[4])
    if task == "sst2":
        return Sentence(str(number - 1), cells[0], int(label))
    return Sentence(str(number), cells[3], int(label))
