"""How often a reader abstains on each kind of synthetic unanswerable question, and on real ones.

    python benchmarks/unanswerable_kinds.py --data train-v1.1.json.gz [--reader bundled]
        [--real cs224n-dev-v2.0.json.gz] [--questions 2000]

The same number of questions of each kind is made from answerable ones; fewer if there are fewer.
`abstained` is the percentage on which it abstains at its threshold, `no answer` its mean no-answer
probability in percent, and `area` the area under the ROC curve: the probability that the no-answer
probability of such a question is above that of an answerable one of the same file. An area of 50 is
chance.
"""

import argparse
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence

from readlet.augmentation.altered_questions import MIX, alter_questions
from readlet.augmentation.unanswerable_questions import OTHER_PARAGRAPH, pair_up
from readlet.data import read_examples
from readlet.errors import ReadletError, bad_input
from readlet.evaluation.no_answer import no_answer_area
from readlet.inference.inputs import asked_of
from readlet.inference.reader import Reader
from readlet.inference.trained_model import AUTO
from readlet.progress import track
from readlet.types import Example, Prediction

CAN_ABSTAIN = "give a reader that was trained with unanswerable questions"
ANSWERABLE, REAL = "answerable", "real"
HEADING = f"{'kind':18}{'questions':>10}{'abstained':>10}{'no answer':>11}{'area':>8}"


def made_by_kind(examples: Sequence[Example], count: int, seed: int) -> dict[str, list[Example]]:
    """Up to `count` new questions of each kind, drawn at random; no kind excludes another."""
    found = {OTHER_PARAGRAPH: pair_up(examples, count, seed).added}
    for kind in MIX:
        found[kind] = alter_questions(examples, count, seed, {kind: 1.0}).added
    return found


def sample(examples: Sequence[Example], count: int, seed: int) -> list[Example]:
    return random.Random(seed).sample(examples, min(count, len(examples)))


def area(unanswerable: Sequence[Prediction], answerable: Sequence[Prediction]) -> float:
    """The area under the ROC curve, in percent; ties count half."""
    both = [*unanswerable, *answerable]
    has_answer = [False] * len(unanswerable) + [True] * len(answerable)
    return 100 * (no_answer_area([p.no_answer for p in both], has_answer) or 0.0)


def line(
    kind: str, predictions: Sequence[Prediction], answerable: Sequence[Prediction] | None
) -> str:
    abstained = 100 * statistics.mean(p.abstained for p in predictions)
    no_answer = 100 * statistics.mean(p.no_answer for p in predictions)
    last = f"{area(predictions, answerable):8.1f}" if answerable else f"{'':8}"
    return f"{kind:18}{len(predictions):10,}{abstained:10.1f}{no_answer:11.1f}{last}"


def table(reader: Reader, groups: Mapping[str, Sequence[Example]]) -> Iterator[str]:
    """The answerable questions come first in `groups`; the others are compared with them."""
    answerable: list[Prediction] | None = None
    for kind, examples in groups.items():
        if not examples:
            yield f"{kind:18}{0:10}"
            continue
        answers = reader.answer_batch(map(asked_of, examples), n_best=1)
        predictions = list(track(answers, len(examples), kind))
        yield line(kind, predictions, answerable)
        answerable = answerable or predictions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="answerable questions with titles")
    parser.add_argument("--reader", default="bundled")
    parser.add_argument("--real", help="data with real unanswerable questions, for the last row")
    parser.add_argument("--questions", type=int, default=2000, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default=AUTO)
    arguments = parser.parse_args()
    count, seed = arguments.questions, arguments.seed
    if count < 1:
        parser.error("--questions: give 1 or more")
    try:
        reader = Reader.load(arguments.reader, device=arguments.device)
        if not reader.scorer.can_abstain:
            raise bad_input(arguments.reader, "", "this reader never abstains", CAN_ABSTAIN)
        examples = list(read_examples(arguments.data))
        answerable = sample([e for e in examples if e.answers], count, seed)
        real = list(read_examples(arguments.real)) if arguments.real else []
    except ReadletError as error:
        parser.exit(1, f"unanswerable_kinds: {error}\n")
    if not answerable:
        parser.exit(1, f"unanswerable_kinds: {arguments.data}: no answerable questions\n")
    print(HEADING)
    for row in table(reader, {ANSWERABLE: answerable, **made_by_kind(examples, count, seed)}):
        print(row, flush=True)
    with_answer = sample([e for e in real if e.answers], count, seed)
    without = sample([e for e in real if not e.answers], count, seed)
    if with_answer and without:
        groups = {f"{REAL}, {ANSWERABLE}": with_answer, f"{REAL}, unanswerable": without}
        for row in table(reader, groups):
            print(row, flush=True)


if __name__ == "__main__":
    main()
