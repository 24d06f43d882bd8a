"""A reader on passages of several kinds: writes docs/results/kinds.md.

    python benchmarks/by_kind.py --data FOLDER [--reader bundled] [--out docs/results/kinds.md]

FOLDER has `xquad/xquad.en.json.gz` and `squad/cs224n-dev-v2.0.json.gz`. The English questions of
the bundled corpus are divided by kind: an article "note: A shopping list" is of the kind "note",
one without a colon is encyclopaedic. With --questions N only so many of each set are asked.
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from readlet.bundled import corpus
from readlet.formats import read_examples
from readlet.metrics.evaluation import Evaluation
from readlet.reading.evaluate_several import SeveralEvaluations, evaluate_parts
from readlet.reading.reader import load_reader
from readlet.storage.files import write_text
from readlet.types import Example

FILES = {
    "XQuAD, English": "xquad/xquad.en.json.gz",
    "CS 224n dev": "squad/cs224n-dev-v2.0.json.gz",
}
HELD_OUT = ("test.json", "kinds-dev.json")  # of the bundled corpus, where they are there
PLAIN = "encyclopaedic"
_HEAD = """# Results by kind of passage

The questions of the bundled corpus are in English, and none was used in training. Intervals are
95 %, by resampling questions; a kind with few questions has a wide one. `always` is the F1 of the
questions with an answer if the reader never refuses, `area` that under the ROC curve of refusals.

| passages | questions | EM | F1 | 95 % | F1, with answer | without | always | area |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def kind_of(title: str) -> str:
    kind, colon, _ = title.partition(": ")
    return kind if colon else PLAIN


def bundled_kinds() -> dict[str, list[Example]]:
    """The English held-out questions of the bundled corpus by kind of passage."""
    found: dict[str, list[Example]] = {}
    for name in HELD_OUT:
        path = corpus("test").parent / name
        for example in read_examples(path) if path.is_file() else ():
            if example.language in ("", "en"):
                found.setdefault(f"bundled, {kind_of(example.title)}", []).append(example)
    return dict(sorted(found.items()))


def parts_of(data: Path, most: int) -> dict[str, Sequence[Example]]:
    read = {name: list(read_examples(data / file)) for name, file in FILES.items()}
    draw = random.Random(0)
    asked = {
        name: draw.sample(part, most) if 0 < most < len(part) else part
        for name, part in read.items()
    }
    return asked | bundled_kinds()


def rows(refusing: SeveralEvaluations, bold: SeveralEvaluations) -> Iterator[str]:
    named: Mapping[str, Evaluation] = {**refusing.parts, "together": refusing.together}
    for name, one in named.items():
        found, other = one.official, bold.parts.get(name, bold.together).official
        low, high = one.intervals["f1"]
        cells = [f"{found['total']:,}", f"{found['exact']:.1f}", f"{found['f1']:.1f}"]
        cells.append(f"{low:.1f}–{high:.1f}")
        for values, key in ((found, "HasAns_f1"), (found, "NoAns_f1"), (other, "HasAns_f1")):
            cells.append(f"{values[key]:.1f}" if key in values else "")
        cells.append("" if one.refusal_area is None else f"{one.refusal_area:.2f}")
        yield f"| {name} | {' | '.join(cells)} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the public datasets")
    parser.add_argument("--reader", default="bundled")
    parser.add_argument("--questions", type=int, default=0, help="of each file; 0: all")
    parser.add_argument("--out", type=Path, default=Path("docs/results/kinds.md"))
    options = parser.parse_args()
    reader, parts = load_reader(options.reader), parts_of(options.data, options.questions)
    tables = (evaluate_parts(reader, parts, always_answer=bold) for bold in (False, True))
    limit = f" --questions {options.questions}" if options.questions else ""
    command = f"python benchmarks/by_kind.py --data FOLDER --reader {options.reader}{limit}"
    write_text(options.out, _HEAD + "".join(rows(*tables)) + f"\n`{command}`\n")


if __name__ == "__main__":
    main()
