"""Compare precisions: `qacnn` in float32, bfloat16 and float16 on one GPU, with the same steps.

    python benchmarks/precision.py --train train-v1.1.json.gz --dev dev-v1.1.json.gz \\
        --vectors glove.100d.txt.gz glove.50d.txt.gz

A second table has the results of common masks, and of `readlet.nn.softmax`, for a fully masked row
in these precisions. The page is written after every run, so that an interrupted benchmark keeps its
measurements.
"""

import argparse
import gc
import math
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from readlet.errors import ReadletError
from readlet.experiments.store import read_log
from readlet.models.recipe_files import load_recipe, toml_value
from readlet.nn.softmax import masked_softmax
from readlet.recipe.recipe import Recipe
from readlet.training.train import train
from readlet.training.training_data import RecentData, TrainingData

PRECISIONS = ("float32", "bfloat16", "float16")


class Figures(NamedTuple):
    """One run, from its log."""

    speed: float  # questions per second, the median over the checks
    memory: float  # peak GPU memory in MiB
    exact: float
    f1: float
    loss: float  # mean of the steps before the last check
    steps: int
    rollbacks: int
    skipped: int | None  # steps whose gradients overflowed; each halves the scale
    scale: float | None  # of the loss, at the end


def figures_of(records: Sequence[Mapping[str, Any]]) -> Figures:
    checks = [line for line in records if "examples_per_second" in line]
    evaluations = [line for line in records if "f1" in line]
    if not checks or not evaluations:
        raise ReadletError("the log of the run has no check or no evaluation; train longer")
    scaled = [line for line in records if "skipped_steps" in line]
    return Figures(
        speed=statistics.median(line["examples_per_second"] for line in checks),
        memory=max(line["memory_mib"] for line in checks),
        exact=evaluations[-1]["exact"],
        f1=evaluations[-1]["f1"],
        loss=checks[-1]["loss"],
        steps=records[-1]["step"],
        rollbacks=sum("rollback" in line for line in records),
        skipped=sum(line["skipped_steps"] for line in scaled) if scaled else None,
        scale=scaled[-1]["scale"] if scaled else None,
    )


def precision_table(measured: Mapping[str, Sequence[Figures]]) -> list[str]:
    """A row for each precision: means over the seeds, and standard deviations of the scores."""
    lines = [
        "| precision | runs | questions/s | peak MiB | EM | F1 | loss | steps | rollbacks "
        "| skipped steps | scale at the end |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for precision, runs in measured.items():
        skipped = [str(run.skipped) for run in runs if run.skipped is not None]
        scales = [f"2^{math.log2(run.scale):g}" for run in runs if run.scale]
        cells = [
            precision,
            str(len(runs)),
            f"{statistics.mean(run.speed for run in runs):,.0f}",
            f"{statistics.mean(run.memory for run in runs):,.0f}",
            _spread([run.exact for run in runs]),
            _spread([run.f1 for run in runs]),
            f"{statistics.mean(run.loss for run in runs):.3f}",
            f"{runs[0].steps:,}",
            ", ".join(str(run.rollbacks) for run in runs),
            ", ".join(skipped) or "-",
            ", ".join(scales) or "-",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _spread(values: Sequence[float]) -> str:
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{deviation}"


def _fill_with_infinity(scores: Tensor, keep: Tensor) -> Tensor:
    return scores.masked_fill(~keep, -math.inf).softmax(-1)


def _add_large_number(scores: Tensor, keep: Tensor) -> Tensor:
    return (scores + torch.where(keep, 0.0, -1e30).to(scores.dtype)).softmax(-1)


def _add_lowest_number(scores: Tensor, keep: Tensor) -> Tensor:
    return (scores + (~keep).to(scores.dtype) * torch.finfo(scores.dtype).min).softmax(-1)


MASKS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "`scores.masked_fill(~keep, -inf).softmax(-1)`": _fill_with_infinity,
    "`(scores + where(keep, 0, -1e30)).softmax(-1)`": _add_large_number,
    "`(scores + ~keep * finfo.min).softmax(-1)`": _add_lowest_number,
    "`readlet.nn.softmax.masked_softmax(scores, keep)`": masked_softmax,
}


def mask_table(device: torch.device) -> list[str]:
    """The weights of a fully masked row for each kind of mask."""
    lines = [f"| mask | {' | '.join(PRECISIONS)} |", "| --- |" + " ---: |" * len(PRECISIONS)]
    for name, mask in MASKS.items():
        cells = [_masked_row(mask, getattr(torch, precision), device) for precision in PRECISIONS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _masked_row(
    mask: Callable[[Tensor, Tensor], Tensor], dtype: torch.dtype, device: torch.device
) -> str:
    scores = torch.tensor([-40.0, -50.0, -60.0, -45.0], dtype=dtype, device=device)  # (4,)
    weights = mask(scores, torch.zeros_like(scores, dtype=torch.bool))  # (4,)
    return "NaN" if weights.isnan().any() else f"{weights.max().item():g}"


def write_page(
    out: Path, measured: Mapping[str, Sequence[Figures]], device: torch.device, command: str
) -> None:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "a CPU"
    lines = [
        "# Precisions: results",
        "",
        f"`qacnn` on {name}, torch {torch.__version__}; the same data, batches and steps in every",
        "precision. Weights and optimiser are float32 in all of them. A skipped step is one whose",
        "gradients overflowed; the scale of the loss is then halved.",
        "",
        f"    {command}",
        "",
        *precision_table(measured),
        "",
        "## Masks",
        "",
        "The largest softmax weight in a row of four positions, all masked. It should be 0.",
        "NaN destroys the model in one step; 0.25 is silent attention to padding.",
        "",
        *mask_table(device),
    ]
    out.write_text("\n".join(lines) + "\n", "utf-8")


class SameData(RecentData):
    """All runs use the data of the first: the seed affects only weights and order."""

    _data: TrainingData | None = None

    def find(self, recipe: Recipe) -> TrainingData | None:
        return self._data

    def add(self, recipe: Recipe, data: TrainingData) -> TrainingData:
        self._data = data
        return data


def measure(recipe: Recipe, recent: RecentData) -> Figures:
    gc.collect()  # the captured steps of the previous run
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    with tempfile.TemporaryDirectory() as folder:
        train(recipe, Path(folder), resume=False, recent=recent)
        return figures_of(read_log(Path(folder) / "log.jsonl"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", required=True, help="SQuAD 1.1 train file")
    parser.add_argument("--dev", required=True, help="SQuAD 1.1 dev file")
    parser.add_argument("--vectors", nargs="*", default=[], help="files of word vectors")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("docs/results/precision.md"))
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.exit(1, "precision: needs a GPU\n")
    if not arguments.out.parent.is_dir():
        parser.exit(1, f"precision: {arguments.out.parent}: no such folder; make it first\n")
    files = [Path(name).name for name in (arguments.train, arguments.dev, *arguments.vectors)]
    command = " ".join(
        ["python benchmarks/precision.py --train", files[0], "--dev", files[1]]
        + (["--vectors", *files[2:]] if arguments.vectors else [])
        + [f"--epochs {arguments.epochs} --seeds {arguments.seeds}"]
    )
    changes = [
        f"data.train={toml_value([arguments.train])}",
        f"data.dev={toml_value(arguments.dev)}",
        f"words.vectors={toml_value(arguments.vectors)}",
        f"training.epochs={arguments.epochs}",
        f"training.evaluate_every={arguments.epochs}",
    ]
    recent = SameData()
    measured: dict[str, list[Figures]] = {}
    for precision in PRECISIONS:
        torch._dynamo.reset()  # programs of other precisions count towards its limit
        for seed in range(arguments.seeds):
            chosen = [f"training.precision={precision}", f"training.seed={seed}"]
            figures = measure(load_recipe("qacnn", [*changes, *chosen]), recent)
            measured.setdefault(precision, []).append(figures)
            print(f"{precision}, seed {seed}: {figures}", flush=True)
            write_page(arguments.out, measured, torch.device("cuda"), command)
    print("\n".join(precision_table(measured)))


if __name__ == "__main__":
    main()
