"""NormSoftmax attention on a GPU: time and memory against fused attention and the definition.

    python benchmarks/normsoftmax.py

`plain` is torch's fused attention, `all scores` the definition in torch, not compiled, and `ours`
the fused NormSoftmax attention. Forward and backward run in bfloat16 and are timed on the device:
the best of three medians, taken in turn, since the CPU that launches the kernels may be busy.
`graph` replays a captured step, which excludes launch times; `eager` includes them. Memory is the
peak of an eager step above the inputs, as a multiple of that of plain fused attention. `faster`
compares ours with all scores. `error` is the relative error of ours against the definition in
float64, on one head; the rounding of bfloat16 alone is 0.002. A second table has heads of size 64
that keep few of 384 keys, in float32: the largest relative error of a query, and the relative
errors of the gradients of query and key, of ours and of all scores, against float64.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from readlet.nn.normsoftmax import materialised_norm_attention, norm_attention


class Size(NamedTuple):
    batch: int
    heads: int
    length: int
    width: int
    padded: bool
    in_graph: bool
    limit: float | None = None  # for the time of ours, as a multiple of plain

    @property
    def name(self) -> str:
        kinds = ["padded"] * self.padded + ["graph" if self.in_graph else "eager"]
        return f"{self.batch} × {self.heads} × {self.length} × {self.width}, {', '.join(kinds)}"


SIZES = [
    Size(2, 12, 8192, 64, False, False, 1.35),
    Size(2, 12, 8192, 64, True, False, 1.5),
    Size(8, 12, 2048, 64, False, False, 1.35),
    Size(8, 12, 2048, 64, True, False, 1.5),
    Size(32, 12, 384, 64, False, True, 1.6),
    Size(32, 12, 384, 64, True, True, 1.6),
    Size(32, 8, 384, 16, False, True, 1.6),
    Size(32, 8, 384, 16, True, True, 1.6),
    Size(32, 12, 384, 64, False, False),
    Size(32, 8, 384, 16, False, False),
]
MEMORY_LIMIT, SPEED_LIMIT, FEW_KEYS_LIMIT = 1.3, 15.0, 1e-3
Attention = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]


def plain(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    mask = None if keep is None else keep[:, None, None, :]  # (B, 1, 1, L)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


class Measured(NamedTuple):
    milliseconds: float
    mebibytes: float


def measure(attention: Attention, size: Size, repetitions: int) -> Measured:
    shape = (size.batch, size.heads, size.length, size.width)
    torch.manual_seed(0)
    inputs = [torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3)]
    leaves = [tensor.requires_grad_() for tensor in inputs]
    gradient = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
    keep = None
    if size.padded:
        lengths = torch.randint(size.length // 2, size.length + 1, (size.batch, 1), device="cuda")
        keep = torch.arange(size.length, device="cuda") < lengths  # (B, L)

    def step() -> None:
        for leaf in leaves:
            leaf.grad = None
        attention(*leaves, keep).backward(gradient)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    for leaf in leaves:
        leaf.grad = None
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    peak = (torch.cuda.max_memory_allocated() - before) / 2**20
    run: Callable[[], None] = step
    if size.in_graph:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        run = graph.replay
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2 * repetitions)]
    timed = list(zip(events[::2], events[1::2], strict=True))
    for start, end in timed:  # without waiting: in training too, the device has a queue of work
        start.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return Measured(statistics.median(start.elapsed_time(end) for start, end in timed), peak)


def error(size: Size) -> float:
    """Relative error of one head."""
    torch.manual_seed(0)
    shape = (1, 1, size.length, size.width)
    inputs = [torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3)]
    keep = None
    if size.padded:
        keep = torch.arange(size.length, device="cuda")[None] < 3 * size.length // 4  # (1, L)
    exact = materialised_norm_attention(*(tensor.double() for tensor in inputs), keep)
    return float((norm_attention(*inputs, keep).double() - exact).norm() / exact.norm())


def few_keys_errors(attention: Attention, kept: int) -> list[float]:
    """Relative errors: the worst of 100,000 queries, and the gradients of queries and keys."""
    torch.manual_seed(0)
    query = torch.randn(1, 8, 12_500, 64, device="cuda")
    key, value = torch.randn(2, 1, 8, 384, 64, device="cuda")
    gradient = torch.randn_like(query)
    keep = torch.arange(384, device="cuda")[None] < kept  # (1, 384)
    parts = []
    for attend, dtype in ((attention, torch.float32), (materialised_norm_attention, torch.float64)):
        leaves = [tensor.to(dtype).requires_grad_() for tensor in (query, key, value)]
        out = attend(*leaves, keep)  # (1, 8, 12500, 64)
        of_query, of_key, _ = torch.autograd.grad(out, leaves, gradient.to(dtype))
        parts.append([out.detach().double(), of_query.double(), of_key.double()])
    (out, *gradients), (exact, *exact_gradients) = parts
    worst = ((out - exact).norm(dim=-1) / exact.norm(dim=-1)).max()
    pairs = zip(gradients, exact_gradients, strict=True)
    return [float(worst), *(float((ours - other).norm() / other.norm()) for ours, other in pairs)]


def warm_up(seconds: float) -> None:
    """Keep the device busy until its clock is at full speed."""
    matrix = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        matrix @ matrix
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=50)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.exit(1, "normsoftmax: needs a GPU\n")
    warm_up(1.0)
    columns = ("plain ms", "all scores ms", "ours ms", "ours / plain", "at most", "memory")
    print(f"| size | {' | '.join(columns)} | faster | error |")
    print("| --- |" + " ---: |" * (len(columns) + 2))
    missed = False
    for size in SIZES:
        rounds = [
            [measure(kind, size, arguments.repetitions) for kind in (plain, norm_attention)]
            for _ in range(3)
        ]
        fused, ours = (min(tries) for tries in zip(*rounds, strict=True))
        fewer = max(3, arguments.repetitions // 10)
        whole = measure(materialised_norm_attention, size, fewer)
        ratio = ours.milliseconds / fused.milliseconds
        memory = ours.mebibytes / fused.mebibytes
        faster = whole.milliseconds / ours.milliseconds
        missed |= size.limit is not None and ratio > size.limit
        missed |= memory > MEMORY_LIMIT
        missed |= size.length == 2048 and faster < SPEED_LIMIT
        print(
            f"| {size.name} | {fused.milliseconds:.3f} | {whole.milliseconds:.2f} "
            f"| {ours.milliseconds:.3f} | {ratio:.2f} | {size.limit or '–'} | {memory:.2f} "
            f"| {faster:.1f} × | {error(size):.4f} |",
            flush=True,
        )
    print("\n| kept keys | ours: worst query | dq | dk | all scores: worst query | dq | dk |")
    print("| --- |" + " ---: |" * 6)
    for kept in (2, 3, 8, 64, 65):
        ours = few_keys_errors(norm_attention, kept)
        whole_errors = few_keys_errors(materialised_norm_attention, kept)
        missed |= ours[0] > FEW_KEYS_LIMIT
        cells = " | ".join(f"{value:.1e}" for value in (*ours, *whole_errors))
        print(f"| {kept} | {cells} |", flush=True)
    parser.exit(int(missed))


if __name__ == "__main__":
    main()
