"""Several processes translate parts of a data set; one is killed and started again; parts merge.

    python benchmarks/augment_shards.py --data train.json.gz [--share 0.1] [--processes 8]

Checks that the merged parts give the same bytes as one process alone (the exit code is 1 if not),
and prints what each step costs, from which docs/scale.md estimates larger runs. Times are those of
processors, so that they are comparable also while others are at work.
"""

import argparse
import hashlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from readlet.augment.assembly import assemble
from readlet.augment.parts import Parts, write_part
from readlet.augment.plan import Plan
from readlet.augment.translated_file import Sources, fill, survey
from readlet.translation.cache import Cache, merge
from readlet.translation.engines import engine_named
from readlet.translation.pool import Pool
from readlet.translation.sentences import split_sentences
from readlet.translation.types import LanguagePair, Translation

Costs = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="English question data")
    parser.add_argument("--to", default="es")
    parser.add_argument("--share", type=float, default=1.0, help="of the questions")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rows", type=int, default=1_000_000, help="made up, to time merging")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(arguments, Path(folder))


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    count = arguments.processes
    plan = Plan(to=(arguments.to,), share=arguments.share)
    sources = Sources([arguments.data])
    alone = folder / "alone.sqlite"
    costs, questions, translated = augmented(sources, plan, alone, folder / "alone.jsonl")
    sentences = size(alone)
    print(f"one process: {translated:,} of {questions:,} questions, {sentences:,} sentences")
    print(f"  reading: {1e6 * costs['reading'] / questions:.0f} µs a question")
    print(f"  collecting: {1e6 * costs['collecting'] / translated:.0f} µs a translated question")
    translating = costs["translating"] - costs["collecting"]
    print(f"  translating: {1e6 * translating / sentences:.0f} µs a sentence")
    print(f"  finding answers: {1e6 * costs['finding'] / translated:.0f} µs a translated question")
    print(f"  writing: {1e6 * costs['writing'] / (questions + translated):.0f} µs a question")
    print(f"  cache: {alone.stat().st_size / sentences:.0f} bytes a sentence")

    words = ["augment", arguments.data, "--to", arguments.to, "--share", str(arguments.share)]
    shards = [folder / f"{number}.sqlite" for number in range(1, count + 1)]
    kept = translated_in_shards([*words, "--engine", "apertium"], shards)
    print(f"{count} processes, one killed after {kept:,} sentences and restarted")
    rows, texts = sum(map(size, shards)) / sentences, sum(map(characters, shards))
    longer = 100 * (texts / characters(alone) - 1)
    print(f"  together {100 * rows - 100:.0f} % more sentences, {longer:.0f} % more characters")
    merge(folder / "merged.sqlite", shards)
    augmented(sources, plan, folder / "merged.sqlite", folder / "merged.jsonl")
    same = (folder / "merged.jsonl").read_bytes() == (folder / "alone.jsonl").read_bytes()
    print(f"  merged, the same bytes as one process: {same}")
    print(
        f"  merging {arguments.rows:,} made-up rows: {merging(folder, arguments.rows):.1f} µs each"
    )
    if not same:
        raise SystemExit(1)


def augmented(sources: Sources, plan: Plan, cache: Path, out: Path) -> tuple[Costs, int, int]:
    """The processor time of each step, the number of questions, and of those translated."""
    engine = engine_named("apertium")
    costs: Costs = {}

    def timed(step: str, work: Callable[[], object]) -> None:
        began = processor_seconds()
        work()
        costs[step] = processor_seconds() - began

    timed("reading", lambda: survey(sources, plan))
    found, parts = survey(sources, plan), Parts(out, 1)
    questions = found.tally.questions
    with Cache(cache) as stored:
        pool = Pool(stored, lambda pair: engine)
        timed("translating", lambda: fill(sources, plan, split_sentences, pool.fill, questions))
        timed("collecting", lambda: fill(sources, plan, split_sentences, pool.fill, questions))
        timed("finding", lambda: write_part(parts, 0, sources, plan, pool.get, found))
    timed("writing", lambda: assemble(sources, plan, parts, found))
    asked = sum(counts.asked for counts in found.tally.languages.values())
    return costs, questions, asked


def translated_in_shards(words: list[str], shards: list[Path]) -> int:
    """Each by a process; the number of sentences that the one that was killed had stored."""

    def start(number: int) -> subprocess.Popen[bytes]:
        part = ["--shard", f"{number + 1}/{len(shards)}", "--cache", str(shards[number])]
        return subprocess.Popen(
            [sys.executable, "-m", "readlet", *words, *part],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    processes = [start(number) for number in range(len(shards))]
    victim = len(shards) // 2
    while processes[victim].poll() is None and not (
        shards[victim].exists() and size(shards[victim])
    ):
        time.sleep(0.1)
    processes[victim].kill()
    processes[victim].wait()
    kept = size(shards[victim])
    processes[victim] = start(victim)
    codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit("a process failed")
    return kept


def merging(folder: Path, rows: int) -> float:
    """Processor time for each of many rows, in microseconds."""
    paths = [folder / f"made-up-{number}.sqlite" for number in range(4)]
    for number, path in enumerate(paths):
        with Cache(path) as cache:
            model = cache.model("none", "1", LanguagePair("en", "es"))
            for start in range(number, rows, len(paths) * 10_000):
                names = [str(n) for n in range(start, min(rows, start + 40_000), len(paths))]
                texts = [hashlib.sha256(name.encode()).hexdigest() for name in names]
                cache.put(model, names, [Translation(text) for text in texts])
    began = processor_seconds()
    merge(folder / "all-made-up.sqlite", paths)
    return 1e6 * (processor_seconds() - began) / rows


def processor_seconds() -> float:
    """Of this process and of those that it started."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def characters(path: Path) -> int:
    """Of all translations."""
    with Cache(path) as cache:
        query = "SELECT SUM(length(text)) FROM translations"
        return int(cache.connection.execute(query).fetchone()[0])


def size(path: Path) -> int:
    with Cache(path) as cache:
        return len(cache)


if __name__ == "__main__":
    main()
