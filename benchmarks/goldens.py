"""Whether two versions of Readlet make the same: weights, predictions, scores, data and reports.

    python benchmarks/goldens.py OTHER/bin/python THIS/bin/python
    python benchmarks/goldens.py OTHER/bin/python THIS/bin/python --only predict --data dev.json.gz

Each version runs the same commands in a folder of its own: a small training of every kind of model,
`ask`, `predict`, `evaluate`, `export`, `augment` with Apertium, an experiment with its report. The
outputs are compared: tensors to the bit, files by their content, JSON without times and paths. The
table says how many values are equal and where the first difference is. Exit code 1 if one differs.
"""

import argparse
import hashlib
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import safe_open

ROOT = Path(__file__).parents[1]
ROUNDING = 1e-5
# What no two runs have in common.
UNSTABLE = re.compile(r"seconds|time|date|version|per_s|path|folder|commit|machine|command|source$")
PASSAGE = "Ada Brook built the old kiln in 1881. A mill followed two years later.\n"
TABLE = """
name = "golden"
title = "Two widths"
recipe = "tiny"
combine = "each"
baseline = "width 48"
seeds = 2
[set]
training.epochs = 1
training.evaluate_every = 1
[axes.width]
"width 48" = {}
"width 24" = { model.width = 24, model.feed_forward = 24 }
"""

ONE_EPOCH = "--set training.epochs=1 --set training.evaluate_every=1"
QUESTIONS = "--set data.train=bundled:train --set data.dev=bundled:dev"
REVIEWS = "--set data.train=bundled:reviews-train --set data.dev=bundled:reviews-dev"
BERT = "--set model.encoder=bert"  # tiny, with random weights

# What is compared, a command, and its output; "-" is what it prints.
STEPS = [
    ("train qacnn", f"train tiny --out qacnn {ONE_EPOCH}", "qacnn"),
    ("train encoder", f"train encoder --out encoder {BERT} {QUESTIONS} {ONE_EPOCH}", "encoder"),
    ("train classifier", f"train sst2 --out labels {BERT} {REVIEWS} {ONE_EPOCH}", "labels"),
    ("predict", "predict qacnn DATA --out qacnn.jsonl", "qacnn.jsonl"),
    ("predict", "predict encoder DATA --out encoder.jsonl", "encoder.jsonl"),
    ("evaluate", "evaluate qacnn DATA --json", "-"),
    ("evaluate classifier", "evaluate labels bundled:reviews-dev --json", "-"),
    ("ask", "ask 'Who built the kiln?' passage.txt --reader encoder --json", "-"),
    ("export", "export encoder --out exported", ""),
    ("export", "predict exported DATA --out exported.jsonl", "exported.jsonl"),
    ("augment", "augment DATA --to es --out es.json", "es.json"),
    ("augment", "augment DATA --to es --back --out back.json", "back.json"),
    ("experiment", "experiment run table.toml --out runs", ""),
    ("experiment", "experiment report table.toml --out runs --format json", "runs/golden.json"),
]


def run_steps(python: Path, folder: Path, data: str, only: list[str]) -> dict[str, Any]:
    """The outputs of every step; of one that fails, the last line of its message."""
    (folder / "passage.txt").write_text(PASSAGE, "utf-8")
    (folder / "table.toml").write_text(TABLE, "utf-8")
    found: dict[str, Any] = {}
    environment = os.environ | {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(folder / "cache")}
    for name, line, output in STEPS:
        if only and name not in only:
            continue
        words = [data if word == "DATA" else word for word in shlex.split(line)]
        command = [str(python.absolute()), "-m", "readlet", *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        title = f"{name}: {output or words[0]}"
        if done.returncode:
            found[title] = (done.stderr.strip().splitlines() or ["failed"])[-1]
        elif output:
            found[title] = output_of(folder / output) if output != "-" else json.loads(done.stdout)
    return found


def output_of(path: Path) -> Any:
    """A model as digests of its tensors; a file as its JSON values."""
    if path.is_dir():
        with safe_open(path / "model.safetensors", "numpy") as tensors:
            names = sorted(tensors.keys())
            return {name: digest(tensors.get_tensor(name).tobytes()) for name in names}
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return {row["id"]: {name: row[name] for name in row if name != "n_best"} for row in rows}
    return json.loads(path.read_text("utf-8"))


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def values_of(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Each number, text and truth value with its place, except those that no two runs share."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not UNSTABLE.search(key):
                yield from values_of(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from values_of(inner, f"{place}[{number}]")
    else:
        yield place, value


def differences(one: Any, other: Any) -> tuple[int, list[str]]:
    """How many values both have, and the places where they differ."""
    before, now = dict(values_of(one)), dict(values_of(other))
    common = [place for place in before if place in now]
    differing = [place for place in common if not is_same(before[place], now[place])]
    return len(common), [f"{place}: {before[place]!r}, {now[place]!r}" for place in differing]


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return bool(one == other)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("one", type=Path, help="Python of the earlier version")
    parser.add_argument("other", type=Path, help="Python of the later version")
    parser.add_argument("--data", default="bundled:test", help="questions to predict and translate")
    parser.add_argument("--only", action="append", default=[], help="a step; repeatable")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    from encoder_folders import write_encoder

    outputs = []
    with tempfile.TemporaryDirectory() as top:
        for number, python in enumerate((options.one, options.other)):
            folder = Path(top) / str(number)
            folder.mkdir()
            write_encoder("bert", folder / "bert", [PASSAGE])
            outputs.append(run_steps(python, folder, options.data, options.only))
    failed = 0
    for name in dict.fromkeys([*outputs[0], *outputs[1]]):  # a step without output may fail in one
        common, places = differences(*(found.get(name, "done") for found in outputs))
        failed += bool(places) or not common
        first = f"; {places[0]}" if places else ""
        print(f"{name:<34}{common:>8,} values, {len(places):,} differ{first}"[:200], flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
