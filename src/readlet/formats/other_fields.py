"""What a file has that Examples do not: fields and paragraphs that would be lost on writing it."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from readlet.errors import InputError
from readlet.formats.json_stream import ListStream
from readlet.formats.jsonl import json_object
from readlet.formats.squad import version_of
from readlet.storage.files import text_chunks, text_lines

_ANSWER = {"text", "answer_start"}
_ASKED = {"id", "question", "question_language"}
_QUESTION = _ASKED | {"answers", "is_impossible", "plausible_answers"}
_ROW = _QUESTION | {"context", "title", "language"}
_ARTICLE = {"title", "language", "paragraphs"}
_PARAGRAPH = {"context", "qas"}


def lost_from_jsonl(path: Path) -> str:
    """What rows have besides the fields that are written, in words; empty if nothing."""
    names = dict.fromkeys(name for row in _rows(path) for name in _lost_from_record(row, _ROW))
    return _fields(names)


def lost_from_squad(path: Path) -> str:
    """The same for articles, and their version if another one would be written."""
    items = ListStream(path, text_chunks(path, ""), "data")
    names: dict[str, None] = {}
    any_impossible = False
    try:
        for article in items:
            for paragraph in _objects(_lost(article, _ARTICLE, names).get("paragraphs")):
                questions = _lost(paragraph, _PARAGRAPH, names).get("qas")
                if questions == []:
                    return "paragraphs without questions"
                for qa in _objects(questions):
                    names |= dict.fromkeys(_lost_from_record(qa, _QUESTION))
                    any_impossible |= _is_impossible(qa)
            if isinstance(article, Mapping) and article.get("paragraphs") == []:
                return "articles without paragraphs"
    except InputError:  # the rest cannot be read, and is reported as dropped
        pass
    version = items.others.pop("version", None)
    names |= dict.fromkeys(items.others)
    if not names and version not in (None, version_of(any_impossible)):
        return f"its own version ({version!r:.40})"
    return _fields(names)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text_lines(path, ""), 1):
        if line.isspace():
            continue
        try:
            yield json_object(path, number, line)
        except InputError:  # reported as dropped
            continue


def _lost(item: Any, written: set[str], names: dict[str, None]) -> Mapping[str, Any]:
    """The item, after its other names are noted; an empty one if it is malformed."""
    if not isinstance(item, Mapping):
        return {}
    names |= dict.fromkeys(name for name in item if name not in written)
    return item


def _lost_from_record(record: Mapping[str, Any], written: set[str]) -> Iterator[str]:
    yield from (name for name in record if name not in written)
    for field in ("answers", "plausible_answers"):
        answers = record.get(field)
        for answer in [answers] if isinstance(answers, Mapping) else _objects(answers):
            yield from (name for name in answer if name not in _ANSWER)


def _objects(values: Any) -> list[Mapping[str, Any]]:
    items = values if isinstance(values, list) else []
    return [item for item in items if isinstance(item, Mapping)]


def _is_impossible(qa: Mapping[str, Any]) -> bool:
    flag = qa.get("is_impossible")
    return bool(flag) if flag is not None else "answers" in qa and not qa["answers"]


def _fields(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - 5} more" if len(shown) > 5 else ""
    return f"other fields ({', '.join(f'{name:.40}' for name in shown[:5])}{more})" if shown else ""
