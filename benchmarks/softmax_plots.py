"""Plot statistics of the inputs and outputs of attention's softmax during training.

    python benchmarks/softmax_plots.py --runs standard=RUN/log.jsonl norm=RUN/log.jsonl \\
        --out docs/results/normsoftmax-statistics.png

The runs need `training.track_softmax=true`. There is one line for each softmax of the network,
from light (the first) to dark (the last). Needs matplotlib (`pip install readlet[plots]`).
"""

import argparse
import re
from collections import defaultdict
from pathlib import Path

from readlet.errors import ReadletError, bad_input
from readlet.experiments.store import read_log
from readlet.storage.overwrite import check_file

Curves = dict[str, dict[int, list[tuple[float, float]]]]
"""Statistic, number of the softmax, points of epoch and value."""
_KEY = re.compile(r"softmax\.(\d+)\.(?:.+\.)?(\w+)")
"""The number of the softmax, its layer (missing in older logs) and the statistic."""
_TITLES = {"variance": "variance of the inputs", "entropy": "entropy of the weights, 1: all equal"}


def statistics_of(log: Path) -> Curves:
    found: Curves = {name: defaultdict(list) for name in _TITLES}
    for record in read_log(log):
        for key, value in record.items():
            match = _KEY.fullmatch(key)
            if match:
                found[match[2]][int(match[1])].append((float(record["epoch"]), float(value)))
    if not found["variance"]:
        remedy = "train with --set training.track_softmax=true"
        raise bad_input(log, "", "has no softmax statistics", remedy)
    return found


def draw(runs: dict[str, Curves], out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    figure, axes = plt.subplots(
        *(len(_TITLES), len(runs)), sharex=True, sharey="row", squeeze=False, figsize=(9, 6),
        layout="constrained",
    )  # fmt: skip
    whole = plt.get_cmap("viridis_r")
    shades = LinearSegmentedColormap.from_list("seen", [whole(0.1 + 0.09 * n) for n in range(11)])
    for column, (name, curves) in enumerate(runs.items()):
        for row, (statistic, title) in enumerate(_TITLES.items()):
            axis = axes[row][column]
            layers = curves[statistic]
            for number, points in sorted(layers.items()):
                shade = shades(number / max(len(layers) - 1, 1))
                axis.plot(*zip(*points, strict=True), color=shade, linewidth=1.2)
            axis.grid(alpha=0.3)
            axis.spines[["top", "right"]].set_visible(False)
            if statistic == "variance":
                axis.set_yscale("log")
                for formatter in (axis.yaxis.set_major_formatter, axis.yaxis.set_minor_formatter):
                    formatter(StrMethodFormatter("{x:g}"))
                axis.set_title(name)
            else:
                axis.set_ylim(0, 1.02)
                axis.set_xlabel("epoch")
                axis.xaxis.set_major_locator(MaxNLocator(integer=True))
            if column == 0:
                axis.set_ylabel(title)
    bar = figure.colorbar(ScalarMappable(cmap=shades), ax=axes, fraction=0.03, pad=0.02)
    bar.set_ticks([0, 1], labels=["first softmax", "last"])
    bar.outline.set_visible(False)  # type: ignore[operator]
    figure.savefig(out, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", nargs="+", required=True, metavar="NAME=LOG")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    pairs = [text.partition("=") for text in arguments.runs]
    if len({name for name, _, _ in pairs}) < len(pairs):
        parser.error("--runs: two runs have the same name")
    try:
        check_file(arguments.out)
        runs = {name: statistics_of(Path(log)) for name, _, log in pairs}
    except ReadletError as error:
        parser.exit(1, f"softmax_plots: {error}\n")
    draw(runs, arguments.out)


if __name__ == "__main__":
    main()
