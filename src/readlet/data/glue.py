"""Tab-separated files of three GLUE tasks. They have no quoting: a quote is a plain character.

SST-2 has named columns and is read as any other table of texts.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from readlet.data.columns import PLAIN, DataFormat, OnFault, raise_fault
from readlet.errors import InputError, bad_input
from readlet.storage.files import text_lines
from readlet.types import Sentence

Task = Literal["cola", "sst2", "mrpc"]
UnnamedTask = Literal["cola", "mrpc"]
"""The tasks whose files have columns of their own."""
_SST2_HEADER = ["sentence", "label"]
_MRPC_HEADER = ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"]


def glue_task(head: str) -> Task | None:
    """The task of a file, by its beginning; None if it is no GLUE file."""
    if task := unnamed_task(head):
        return task
    header, *lines = (line.rstrip("\r").split("\t") for line in head.split("\n"))
    # The last line may be cut. Other labels than 0 and 1: another task with the same names.
    labels = {cells[1] for cells in lines[:-1] if len(cells) == 2}
    return "sst2" if header == _SST2_HEADER and labels <= {"0", "1"} else None


def unnamed_task(head: str) -> UnnamedTask | None:
    cells = head.split("\n", 1)[0].rstrip("\r").split("\t")
    if cells == _MRPC_HEADER:
        return "mrpc"
    # CoLA has no header: source, label, the author's mark, sentence.
    if len(cells) == 4 and cells[1] in ("0", "1") and cells[2] in ("", "*", "?", "?*"):
        return "cola"
    return None


def read_glue(
    path: Path,
    task: UnnamedTask,
    data_format: DataFormat = PLAIN,
    *,
    on_fault: OnFault = raise_fault,
) -> Iterator[Sentence]:
    if data_format.columns:
        raise bad_input(path, "", "this format has no named columns", "omit --column")
    for number, line in enumerate(text_lines(path, data_format.encoding), 1):
        if number == 1 and task == "mrpc":
            continue
        try:
            sentence = _sentence(path, task, number, line)
        except InputError as error:
            on_fault(error)
        else:
            yield sentence


def _sentence(path: Path, task: UnnamedTask, number: int, line: str) -> Sentence:
    columns = {"cola": 4, "mrpc": 5}[task]
    cells = line.rstrip("\r\n").split("\t")
    place = f"line {number}"
    if len(cells) != columns:
        fault = f"{len(cells)} cells instead of {columns}"
        raise bad_input(path, place, fault, "separate cells with one tab, without quotes")
    label = cells[{"cola": 1, "mrpc": 0}[task]]
    if label not in ("0", "1"):
        raise bad_input(path, place, f"label {label!r:.20}", "a label is 0 or 1")
    if task == "mrpc":
        return Sentence(str(number - 1), cells[3], label, second=cells[4])
    return Sentence(str(number), cells[3], label)
