"""The file of old and new questions, put together from the parts that the processes made."""

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from readlet.augment.parts import Parts, restored
from readlet.augment.plan import Plan
from readlet.augment.tally import Tally
from readlet.augment.text_statistics import TextStatistics
from readlet.augment.translated_file import Sources, Surveyed, blocks
from readlet.augment.translated_questions import Translated
from readlet.errors import bad_input
from readlet.formats import write_examples
from readlet.progress import track
from readlet.storage.files import atomic_text
from readlet.types import Example


def assemble(
    sources: Sources,
    plan: Plan,
    parts: Parts,
    found: Surveyed,
    *,
    lost: Path | None = None,
    statistics: TextStatistics | None = None,
) -> Tally:
    """Write the old and the new questions, article by article."""
    with atomic_text(lost) if lost is not None else nullcontext() as listed:
        assembly = _Assembly(sources, plan, parts, found, statistics, listed)
        write_examples(parts.out, assembly.questions())
    return found.tally


@dataclass(frozen=True, slots=True)
class _Assembly:
    sources: Sources
    plan: Plan
    parts: Parts
    found: Surveyed
    statistics: TextStatistics | None
    listed: TextIO | None  # takes a line for every question that is not kept

    def questions(self) -> Iterator[Example]:
        tally = self.found.tally
        lines = self.parts.lines()
        for block in track(blocks(self.sources.read()), self.found.blocks, "writing"):
            line = next(lines, None)
            if line is None or line["questions"] != len(block):
                fault = "has other questions than when it was read first"
                raise bad_input(str(self.sources), "", fault, "start again when it stays the same")
            for example in self._of_block(block, restored(line, block, self.plan)):
                tally.written += 1
                yield example
            if self.statistics is not None:
                self.statistics.end_block()
        if not tally.written:
            fault = "no new question is left"
            raise bad_input(str(self.sources), "", fault, "keep more with --keep all")
        if self.statistics is not None:
            self.statistics.finish()

    def _of_block(self, block: Sequence[Example], new: Iterator[Translated]) -> Iterator[Example]:
        """The old questions of an article, then the new ones of each language."""
        if self.plan.merge:
            yield from block
        if self.statistics is not None:
            for example in block:
                self.statistics.add_old(example)
        for one in new:
            self._record(one)
            if one.new is not None:
                preferred = f"{one.source.id}-{self.plan.name(one.language)}"
                yield replace(one.new, id=self.found.ids.new_id(preferred, one.source.id))

    def _record(self, one: Translated) -> None:
        self.found.tally.add(one)
        if self.statistics is not None:
            self.statistics.add(one)
        if self.listed is not None and one.new is None:
            row = {"id": one.source.id, "language": one.language, "reason": one.reason}
            self.listed.write(json.dumps(row, ensure_ascii=False) + "\n")
