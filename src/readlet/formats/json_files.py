"""One JSON file with a list: SQuAD's `{"data": [...]}`, or a plain array.

An item is an article of SQuAD, or a flat record as run_qa of transformers reads them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from readlet.errors import InputError, bad_input
from readlet.formats.columns import PLAIN, DataFormat, NoColumnError
from readlet.formats.json_stream import ListStream
from readlet.formats.malformed import OnFault, raise_fault
from readlet.formats.rows import RowReader
from readlet.formats.squad import article_examples
from readlet.storage.files import text_chunks
from readlet.types import Example, Sentence

_ItemKind = Literal["row", "article"]


def read_json(
    path: Path,
    data_format: DataFormat = PLAIN,
    *,
    key: str = "data",
    on_fault: OnFault = raise_fault,
) -> Iterator[Example | Sentence]:
    """Stream the items of the list under `key` (empty: of an array), one item at a time."""
    rows = RowReader(path, data_format)
    items = ListStream(path, text_chunks(path, data_format.encoding), key)
    kind: _ItemKind | None = None
    for number, item in enumerate(items, 1):
        kind = _kind(item, rows, kind)
        if kind == "article":
            if data_format.columns:
                raise bad_input(path, "", "this format has no named columns", "omit --column")
            yield from article_examples(path, number, item, on_fault)
            continue
        try:
            if not isinstance(item, dict):
                fault = f"is {item!r:.40}, not an object"
                raise bad_input(path, f"record {number}", fault, "give a list of records")
            row = rows.item(f"record {number}", number, item, list(item))
        except NoColumnError as error:
            on_fault(error)
        except InputError as error:
            place = f"{error.place} (line {items.line})"
            on_fault(bad_input(path, place, error.fault, error.remedy))
        else:
            yield row


def _kind(item: Any, rows: RowReader, last: _ItemKind | None) -> _ItemKind:
    """What an item is: by its fields; else what the last one was; else what looks most like it."""
    if isinstance(item, dict) and "paragraphs" in item:
        return "article"
    if rows.is_row(item):
        return "row"
    if last is not None:
        return last
    # A record whose columns have other names, or a damaged article.
    return "row" if isinstance(item, dict) and "title" not in item else "article"
