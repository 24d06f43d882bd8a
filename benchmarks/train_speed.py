"""Training speed of the small reader on one GPU, against a plain loop over the same model.

    python benchmarks/train_speed.py --train train-v1.1.json.gz --vectors glove.100d.txt.gz ...

The plain loop: eager float32, everything padded to the longest context. Ours: length buckets,
bfloat16, compiled blocks, the whole step captured as a CUDA graph per shape. Both use the same real
batches; each figure is the median of several windows of steps, after a warm-up of all shapes.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch

from readlet.engine.loop import Evaluator, TrainingLoop
from readlet.engine.processes import make_accelerator
from readlet.models.kinds import trainable_family
from readlet.models.recipe_files import load_recipe
from readlet.text.tensors import word_batches
from readlet.text.word_features import Features
from readlet.training.train import objective_of
from readlet.training.training_data import TrainingData, prepare

_WINDOWS = 5


def examples_per_second(
    data: TrainingData, batch_size: int, *, plain: bool, compiled: bool, steps: int
) -> tuple[float, float]:
    """Questions per second over real batches in shuffled order, and seconds of the warm-up."""
    precision = "float32" if plain else "bfloat16"
    recipe = load_recipe(
        "qacnn", [f"training.precision={precision}", f"training.batch_size={batch_size}"]
    )
    # Two batches per step disable the captured step; the plain loop is timed per batch anyway.
    settings = recipe.training.model_copy(update={"accumulate": 2 if plain else 1})
    family, rows = trainable_family(recipe.model.kind), data.train.rows
    scorer = objective_of(recipe, None).build(data)
    if compiled:
        family.compile(scorer)
    learner = scorer.learner(rows, 0.0, None)
    batches = scorer.batches(rows, batch_size, seed=0)
    if plain:
        assert isinstance(rows, Features)
        longest = (recipe.data.max_context + scorer.can_abstain, recipe.data.max_question)
        batches = word_batches(rows, [longest], batch_size, null=scorer.can_abstain)
    with tempfile.TemporaryDirectory() as folder:
        evaluator = Evaluator(lambda _: {}, "f1", str)  # never called: no epoch ends
        loop = TrainingLoop(learner, batches, settings, Path(folder), evaluator, make_accelerator())
        began = time.perf_counter()
        loop.warm_up()
        torch.cuda.synchronize()
        started = time.perf_counter() - began
        rates = []
        for _ in range(_WINDOWS):
            torch.cuda.synchronize()
            began = time.perf_counter()
            done = sum(loop.advance()[1] for _ in range(steps))
            torch.cuda.synchronize()
            rates.append(done / (time.perf_counter() - began))
    return statistics.median(rates), started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", required=True, help="SQuAD 1.1 train file")
    parser.add_argument("--vectors", nargs="*", default=[], help="files of word vectors")
    parser.add_argument("--batch", nargs="*", type=int, default=[32, 64, 128])
    parser.add_argument("--steps", type=int, default=40, help="steps per window")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.exit(1, "train_speed: needs a GPU\n")
    changes = [f"data.train={[arguments.train]}", f"words.vectors={arguments.vectors}"]
    data = prepare(load_recipe("qacnn", [*changes, "data.dev=''"]))
    print(f"{'batch':>5} {'plain/s':>9} {'ours/s':>9} {'ratio':>6} {'warm-up s':>9}")
    for batch in arguments.batch:
        plain, _ = examples_per_second(data, batch, plain=True, compiled=False, steps=5)
        ours, warm = examples_per_second(
            data, batch, plain=False, compiled=True, steps=arguments.steps
        )
        print(f"{batch:>5} {plain:>9.0f} {ours:>9.0f} {ours / plain:>6.1f} {warm:>9.1f}")


if __name__ == "__main__":
    main()
