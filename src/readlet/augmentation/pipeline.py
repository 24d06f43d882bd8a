"""Augmentation by translation, from input files to output files.

First all texts are collected and translated into a cache, then new questions are made from it.
So the output does not depend on interruptions, and no sentence is translated
twice. In memory are the distinct sentences, the longest article, and 8 bytes for each id.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache as cached
from functools import partial
from pathlib import Path

from readlet.augmentation.config import AugmentationConfig
from readlet.augmentation.tally import Tally
from readlet.augmentation.translated_questions import (
    Translated,
    texts_to_translate,
    translated,
    why_left,
)
from readlet.augmentation.translation.batch_translator import BatchTranslator, Cache
from readlet.augmentation.translation.engines import translator_for
from readlet.augmentation.translation.types import Route, TranslatedText, route_to
from readlet.console import track
from readlet.data import read_examples, write_examples
from readlet.data.columns import PLAIN, DataFormat
from readlet.data.datasets import StreamedIds, input_path
from readlet.data.writing import check_target
from readlet.errors import bad_input
from readlet.storage.files import atomic_text, cache_folder
from readlet.storage.overwrite import check_file, make_folder
from readlet.types import Example

# Characters: a longer article is several blocks, so that memory stays bounded.
_MAX_BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
class Sources:
    """Question data as named on the command line."""

    names: Sequence[str]
    data_format: DataFormat = PLAIN

    def read(self) -> Iterator[Example]:
        for name in self.names:
            yield from read_examples(name, self.data_format)

    def __str__(self) -> str:
        return ", ".join(self.names)


def augment_files(
    files: Sequence[str],
    out: str | Path,
    config: AugmentationConfig,
    *,
    engine: str | None = None,
    cache: Path | None = None,
    lost: Path | None = None,
    overwrite: bool = False,
    data_format: DataFormat = PLAIN,
) -> Tally:
    """Write the questions of some files, and translated ones with relocated answers.

    `engine` is as `readlet augment --engine`. Translations are stored in the cache as they are
    made: if the work is interrupted, the same call continues.

    >>> from readlet import AugmentationConfig
    >>> spanish = AugmentationConfig(to=("es",))
    >>> augment_files(["train.json"], "more.json", spanish)  # doctest: +SKIP
    """
    sources, out, cache = Sources(files, data_format), Path(out), cache or _default_cache()
    _check_outputs(sources, out, lost, cache, overwrite=overwrite)
    used = engines(config, engine)
    tally, ids = survey(sources, config)
    tally.engines.update(used)
    with Cache(cache) as stored:
        translations = BatchTranslator(stored, partial(translator_for, engine=engine))
        fill(sources, config, translations, tally.questions)
        write(sources, config, translations, tally, ids, out, lost)
    return tally


def _default_cache() -> Path:
    folder = cache_folder()
    make_folder(folder)
    return folder / "translations.sqlite"


def engines(config: AugmentationConfig, engine: str | None) -> dict[str, str]:
    """Engine and model of each pair of the routes, pivots included; an error if there is none."""
    found = {}
    for pair in dict.fromkeys(pair for language in config.to for pair in config.route(language)):
        chosen = translator_for(pair, engine)
        for leg in route_to(pair, chosen.pairs()) or ():
            found[str(leg)] = f"{chosen.name} {chosen.version(leg)}"
    return found


def _check_outputs(
    sources: Sources,
    out: Path,
    lost: Path | None,
    cache: Path,
    *,
    overwrite: bool,
) -> None:
    """Check that everything can be written, before anything is read."""
    inputs = [*map(input_path, sources.names)]
    check_target(out, sources.names, overwrite=overwrite)
    if lost is not None:
        check_file(lost, inputs, overwrite=overwrite)
    check_file(cache, inputs)
    written = [path.resolve() for path in (out, lost, cache) if path is not None]
    if len(set(written)) < len(written):
        raise bad_input(out, "", "is named twice", "give --out, --lost and --cache a file each")
    with Cache(cache):  # it is a cache, or can become one
        pass


def survey(sources: Sources, config: AugmentationConfig) -> tuple[Tally, StreamedIds]:
    """Read all data before anything is translated, so that errors in it come first."""
    tally, ids = Tally(config), StreamedIds()
    for example in sources.read():
        ids.add(example.id)
        tally.questions += 1
        if reason := why_left(example, config):
            tally.left[reason] += 1
    if tally.questions == tally.left.total():
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in tally.left.items())
        fault = f"has no question to translate ({reasons or 'there are none'})"
        raise bad_input(str(sources), "", fault, "check the data, --from and --share")
    ids.count_repeated()
    return tally, ids


def fill(
    sources: Sources, config: AugmentationConfig, translations: BatchTranslator, questions: int
) -> None:
    """Translate the texts that new questions need; `questions` is the number of old ones."""
    for language in config.to:
        old = track(sources.read(), questions, "collecting texts")
        chosen = (example for example in old if not why_left(example, config))
        route = config.route(language)
        has_links = translations.has_links(route)
        texts = texts_to_translate(chosen, config, has_links=has_links)
        translations.fill(texts, route)


def write(
    sources: Sources,
    config: AugmentationConfig,
    translations: BatchTranslator,
    tally: Tally,
    ids: StreamedIds,
    out: Path,
    lost: Path | None = None,
) -> None:
    """Write the old and the new questions, article by article."""
    with atomic_text(lost) if lost is not None else nullcontext() as listed:

        def questions() -> Iterator[Example]:
            for block in blocks(track(sources.read(), tally.questions, "finding answers")):
                if config.merge:
                    tally.written += len(block)
                    yield from block
                for one in made(block, config, translations.get):
                    tally.add(one)
                    if one.new is not None:
                        tally.written += 1
                        preferred = f"{one.source.id}-{config.name(one.language)}"
                        yield replace(one.new, id=ids.new_id(preferred, one.source.id))
                    elif listed is not None:
                        row = {"id": one.source.id, "language": one.language, "reason": one.reason}
                        listed.write(json.dumps(row, ensure_ascii=False) + "\n")
            if not tally.written:
                fault = "no new question is left"
                raise bad_input(str(sources), "", fault, "keep more with --keep all")

        write_examples(out, questions())


def made(
    block: Sequence[Example],
    config: AugmentationConfig,
    get: Callable[[str, Route], TranslatedText],
) -> Iterator[Translated]:
    """The outcomes of the questions of a block, language by language."""
    for language in config.to:
        route = config.route(language)
        translate = cached(lambda text, route=route: get(text, route))  # contexts are shared
        for example in block:
            if not why_left(example, config):
                yield translated(example, config, language, translate)


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
