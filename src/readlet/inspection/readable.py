"""The readable items of a source: malformed rows are collected, not raised."""

from collections.abc import Iterator

from readlet.errors import EncodingError, InputError
from readlet.formats import read
from readlet.formats.columns import PLAIN, DataFormat, NoColumnError
from readlet.types import Example, Sentence


class ReadableItems:
    """All items that can be read; afterwards, `malformed` and `end` say what could not."""

    def __init__(self, source: str, data_format: DataFormat = PLAIN) -> None:
        self.malformed: list[InputError] = []
        self.end: InputError | None = None
        """The fault after which nothing can be read, such as truncated JSON."""
        self._items = read(source, data_format, on_fault=self.malformed.append)

    def __iter__(self) -> Iterator[Example | Sentence]:
        is_empty = True
        try:
            for item in self._items:
                is_empty = False
                yield item
        except EncodingError:
            raise
        except InputError as error:
            if is_empty and not self.malformed:  # nothing of it can be read
                raise
            self.end = error
        if is_empty and self.malformed and isinstance(self.malformed[0], NoColumnError):
            raise self.malformed[0]  # one error about all rows
