"""Several processes translate parts of a data set; one is killed and started again; parts merge.

Checks that the merged parts give the same bytes as one process alone, and prints what a sentence
and a question cost, from which docs/scale.md estimates larger runs.
"""

import argparse
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
        began = time.perf_counter()
        augment(sources, plan, Outputs(out=folder / name), lambda pair: engine, cache)
        return time.perf_counter() - began

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

    began = time.perf_counter()
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
    parted = time.perf_counter() - began

    began = time.perf_counter()
    merge(folder / "merged.sqlite", shards)
    merging = time.perf_counter() - began
    whole("merged.jsonl", folder / "merged.sqlite")
    same = (folder / "merged.jsonl").read_bytes() == (folder / "alone.jsonl").read_bytes()

    sentences, bytes_stored = size(alone), alone.stat().st_size
    questions = sum(1 for _ in (folder / "alone.jsonl").open("rb")) / 2
    print(f"one process: {sentences:,} sentences, {questions:,.0f} questions, {first:.0f} s")
    print(
        f"  with all translations stored: {again:.0f} s, {1000 * again / questions:.2f} ms a question"
    )
    print(f"  translating: {sentences / (first - again):,.0f} sentences/s")
    print(f"  cache: {bytes_stored / sentences:.0f} bytes a sentence")
    print(f"{count} processes, one killed after {kept:,} sentences and restarted: {parted:.0f} s")
    print(f"  merging: {sentences / merging:,.0f} sentences/s")
    print(f"  same bytes as one process: {same}")
    if not same:
        raise SystemExit(1)


def size(path: Path) -> int:
    with Cache(path) as cache:
        return len(cache)


if __name__ == "__main__":
    main()
