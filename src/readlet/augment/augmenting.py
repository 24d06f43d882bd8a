"""Augmentation by translation, from the files that are read to the files that are written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from readlet.augment.assembly import assemble
from readlet.augment.parts import Parts, check_part, write_part
from readlet.augment.plan import Plan
from readlet.augment.processes import Processes
from readlet.augment.report import check_report, write_report
from readlet.augment.shards import Shard
from readlet.augment.tally import Tally
from readlet.augment.text_statistics import TextStatistics
from readlet.augment.translated_file import Sources, fill, survey
from readlet.errors import InputError, bad_input
from readlet.formats.sources import input_path
from readlet.formats.writing import check_target
from readlet.storage.outputs import check_file, make_folder
from readlet.storage.user_cache import cache_folder
from readlet.translation.cache import Cache, merge
from readlet.translation.pool import Pool
from readlet.translation.routes import route_to
from readlet.translation.sentences import split_sentences
from readlet.translation.types import LanguagePair, Translator

Choose = Callable[[LanguagePair], Translator]
"""The engine for a pair; an error if there is none."""


def default_cache() -> Path:
    """Where translations are stored if the user does not say."""
    folder = cache_folder()
    make_folder(folder)
    return folder / "translations.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The files to write."""

    out: Path
    lost: Path | None = None
    report: Path | None = None
    overwrite: bool = False


def augment(
    sources: Sources,
    plan: Plan,
    outputs: Outputs,
    choose: Choose,
    cache: Path,
    *,
    add: Sequence[Path] = (),
    command: str = "",
) -> Tally | None:
    """Write the questions of all sources and new ones. None if another process writes them.

    Translations are stored in `cache` as they are made: if the work is interrupted, the same call
    continues. Those of the caches in `add` are taken over first. Several processes, started by
    `accelerate launch`, divide the articles among themselves.
    """
    check_outputs(sources, outputs, cache, add)
    used = engines(plan, choose)
    processes = Processes.launched()
    own = processes.own_cache(cache)
    if processes.is_main and add:
        merge(own, add)
    found = survey(sources, plan)
    found.tally.engines.update(used)
    parts = Parts(outputs.out, processes.count_here)
    if processes.machine == 0:
        check_part(parts, processes.number_here, plan, found)
    _fill(sources, plan, choose, own, processes.shard, found.tally.questions)
    processes.wait_for_all()
    if processes.is_main and (others := processes.other_caches(cache)):
        merge(cache, others)
    processes.wait_for_all()
    if processes.machine == 0:  # it has the whole cache
        with Cache(cache) as stored:
            get = Pool(stored, choose).get
            write_part(parts, processes.number_here, sources, plan, get, found)
    processes.wait_for_all()
    if not processes.is_main:
        return None
    statistics = None if outputs.report is None else TextStatistics(plan)
    try:
        tally = assemble(sources, plan, parts, found, lost=outputs.lost, statistics=statistics)
    except InputError:
        parts.remove()  # with other data or options they cannot be continued
        raise
    if outputs.report is not None and statistics is not None:
        write_report(outputs.report, tally, statistics, command)
    parts.remove()  # last: until then, a killed run may write the outputs again
    return tally


def translate_shard(sources: Sources, plan: Plan, choose: Choose, cache: Path, shard: Shard) -> int:
    """Translate one part of the articles into a cache; how many sentences that cache has then."""
    check_cache(sources, cache)
    engines(plan, choose)
    questions = survey(sources, plan).tally.questions
    _fill(sources, plan, choose, cache, shard, questions)
    with Cache(cache) as stored:
        return len(stored)


def engines(plan: Plan, choose: Choose) -> dict[str, str]:
    """Engine and model of each pair on the way, pivots included; an error if there is none."""
    found = {}
    for pair in dict.fromkeys(pair for language in plan.to for pair in plan.route(language)):
        engine = choose(pair)
        for leg in route_to(pair, engine.pairs()) or ():
            found[str(leg)] = f"{engine.name} {engine.version(leg)}"
    return found


def check_outputs(
    sources: Sources, outputs: Outputs, cache: Path, add: Sequence[Path] = ()
) -> None:
    """Check that everything can be written, before anything is read."""
    inputs = [*map(input_path, sources.names), *add]
    processes = Processes.launched()
    check_file(outputs.out, inputs)
    # Killed while the outputs were written, the list of losses last: they are its own.
    is_begun = Parts(outputs.out, processes.count_here).path(0).exists()
    overwrite = outputs.overwrite or is_begun
    check_target(outputs.out, sources.names, overwrite=overwrite)
    if outputs.lost is not None:
        is_own = is_begun and outputs.out.exists()
        check_file(outputs.lost, inputs, overwrite=outputs.overwrite or is_own)
        if outputs.lost.resolve() == outputs.out.resolve():
            raise bad_input(outputs.lost, "", "is also --out", "give another file for --lost")
    if outputs.report is not None:
        check_report(outputs.report, inputs)
    written = {path.resolve() for path in (outputs.out, outputs.lost) if path is not None}
    if cache.resolve() in written:
        raise bad_input(cache, "", "is also an output", "give another file for --cache")
    check_cache(sources, processes.own_cache(cache), add)
    if processes.is_main:  # on several machines, no other process opens it
        check_cache(sources, cache, add)


def check_cache(sources: Sources, cache: Path, add: Sequence[Path] = ()) -> None:
    """Check that a file is a cache, or can become one."""
    check_file(cache, [*map(input_path, sources.names), *add])
    with Cache(cache):
        pass


def _fill(
    sources: Sources, plan: Plan, choose: Choose, cache: Path, shard: Shard, questions: int
) -> None:
    with Cache(cache) as stored:
        pool = Pool(stored, choose)
        fill(sources, plan, split_sentences, pool.fill, questions, shard, pool.has_links)
