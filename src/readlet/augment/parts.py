"""Translated questions on their way from the processes that make them to the one that writes them.

Process k of n makes every n-th block of the data, and stores a line for each block in a file of its
own. A process that was killed continues after its last line.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from readlet.augment.plan import Plan
from readlet.augment.relocation import Located, Loss, Lost, Relocated, Stage
from readlet.augment.shards import Shard
from readlet.augment.translated_file import Get, Sources, Surveyed, blocks, why_left
from readlet.augment.translated_questions import Translated, new_question, translated
from readlet.errors import bad_input
from readlet.progress import track
from readlet.storage.locks import locked
from readlet.storage.partial_lines import PartialLines
from readlet.types import Example, Span


@dataclass(frozen=True, slots=True)
class Parts:
    """The files of all processes, beside the output."""

    out: Path
    count: int

    def path(self, number: int) -> Path:
        return self.out.parent / f"{self.out.name}.part-{number + 1}-of-{self.count}"

    def remove(self) -> None:
        """Also those that a run with another number of processes has left, which was killed."""
        own = re.compile(re.escape(self.out.name) + r"\.part-\d+-of-\d+")
        for path in list(self.out.parent.iterdir()):
            if own.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def lines(self) -> Iterator[Mapping[str, Any]]:
        """The line of each block, in the order of the data."""
        with ExitStack() as stack:
            streams = [
                stack.enter_context(self.path(number).open("rb")) for number in range(self.count)
            ]
            for stream in streams:
                stream.readline()  # describes the task
            block = 0
            while line := streams[block % self.count].readline():
                yield json.loads(line)
                block += 1


def write_part(
    parts: Parts, number: int, sources: Sources, plan: Plan, get: Get, found: Surveyed
) -> None:
    """Make the new questions of every n-th block from stored translations."""
    with _opened(parts, number, plan, found) as lines:
        shard = Shard(number, parts.count)
        waiting = islice(shard.of(blocks(sources.read())), lines.done, None)
        total = shard.size(found.blocks)
        for block in track(waiting, total, "finding answers", done=lines.done):
            lines.append(_line(block, made(block, plan, get)))


def check_part(parts: Parts, number: int, plan: Plan, found: Surveyed) -> None:
    """Check that the part of a killed process, if there is one, can be continued."""
    if parts.path(number).exists():
        with _opened(parts, number, plan, found):
            pass


@contextmanager
def _opened(parts: Parts, number: int, plan: Plan, found: Surveyed) -> Iterator[PartialLines]:
    path = parts.path(number)
    task = {
        "readlet": version("readlet"),
        "plan": asdict(plan),
        "engines": found.tally.engines,
        "data": found.digest,
        "part": f"{number + 1} of {parts.count}",
    }
    with locked(path) as is_ours:
        if not is_ours:
            fault = "another process is writing it"
            raise bad_input(path, "", fault, "wait for it, or give another output")
        lines = PartialLines(path, task=task, chunk=1, total=0)
        try:
            yield lines
        finally:
            lines.close()


def made(block: Sequence[Example], plan: Plan, get: Get) -> Iterator[Translated]:
    """What becomes of the questions of a block, language by language."""
    for language in plan.to:
        route = plan.route(language)
        translate = cache(lambda text, route=route: get(text, route))  # contexts are shared
        for example in block:
            if not why_left(example, plan):
                yield translated(example, plan, language, translate)


def restored(line: Mapping[str, Any], block: Sequence[Example], plan: Plan) -> Iterator[Translated]:
    """The same as `made`, from the line that was stored of it."""
    contexts, rows = line["contexts"], iter(line["rows"])
    for language in plan.to:
        for example in block:
            if not why_left(example, plan):
                yield _restored(next(rows), contexts, example, plan, language)


def _line(block: Sequence[Example], found: Iterable[Translated]) -> dict[str, Any]:
    contexts: dict[str, int] = {}
    rows = [
        {
            "context": contexts.setdefault(one.context, len(contexts)),
            "question": None if one.new is None else one.new.question,
            "reason": one.reason,
            "relocated": None if one.relocated is None else asdict(one.relocated),
        }
        for one in found
    ]
    return {"questions": len(block), "contexts": list(contexts), "rows": rows}


def _restored(
    row: Mapping[str, Any], contexts: Sequence[str], source: Example, plan: Plan, language: str
) -> Translated:
    context = contexts[row["context"]]
    relocated = None if row["relocated"] is None else _relocated(row["relocated"])
    if row["question"] is None:
        return Translated(source, language, context, None, relocated, row["reason"])
    new = new_question(source, row["question"], context, relocated, plan, language)
    return Translated(source, language, context, new, relocated)


def _relocated(values: Mapping[str, Any]) -> Relocated:
    return Relocated(
        answers=_located(values["answers"]),
        plausible_answers=_located(values["plausible_answers"]),
        lost=_lost(values["lost"]),
        lost_plausible=_lost(values["lost_plausible"]),
    )


def _located(rows: Iterable[Mapping[str, Any]]) -> tuple[Located, ...]:
    return tuple(
        Located(Span(**row["span"]), tuple(map(Stage, row["stages"])), row["verified"])
        for row in rows
    )


def _lost(rows: Iterable[Mapping[str, Any]]) -> tuple[Lost, ...]:
    return tuple(Lost(Span(**row["answer"]), Loss(row["reason"])) for row in rows)
