"""Questions a second on a GPU: the bundled reader in torch, beside a plain loop in the same run.

    python benchmarks/throughput.py --data train-v1.1.json --out gpu.json  # 200,000 questions
    python benchmarks/throughput.py --device cpu --questions 2000 --processes 1 --data ...

Rows: a plain loop (tokenise, pad, forward, decode, 32 questions at a time), `Reader.answer_batch`
in one process, the same with processes that encode and decode beside it, the file to file of
`readlet predict`, and the last but one with products in TF32. The slow rows take fewer questions,
an even sample of the same. Seconds include the start of the processes. `--out` has the rows that
are measured so far.
The data is repeated until there are as many questions as wanted. "GPU busy" is the mean of what
`nvidia-smi` reports every tenth of a second: the share of time in which a kernel was running.

`--host` leaves the network out: random scores at once. What remains is the work of the CPU, so it
can be measured without a GPU: how many cores a GPU needs beside it.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from readlet.data import read_examples, write_examples
from readlet.inference.inputs import DEFAULTS
from readlet.inference.overlap import Overlapped
from readlet.inference.predict_file import predict_file
from readlet.inference.reader import Reader
from readlet.processes import CORES, own_cores
from readlet.storage.files import write_text
from readlet.text.arrays import Arrays
from readlet.text.tensors import SubwordBatch, as_tensors
from readlet.types import Example

WANTED_RATE, WANTED_GAIN = 10_000, 8.0
_LONGEST = 384  # tokens of a row in the plain loop, as in the scripts of transformers
_BAND = 30  # tokens of its longest answer
_FEW, _SOME = 0.02, 0.1  # of the questions, for the slow rows


@dataclass(frozen=True)
class Row:
    """A measured rate."""

    work: str
    questions: int
    seconds: float
    cpu: float  # seconds of all cores, those of other processes included
    busy: float | None  # share of the time in which the GPU was busy

    @property
    def rate(self) -> float:
        return self.questions / self.seconds


def plain_loop(reader: Reader, examples: Sequence[Example], size: int = 32) -> Iterator[str]:
    """Answers as a first script would find them; only the first window of a long passage."""
    scorer: Any = reader.scorer
    tokenizer, layout = scorer.encoder.tokenizer, scorer.encoder.layout
    empty = torch.zeros(0)
    for start in range(0, len(examples), size):
        batch = examples[start : start + size]
        pairs = tokenizer.encode_batch([(e.question, e.context) for e in batch])
        width = min(_LONGEST, max(len(pair.ids) for pair in pairs))
        shape = len(batch), width
        arrays = {name: np.zeros(shape, np.int64) for name in ("tokens", "types")}
        arrays["tokens"] += layout.padding
        keep, allowed = np.zeros(shape, bool), np.zeros(shape, bool)  # (B, T) each
        first = np.zeros(len(batch), np.int64)  # (B,)
        for i, pair in enumerate(pairs):
            count = min(width, len(pair.ids))
            arrays["tokens"][i, :count] = pair.ids[:count]
            arrays["types"][i, :count] = pair.type_ids[:count]
            keep[i, :count] = True
            first[i] = pair.sequence_ids.index(1)
            allowed[i, : pair.sequence_ids[:count].count(1)] = True
        tensors = as_tensors({**arrays, "keep": keep, "allowed": allowed, "first": first})
        rows = SubwordBatch(rows=empty, labels=empty, weight=empty, **tensors).to(scorer.device)
        with torch.inference_mode():
            found = scorer.module(rows)
        starts, ends = found.start.float().cpu().numpy(), found.end.float().cpu().numpy()
        for i, (pair, example) in enumerate(zip(pairs, batch, strict=True)):
            places = int(allowed[i].sum())
            spans = starts[i, :places, None] + ends[i, None, :places]  # (P, P)
            spans = np.where(np.triu(np.tri(places, k=_BAND, dtype=bool)), spans, -np.inf)
            one, last = np.unravel_index(spans.argmax(), spans.shape)
            begin = pair.offsets[int(first[i] + one)][0]
            yield example.context[begin : pair.offsets[int(first[i] + last)][1]]


@contextmanager
def busy_share(device: str) -> Iterator[list[float]]:
    """Inside of the `with`, the share of time that the GPU is busy: one number at the end, or none.

    Without `nvidia-smi` there is none, nor where it says "[N/A]", as for a part of a GPU.
    """
    found: list[float] = []
    if not device.startswith("cuda"):
        yield found
        return
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    words = [*command, "-i", _number_of(device), "-lms", "100"]
    try:
        watch = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError:
        yield found
        return
    try:
        yield found
    finally:
        watch.terminate()
        shares = []
        for line in watch.communicate()[0].splitlines():
            with suppress(ValueError):
                shares.append(float(line))
        if shares:
            found.append(sum(shares) / len(shares) / 100)


def _number_of(device: str) -> str:
    """The number or UUID by which `nvidia-smi` knows a GPU: it counts those that are hidden too."""
    number = device.partition(":")[2] or "0"
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return visible.split(",")[int(number)].strip() if visible else number


def measured(work: str, device: str, questions: int, run: Callable[[], object]) -> Row:
    with busy_share(device) as busy:
        start, before = time.perf_counter(), sum(os.times()[:4])
        run()
        seconds, cpu = time.perf_counter() - start, sum(os.times()[:4]) - before
    return Row(work, questions, seconds, cpu, busy[0] if busy else None)


def exhaust(items: Iterator[object]) -> None:
    for _ in items:
        pass


def repeated(data: str, count: int) -> list[Example]:
    return list(islice(cycle(read_examples(data)), count))


def sample(examples: list[Example], share: float, size: int = 32) -> list[Example]:
    """An even sample, in groups of neighbours: they share passages, and so their lengths."""
    groups = max(64, int(share * len(examples))) // size
    if groups * size >= len(examples):
        return examples
    starts = [group * len(examples) // groups for group in range(groups)]
    return [example for start in starts for example in examples[start : start + size]]


def rows_of(reader: Reader, examples: list[Example], processes: int) -> Iterator[Row]:
    few, some = sample(examples, _FEW), sample(examples, _SOME)
    device = reader.device
    exhaust(plain_loop(reader, few[:64]))  # kernels are loaded at the first use
    exhaust(reader.answer_batch(some[: reader.chunk]))
    yield measured("plain loop", device, len(few), lambda: exhaust(plain_loop(reader, few)))
    run = lambda: exhaust(reader.answer_batch(some))  # noqa: E731
    yield measured("one process", device, len(some), run)
    overlapped = Overlapped(processes)
    run = lambda: exhaust(reader.answers(examples, DEFAULTS, overlapped))  # noqa: E731
    name = f"and {processes} that encode and decode"
    yield measured(name, device, len(examples), run)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "questions.jsonl")
        write_examples(data, examples)
        out = Path(folder, "predictions.jsonl")
        run = lambda: predict_file("bundled", str(data), out, loaded=reader)  # noqa: E731
        with patch.dict(os.environ, {CORES: str(processes + 1)}):  # as many beside it
            yield measured("readlet predict, file to file", device, len(examples), run)
    if device.startswith("cuda"):
        torch.backends.cuda.matmul.allow_tf32 = True
        run = lambda: exhaust(reader.answers(examples, DEFAULTS, overlapped))  # noqa: E731
        yield measured(f"{name}, in TF32", device, len(examples), run)


def without_network(reader: Reader) -> None:
    """Scores are random, and there at once, in this process and for others."""
    scorer: Any = reader.scorer
    random = np.random.default_rng(0)

    def scores_of(arrays: Arrays) -> tuple[Any, Any, Any]:
        shape = arrays["tokens"].shape  # (B, T)
        draw = lambda size: 3 * random.standard_normal(size, np.float32)  # noqa: E731
        return draw(shape), draw(shape), draw((shape[0], 2))

    def scores(rows: Any, batch_size: int) -> Iterator[Any]:
        from readlet.models.family import SpanScores

        batches = inputs.batches(rows, min(batch_size, max(len(rows), 1)))
        for shape, numbers in batches.in_order():
            arrays = batches.make(shape, numbers, filled=False)
            start, end, null = scores_of(arrays)
            yield numbers, SpanScores(start, end, inputs.allowed(arrays), null)

    inputs = scorer.inputs()
    scorer.scores_of, scorer.scores = scores_of, scores


def host_rows(reader: Reader, examples: list[Example], processes: int) -> Iterator[Row]:
    without_network(reader)
    run = lambda: exhaust(reader.answer_batch(examples))  # noqa: E731
    yield measured("one process", "cpu", len(examples), run)
    for count in range(1, processes + 1):
        overlapped = Overlapped(count)
        run = lambda: exhaust(reader.answers(examples, DEFAULTS, overlapped))  # noqa: B023, E731
        yield measured(f"and {count} that encode and decode", "cpu", len(examples), run)


def main(words: Sequence[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", default="bundled:train", help="questions, as readlet reads them")
    parser.add_argument("--questions", type=int, default=200_000)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--processes", type=int, default=max(1, own_cores() - 1))
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--host", action="store_true", help="the work of the CPU alone")
    options = parser.parse_args(words)
    device = "cpu" if options.host else options.device
    reader = Reader.load(device=device, batch_size=256)
    examples = repeated(options.data, options.questions)
    rows = []
    print("| work | questions | questions/s | times the first | CPU ms each | GPU busy |")
    print("|---|--:|--:|--:|--:|--:|")
    for row in (host_rows if options.host else rows_of)(reader, examples, options.processes):
        rows.append(row)
        if options.out:
            values = [asdict(row) | {"rate": row.rate} for row in rows]
            write_text(options.out, json.dumps(values, indent=1) + "\n")
        gain, busy = row.rate / rows[0].rate, "" if row.busy is None else f"{row.busy:.0%}"
        each = f"{1000 * row.cpu / row.questions:.2f}"
        cells = (f"{row.questions:,}", f"{row.rate:,.0f}", f"{gain:.1f}", each)
        print(f"| {row.work} | {' | '.join(cells)} | {busy} |", flush=True)
    if device.startswith("cuda"):
        best = rows[3]
        reached = best.rate >= WANTED_RATE and best.rate / rows[0].rate >= WANTED_GAIN
        print(f"\n{WANTED_RATE:,} a second and {WANTED_GAIN:g} times: {'yes' if reached else 'no'}")
    return rows


if __name__ == "__main__":
    main()
