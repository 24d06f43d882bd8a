"""Validated questions of files."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

from readlet.errors import ReadletError, bad_input
from readlet.formats.columns import PLAIN, DataFormat, NoColumnError
from readlet.formats.items import read, read_named
from readlet.formats.places import nearest_place, occurrences
from readlet.formats.sources import for_source, has_columns
from readlet.formats.unique_ids import warn_of_repeated_ids, with_own_ids
from readlet.types import NO_OFFSET, Example, Span


def read_examples(source: str | Path, data_format: DataFormat | None = None) -> Iterator[Example]:
    """Stream validated questions: every answer is at its offset (law 1).

    A question has text, and either has answers or is marked impossible. Anything else raises an
    error.

    Omit `data_format` where the user can name neither columns nor an encoding: errors about them
    then suggest another remedy.
    """
    for number, item in enumerate(read_named(source, data_format)):
        if not isinstance(item, Example):
            raise bad_input(source, "", "contains texts, not questions", "give question data")
        for field, text in (("question", item.question), ("context", item.context)):
            if not text.strip():
                place = f"question {item.id!r}"
                raise bad_input(source, place, f"the {field} has no text", _fix_remedy(source))
        if not item.answers and not item.is_impossible:
            if not item.is_labelled and not number:
                _require_labels(source, data_format)
            what = "" if item.is_labelled else "is unlabelled: it "
            fault = f"{what}has no answer and is not marked impossible"
            remedy = "add its answers, or set is_impossible to true"
            raise bad_input(source, f"question {item.id!r}", fault, remedy)
        if item.answers and item.is_impossible:
            fault = "is marked impossible but has answers"
            raise bad_input(source, f"question {item.id!r}", fault, _fix_remedy(source))
        for answer in item.answers:
            if not answer.is_in(item.context):
                raise _misplaced(source, item, answer)
        yield item


def read_questions(*sources: str | Path, data_format: DataFormat | None = None) -> list[Example]:
    """The questions of all sources with unique ids, since answers are stored by id.

    Ids may repeat: rows without ids are numbered per file, and translations keep their ids.
    Columns apply to the sources that have named columns.
    """
    examples = [
        example
        for source in sources
        for example in read_examples(source, for_source(source, data_format))
    ]
    warn_of_repeated_ids(examples, "a number is appended")
    return with_own_ids(examples)


def _require_labels(source: str | Path, data_format: DataFormat | None) -> None:
    """Raise an error that lists the columns, if one of them may be that of the answers."""
    named = data_format or PLAIN
    if not has_columns(source, named):
        return
    try:
        next(read(source, replace(named, columns={"answer": "answer", **named.columns})))
    except NoColumnError as error:
        remedy = (error if data_format is not None else error.without_option).remedy
        fault = f"its questions are unlabelled: {error.fault}"
        raise bad_input(source, "", fault, f"add the answers, or {remedy}") from None


def _misplaced(source: str | Path, example: Example, answer: Span) -> ReadletError:
    shown, found = f"{answer.text!r:.60}", occurrences(example.context, answer.text)
    near = nearest_place(example.context, answer)
    if near is None:
        where = "is not in the context"
    elif near.text != answer.text:
        same = normalize("NFC", near.text) == normalize("NFC", answer.text)
        spelled = "in another Unicode normalisation" if same else f"{near.text!r:.60}"
        where = f"is spelled {spelled} in the context"
    elif answer.start == NO_OFFSET and len(found) == 1:
        where = f"has no offset and occurs only inside of a word, at {near.start}"
    elif answer.start == NO_OFFSET:
        where = f"has no offset and occurs {len(found)} times in the context"
    else:
        where = f"is not at {answer.start} (nearest at {near.start})"
    fault = f"answer {shown} {where}"
    return bad_input(source, f"question {example.id!r}", fault, _fix_remedy(source))


def _fix_remedy(source: str | Path) -> str:
    return f"repair it with `readlet data check {source} --fix OUT`"
