"""Training speed of encoder readers and classifiers on one GPU, and what mixes or poolers cost.

    python benchmarks/encoder_speed.py --train train-v1.1.json.gz
    python benchmarks/encoder_speed.py --recipe sst2 --train SST-2/train.tsv --batch 16

Both loops train in bfloat16 on the same batches of real lengths, in the same length buckets. The
plain one is what a script does: forward, backward, clip, AdamW (fused). Ours: compiled layers, and
the whole step captured as a CUDA graph per shape. Each figure is the median of several windows of
steps, after a warm-up of all shapes. Memory is the peak of what torch allocates.
"""

import argparse
import gc
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from readlet.engine.loop import Evaluator, TrainingLoop
from readlet.engine.processes import make_accelerator
from readlet.models.kinds import trainable_family
from readlet.models.recipe_files import load_recipe
from readlet.recipe.recipe import Recipe
from readlet.training.train import objective_of
from readlet.training.training_data import TrainingData, prepare

_WINDOWS = 5
# What is compared in recipes of each kind: a field and its values. The first is the usual one.
_CHOICES = {
    "encoder": ("mix", ("last", "scalar", "scalar-softmax", "dot", "weighted", "encoder")),
    "classifier": ("pooler", ("cls", "meanmax", "mswap", "stochastic", "mean")),
}


class Speed(NamedTuple):
    rows: float  # windows or texts per second
    memory: float  # MiB
    warm_up: float  # seconds


Loop = tuple[Callable[[], object], Callable[[], int]]
"""A warm-up, and a step that returns its number of rows."""


def ours(recipe: Recipe, data: TrainingData) -> Loop:
    scorer = objective_of(recipe, None).build(data)
    trainable_family(recipe.model.kind).compile(scorer)
    loop = TrainingLoop(
        objective_of(recipe, None).learner(data, scorer, torch.device("cuda")),
        scorer.batches(data.train.rows, recipe.training.batch_size, seed=0),
        recipe.training,
        Path(tempfile.mkdtemp()),
        Evaluator(lambda _: {}, "f1", str),  # never called: no epoch ends
        make_accelerator(),
        groups=scorer.groups(recipe.training),
    )
    return loop.warm_up, lambda: loop.advance()[1]


def plain(recipe: Recipe, data: TrainingData) -> Loop:
    """A loop as in most scripts, with the same model, batches and precision."""
    settings = recipe.training
    scorer = objective_of(recipe, None).build(data)
    batches = scorer.batches(data.train.rows, settings.batch_size, seed=0)
    device = torch.device("cuda")
    learner = objective_of(recipe, None).learner(data, scorer, device).to(device).train()
    optimizer = torch.optim.AdamW(learner.parameters(), lr=settings.learning_rate, fused=True)
    listed = batches.epoch(0)
    remaining = itertools.cycle(listed)

    def step(shape: Any, numbers: Any) -> int:
        batch = batches.make(shape, numbers).to(device)
        with torch.autocast("cuda", torch.bfloat16):
            loss = learner(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learner.parameters(), settings.clip)
        optimizer.step()
        optimizer.zero_grad()
        return len(numbers)

    return lambda: [step(*one) for one in dict(listed).items()], lambda: step(*next(remaining))


def measured(make: Callable[[Recipe, TrainingData], Loop], *given: Any, steps: int) -> Speed:
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()  # programs and graphs of earlier loops may stay
    warm_up, advance = make(*given)
    began = time.perf_counter()
    warm_up()
    torch.cuda.synchronize()
    started = time.perf_counter() - began
    rates = []
    for _ in range(_WINDOWS):
        began = time.perf_counter()
        done = sum(advance() for _ in range(steps))
        torch.cuda.synchronize()
        rates.append(done / (time.perf_counter() - began))
    used = torch.cuda.max_memory_allocated() - before
    return Speed(statistics.median(rates), used / 2**20, started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", required=True, help="training file")
    parser.add_argument("--recipe", default="encoder", help="a recipe of an encoder or classifier")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=100, help="steps per window")
    parser.add_argument("--choices", nargs="+", help="only these mixes or poolers")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.exit(1, "encoder_speed: needs a GPU\n")
    changes = [
        f"data.train={[arguments.train]}",
        "data.dev=''",
        f"model.encoder={arguments.encoder}",
        "training.precision=bfloat16",
        f"training.batch_size={arguments.batch}",
    ]
    usual = load_recipe(arguments.recipe, changes)
    field, known = _CHOICES[usual.model.kind]
    choices = arguments.choices or known
    data = prepare(usual)
    peer = measured(plain, usual, data, steps=arguments.steps)
    print(f"plain eager loop, {known[0]}: {peer.rows:.0f} rows/s, {peer.memory:.0f} MiB")
    print(f"{field:<15} {'rows/s':>9} {'x plain':>8} {'step':>6} {'MiB':>7} {'memory':>7} warm-up")
    first = None
    for choice in choices:
        recipe = load_recipe(arguments.recipe, [*changes, f"model.{field}={choice}"])
        speed = measured(ours, recipe, data, steps=arguments.steps)
        first = first or speed
        print(
            f"{choice:<15} {speed.rows:>9.0f} {speed.rows / peer.rows:>8.2f} "
            f"{first.rows / speed.rows:>6.2f} {speed.memory:>7.0f} "
            f"{speed.memory / first.memory:>7.2f} {speed.warm_up:.1f} s"
        )


if __name__ == "__main__":
    main()
