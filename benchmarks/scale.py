"""What many files cost, and what larger data would: the figures of docs/scale.md.

    python benchmarks/scale.py [--data FILE] [--questions 400] [--files 8]

Measured here: seconds of one core for a question (`predict` with the bundled reader, `augment` into
Spanish by Apertium with an empty cache), seconds until Ray has started, seconds for a file without
work, and questions a second with one and two actors of a core each. Then the calculation:

    core hours = questions × seconds of a core / 3600 + files × seconds of a file / 3600
    hours      = core hours / (cores × efficiency)
    money      = core hours / efficiency × price of a core hour

Core seconds are counted by the system, so that other work on the machine does not count.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path

from readlet.augmentation.config import AugmentationConfig
from readlet.cluster.actors import LOCAL, by_actors, connected
from readlet.cluster.commands import Files, augment_files, predict_files
from readlet.cluster.files import jobs_of
from readlet.cluster.map_files import map_files
from readlet.data import read_examples, write_examples

PRICE = 0.04  # dollars for an hour of a core: an input, not a measurement
EFFICIENCY = 0.9  # of many cores, against one: an input too


def core_seconds(run: Callable[[], object]) -> float:
    before = sum(os.times()[:4])
    run()
    return sum(os.times()[:4]) - before


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def empty_worker() -> Callable[[Path, Path], Mapping[str, int]]:
    def work(source: Path, target: Path) -> Mapping[str, int]:
        target.write_text("")
        return {}

    return work


def nothing() -> Callable[[int], int]:
    return lambda item: item


def calculation(name: str, questions: float, each: float, files: int, of_file: float) -> str:
    core_hours = (questions * each + files * of_file) / 3600
    cells = [f"{cores:,}: {core_hours / cores / EFFICIENCY:,.1f} h" for cores in (64, 1024)]
    money = core_hours / EFFICIENCY * PRICE
    return f"{name}: {core_hours:,.0f} core hours; cores {', '.join(cells)}; {money:,.0f} dollars"


def main(words: Sequence[str] | None = None) -> dict[str, float]:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", default="bundled:train")
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--no-ray", action="store_true", help="only what one process costs")
    options = parser.parse_args(words)
    found: dict[str, float] = {}

    def note(name: str, value: float, unit: str) -> None:
        found[name] = value
        print(f"{name}: {value:.4g} {unit}", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        examples = list(islice(cycle(read_examples(options.data)), options.questions))
        part = -(-len(examples) // options.files)
        (folder / "in").mkdir()
        for n in range(options.files):
            here = examples[n * part : (n + 1) * part]
            write_examples(folder / "in" / f"{n:03d}.jsonl", here)

        def files(out: str, ray: str = "") -> Files:
            return Files(sources=[str(folder / "in")], out=str(folder / out), ray=ray)

        os.environ["OMP_NUM_THREADS"] = "1"
        used = core_seconds(lambda: predict_files("bundled", files("turn")))
        note("predict, core seconds a question", used / len(examples), "s")
        few = Files(sources=[str(folder / "in" / "000.jsonl")], out=str(folder / "new"))
        config = AugmentationConfig(to=("es",))
        used = core_seconds(lambda: augment_files(few, config, caches=str(folder / "cache")))
        note("augment, core seconds a question", used / part, "s")
        if not options.no_ray:
            measure_ray(folder, files, len(examples), note)
    of_file = found.get("a file without work", 0.0)
    for line in (
        calculation(
            "100 million questions augmented",
            1e8,
            found["augment, core seconds a question"],
            100_000,
            of_file,
        ),
        calculation(
            "a billion passages read",
            1e9,
            found["predict, core seconds a question"],
            100_000,
            of_file,
        ),
    ):
        print(line)
    return found


def measure_ray(
    folder: Path,
    files: Callable[..., Files],
    questions: int,
    note: Callable[[str, float, str], None],
) -> None:
    started = time.perf_counter()
    with connected(LOCAL):
        note("start of Ray", time.perf_counter() - started, "s")
        note("start of actors", seconds(lambda: list(by_actors(nothing, [1, 2], LOCAL))), "s")
        (folder / "empty").mkdir()
        for n in range(400):
            (folder / "empty" / f"{n}.csv").write_text("")
        jobs = jobs_of([str(folder / "empty")], str(folder / "done"), ".jsonl")
        run = lambda: map_files(empty_worker, jobs, settings={}, ray=LOCAL)  # noqa: E731
        note("a file without work", seconds(run) / len(jobs), "s")
    import ray

    rates = []
    for count in (1, 2):
        ray.init(num_cpus=count, include_dashboard=False, log_to_driver=False)
        out = f"ray-{count}"
        taken = seconds(lambda out=out: predict_files("bundled", files(out, "local")))
        rates.append(questions / taken)
        note(f"predict with {count} actors", rates[-1], "questions/s")
        ray.shutdown()
    note("efficiency of two actors", rates[1] / rates[0] / 2, "")


if __name__ == "__main__":
    main()
