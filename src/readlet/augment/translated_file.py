"""The data of an augmentation, read as often as needed, in blocks of limited size.

First all texts are collected and translated into a cache, then the new questions are made from it
and put together. So the output is the same however the work was interrupted, or divided among
processes. Memory is bounded by the longest article, but for 8 bytes for each id.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain

from readlet.augment.plan import Plan
from readlet.augment.shards import WHOLE, Shard
from readlet.augment.tally import NOT_SAMPLED, OTHER_LANGUAGE, Tally
from readlet.augment.translated_questions import (
    Split,
    is_chosen,
    is_in_source_language,
    texts_to_translate,
)
from readlet.errors import bad_input
from readlet.formats import read_examples
from readlet.formats.columns import PLAIN, DataFormat
from readlet.formats.sources import for_source
from readlet.formats.unique_ids import StreamedIds
from readlet.progress import track
from readlet.translation.types import Route, TranslatedText
from readlet.types import Example

# Characters: a longer article is several blocks, so that memory stays bounded, and processes have
# equal shares of data without titles.
_MAX_BLOCK = 1 << 18


Fill = Callable[[Iterable[str], Route], object]
"""Translates the texts that are not stored yet, and stores them."""
Get = Callable[[str, Route], TranslatedText]
"""A stored translation."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Question data as it is named on the command line."""

    names: Sequence[str]
    data_format: DataFormat = PLAIN

    def read(self) -> Iterator[Example]:
        for name in self.names:
            yield from read_examples(name, for_source(name, self.data_format))

    def __str__(self) -> str:
        return ", ".join(self.names)


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What is known of the data after it was read once."""

    tally: Tally
    ids: StreamedIds
    blocks: int
    digest: str  # of all questions


def survey(sources: Sources, plan: Plan) -> Surveyed:
    """Read all data before anything is translated: its faults are found first."""
    tally, ids, count, digest = Tally(plan), StreamedIds(), 0, blake2b(digest_size=16)
    for block in blocks(sources.read()):
        count += 1
        for example in block:
            ids.add(example.id)
            digest.update(repr(example).encode("utf-8", "surrogatepass"))
            tally.questions += 1
            if reason := why_left(example, plan):
                tally.left[reason] += 1
    if tally.questions == tally.left.total():
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in tally.left.items())
        fault = f"has no question to translate ({reasons or 'there are none'})"
        raise bad_input(str(sources), "", fault, "check the data, --from and --share")
    ids.count_repeated()
    return Surveyed(tally, ids, count, digest.hexdigest())


def fill(
    sources: Sources,
    plan: Plan,
    split: Split,
    translate: Fill,
    questions: int,
    shard: Shard = WHOLE,
    has_links: Callable[[Route], bool] = lambda _: False,
) -> None:
    """Translate the texts that are needed for new questions; the data has so many old ones.

    `has_links`: whether translations along a route come with links between words.
    """
    for language in plan.to:
        old = track(sources.read(), questions, "collecting texts")
        own = chain.from_iterable(shard.of(blocks(old)))
        chosen = (example for example in own if not why_left(example, plan))
        route = plan.route(language)
        translate(texts_to_translate(chosen, plan, split, has_links=has_links(route)), route)


def why_left(example: Example, plan: Plan) -> str:
    """Why a question is not translated; empty if it is."""
    if not is_in_source_language(example, plan):
        return OTHER_LANGUAGE
    return "" if is_chosen(example, plan) else NOT_SAMPLED


def blocks(examples: Iterable[Example]) -> Iterator[list[Example]]:
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
