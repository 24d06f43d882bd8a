"""Several processes translate parts of a data set; one is killed and started again; parts merge.

    python benchmarks/augment_shards.py --data train.json.gz [--share 0.1] [--processes 8]

Checks that the merged parts give the same bytes as one process alone, and prints what a sentence
and a question cost, from which docs/scale.md estimates larger runs.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from readlet.augment.augmenting import Outputs, augment
from readlet.augment.plan import Plan
from readlet.augment.translated_file import Sources
from readlet.translation.cache import Cache, merge
from readlet.translation.engines import engine_named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="English question data")
    parser.add_argument("--to", default="es")
    parser.add_argument("--share", type=float, default=1.0, help="of the questions")
    parser.add_argument("--processes", type=int, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(arguments, Path(folder))


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    count = arguments.processes
    words = ["augment", arguments.data, "--to", arguments.to, "--share", str(arguments.share)]
    words += ["--engine", "apertium"]
    plan = Plan(to=(arguments.to,), share=arguments.share)
    sources = Sources([arguments.data], {})
    engine = engine_named("apertium")

    def whole(name: str, cache: Path) -> float:
        began = processor_seconds()
        augment(sources, plan, Outputs(out=folder / name), lambda pair: engine, cache)
        return processor_seconds() - began

    alone = folder / "alone.sqlite"
    first = whole("alone.jsonl", alone)
    again = whole("again.jsonl", alone)

    shards = [folder / f"{number}.sqlite" for number in range(1, count + 1)]

    def start(number: int) -> subprocess.Popen[bytes]:
        part = ["--shard", f"{number}/{count}", "--cache", str(shards[number - 1])]
        return subprocess.Popen(
            [sys.executable, "-m", "readlet", *words, *part],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    began = processor_seconds()
    processes = [start(number) for number in range(1, count + 1)]
    victim = shards[count // 2]
    while processes[count // 2].poll() is None and not (victim.exists() and size(victim)):
        time.sleep(0.1)
    processes[count // 2].kill()
    processes[count // 2].wait()
    kept = size(victim)
    processes[count // 2] = start(count // 2 + 1)
    if any(process.wait() for process in processes):
        raise SystemExit("a process failed")
    parted = processor_seconds() - began

    began = processor_seconds()
    merge(folder / "merged.sqlite", shards)
    merging = processor_seconds() - began
    whole("merged.jsonl", folder / "merged.sqlite")
    same = (folder / "merged.jsonl").read_bytes() == (folder / "alone.jsonl").read_bytes()

    sentences, bytes_stored = size(alone), alone.stat().st_size
    questions = sum(1 for _ in (folder / "merged.jsonl").open("rb"))
    print(f"one process: {sentences:,} sentences, {questions:,} questions")
    print(f"  {first:.1f} s of a core; {again:.1f} s with all translations stored")
    print(f"  translating: {sentences / (first - again):,.0f} sentences a second of a core")
    print(f"  all else: {1000 * again / questions:.2f} ms of a core for each written question")
    print(f"  cache: {bytes_stored / sentences:.0f} bytes a sentence")
    print(f"{count} processes, one killed after {kept:,} sentences and restarted: {parted:.1f} s")
    print(f"  merging: {sentences / merging:,.0f} sentences a second of a core")
    print(f"  same bytes as one process: {same}")
    if not same:
        raise SystemExit(1)


def processor_seconds() -> float:
    """Of this process and of those that it started: comparable also while others are at work."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def size(path: Path) -> int:
    with Cache(path) as cache:
        return len(cache)


if __name__ == "__main__":
    main()
