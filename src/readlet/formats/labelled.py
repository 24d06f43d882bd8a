"""Validated texts with labels."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from readlet.errors import InputError, bad_input
from readlet.formats.columns import PLAIN, DataFormat, NoColumnError
from readlet.formats.items import read, read_named
from readlet.formats.labels import place_of
from readlet.formats.schemas import Content
from readlet.formats.sources import for_source, has_columns
from readlet.formats.unique_ids import warn_of_repeated_ids, with_own_ids
from readlet.types import Example, Sentence


def content_of(source: str | Path, data_format: DataFormat = PLAIN) -> Content:
    """What a source has: questions, or texts with labels. Only its first item is read."""
    faults: list[InputError] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they come when all of it is read
        first = next(read(source, data_format, on_fault=faults.append), None)
    if first is None and faults and isinstance(faults[0], NoColumnError):
        raise faults[0]
    return "texts" if isinstance(first, Sentence) else "questions"


def read_sentences(
    source: str | Path,
    data_format: DataFormat | None = None,
    *,
    allow_unlabelled: bool = False,
) -> Iterator[Sentence]:
    """Stream validated texts: each has text, and a label unless `allow_unlabelled`.

    Omit `data_format` where the user can name neither columns nor an encoding: errors about them
    then suggest another remedy.
    """
    is_pair = None
    for number, item in enumerate(read_named(source, data_format, "texts")):
        if isinstance(item, Example):
            fault = "contains questions, not texts with labels"
            raise bad_input(source, "", fault, "give texts with labels")
        if is_pair is None:
            is_pair = item.second is not None
        if is_pair != (item.second is not None):
            fault = f"has {'no' if is_pair else 'a'} second text, unlike the rows before it"
            raise bad_input(source, place_of(item), fault, _remedy(source))
        for field, text in (("text", item.text), ("second text", item.second)):
            if text is not None and not text.strip():
                raise bad_input(source, place_of(item), f"the {field} is empty", _remedy(source))
        if item.label is None and not allow_unlabelled:
            if not number:
                _require_label_column(source, data_format)
            raise bad_input(source, place_of(item), "has no label", _remedy(source))
        yield item


def read_labelled(
    *sources: str | Path,
    data_format: DataFormat | None = None,
    allow_unlabelled: bool = False,
) -> list[Sentence]:
    """The texts of all sources with unique ids, since predictions are stored by id.

    Columns apply to the sources that have named columns.
    """
    sentences: list[Sentence] = []
    for source in sources:
        named = for_source(source, data_format)
        read_here = list(read_sentences(source, named, allow_unlabelled=allow_unlabelled))
        if not read_here:
            raise bad_input(source, "", "contains no texts", "check how the file was created")
        if sentences and (sentences[0].second is None) != (read_here[0].second is None):
            fault = f"has {'single texts' if read_here[0].second is None else 'pairs of texts'}"
            remedy = "give files of one kind"
            raise bad_input(source, "", f"{fault}, unlike {sources[0]}", remedy)
        sentences += read_here
    warn_of_repeated_ids(sentences, "a number is appended")
    return with_own_ids(sentences)


def require_one_kind(source: str | Path, sentences: Iterable[Sentence], *, pairs: bool) -> None:
    """An error about pairs of texts where a classifier reads single ones, or the reverse."""
    for sentence in sentences:
        if (sentence.second is not None) != pairs:
            kinds = ("single texts", "pairs of texts")
            fault = f"has {kinds[not pairs]}, but the classifier reads {kinds[pairs]}"
            raise bad_input(source, place_of(sentence), fault, "give files of one kind")


def _require_label_column(source: str | Path, data_format: DataFormat | None) -> None:
    """Raise an error that lists the columns, if one of them may be that of the labels."""
    named = data_format or PLAIN
    if not has_columns(source, named):
        return
    try:
        next(read(source, replace(named, columns={"label": "label", **named.columns})))
    except NoColumnError as error:
        remedy = (error if data_format is not None else error.without_option).remedy
        fault = f"its texts have no labels: {error.fault}"
        raise bad_input(source, "", fault, f"add them, or {remedy}") from None


def _remedy(source: str | Path) -> str:
    command = f"readlet data check {source}"
    return f"correct or remove the row (`{command}` lists all such rows)"
