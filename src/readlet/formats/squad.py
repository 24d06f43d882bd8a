"""The official nested JSON of SQuAD 1.1 and 2.0: articles, paragraphs, questions."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

from readlet.errors import bad_input
from readlet.formats.fields import flag_field, list_field, spans, text_field
from readlet.formats.json_stream import stream_list
from readlet.storage.files import text_chunks
from readlet.types import Example, Span


def read_squad(path: Path) -> Iterator[Example]:
    """Stream the examples of a file, with one article at a time in memory."""
    for number, article in enumerate(stream_list(path, text_chunks(path), "data"), 1):
        place = f"article {number}"
        if not isinstance(article, dict):
            raise bad_input(path, place, "is not an object", "give a list of articles under 'data'")
        title = str(article.get("title") or "")
        language = str(article.get("language") or "")
        for index, paragraph in enumerate(list_field(path, place, article, "paragraphs"), 1):
            where = f"{place}, paragraph {index}"
            if not isinstance(paragraph, dict):
                raise bad_input(path, where, "is not an object", "give it 'context' and 'qas'")
            context = text_field(path, where, paragraph, "context")
            for qa in list_field(path, where, paragraph, "qas"):
                yield _example(path, where, qa, context, title, language)


def _example(path: Path, where: str, qa: Any, context: str, title: str, language: str) -> Example:
    if not isinstance(qa, dict):
        raise bad_input(path, where, "a question is not an object", "give it 'id' and 'question'")
    identity = qa.get("id")
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    if not isinstance(identity, str):
        raise bad_input(path, where, "a question has no 'id'", "give every question a unique id")
    place = f"question {identity!r}"
    answers = spans(path, place, qa.get("answers", []))
    impossible = qa.get("is_impossible")
    return Example(
        id=identity,
        question=text_field(path, place, qa, "question"),
        context=context,
        answers=answers,
        is_impossible=not answers
        if impossible is None
        else flag_field(path, place, impossible, "is_impossible"),
        plausible_answers=spans(path, place, qa.get("plausible_answers", [])),
        title=title,
        language=language,
    )


def write_squad(stream: TextIO, examples: Iterable[Example]) -> None:
    """Write examples in order; consecutive ones with the same title and context are grouped."""
    any_impossible = False
    stream.write('{"data": [')
    articles = groupby(examples, key=lambda e: (e.title, e.language))
    for number, ((title, language), members) in enumerate(articles):
        paragraphs = []
        for context, group in groupby(members, key=lambda e: e.context):
            qas = [question_record(example) for example in group]
            any_impossible |= any(qa["is_impossible"] for qa in qas)
            paragraphs.append({"context": context, "qas": qas})
        article: dict[str, Any] = {"title": title, "paragraphs": paragraphs}
        if language:
            article["language"] = language
        stream.write(",\n" if number else "\n")
        json.dump(article, stream, ensure_ascii=False)
    # The version comes last: it is only known now.
    stream.write(f'\n], "version": "{"v2.0" if any_impossible else "1.1"}"}}\n')


def question_record(example: Example) -> dict[str, Any]:
    """An example without its context, title and language."""
    qa: dict[str, Any] = {
        "id": example.id,
        "question": example.question,
        "answers": _span_records(example.answers),
        "is_impossible": example.is_impossible,
    }
    if example.plausible_answers:
        qa["plausible_answers"] = _span_records(example.plausible_answers)
    return qa


def _span_records(answers: Iterable[Span]) -> list[dict[str, Any]]:
    return [{"text": answer.text, "answer_start": answer.start} for answer in answers]
