"""Streaming of one large JSON file: yields the items of its list, never loads all of it.

One JSON file with a list: SQuAD's `{"data": [...]}`, or a plain array.

An item is an article of SQuAD, or a flat record as run_qa of transformers reads them.

JSONL: one JSON object on each line.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TextIO

from readlet.data.columns import PLAIN, DataFormat, NoColumnError, OnFault, raise_fault
from readlet.data.rows import RowReader, row_record, text_record
from readlet.data.squad import article_examples
from readlet.errors import InputError, ReadletError, bad_input
from readlet.storage.files import MAX_PIECE, text_chunks, text_lines
from readlet.types import Example, Sentence

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
# What may follow a number at the end of a chunk if the number continues in the next chunk.
_OPEN_NUMBER = re.compile(r"(?:\.|[eE][+-]?)?\Z")
# The decoder reports a cut at most this far before the end: in -Infinity or \ud83d\ude00.
_CUT = 16


class _Buffer:
    """A window over the text; it grows only as far as the current value needs."""

    def __init__(self, path: Path, chunks: Iterable[str]) -> None:
        self.path = path
        self._chunks = iter(chunks)
        self._text = ""
        self.at = 0
        self.began = 0  # where the last value begins
        self._line = 1  # line and column of the window's first character
        self._column = 1

    def peek(self) -> str:
        """The next character that is not white space; empty at the end of the file."""
        while True:
            match = _SPACE.match(self._text, self.at)
            assert match is not None
            self.at = match.end()
            if self.at < len(self._text):
                return self._text[self.at]
            if not self._grow(1):
                return ""

    def take(self, expected: str) -> None:
        if self.peek() != expected:
            raise self.fault(self.at, f"expected {expected!r}")
        self.at += 1

    def value(self) -> Any:
        """Decode one value; an incomplete one is retried with four times the text."""
        if not self.peek():
            raise self.fault(self.at, "ends early")
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self.at)
            except json.JSONDecodeError as error:
                is_open = error.msg.startswith("Unterminated")  # the position is the string's start
                if not is_open and error.pos < len(self._text) - _CUT:
                    raise self.fault(error.pos, error.msg) from None
                length = len(self._text) - self.at
                if length > MAX_PIECE:
                    fault = f"one value is longer than {MAX_PIECE >> 20} MiB"
                    raise self.fault(self.at, fault, "split it into articles") from None
                place = error.pos - self.at  # growing moves the window to the value's start
                if not self._grow(min(3 * length, MAX_PIECE + 1 - length)):
                    raise self.fault(place, error.msg) from None
            except RecursionError:
                raise self.fault(self.at, "nested too deeply") from None
            except ValueError:  # Python's own limit on the digits of an integer
                raise self.fault(self.at, "a number has too many digits") from None
            else:
                # A number may continue in the next chunk; all other values are complete.
                is_number = isinstance(value, (int, float))
                if is_number and _OPEN_NUMBER.match(self._text, end) and self._grow(1):
                    continue
                self.began, self.at = self.at, end
                return value

    def fault(self, at: int, fault: str, remedy: str = "") -> ReadletError:
        line, column = self._place(at)
        place = f"line {line}, column {column}"
        remedy = remedy or "the JSON is damaged or truncated: export or download it again"
        return bad_input(self.path, place, fault, remedy)

    def line_of_value(self) -> int:
        """The line where the last value begins; valid until more is read."""
        return self._place(self.began)[0]

    def _place(self, at: int) -> tuple[int, int]:
        """Line and column, counted from 1, of a character in the window."""
        lines = self._text.count("\n", 0, at)
        if not lines:
            return self._line, self._column + at
        return self._line + lines, at - self._text.rfind("\n", 0, at)

    def _grow(self, wanted: int) -> bool:
        added = []
        for chunk in self._chunks:
            added.append(chunk)
            wanted -= len(chunk)
            if wanted <= 0:
                break
        self._line, self._column = self._place(self.at)
        self._text = self._text[self.at :] + "".join(added)
        self.at = 0
        return bool(added)


class ListStream:
    """The items of `{..., key: [item, ...], ...}`, or of `[item, ...]` if the key is empty."""

    def __init__(self, path: Path, chunks: Iterable[str], key: str) -> None:
        self._buffer = _Buffer(path, chunks)
        self._key = key
        self.others: dict[str, Any] = {}
        """The other keys of the object that were read so far; lists and objects as empty text."""

    @property
    def line(self) -> int:
        """The line where the current item begins."""
        return self._buffer.line_of_value()

    def __iter__(self) -> Iterator[Any]:
        buffer = self._buffer
        yield from self._object() if self._key else self._items()
        if buffer.peek():
            raise buffer.fault(buffer.at, "text after the end of the JSON", "remove it")

    def _object(self) -> Iterator[Any]:
        """The items of the list; the object around them is checked."""
        buffer, key = self._buffer, self._key
        buffer.take("{")
        found = False
        while buffer.peek() != "}":
            if buffer.peek() != '"':
                raise buffer.fault(buffer.at, "expected a key in quotes")
            name = buffer.value()
            buffer.take(":")
            if name == key:
                found = True
                yield from self._items()
            else:
                value = buffer.value()
                self.others[name] = value if isinstance(value, (str, int, float)) else ""
            if buffer.peek() != "}":
                buffer.take(",")
        buffer.take("}")
        if not found:
            fault = f"the object has no list {key!r}"
            raise bad_input(buffer.path, "", fault, f"name the list {key!r}")

    def _items(self) -> Iterator[Any]:
        buffer = self._buffer
        buffer.take("[")
        while buffer.peek() != "]":
            yield buffer.value()
            if buffer.peek() != "]":
                buffer.take(",")
        buffer.take("]")


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


def read_jsonl(
    path: Path,
    data_format: DataFormat = PLAIN,
    *,
    on_fault: OnFault = raise_fault,
) -> Iterator[Example | Sentence]:
    rows = RowReader(path, data_format)
    for number, line in enumerate(text_lines(path, data_format.encoding), 1):
        if line.isspace():
            continue
        try:
            row = json_object(path, number, line)
            item = rows.item(f"line {number}", number, row, list(row))
        except InputError as error:
            on_fault(error)
        else:
            yield item


def json_object(path: Path, number: int, line: str) -> dict[str, Any]:
    """The object on a line."""
    try:
        # Without its newline: else an error at the end is reported on the next line.
        row = json.loads(line.rstrip("\r\n"))
    except json.JSONDecodeError as error:
        place = f"line {number}, column {error.colno}"
        remedy = "write one whole JSON object on each line"
        raise bad_input(path, place, error.msg, remedy) from None
    except (RecursionError, ValueError):  # ValueError: an integer of thousands of digits
        fault = "nested too deeply, or a number has too many digits"
        raise bad_input(path, f"line {number}", fault, "fix this line") from None
    if not isinstance(row, dict):
        fault = f"is a {type(row).__name__}, not an object"
        raise bad_input(path, f"line {number}", fault, "write one object per line, or SQuAD JSON")
    return row


def write_jsonl(stream: TextIO, items: Iterable[Example] | Iterable[Sentence]) -> None:
    for item in items:
        record = row_record(item) if isinstance(item, Example) else text_record(item)
        json.dump(record, stream, ensure_ascii=False)
        stream.write("\n")
