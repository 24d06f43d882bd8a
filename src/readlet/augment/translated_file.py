"""Read data files, and write one with new questions made by translation.

The data is read twice. First all texts are collected and translated into a cache, then the new
questions are put together from it. So the output is the same however the work was interrupted, or
divided among processes. Memory is bounded by the longest article, but for 8 bytes for each id.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TextIO

from readlet.augment.plan import Plan
from readlet.augment.tally import NOT_SAMPLED, OTHER_LANGUAGE, Tally
from readlet.augment.text_statistics import TextStatistics
from readlet.augment.translated_questions import (
    Split,
    Translate,
    Translated,
    is_chosen,
    is_in_source_language,
    texts_to_translate,
    translated,
)
from readlet.errors import bad_input
from readlet.formats import read_examples, write_examples
from readlet.formats.columns import Columns
from readlet.formats.items import NO_COLUMNS
from readlet.formats.sources import has_columns
from readlet.formats.unique_ids import StreamedIds
from readlet.progress import track
from readlet.storage.files import atomic_text
from readlet.translation.types import Route, TranslatedText
from readlet.types import Example

# Characters: a longer article is translated in several parts, so that memory stays bounded.
_MAX_BLOCK = 4 << 20


Fill = Callable[[Iterable[str], Route], object]
"""Translates the texts that are not stored yet, and stores them."""
Get = Callable[[str, Route], TranslatedText]
"""A stored translation."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Question data as it is named on the command line."""

    names: Sequence[str]
    columns: Columns
    encoding: str = ""

    def read(self) -> Iterator[Example]:
        for name in self.names:
            columns = self.columns if has_columns(name, self.encoding) else NO_COLUMNS
            yield from read_examples(name, columns, encoding=self.encoding)

    def __str__(self) -> str:
        return ", ".join(self.names)


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What is known of the data after it was read once."""

    tally: Tally
    ids: StreamedIds


def survey(sources: Sources, plan: Plan) -> Surveyed:
    """Read all data before anything is translated: its faults are found first."""
    tally, ids = Tally(plan), StreamedIds()
    for example in sources.read():
        ids.add(example.id)
        tally.questions += 1
        if reason := _why_left(example, plan):
            tally.left[reason] += 1
    if tally.questions == tally.left.total():
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in tally.left.items())
        fault = f"has no question to translate ({reasons or 'there are none'})"
        raise bad_input(str(sources), "", fault, "check the data, --from and --share")
    ids.count_repeated()
    return Surveyed(tally, ids)


def fill(sources: Sources, plan: Plan, split: Split, translate: Fill) -> None:
    """Translate all texts that `assemble` will ask for."""
    for language in plan.to:
        chosen = (example for example in sources.read() if not _why_left(example, plan))
        translate(texts_to_translate(chosen, plan, split), plan.route(language))


def assemble(
    sources: Sources,
    plan: Plan,
    get: Get,
    found: Surveyed,
    out: Path,
    *,
    lost: Path | None = None,
    statistics: TextStatistics | None = None,
) -> Tally:
    """Write the old and the new questions, article by article, from stored translations."""
    with atomic_text(lost) if lost is not None else nullcontext() as listed:
        assembly = _Assembly(sources, plan, get, found, statistics, listed)
        write_examples(out, assembly.questions())
    return found.tally


@dataclass(frozen=True, slots=True)
class _Assembly:
    sources: Sources
    plan: Plan
    get: Get
    found: Surveyed
    statistics: TextStatistics | None
    listed: TextIO | None  # takes a line for every question that is not kept

    def questions(self) -> Iterator[Example]:
        tally = self.found.tally
        read = 0
        for block in _blocks(track(self.sources.read(), tally.questions, "questions")):
            read += len(block)
            for example in self._of_block(block):
                tally.written += 1
                yield example
            if self.statistics is not None:
                self.statistics.end_block()
        if read != tally.questions:
            fault = f"had {tally.questions:,} questions at first, and {read:,} when read again"
            raise bad_input(str(self.sources), "", fault, "start again when it no longer changes")
        if not tally.written:
            fault = "no new question is left"
            raise bad_input(str(self.sources), "", fault, "keep more with --keep all")
        if self.statistics is not None:
            self.statistics.finish()

    def _of_block(self, block: Sequence[Example]) -> Iterator[Example]:
        """The old questions of an article, then the new ones of each language."""
        if self.plan.merge:
            yield from block
        if self.statistics is not None:
            for example in block:
                self.statistics.add_old(example)
        for language in self.plan.to:
            # Questions share their contexts.
            translate = cache(self._translation(language))
            for example in block:
                if _why_left(example, self.plan):
                    continue
                one = translated(example, self.plan, language, translate)
                self._record(one)
                if one.new is not None:
                    preferred = f"{example.id}-{self.plan.name(language)}"
                    yield replace(one.new, id=self.found.ids.new_id(preferred, example.id))

    def _translation(self, language: str) -> Translate:
        route = self.plan.route(language)
        return lambda text: self.get(text, route)

    def _record(self, one: Translated) -> None:
        self.found.tally.add(one)
        if self.statistics is not None:
            self.statistics.add(one)
        if self.listed is not None and one.new is None:
            row = {"id": one.source.id, "language": one.language, "reason": one.reason}
            self.listed.write(json.dumps(row, ensure_ascii=False) + "\n")


def _why_left(example: Example, plan: Plan) -> str:
    """Why a question is not translated; empty if it is."""
    if not is_in_source_language(example, plan):
        return OTHER_LANGUAGE
    return "" if is_chosen(example, plan) else NOT_SAMPLED


def _blocks(examples: Iterable[Example]) -> Iterator[list[Example]]:
    """Consecutive questions of the same article, and of limited length."""
    block: list[Example] = []
    size = 0
    for example in examples:
        if block and (example.title != block[-1].title or size > _MAX_BLOCK):
            yield block
            block, size = [], 0
        size += len(example.question)
        if not block or example.context != block[-1].context:
            size += len(example.context)
        block.append(example)
    if block:
        yield block
