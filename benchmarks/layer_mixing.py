"""Figures of layer mixing as in its paper: training loss, and EM and F1 on dev during training.

    readlet experiment run layer-mixing-2-epochs --data FOLDER --out runs/layer-mixing
    readlet experiment run layer-mixing-5-epochs --data FOLDER --out runs/layer-mixing
    python benchmarks/layer_mixing.py --runs runs/layer-mixing --out docs/results/layer-mixing.png

One row of panels for each number of epochs; a line is the mean over the seeds. EM and F1 are those
of the raw scores: a threshold is fitted at the end only. Needs matplotlib (the extra `plots`).
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from readlet.errors import ReadletError
from readlet.storage.stored_files import read_json

MIXES = ("last", "scalar", "scalar-softmax", "dot", "weighted", "encoder")
COLOURS = ("#333333", "#7a9e3f", "#b5b53a", "#b5442e", "#2e6fb5", "#8a4fb5")
PANELS = (("loss", "training loss"), ("exact", "EM on dev"), ("f1", "F1 on dev"))
_WINDOW = 10  # log lines over which the training loss is averaged
Curves = dict[str, list[list[tuple[float, float]]]]
"""Points (epoch, value) of every seed, by mix."""


def curves_of(runs: Path) -> dict[int, dict[str, Curves]]:
    """By number of epochs and kind of value; only runs that differ in their mix."""
    found: dict[int, dict[str, Curves]] = {}
    for path in sorted(runs.glob("*/result.json")):
        recipe = read_json(path)["recipe"]
        model, training = recipe["model"], recipe["training"]
        softmaxes = {recipe[part]["softmax"] for part in ("attention", "loss") if part in recipe}
        if model["kind"] != "encoder" or "norm" in softmaxes or training["epochs"] < 2:
            continue
        empty: dict[str, Curves] = {name: defaultdict(list) for name, _ in PANELS}
        curves = found.setdefault(training["epochs"], empty)
        text = path.with_name("log.jsonl").read_text("utf-8")
        lines = [json.loads(line) for line in text.splitlines()]
        for name, _ in PANELS:
            points = [(line["epoch"], line[name]) for line in lines if name in line]
            curves[name][model["mix"]].append(points)
    if not found:
        remedy = "run layer-mixing-2-epochs first"
        raise ReadletError(f"{runs}: no finished run of an encoder; {remedy}")
    return dict(sorted(found.items()))


def mean_curve(seeds: list[list[tuple[float, float]]], *, smooth: bool) -> tuple[Any, Any]:
    length = min(map(len, seeds))
    epochs = np.array([epoch for epoch, _ in seeds[0][:length]])  # (points,)
    values = np.mean([[value for _, value in seed[:length]] for seed in seeds], axis=0)  # (points,)
    if smooth and length > _WINDOW:
        values = np.convolve(values, np.ones(_WINDOW) / _WINDOW, "valid")
        epochs = epochs[_WINDOW - 1 :]
    return epochs, values


def plot(found: dict[int, dict[str, Curves]], out: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.6 * len(found)), layout="constrained")
    axes = figure.subplots(len(found), len(PANELS), squeeze=False)
    for row, (epochs, values) in zip(axes, found.items(), strict=True):
        for axis, (name, label) in zip(row, PANELS, strict=True):
            for mix, colour in zip(MIXES, COLOURS, strict=True):
                if seeds := values[name].get(mix):
                    points = mean_curve(seeds, smooth=name == "loss")
                    marker = "" if name == "loss" else "o"
                    axis.plot(*points, color=colour, marker=marker, label=mix, linewidth=1.4)
            axis.set_title(f"{label}, {epochs} epochs", fontsize=10)
            axis.set_xlabel("epoch")
            axis.grid(alpha=0.3)
            if name == "loss":
                axis.set_ylim(0, 5)
        row[0].legend(fontsize=8)
    figure.savefig(out, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", required=True, type=Path, help="folder of finished runs")
    parser.add_argument("--out", required=True, type=Path, help="the picture to write")
    arguments = parser.parse_args()
    plot(curves_of(arguments.runs), arguments.out)


if __name__ == "__main__":
    main()
