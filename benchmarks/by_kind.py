"""The bundled reader on passages of several kinds: writes docs/results/kinds.md.

    python benchmarks/by_kind.py --data FOLDER [--reader bundled] [--out docs/results/kinds.md]

FOLDER has `xquad/xquad.en.json.gz` and, in `squad/`, dev of SQuAD 1.1, the CS 224n set, and the
rest of SQuAD 2.0's dev set, on which the reader was trained: questions on its articles are left
out. The English questions of the bundled corpus are divided by kind: an article "note: A shopping
list" is of the kind "note", one without a colon is encyclopaedic. With --questions N only so many
of each set are asked.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from readlet.bundled import corpus
from readlet.data import read_examples
from readlet.errors import ReadletError
from readlet.evaluation.evaluation import Evaluation
from readlet.inference.evaluate_files import evaluate_reader, predict
from readlet.inference.inputs import ALL_ANSWERABLE, DEFAULTS, Answerer, AnswerOptions
from readlet.inference.reader import load_reader
from readlet.storage.files import write_text
from readlet.types import Example

COURSE = "CS 224n dev"
FILES = {
    "SQuAD 1.1 dev, unseen articles": "squad/dev-v1.1.json.gz",
    "XQuAD, English, unseen articles": "xquad/xquad.en.json.gz",
    COURSE: "squad/cs224n-dev-v2.0.json.gz",
}
TRAINED_ON = "squad/rest-dev-v2.0.json.gz"
HELD_OUT = ("test.json", "kinds-dev.json")  # of the bundled corpus
FOR_TESTING = "kinds-test.json"  # other kinds, and other styles
PLAIN = "encyclopaedic"
COURSE_SHARE = 0.5  # of the questions of the CS 224n set, 52 % have no answer
_HEAD = """# Results by kind of passage

No passage was used in training. The bundled ones are in English and by one author, who also wrote
passages that were; all but the encyclopaedic ones and those in other styles were used to calibrate
the reader. Intervals are 95 %, by resampling questions. `always` is the F1 of the questions with
an answer if the reader never abstains, `area` the ROC area of the no-answer probability, `error`
the calibration error in percent.

| passages | questions | EM | F1 | 95 % | F1, with answer | without | error | area | always |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def kind_of(title: str) -> str:
    kind, colon, _ = title.partition(": ")
    return kind if colon else PLAIN


def bundled_kinds() -> dict[str, list[Example]]:
    """The English held-out questions of the bundled corpus by kind of passage."""
    found: dict[str, list[Example]] = {}
    for name in HELD_OUT:
        for example in read_examples(corpus("test").parent / name):
            if example.language == "en":
                found.setdefault(f"bundled, {kind_of(example.title)}", []).append(example)
    tested = list(read_examples(corpus("test").parent / FOR_TESTING))
    return {**dict(sorted(found.items())), "bundled, other styles": tested}


def parts_of(data: Path, most: int) -> dict[str, Sequence[Example]]:
    known = {example.title for example in read_examples(data / TRAINED_ON)}
    draw, parts = random.Random(0), {}
    for name, file in FILES.items():
        unseen = [e for e in read_examples(data / file) if e.title not in known]
        parts[name] = draw.sample(unseen, most) if 0 < most < len(unseen) else unseen
    return parts | bundled_kinds()


@dataclass(frozen=True)
class SeveralEvaluations:
    """The evaluation of each part, and of all their questions together."""

    parts: dict[str, Evaluation]
    together: Evaluation


def evaluate_parts(
    reader: Answerer, parts: Mapping[str, Sequence[Example]], options: AnswerOptions
) -> SeveralEvaluations:
    # Numbered: two parts may have the same ids.
    numbered = {
        name: [replace(example, id=f"{number}:{example.id}") for example in part]
        for number, (name, part) in enumerate(parts.items(), 1)
    }
    every = [example for part in numbered.values() for example in part]
    predicted = predict(reader, every, options)

    def scored(part: Sequence[Example]) -> Evaluation:
        return evaluate_reader(part, {e.id: predicted[e.id] for e in part}, options)

    of_parts = {name: scored(part) for name, part in numbered.items()}
    return SeveralEvaluations(of_parts, scored(every))


def rows(usual: SeveralEvaluations, bold: SeveralEvaluations) -> Iterator[str]:
    """The evaluations by default, and if the reader never abstains."""
    named: Mapping[str, Evaluation] = {**usual.parts, "together": usual.together}
    for name, one in named.items():
        other = bold.parts.get(name, bold.together).official
        found, (low, high) = one.official, one.intervals["f1"]
        cells = [f"{found['total']:,.0f}", f"{found['exact']:.2f}", f"{found['f1']:.2f}"]
        cells.append(f"{low:.1f}–{high:.1f}")
        cells += [f"{found[key]:.2f}" if key in found else "" for key in ("HasAns_f1", "NoAns_f1")]
        error, area = one.calibration_error, one.no_answer_area
        cells.append("" if error is None else f"{100 * error:.1f}")
        cells.append("" if area is None else f"{area:.3f}")
        cells.append(f"{other.get('HasAns_f1', other['f1']):.2f}")
        yield f"| {name} | {' | '.join(cells)} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the public datasets")
    parser.add_argument("--reader", default="bundled")
    parser.add_argument("--questions", type=int, default=0, help="of each file; 0: all")
    parser.add_argument("--out", type=Path, default=Path("docs/results/kinds.md"))
    options = parser.parse_args()
    reader, parts = load_reader(options.reader), parts_of(options.data, options.questions)
    usual, bold = (evaluate_parts(reader, parts, how) for how in (DEFAULTS, ALL_ANSWERABLE))
    expecting = evaluate_parts(
        reader, {COURSE: parts[COURSE]}, AnswerOptions(unanswerable_share=COURSE_SHARE)
    )
    below = "".join(
        f"- {name}: {100 * (bold.parts[name].calibration_error or 0):.1f}\n" for name in FILES
    )
    limit = f" --questions {options.questions}" if options.questions else ""
    command = f"python benchmarks/by_kind.py --data FOLDER --reader {options.reader}{limit}"
    write_text(
        options.out,
        f"{_HEAD}{''.join(rows(usual, bold))}\nWith `--unanswerable-share {COURSE_SHARE}`:\n\n"
        f"{_HEAD[_HEAD.index('| passages') :]}{next(rows(expecting, bold))}\n"
        f"Calibration error if it always answers, in percent:\n\n{below}\n`{command}`\n",
    )


if __name__ == "__main__":
    try:
        main()
    except ReadletError as error:
        sys.exit(f"by_kind: {error}")
