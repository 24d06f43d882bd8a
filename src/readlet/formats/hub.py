"""Datasets by name: `hub:NAME@SPLIT`, read by the `datasets` library (the `hub` extra)."""

from collections.abc import Iterator

from readlet.errors import ReadletError, bad_input
from readlet.formats.rows import Columns, row_example
from readlet.types import Example

PREFIX = "hub:"


def read_hub(source: str, columns: Columns) -> Iterator[Example]:
    """Stream a dataset of the hub, or of a local folder, without keeping it in memory."""
    try:
        import datasets
    except ImportError:
        raise ReadletError(f"{source}: needs `datasets`; pip install 'readlet[hub]'") from None
    name, _, split = source.removeprefix(PREFIX).partition("@")
    try:
        rows = datasets.load_dataset(name, split=split or "train", streaming=True)
    except (OSError, ValueError, RuntimeError) as error:
        first = str(error).splitlines()[0]
        remedy = "check NAME and SPLIT in hub:NAME@SPLIT, and the network"
        raise bad_input(source, "", first, remedy) from None
    for number, row in enumerate(rows, 1):
        yield row_example(source, number, row, columns)
