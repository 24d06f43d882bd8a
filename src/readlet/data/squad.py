"""The official nested JSON of SQuAD 1.1 and 2.0: articles, paragraphs, questions."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from readlet.data.columns import OnFault
from readlet.data.rows import flag_field, list_field, question_record, spans, text_field
from readlet.errors import InputError, bad_input
from readlet.types import Example

# Characters: a longer article is written in several parts of the same title, so that reading and
# writing need little memory. Files without titles would be a single article.
_MAX_ARTICLE = 4 << 20


class _Paragraph(NamedTuple):
    context: str
    questions: list[Any]


def article_examples(path: Path, number: int, article: Any, on_fault: OnFault) -> Iterator[Example]:
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
            context, questions = _paragraph(path, where, item)
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


def _paragraph(path: Path, where: str, item: Any) -> _Paragraph:
    if not isinstance(item, dict):
        raise bad_input(path, where, "is not an object", "give it 'context' and 'qas'")
    context = text_field(path, where, item, "context")
    return _Paragraph(context, list_field(path, where, item, "qas"))


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
    # The version comes last: it is only known now.
    stream.write(f'\n], "version": "{version_of(any_impossible)}"}}\n')


def version_of(any_impossible: bool) -> str:
    """The version of a file: only SQuAD 2.0 has impossible questions."""
    return "v2.0" if any_impossible else "1.1"


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
