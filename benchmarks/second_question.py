"""How much faster the second question about a passage is, on a CPU.

    python benchmarks/second_question.py [--layers 3] [--encoder minilm] [--data dev-v1.1.json.gz]

An encoder reader whose first layers read question and passage apart (`model.apart_layers`) keeps
what they made of the passage. Two questions are asked about each passage, one after the other, by
this reader and by one whose layers all read both; with torch, as graphs, and as graphs in int8.
Their heads are untrained: only times are meaningful. The bundled reader is asked too. All take
turns, and each question has its best time of a few rounds: other programs only add to it. The exit
code is 1 if the second question of the graphs, or of the bundled reader, takes more than 0.6 of
the time of the first.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from readlet.export.export_folder import export_folder
from readlet.families import trainable_family
from readlet.formats import read_examples
from readlet.formats.writing import write_examples
from readlet.reading.calibration import Calibration
from readlet.reading.reader import Reader
from readlet.reading.reader_names import BUNDLED, reader_folder
from readlet.recipe.recipe_files import load_recipe
from readlet.types import Example

MOST_OF_FIRST = 0.6
Pair = tuple[Example, Example]


def untrained(encoder: str, layers: int) -> Reader:
    recipe = load_recipe("encoder", [f"model.encoder={encoder}", f"model.apart_layers={layers}"])
    family = trainable_family(recipe.model.kind)
    scorer = family.build(recipe, family.fit_encoder(recipe, ()), can_refuse=True)
    return Reader(scorer, recipe, Calibration())


def save_forms(encoder: str, layers: int, folder: Path, data: str) -> dict[str, Path]:
    """The folders of all forms, by name."""
    found = {}
    for name, apart in ((f"{layers} layers apart", layers), ("all layers read both", 0)):
        plain = folder / f"torch-{apart}"
        untrained(encoder, apart).save(plain)
        found[f"{name}, torch"] = plain
        for precision in ("float32", "int8"):
            graph = folder / f"{precision}-{apart}"
            export_folder(str(plain), graph, int8=precision == "int8", dev=data)
            found[f"{name}, graph in {precision}"] = graph
    return found


def pairs_of(examples: Sequence[Example], count: int) -> list[Pair]:
    """Two questions each about so many passages, evenly spread; every other pair is swapped."""
    by_passage: dict[str, list[Example]] = {}
    for example in examples:
        by_passage.setdefault(example.context, []).append(example)
    pairs = [(asked[0], asked[1]) for asked in by_passage.values() if len(asked) > 1]
    chosen = pairs[:: max(1, len(pairs) // count)][:count]
    return [(b, a) if number % 2 else (a, b) for number, (a, b) in enumerate(chosen)]


def seconds(reader: Reader, pairs: Sequence[Pair]) -> list[list[float]]:
    """Of the first and of the second question about each passage."""
    for text in ("A warm-up.", "Another one."):
        reader.answer("Who?", text)
    found = []
    for pair in pairs:
        times = []
        for example in pair:
            began = time.perf_counter()
            reader.answer(example.question, example.context)
            times.append(time.perf_counter() - began)
        found.append(times)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--data", default="bundled:dev")
    parser.add_argument("--passages", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="of torch; 0: all cores")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    examples = list(read_examples(given.data))
    pairs = pairs_of(examples, given.passages)
    with tempfile.TemporaryDirectory() as name:
        few = Path(name) / "few.json"
        write_examples(few, examples[:4])
        forms = save_forms(given.encoder, given.layers, Path(name), str(few))
        forms[BUNDLED] = reader_folder(BUNDLED)
        best: dict[str, list[list[float]]] = {}
        for _ in range(given.rounds):
            for form, folder in forms.items():
                # Loaded again: nothing is kept from the round before.
                times = seconds(Reader.load(folder, device=_device(folder)), pairs)
                before = best.get(form, times)
                best[form] = [
                    [min(*both) for both in zip(*two, strict=True)]
                    for two in zip(before, times, strict=True)
                ]
    print(f"{given.encoder}, {len(pairs)} passages of {given.data}, medians of best times")
    shares = {}
    for form, times in best.items():
        first, second = (statistics.median(side) for side in zip(*times, strict=True))
        shares[form] = statistics.median(late / early for early, late in times)
        print(
            f"{form:40} first {1000 * first:6.1f} ms  second {1000 * second:6.1f} ms  "
            f"second/first {shares[form]:.2f}"
        )
    graph = f"{given.layers} layers apart, graph in float32"
    return int(max(shares[graph], shares[BUNDLED]) > MOST_OF_FIRST)


def _device(folder: Path) -> str:
    return "cpu" if folder.name.startswith("torch") else "auto"


if __name__ == "__main__":
    raise SystemExit(main())
