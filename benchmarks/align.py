"""How well and how fast vectors of two languages are aligned.

    python benchmarks/align.py quality --target glove.100d.txt.gz --pair es.vec es-en
    python benchmarks/align.py picture --target glove.100d.txt.gz --pair es.vec es-en --out FILE
    python benchmarks/align.py speed

`align_data.py` makes the files: es-en stands for es-en.train.tsv and es-en.test.tsv.

quality  Translations found among all target words, P@1 and P@5 on the test dictionary, after
         alignment with the training dictionary, by both methods and both kinds of retrieval.
picture  Words of the test dictionary and their translations in the plane, by t-SNE. The map has not
         seen any of them. Needs the extras plots and examples.
speed    200,000 made-up vectors of width 300 for each of two languages, aligned with 5,000 pairs;
         1,500 words are translated. Limits: 2 minutes on 2 cores, 2 GB of memory.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from readlet.vectors.alignment import CUTS, Method, align, precisions
from readlet.vectors.vector_files import BLOCK, MAX_WORDS, Pairs, Table, find_pairs, read_table

METHODS: tuple[Method, ...] = ("procrustes", "rcsls")
LIMIT_SECONDS, LIMIT_BYTES, CORES = 120, 2e9, 2
Result = TypeVar("Result")


def part(prefix: Path, name: str) -> Path:
    return prefix.with_name(f"{prefix.name}.{name}.tsv")


def aligned(source: Table, target: Table, pairs: Pairs, method: Method) -> Tensor:
    """The source's vectors in the target's space, (N, D')."""
    return torch.cat(list(source.mapped(align(source, target, pairs, method=method).matrix)))


def quality(target: Table, source: Table, prefix: Path) -> None:
    known = find_pairs(part(prefix, "train"), source, target)
    unseen = find_pairs(part(prefix, "test"), source, target)
    wanted = unseen.translations()
    print(
        f"{source.path.name}: {len(source):,} words of width {source.width}; {len(known):,} pairs"
    )
    print(f"to learn from, {len(wanted):,} words to translate, {len(target):,} target words\n")
    print("| map | retrieval | " + " | ".join(f"P@{cut}" for cut in CUTS) + " |")
    print("| --- | --- |" + " ---: |" * len(CUTS))
    for method in METHODS:
        mapped = aligned(source, target, known, method)  # (N, D')
        for retrieval, found in precisions(mapped, target.vectors, wanted).items():
            cells = " | ".join(f"{found[cut]:.1%}" for cut in CUTS)
            print(f"| {method} | {retrieval} | {cells} |", flush=True)


def picture(target: Table, source: Table, prefix: Path, count: int, out: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    from sklearn.manifold import TSNE

    mapped = aligned(source, target, find_pairs(part(prefix, "train"), source, target), "rcsls")
    unseen = find_pairs(part(prefix, "test"), source, target)
    pairs = list(zip(unseen.source.tolist(), unseen.target.tolist(), strict=True))
    # Frequent in English, spelled differently, and no function words: those have no clear place.
    pairs = [pair for pair in pairs if source.words[pair[0]] != target.words[pair[1]]]
    pairs = sorted((pair for pair in pairs if pair[1] > 300), key=lambda pair: pair[1])[:count]
    rows, others = (list(column) for column in zip(*pairs, strict=True))
    points = torch.cat([mapped[rows], target.vectors[others]])  # (2 count, D')
    places = TSNE(metric="cosine", perplexity=12, random_state=0).fit_transform(points.numpy())
    words = [source.words[row] for row in rows] + [target.words[row] for row in others]
    figure, axes = plt.subplots(figsize=(14, 11), dpi=110)
    for start, end in zip(places[: len(rows)], places[len(rows) :], strict=True):
        axes.plot(*zip(start, end, strict=True), color="0.8", linewidth=0.7, zorder=1)
    axes.set_axis_off()
    figure.tight_layout()
    for first, colour, name in ((0, "#b5461b", source), (len(rows), "#1f5a93", target)):
        these = places[first : first + len(rows)]
        axes.scatter(*these.T, s=7, color=colour, zorder=2, label=name.path.name.split(".")[0])
    label_points(axes, places, words, ["#b5461b"] * len(rows) + ["#1f5a93"] * len(rows))
    axes.legend(loc="upper left", frameon=False, fontsize=11, markerscale=3)
    figure.savefig(out)


def label_points(axes, places, words, colours) -> None:  # type: ignore[no-untyped-def]
    """Each word beside its point, at the first place where it covers no other word."""
    renderer = axes.figure.canvas.get_renderer()
    taken: list[object] = []
    offsets = [(dx, dy) for far in (4, 12, 20, 28) for dx, dy in _around(far)]
    for place, word, colour in zip(places, words, colours, strict=True):
        for dx, dy in offsets:
            text = axes.annotate(
                word,
                place,
                (dx, dy),
                textcoords="offset points",
                ha="left" if dx > 0 else "right" if dx < 0 else "center",
                va="center",
                fontsize=7.5,
                color=colour,
            )
            box = text.get_window_extent(renderer)
            if not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()


def _around(far: int) -> list[tuple[int, int]]:
    return [
        (far, 0),
        (-far, 0),
        (0, far),
        (0, -far),
        *((x, y) for x in (far, -far) for y in (far, -far)),
    ]


def speed(words: int, width: int, known: int, asked: int) -> None:
    torch.set_num_threads(CORES)
    with tempfile.TemporaryFile() as first, tempfile.TemporaryFile() as second:
        source, target = (mapped_table(file, words, width) for file in (first, second))
        fill(source.vectors, target.vectors)
        rows = torch.randperm(min(words, 20_000))  # dictionaries list frequent words
        pairs = Pairs(rows[:known], rows[:known], known, 0, 0, 0)
        wanted = {row: {row} for row in rows[known : known + asked].tolist()}
        total = cpu = 0.0
        for method in METHODS:
            mapped, *spent = timed(lambda method=method: aligned(source, target, pairs, method))
            total, cpu = total + spent[0], cpu + spent[1]
            print(f"{method}: {spent[0]:.0f} s, {spent[1]:.0f} s of processor time", flush=True)
        found, *spent = timed(lambda: precisions(mapped, target.vectors, wanted))
        total, cpu = total + spent[0], cpu + spent[1]
        print(f"retrieval: {spent[0]:.0f} s, {spent[1]:.0f} s of processor time; {found}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{LIMIT_SECONDS / total:.2f} x as fast as the limit of {LIMIT_SECONDS} s, by the clock")
    print(f"{LIMIT_SECONDS * CORES / cpu:.2f} x as fast, by processor time on {CORES} idle cores")
    print(f"memory {memory / LIMIT_BYTES:.2f} x the limit of {LIMIT_BYTES / 1e9:.0f} GB")


def timed(task: Callable[[], Result]) -> tuple[Result, float, float]:
    clock, cpu = time.monotonic(), time.process_time()
    result = task()
    return result, time.monotonic() - clock, time.process_time() - cpu


def mapped_table(file, words: int, width: int) -> Table:  # type: ignore[no-untyped-def]
    array = np.memmap(file, np.float32, "w+", shape=(words, width))  # (words, width)
    return Table(Path("made-up"), [str(n) for n in range(words)], torch.from_numpy(array), 0, 0)


def fill(source: Tensor, target: Tensor) -> None:
    """A language and a distorted rotation of it; both lean to one side, as real vectors do."""
    torch.manual_seed(0)
    width = source.shape[1]
    scale = torch.linspace(2, 0.3, width)  # (width,)
    rotation, _ = torch.linalg.qr(torch.randn(width, width))  # (width, width)
    for start in range(0, len(source), BLOCK):
        rows = slice(start, start + BLOCK)
        plain = torch.randn(len(source[rows]), width) * scale + 0.5  # (block, width)
        noisy = plain @ rotation + 3 * torch.randn_like(plain)  # (block, width)
        source[rows], target[rows] = normalize(plain), normalize(noisy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    tasks = parser.add_subparsers(dest="task", required=True)
    for name in ("quality", "picture"):
        task = tasks.add_parser(name)
        task.add_argument("--target", type=Path, required=True)
        task.add_argument("--pair", nargs=2, type=Path, required=True, metavar=("VEC", "PREFIX"))
        task.add_argument("--max-words", type=int, default=MAX_WORDS)
    task.add_argument("--words", type=int, default=110)
    task.add_argument("--out", type=Path, required=True)
    measured = tasks.add_parser("speed")
    measured.add_argument("--words", type=int, default=200_000)
    measured.add_argument("--width", type=int, default=300)
    measured.add_argument("--known", type=int, default=5000)
    measured.add_argument("--asked", type=int, default=1500)
    given = parser.parse_args()
    if given.task == "speed":
        speed(given.words, given.width, given.known, given.asked)
        return
    target = read_table(given.target, given.max_words)
    source = read_table(given.pair[0], given.max_words)
    if given.task == "quality":
        quality(target, source, given.pair[1])
    else:
        picture(target, source, given.pair[1], given.words, given.out)


if __name__ == "__main__":
    main()
