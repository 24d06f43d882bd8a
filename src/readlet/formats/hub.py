"""Datasets by name: `hub:NAME@SPLIT`, read by the `datasets` library (the `hub` extra)."""

import logging
from collections.abc import Iterator

from readlet.errors import InputError, ReadletError, bad_input
from readlet.formats.columns import DataFormat
from readlet.formats.malformed import OnFault, raise_fault
from readlet.formats.rows import RowReader
from readlet.installing import install_extra
from readlet.types import Example, Sentence

PREFIX = "hub:"


def read_hub(
    source: str,
    data_format: DataFormat,
    *,
    on_fault: OnFault = raise_fault,
) -> Iterator[Example | Sentence]:
    """Stream a dataset from the hub or a local folder, without loading it into memory."""
    try:
        import datasets
    except ImportError:
        raise ReadletError(f"{source}: needs `datasets`; {install_extra('hub')}") from None
    name, _, split = source.removeprefix(PREFIX).partition("@")
    if not name:
        raise bad_input(source, "", "no name of a dataset", "write hub:NAME@SPLIT")
    try:
        # Errors are reported below, once.
        datasets.logging.set_verbosity(datasets.logging.CRITICAL)
        logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
        rows = datasets.load_dataset(name, split=split or "train", streaming=True)
        reader = RowReader(source, data_format)
        for number, row in enumerate(rows, 1):
            try:
                item = reader.item(f"row {number}", number, row, list(row))
            except InputError as error:
                on_fault(error)
            else:
                yield item
    except ReadletError:
        raise
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        fault = next(iter(str(error).splitlines()), type(error).__name__)
        remedy = "check NAME and SPLIT in hub:NAME@SPLIT, its files and the network"
        raise bad_input(source, "", fault, remedy) from None
