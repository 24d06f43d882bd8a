"""Latency and throughput of readers on a CPU, with torch and exported to ONNX.

    python benchmarks/cpu_latency.py [--data dev-v1.1.json.gz] [--reader FOLDER] [--encoder bundled]

With torch, in batches: at least 40 questions per second; one question at a time: under 60 ms. The
exported form: one question at a time under 30 ms, and a cold `readlet ask` in at most a quarter of
its time with torch. By default the `qacnn` recipe is timed with random weights, at the same cost,
on the bundled questions.

With an encoder, exported forms are compared: the small reader answers 2.5 times as many questions
as the encoder, and the encoder in int8 1.3 times as many as in float32. All forms take turns, and
each has its best time: other programs only add to it. The exit code is 1 if a limit is missed.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from readlet.data import read_examples
from readlet.errors import ReadletError
from readlet.export.export_folder import export_folder
from readlet.inference.calibration import Calibration
from readlet.inference.reader import Reader
from readlet.models.kinds import trainable_family
from readlet.models.recipe_files import load_recipe
from readlet.types import Example

QUESTIONS_PER_SECOND = 40.0
SECONDS_FOR_ONE = 0.060
EXPORTED_SECONDS_FOR_ONE = 0.030
COLD_SHARE = 0.25
TIMES_ENCODER = 2.5
TIMES_FLOAT32 = 1.3
ROUNDS = 3
COLD_STARTS = 5
STARTED = ("torch", "onnx")
VECTOR_WIDTH = 150


def untrained(examples: Sequence[Example]) -> Reader:
    """An untrained reader of full size: only the time of its answers is meaningful."""
    width = f"words.width={VECTOR_WIDTH}"
    recipe = load_recipe("qacnn", ["words.vectors=[]", width, "words.trainable_words=0"])
    family = trainable_family(recipe.model.kind)
    encoder = family.fit_encoder(recipe, examples)
    return Reader(
        family.build(recipe, encoder, can_abstain=True),
        recipe.model_dump(mode="json"),
        Calibration(),
    )


def rates(forms: dict[str, Reader], examples: Sequence[Example]) -> dict[str, float]:
    """Questions per second in batches."""
    pairs = [(e.question, e.context) for e in examples]
    best = dict.fromkeys(forms, 0.0)
    for _ in range(ROUNDS):
        for form, reader in forms.items():
            began = time.perf_counter()
            count = sum(1 for _ in reader.answer_batch(pairs))
            best[form] = max(best[form], count / (time.perf_counter() - began))
    return best


def seconds_for_one(forms: dict[str, Reader], examples: Sequence[Example]) -> dict[str, float]:
    """Median latency over the questions."""
    times = {form: [float("inf")] * len(examples) for form in forms}
    for _ in range(ROUNDS):
        for form, reader in forms.items():
            for i, example in enumerate(examples):
                began = time.perf_counter()
                reader.answer(example.question, example.context)
                times[form][i] = min(times[form][i], time.perf_counter() - began)
    return {form: statistics.median(found) for form, found in times.items()}


def cold_seconds(reader: Path, example: Example, folder: Path) -> float:
    """`readlet ask` in a process of its own: the fastest of several."""
    (folder / "passage.txt").write_text(example.context, "utf-8")
    words = ["ask", example.question, str(folder / "passage.txt"), "--reader", str(reader)]
    times = []
    for _ in range(COLD_STARTS):
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "readlet", *words], check=True, stdout=subprocess.DEVNULL
        )
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="bundled:test", help="questions to answer")
    parser.add_argument("--reader", help="a reader's folder")
    parser.add_argument("--encoder", help="an encoder reader to compare with, such as `bundled`")
    parser.add_argument("--questions", type=int, default=500, help="number of questions")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)  # onnxruntime, and cold starts
    everything = list(read_examples(arguments.data))
    # Spread over the whole file: neighbouring questions share a context, and thus its length.
    step = max(1, len(everything) // arguments.questions)
    examples = everything[::step][: arguments.questions]
    given = arguments.reader
    reader = Reader.load(given, device="cpu") if given else untrained(examples)
    print(f"{reader.scorer.parameters:,} parameters, {arguments.threads} threads")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reader.save(folder / "torch")
        export_folder(str(folder / "torch"), folder / "onnx")
        forms = {"torch": reader, "onnx": Reader.load(folder / "onnx")}
        if arguments.encoder:
            Reader.load(arguments.encoder, device="cpu").save(folder / "of encoder")
            of_encoder = str(folder / "of encoder")
            export_folder(of_encoder, folder / "encoder")
            export_folder(of_encoder, folder / "int8", int8=True)
            forms |= {form: Reader.load(folder / form) for form in ("encoder", "int8")}
        rate, one = rates(forms, examples), seconds_for_one(forms, examples[:60])
        cold = {form: cold_seconds(folder / form, examples[0], folder) for form in STARTED}
    for form in forms:
        start = f", cold `readlet ask` {cold[form]:.2f} s" if form in cold else ""
        print(f"{form:7}: {rate[form]:6.1f} questions/s, one in {1000 * one[form]:5.1f} ms{start}")
    share = cold["onnx"] / cold["torch"]
    limits = [
        rate["torch"] < QUESTIONS_PER_SECOND,
        one["torch"] > SECONDS_FOR_ONE,
        one["onnx"] > EXPORTED_SECONDS_FOR_ONE,
        share > COLD_SHARE,
    ]
    print(f"onnx against torch: {compared('onnx', 'torch', rate, one)}")
    print(f"cold start: {share:.2f} of the time with torch, at most {COLD_SHARE} is wanted")
    if arguments.encoder:
        print(f"onnx against the encoder: {compared('onnx', 'encoder', rate, one)}")
        print(f"the encoder in int8 against float32: {compared('int8', 'encoder', rate, one)}")
        limits.append(rate["onnx"] < TIMES_ENCODER * rate["encoder"])
        limits.append(rate["int8"] < TIMES_FLOAT32 * rate["encoder"])
    sys.exit(int(any(limits)))


def compared(form: str, other: str, rate: dict[str, float], one: dict[str, float]) -> str:
    times = f"{rate[form] / rate[other]:.2f} x as many questions/s"
    return f"{times}, {one[other] / one[form]:.2f} x as fast for one"


if __name__ == "__main__":
    try:
        main()
    except ReadletError as error:
        sys.exit(f"cpu_latency: {error}")
