"""JSON: the official files of SQuAD 1.1 and 2.0, lists of flat records, and JSONL.

A file with a list, SQuAD's `{"data": [...]}` or a plain array, is streamed: it is never all in
memory. An item is an article of SQuAD, or a flat record as run_qa of transformers reads them.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

from readlet.data.columns import NoColumnError, OnFault
from readlet.data.labelling import row_of
from readlet.data.rows import (
    Row,
    RowReader,
    flag_field,
    list_field,
    question_record,
    spans,
    text_field,
)
from readlet.errors import InputError, ReadletError, bad_input
from readlet.storage.files import MAX_PIECE, text_chunks, text_lines
from readlet.types import Example, Sentence

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
# What may follow a number at the end of a chunk if the number continues in the next chunk.
_OPEN_NUMBER = re.compile(r"(?:\.|[eE][+-]?)?\Z")
# The decoder reports a cut at most this far before the end: in -Infinity or \ud83d\ude00.
_CUT = 16
# Characters: a longer article is written in several parts of the same title, so that reading and
# writing need little memory. Files without titles would be a single article.
_MAX_ARTICLE = 4 << 20


class JsonStream:
    """The items of one list, decoded one by one.

    It holds a window over the text, which grows only as far as the current value needs.
    """

    def __init__(self, path: Path, chunks: Iterable[str]) -> None:
        self._path = path
        self._chunks = iter(chunks)
        self._text = ""
        self._at = 0
        self._began = 0  # where the last value begins
        self._line = 1  # line and column of the window's first character
        self._column = 1

    def items(self, key: str) -> Iterator[Any]:
        """Those of `{..., key: [item, ...], ...}`, or of `[item, ...]` if the key is empty."""
        yield from self._object(key) if key else self._list()
        if self._peek():
            raise self._fault(self._at, "text after the end of the JSON", "remove it")

    def line(self) -> int:
        """The line where the current item begins."""
        return self._place(self._began)[0]

    def _object(self, key: str) -> Iterator[Any]:
        """The items of the list; the object around them is checked."""
        self._take("{")
        found = False
        while self._peek() != "}":
            if self._peek() != '"':
                raise self._fault(self._at, "expected a key in quotes")
            name = self._value()
            self._take(":")
            if name == key:
                found = True
                yield from self._list()
            else:
                self._value()
            if self._peek() != "}":
                self._take(",")
        self._take("}")
        if not found:
            fault = f"the object has no list {key!r}"
            raise bad_input(self._path, "", fault, f"name the list {key!r}")

    def _list(self) -> Iterator[Any]:
        self._take("[")
        while self._peek() != "]":
            yield self._value()
            if self._peek() != "]":
                self._take(",")
        self._take("]")

    def _peek(self) -> str:
        """The next character that is not white space; empty at the end of the file."""
        while True:
            match = _SPACE.match(self._text, self._at)
            assert match is not None
            self._at = match.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow(1):
                return ""

    def _take(self, expected: str) -> None:
        if self._peek() != expected:
            raise self._fault(self._at, f"expected {expected!r}")
        self._at += 1

    def _value(self) -> Any:
        """Decode one value; an incomplete one is retried with four times the text."""
        if not self._peek():
            raise self._fault(self._at, "ends early")
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                is_open = error.msg.startswith("Unterminated")  # the position is the string's start
                if not is_open and error.pos < len(self._text) - _CUT:
                    raise self._fault(error.pos, error.msg) from None
                length = len(self._text) - self._at
                if length > MAX_PIECE:
                    fault = f"one value is longer than {MAX_PIECE >> 20} MiB"
                    raise self._fault(self._at, fault, "split it into articles") from None
                place = error.pos - self._at  # growing moves the window to the value's start
                if not self._grow(min(3 * length, MAX_PIECE + 1 - length)):
                    raise self._fault(place, error.msg) from None
            except RecursionError:
                raise self._fault(self._at, "nested too deeply") from None
            except ValueError:  # Python's own limit on the digits of an integer
                raise self._fault(self._at, "a number has too many digits") from None
            else:
                # A number may continue in the next chunk; all other values are complete.
                is_number = isinstance(value, (int, float))
                if is_number and _OPEN_NUMBER.match(self._text, end) and self._grow(1):
                    continue
                self._began, self._at = self._at, end
                return value

    def _fault(self, at: int, fault: str, remedy: str = "") -> ReadletError:
        line, column = self._place(at)
        place = f"line {line}, column {column}"
        remedy = remedy or "the JSON is damaged or truncated: export or download it again"
        return bad_input(self._path, place, fault, remedy)

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
        self._line, self._column = self._place(self._at)
        self._text = self._text[self._at :] + "".join(added)
        self._at = 0
        return bool(added)


def read_json(
    path: Path, rows: RowReader, on_fault: OnFault, *, key: str = "data"
) -> Iterator[Example | Sentence]:
    """Stream the items of the list under `key` (empty: of an array): all articles, or all rows."""
    stream = JsonStream(path, text_chunks(path, rows.data_format.encoding))
    are_articles = False
    for number, item in enumerate(stream.items(key), 1):
        item = row_of(item) if isinstance(item, dict) else item
        are_articles |= isinstance(item, dict) and "paragraphs" in item
        if are_articles:
            yield from _article_examples(path, number, item, on_fault)
            continue
        rows.origin.kind = "json"
        try:
            if not isinstance(item, dict):
                fault = f"is {item!r:.40}, not an object"
                raise bad_input(path, f"record {number}", fault, "give a list of records")
            row = rows.item(Row(f"record {number}", number, item, list(item)))
        except NoColumnError as error:
            on_fault(error)
        except InputError as error:
            place = f"{error.place} (line {stream.line()})"
            on_fault(bad_input(path, place, error.fault, error.remedy))
        else:
            yield row


def read_jsonl(path: Path, reader: RowReader, on_fault: OnFault) -> Iterator[Example | Sentence]:
    """One JSON object on each line."""
    reader.origin.kind = "jsonl"
    lines = enumerate(text_lines(path, reader.data_format.encoding), 1)
    rows = (_row(path, number, line) for number, line in lines if not line.isspace())
    yield from reader.items(rows, on_fault)


def _row(path: Path, number: int, line: str) -> Row | InputError:
    place = f"line {number}"
    try:
        # Without its newline: else an error at the end is reported on the next line.
        row = json.loads(line.rstrip("\r\n"))
    except json.JSONDecodeError as error:
        place = f"{place}, column {error.colno}"
        return bad_input(path, place, error.msg, "write one whole JSON object on each line")
    except (RecursionError, ValueError):  # ValueError: an integer of thousands of digits
        fault = "nested too deeply, or a number has too many digits"
        return bad_input(path, place, fault, "fix this line")
    if not isinstance(row, dict):
        fault = f"is a {type(row).__name__}, not an object"
        return bad_input(path, place, fault, "write one object per line, or SQuAD JSON")
    row = row_of(row)
    return Row(place, number, row, list(row))


def write_jsonl(stream: TextIO, objects: Iterable[Mapping[str, Any]]) -> None:
    for row in objects:
        json.dump(row, stream, ensure_ascii=False)
        stream.write("\n")


def write_list(stream: TextIO, objects: Iterable[Mapping[str, Any]]) -> None:
    for number, row in enumerate(objects):
        stream.write(",\n" if number else "[\n")
        json.dump(row, stream, ensure_ascii=False)
    stream.write("\n]\n")


def _article_examples(
    path: Path, number: int, article: Any, on_fault: OnFault
) -> Iterator[Example]:
    """The questions of an article; a malformed question or paragraph is left out."""
    place = f"article {number}"
    try:
        if not isinstance(article, dict):
            raise bad_input(path, place, "is not an object", "give a list of articles under 'data'")
        paragraphs = list_field(path, place, article, "paragraphs")
    except InputError as error:
        on_fault(error)
        return
    title = str(article.get("title") or "")
    language = str(article.get("language") or "")
    for index, item in enumerate(paragraphs, 1):
        where = f"{place}, paragraph {index}"
        try:
            if not isinstance(item, dict):
                raise bad_input(path, where, "is not an object", "give it 'context' and 'qas'")
            context = text_field(path, where, item, "context")
            questions = list_field(path, where, item, "qas")
        except InputError as error:
            on_fault(error)
            continue
        for position, qa in enumerate(questions, 1):
            try:
                example = _example(path, where, position, qa, context, title, language)
            except InputError as error:
                on_fault(error)
            else:
                yield example


def _example(
    path: Path, where: str, position: int, qa: Any, context: str, title: str, language: str
) -> Example:
    if not isinstance(qa, dict):
        fault = f"question {position} is not an object"
        raise bad_input(path, where, fault, "give it 'id' and 'question'")
    identity = qa.get("id")
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    if not isinstance(identity, str):
        fault = f"question {position} has no 'id'"
        raise bad_input(path, where, fault, "give every question a unique id")
    place = f"question {identity!r}"
    answers = spans(path, place, qa.get("answers", []), context)
    impossible = qa.get("is_impossible")
    is_labelled = "answers" in qa or impossible is not None
    if impossible is None:
        impossible = is_labelled and not answers
    return Example(
        id=identity,
        question=text_field(path, place, qa, "question"),
        context=context,
        answers=answers,
        is_impossible=flag_field(path, place, impossible, "is_impossible"),
        plausible_answers=spans(path, place, qa.get("plausible_answers", []), context),
        title=title,
        language=language,
        question_language=str(qa.get("question_language") or ""),
        is_labelled=is_labelled,
    )


def write_squad(stream: TextIO, examples: Iterable[Example]) -> None:
    """Write examples in order; consecutive ones with the same title and context are grouped."""
    any_impossible = False
    stream.write('{"data": [')
    for number, (title, language, paragraphs) in enumerate(_articles(examples)):
        any_impossible |= any(qa.get("is_impossible") for p in paragraphs for qa in p["qas"])
        article: dict[str, Any] = {"title": title, "paragraphs": paragraphs}
        if language:
            article["language"] = language
        stream.write(",\n" if number else "\n")
        json.dump(article, stream, ensure_ascii=False)
    # The version comes last: only SQuAD 2.0 has impossible questions.
    version = "v2.0" if any_impossible else "1.1"
    stream.write(f'\n], "version": "{version}"}}\n')


def _articles(examples: Iterable[Example]) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Title, language and paragraphs of each article."""
    for (title, language), members in groupby(examples, key=lambda e: (e.title, e.language)):
        paragraphs: list[dict[str, Any]] = []
        size = 0
        for context, group in groupby(members, key=lambda e: e.context):
            qas = [question_record(example) for example in group]
            size += len(context) + sum(len(qa["question"]) for qa in qas)
            paragraphs.append({"context": context, "qas": qas})
            if size > _MAX_ARTICLE:
                yield title, language, paragraphs
                paragraphs, size = [], 0
        if paragraphs:
            yield title, language, paragraphs
