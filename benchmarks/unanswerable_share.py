"""What each expected share of impossible questions costs: a table, and a picture for the docs.

    python benchmarks/unanswerable_share.py --data cs224n-dev-v2.0.json.gz [--reader bundled] \
        [--out docs/results/unanswerable-share.svg]

The reader answers each question once; the shares only move its no-answer probability. Needs
matplotlib (`pip install readlet[plots]`).
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from readlet.data import read_examples
from readlet.evaluation.squad import abstain_above, score_questions, summary
from readlet.inference.calibration import Calibration, logit
from readlet.inference.evaluate_questions import predict
from readlet.inference.inputs import AnswerOptions
from readlet.inference.reader import Reader
from readlet.storage.overwrite import check_file
from readlet.types import Example

SHARES = (0.02, *(number / 20 for number in range(1, 17)))
SHOWN = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8)  # in the table


class Cost(NamedTuple):
    """In percent: of the questions with an answer, and of those without."""

    abstained: float  # though there is an answer
    f1: float  # of the questions with an answer
    answered: float  # though there is none


def moved(base: Calibration, share: float, probability: float) -> float:
    """The no-answer probability at another share: its log-odds are shifted."""
    there = base.assuming(share)
    shift = there.no_answer_bias - base.no_answer_bias
    return Calibration(no_answer_bias=shift).no_answer(logit(probability))


def costs(reader: Reader, examples: Sequence[Example]) -> dict[float, Cost]:
    predicted = predict(reader, examples, AnswerOptions(threshold=1.0))
    scores = score_questions(examples, {key: p.text for key, p in predicted.items()}, "2.0")
    answerable = [e.id for e in examples if e.answers]
    found = {}
    for share in SHARES:
        no_answer = {
            key: moved(reader.calibration, share, p.no_answer) for key, p in predicted.items()
        }
        abstained = {key for key, value in no_answer.items() if value > reader.no_answer_threshold}
        official = summary(abstain_above(scores, no_answer, reader.no_answer_threshold))
        wrongly = 100 * len(abstained.intersection(answerable)) / len(answerable)
        found[share] = Cost(wrongly, official["HasAns_f1"], 100 - official["NoAns_f1"])
    return found


def draw(found: dict[float, Cost], own: float, out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    # No date and no random names of parts: the same figures give the same file.
    matplotlib.rcParams["svg.hashsalt"] = "readlet"
    figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for values, label, colour, style in (
        ([cost.f1 for cost in found.values()], "with an answer: F1", "#0072b2", "-"),
        ([cost.abstained for cost in found.values()], "with an answer: abstains", "#d55e00", "--"),
        ([cost.answered for cost in found.values()], "without one: answered", "#444444", ":"),
    ):
        axis.plot(list(found), values, style, color=colour, label=label, linewidth=2)
    axis.axvline(own, color="#999999", linewidth=1)
    axis.annotate("default", (own, 99), (4, 0), "data", "offset points", color="#666666", va="top")
    axis.set(xlabel="--unanswerable-share", ylabel="percent", xlim=(0, 0.82), ylim=(0, 100))
    axis.grid(color="#dddddd")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=3, frameon=False, fontsize=9)
    figure.savefig(out, metadata={"Date": None} if out.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--reader", default="bundled")
    parser.add_argument("--questions", type=int, default=0, help="drawn at random; 0: all")
    parser.add_argument("--out", type=Path, default=Path("docs/results/unanswerable-share.svg"))
    options = parser.parse_args()
    check_file(options.out, [Path(options.data)], overwrite=True)
    examples = list(read_examples(options.data))
    if 0 < options.questions < len(examples):
        examples = random.Random(0).sample(examples, options.questions)
    reader = Reader.load(options.reader)
    found = costs(reader, examples)
    print(
        "| share | abstains, with answer | F1, with answer | answered, without | F1 if it is so |"
    )
    print("| ---: | ---: | ---: | ---: | ---: |")
    for share in SHOWN:
        abstained, f1, answered = found[share]
        whole = (1 - share) * f1 + share * (100 - answered)
        print(f"| {share:.2f} | {abstained:.1f} | {f1:.1f} | {answered:.1f} | {whole:.1f} |")
    draw(found, reader.calibration.unanswerable_share, options.out)


if __name__ == "__main__":
    main()
