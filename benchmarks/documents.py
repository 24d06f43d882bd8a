"""Questions about collections of 10, 100 and 1,000 documents: fit how answers compare, and measure.

    python benchmarks/documents.py --squad FOLDER --held runs/bundled/squad-held.json.gz

Collections are made of the passages of a set of questions, of paragraphs of SQuAD's train set and
of the invented passages of `bundled:kinds-train`. Each question is asked of a collection that has
its passage, and of one that has not. `DocumentOdds` is fitted on `--held`, questions of articles
that the reader was not trained on, and on `bundled:kinds-dev`. Results are those of other
questions: of SQuAD dev, on articles that are in no other set, and of `bundled:kinds-test`.
"""

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean

import numpy as np
from scipy.optimize import minimize
from snowballstemmer import stemmer

from readlet.console import track
from readlet.data import read_examples
from readlet.evaluation.squad import exact_match
from readlet.evaluation.statistics import expected_calibration_error
from readlet.inference.calibration import DocumentOdds, logit
from readlet.inference.documents import Documents, Evidence
from readlet.inference.inputs import DEFAULTS
from readlet.inference.reader import Reader
from readlet.inference.retrieval import BM25
from readlet.text.words import words
from readlet.types import Example

SIZES = (10, 100, 1000)
OWN = {10: 5, 100: 50, 1000: 300}  # passages of the set in a collection; the others distract


@dataclass(frozen=True)
class Asked:
    """A question that was asked of a collection, and the pieces that were read."""

    example: Example
    size: int
    has_passage: bool
    read: list[Evidence]

    @property
    def place(self) -> int | None:
        """The piece that has the answer; None if none of them has."""
        if not self.has_passage or not self.example.answers:
            return None
        start = self.example.answers[0].start
        for number, piece in enumerate(self.read):
            if piece.document == self.example.context and piece.start <= start < piece.end:
                return number
        return None

    @property
    def right(self) -> list[float]:
        """Whether the best answer of each piece is right."""
        golds = [span.text for span in self.example.answers if self.has_passage]
        best = [next((c.text for c in piece.prediction.n_best), "") for piece in self.read]
        return [max((exact_match(text, gold) for gold in golds), default=0.0) for text in best]


def collections(
    questions: Sequence[Example], others: Sequence[str], size: int
) -> Iterator[tuple[list[Example], list[str]]]:
    """Collections, each with the questions whose passages it has."""
    draw = random.Random(size)
    passages = list(dict.fromkeys(example.context for example in questions))
    draw.shuffle(passages)
    for first in range(0, len(passages), OWN[size]):
        own = passages[first : first + OWN[size]]
        chosen = set(own)
        yield (
            [e for e in questions if e.context in chosen],
            own + draw.sample(others, size - len(own)),
        )


def ask(reader: Reader, questions: Sequence[Example], others: Sequence[str]) -> list[Asked]:
    """Each question of each size, with and without its passage."""
    found = []
    for size in SIZES:
        made = list(collections(questions, others, size))
        if len(made) == 1:  # the questions of one are asked of the next
            made.append(([], random.Random(-size).sample(others, size)))
        indexes = [Documents({text: text for text in texts}) for _, texts in made]
        jobs = [
            (example, has_passage, indexes[number if has_passage else (number + 1) % len(made)])
            for number, (own, _) in enumerate(made)
            for example in own
            for has_passage in ((True, False) if example.answers else (True,))
        ]
        found += [
            Asked(example, size, has_passage, index.read(reader, example.question))
            for example, has_passage, index in track(jobs, len(jobs), f"{size} documents")
        ]
    return found


def fit(asked: Sequence[Asked]) -> DocumentOdds:
    """The odds that make the pieces that have the answers, or none of them, likeliest."""
    chosen = [one for one in asked if one.read]
    logs = [_features(one) for one in chosen]
    places = [one.place for one in chosen]

    def loss(values: np.ndarray) -> float:
        total = 0.0
        for features, place in zip(logs, places, strict=True):
            odds = features @ values  # (pieces,)
            total += np.logaddexp.reduce([0.0, *odds]) - (0.0 if place is None else odds[place])
        return total / len(logs) + 1e-4 * float(values @ values)

    relevance, evidence, bias = minimize(loss, (1.0, 1.0, 0.0)).x
    share = mean(place is None for place in places)
    return DocumentOdds(
        relevance=round(float(relevance), 3),
        evidence=round(float(evidence), 3),
        bias=round(float(bias), 3),
        unanswerable_share=round(share, 3),
    )


def _features(one: Asked) -> np.ndarray:
    """For each piece, what the logarithm of its odds is a sum of: (pieces, 3)."""
    doubts = [min(max(piece.prediction.no_answer, 1e-4), 1 - 1e-4) for piece in one.read]
    relevance = [max(piece.relevance, 1e-9) for piece in one.read]
    return np.stack([np.log(relevance), [-logit(p) for p in doubts], np.ones(len(doubts))], 1)


Rule = Callable[[Asked], tuple[list[float], float]]
"""The scores of the best answers of all pieces, and the probability that none has one."""


def shared(odds: DocumentOdds, *, relative: bool = False) -> Rule:
    """The rule of `Documents`; `relative`: relevance is that beside the most relevant piece."""

    def rule(one: Asked) -> tuple[list[float], float]:
        weights, doubts = _weights(one, relative=relative), _doubts(one)
        shares, none = odds.shares(weights, doubts)
        return [
            share * piece.prediction.score / max(1.0 - doubt, 1e-9)
            for share, piece, doubt in zip(shares, one.read, doubts, strict=True)
        ], none

    return rule


def by_score_and_relevance(one: Asked) -> tuple[list[float], float]:
    """Score × relative relevance; "none" is that of the best piece alone."""
    weights = _weights(one, relative=True)
    scores = [p.prediction.score * weight for p, weight in zip(one.read, weights, strict=True)]
    return scores, _doubts(one)[int(np.argmax(scores))]


def _weights(one: Asked, *, relative: bool) -> list[float]:
    weights = [piece.relevance for piece in one.read]
    return [weight / (max(weights) or 1.0) for weight in weights] if relative else weights


def _doubts(one: Asked) -> list[float]:
    return [piece.prediction.no_answer for piece in one.read]


def row(asked: Sequence[Asked], rule: Rule) -> str:
    """Percent: right document, right answer, abstained with and without an answer; errors."""
    documents, answers, kept, left, scores, correct, nones, absent = ([] for _ in range(8))
    for one in asked:
        if not one.read:
            continue
        found, none = rule(one)
        best = int(np.argmax(found))
        is_given = found[best] >= DEFAULTS.level * (found[best] + none)
        right, has_answer = one.right[best], one.has_passage and bool(one.example.answers)
        if has_answer:
            documents.append(one.read[best].document == one.example.context)
            answers.append(right)
            kept.append(not is_given)
        else:
            left.append(not is_given)
        scores.append(found[best])
        correct.append(right)
        nones.append(none)
        absent.append(float(one.place is None))
    cells = [100 * mean(part) for part in (documents, answers, kept, left)]
    errors = [expected_calibration_error(*p) for p in ((scores, correct), (nones, absent))]
    return " | ".join([*(f"{cell:.1f}" for cell in cells), *(f"{error:.3f}" for error in errors)])


def print_recall(questions: Sequence[Example], others: Sequence[str]) -> None:
    """How often the passage is among the first pieces, of 3,000 documents, for forms of terms."""
    asked = [example for example in questions if example.answers]
    own = list(dict.fromkeys(example.context for example in asked))
    texts = own + random.Random(0).sample(list(others), 3000 - len(own))
    stem = stemmer("english").stemWord
    forms: dict[str, Callable[[str], list[str]]] = {
        "six letters": lambda text: [w.lower()[:6] for w in words(text) if w[0].isalnum()],
        "whole words": lambda text: [w.lower() for w in words(text) if w[0].isalnum()],
        "Snowball stems": lambda text: [stem(w.lower()) for w in words(text) if w[0].isalnum()],
    }
    six = forms["six letters"]
    forms["six letters, and pairs of neighbours"] = lambda text: _with_pairs(six(text))
    print("\n| terms | first | among 5 | among 10 |\n| --- | ---: | ---: | ---: |")
    for name, terms in forms.items():
        index = BM25([terms(text) for text in texts], str)
        ranks = []
        for example in asked:
            scores = index.scores(terms(example.question))
            ranks.append(int((scores > scores[texts.index(example.context)]).sum()))
        cells = [100 * mean(rank < first for rank in ranks) for first in (1, 5, 10)]
        print(f"| {name} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")


def _with_pairs(terms: list[str]) -> list[str]:
    return [*terms, *(f"{a} {b}" for a, b in pairwise(terms))]


def drawn(source: str | Sequence[Example], count: int) -> list[Example]:
    examples = list(read_examples(source)) if isinstance(source, str) else list(source)
    return random.Random(0).sample(examples, min(count, len(examples)))


def unseen(squad: Path) -> list[Example]:
    """Questions of SQuAD dev on articles that are in no other set."""
    others = ("rest-dev-v2.0.json.gz", "cs224n-dev-v2.0.json.gz")
    known = {e.title for name in others for e in read_examples(str(squad / name))}
    dev = read_examples(str(squad / "dev-v1.1.json.gz"))
    return [example for example in dev if example.title not in known]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--squad", type=Path, required=True, help="folder of SQuAD's files")
    parser.add_argument("--held", required=True, help="questions of articles not trained on")
    parser.add_argument("--reader", default="bundled")
    parser.add_argument("--questions", type=int, default=150, help="of each set")
    options = parser.parse_args()
    count = options.questions
    reader = Reader.load(options.reader)
    train = {e.context: e.title for e in read_examples(str(options.squad / "train-v1.1.json.gz"))}
    apart = {example.title for example in read_examples(options.held)}
    others = [context for context, title in train.items() if title not in apart]
    others += dict.fromkeys(e.context for e in read_examples("bundled:kinds-train"))
    held = [ask(reader, drawn(name, count), others) for name in (options.held, "bundled:kinds-dev")]
    odds = fit([one for part in held for one in part])
    print(f"fitted: {odds}\n")
    rules: dict[str, Rule] = {
        "one probability": shared(odds),
        f"expecting {DocumentOdds().unanswerable_share}": shared(
            odds.assuming(DocumentOdds().unanswerable_share)
        ),
        "with relative relevance": shared(
            DocumentOdds(relevance=0.5, evidence=1.8, bias=-3.0), relative=True
        ),
        "score × relative relevance": by_score_and_relevance,
    }
    tests = {
        "SQuAD": drawn(unseen(options.squad), count),
        "kinds": drawn("bundled:kinds-test", count),
    }
    print(
        "| questions | documents | read | rule | right document | right answer | abstains, with "
        "| without | error | of none |\n" + "|" + " --- |" * 10
    )
    for name, questions in tests.items():
        asked = ask(reader, questions, others)
        for size in SIZES:
            part = [one for one in asked if one.size == size]
            present = [one for one in part if one.has_passage and one.example.answers]
            read = 100 * mean(one.place is not None for one in present)
            for rule_name, rule in rules.items():
                print(f"| {name} | {size:,} | {read:.1f} | {rule_name} | {row(part, rule)} |")
    print_recall([e for part in tests.values() for e in part], others)


if __name__ == "__main__":
    main()
