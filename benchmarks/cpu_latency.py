"""Latency and throughput of the small reader on a CPU, against two limits.

    python benchmarks/cpu_latency.py [--data dev-v1.1.json.gz] [--reader FOLDER]

In batches: at least 40 questions per second. One question at a time: under 60 ms. By default the
`qacnn` recipe is timed with random weights, at the same cost, on the bundled questions. The exit
code is 1 if a limit is missed.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Sequence

import torch

from readlet.errors import ReadletError
from readlet.families import trainable_family
from readlet.formats import read_examples
from readlet.reading.calibration import Calibration
from readlet.reading.reader import Reader
from readlet.recipe.recipe_files import load_recipe
from readlet.types import Example

QUESTIONS_PER_SECOND = 40.0
SECONDS_FOR_ONE = 0.060
VECTOR_WIDTH = 150


def untrained(examples: Sequence[Example]) -> Reader:
    """An untrained reader of full size: only the time of its answers is meaningful."""
    width = f"words.width={VECTOR_WIDTH}"
    recipe = load_recipe("qacnn", ["words.vectors=[]", width, "words.trainable_words=0"])
    family = trainable_family(recipe.model.kind)
    encoder = family.fit_encoder(recipe, examples)
    return Reader(family.build(recipe, encoder, can_refuse=True), recipe, Calibration())


def batch_rate(reader: Reader, examples: Sequence[Example], repetitions: int) -> float:
    pairs = [(e.question, e.context) for e in examples]
    best = 0.0
    for _ in range(repetitions):
        began = time.perf_counter()
        count = sum(1 for _ in reader.answer_batch(pairs))
        best = max(best, count / (time.perf_counter() - began))
    return best


def single_seconds(reader: Reader, examples: Sequence[Example]) -> float:
    """Median latency over the questions."""
    times = []
    for example in examples:
        began = time.perf_counter()
        reader.answer(example.question, example.context)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="bundled:test", help="questions to answer")
    parser.add_argument("--reader", help="a reader's folder")
    parser.add_argument("--questions", type=int, default=500, help="number of questions")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    everything = list(read_examples(arguments.data))
    # Spread over the whole file: neighbouring questions share a context, and thus its length.
    step = max(1, len(everything) // arguments.questions)
    examples = everything[::step][: arguments.questions]
    given = arguments.reader
    reader = Reader.load(given, device="cpu") if given else untrained(examples)
    reader.answer(examples[0].question, examples[0].context)  # warm-up
    rate = batch_rate(reader, examples, repetitions=3)
    one = single_seconds(reader, examples[:60])
    print(f"{reader.scorer.parameters:,} parameters, {arguments.threads} threads")
    print(f"in batches: {rate:7.1f} questions/s, {rate / QUESTIONS_PER_SECOND:.2f} x the limit")
    print(f"one by one: {1000 * one:7.1f} ms, {SECONDS_FOR_ONE / one:.2f} x as fast as the limit")
    sys.exit(int(rate < QUESTIONS_PER_SECOND or one > SECONDS_FOR_ONE))


if __name__ == "__main__":
    try:
        main()
    except ReadletError as error:
        sys.exit(f"cpu_latency: {error}")
