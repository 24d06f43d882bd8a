"""Plot statistics of attention's softmax during training: variance of inputs, entropy of outputs.

    python benchmarks/softmax_plots.py --runs RUNS --out docs/results/normsoftmax-statistics.png \\
        --set data.train=[train-v1.1.json.gz] data.share=0.25 model.heads=16 model.head_width=8

`qacnn` is trained twice, with softmax and with NormSoftmax in attention; the folder RUNS keeps both
logs. There is one line for each softmax of the network, from light (the first) to dark (the last).
The scores are computed a second time for it. Needs matplotlib (`pip install readlet[plots]`).
"""

import argparse
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from readlet.engine.loop import Scores
from readlet.errors import ReadletError
from readlet.experiments.store import read_log
from readlet.models.recipe_files import load_recipe
from readlet.nn.qanet import SelfAttention
from readlet.nn.softmax import masked_softmax, normalised
from readlet.storage.overwrite import check_file
from readlet.training.question_answering import SpanEvaluator
from readlet.training.train import train_reader

Curves = dict[str, dict[int, list[tuple[float, float]]]]
"""Statistic, number of the softmax, points of epoch and value."""
_KEY = re.compile(r"softmax\.(\d+)\.(?:.+\.)?(\w+)")
"""The number of the softmax, its layer and the statistic."""
_TRACKED = 32  # rows: all attention scores of every head are in memory at once
_TITLES = {"variance": "variance of the inputs", "entropy": "entropy of the weights, 1: all equal"}


@dataclass(frozen=True)
class SoftmaxStatistics:
    """Statistics of one softmax: means over all queries of all heads."""

    layer: str  # name of the module
    variance: float  # of the inputs of one query, over the keys
    entropy: float  # of the weights, from 0 (all on one key) to 1 (uniform)


@contextmanager
def tracked_softmax(model: nn.Module) -> Iterator[list[SoftmaxStatistics]]:
    """Inside the `with`, every call of a self-attention is recorded, in order.

    with tracked_softmax(model) as found:
        model(batch)

    Compiled modules run eagerly there: compiled programs do not call hooks.
    """
    found: list[SoftmaxStatistics] = []

    def record(name: str) -> Any:
        def hook(module: SelfAttention, inputs: tuple[Tensor, Tensor], _: Tensor) -> None:
            with torch.no_grad():
                found.append(_statistics(name, module, *inputs))

        return hook

    hooks = [
        module.register_forward_hook(record(name))
        for name, module in model.named_modules()
        if isinstance(module, SelfAttention)
    ]
    try:
        with torch.compiler.set_stance("force_eager"):
            yield found
    finally:
        for hook in hooks:
            hook.remove()


def _statistics(name: str, module: SelfAttention, x: Tensor, keep: Tensor) -> SoftmaxStatistics:
    """x (B, L, D), keep (B, L)."""
    query, key, _ = module.of_heads(x)  # 3 of (B, H, L, E)
    scores = query.float() @ key.float().transpose(-1, -2)  # (B, H, L, L)
    of_keys = keep[:, None, None, :]  # (B, 1, 1, L)
    if module.norm_gamma is None:
        inputs = scores / math.sqrt(module.head_width)  # (B, H, L, L)
    else:
        inputs = normalised(scores, of_keys, -1, module.norm_gamma)  # (B, H, L, L)
    count = keep.sum(dim=1)[:, None, None]  # (B, 1, 1)
    kept = inputs.masked_fill(~of_keys, 0.0)  # (B, H, L, L)
    mean = kept.sum(-1) / count.clamp(min=1)  # (B, H, L)
    square = (inputs - mean.unsqueeze(-1)).square().masked_fill(~of_keys, 0.0)  # (B, H, L, L)
    variance = square.sum(-1) / count.clamp(min=1)  # (B, H, L)
    weights = masked_softmax(inputs, of_keys)  # (B, H, L, L)
    entropy = -torch.special.xlogy(weights, weights).sum(-1)  # (B, H, L)
    most = count.clamp(min=2).float().log()  # (B, 1, 1)
    queries = keep[:, None, :].expand_as(variance)  # (B, H, L)

    def mean_of(values: Tensor) -> float:
        return float(values.masked_fill(~queries, 0.0).sum() / queries.sum().clamp(min=1))

    return SoftmaxStatistics(name, mean_of(variance), mean_of(entropy / most))


def statistics(evaluator: SpanEvaluator) -> Scores:
    """Variance and entropy of every attention softmax, on the largest batch of a few rows."""
    scorer = evaluator.scorer
    rows = scorer.encoder.encode(evaluator.dev.examples[:_TRACKED])
    batches = scorer.scores(rows, _TRACKED)
    size, found = 0, []
    while True:
        with tracked_softmax(scorer.module) as tracked:
            batch = next(batches, None)
        if batch is None:
            break
        if len(batch[0]) > size:
            size, found = len(batch[0]), tracked
    return {
        f"softmax.{number:02d}.{of_layer.layer}.{name}": value
        for number, of_layer in enumerate(found)
        for name, value in (("variance", of_layer.variance), ("entropy", of_layer.entropy))
    }


def train(name: str, folder: Path, changes: Sequence[str]) -> Path:
    """The log of a training with these statistics in every evaluation."""
    score = SpanEvaluator.__call__

    def with_statistics(self: SpanEvaluator) -> Scores:
        return score(self) | statistics(self)

    recipe = load_recipe("qacnn", [*changes, f"attention.softmax={name}"])
    SpanEvaluator.__call__ = with_statistics  # type: ignore[method-assign]
    try:
        train_reader(recipe, folder / name, resume=False)
    finally:
        SpanEvaluator.__call__ = score  # type: ignore[method-assign]
    return folder / name / "log.jsonl"


def statistics_of(log: Path) -> Curves:
    found: Curves = {name: defaultdict(list) for name in _TITLES}
    for record in read_log(log):
        for key, value in record.items():
            match = _KEY.fullmatch(key)
            if match:
                found[match[2]][int(match[1])].append((float(record["epoch"]), float(value)))
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
    parser.add_argument("--runs", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", nargs="*", default=[], metavar="FIELD=VALUE")
    arguments = parser.parse_args()
    try:
        check_file(arguments.out)
        runs = {
            name: statistics_of(train(name, arguments.runs, arguments.set))
            for name in ("standard", "norm")
        }
    except ReadletError as error:
        parser.exit(1, f"softmax_plots: {error}\n")
    draw(runs, arguments.out)


if __name__ == "__main__":
    main()
