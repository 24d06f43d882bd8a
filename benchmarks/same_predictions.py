"""Whether two versions of Readlet give the same predictions with the same reader.

    python benchmarks/same_predictions.py bundled dev-v1.1.json.gz --save before.json
    python benchmarks/same_predictions.py bundled dev-v1.1.json.gz --against before.json

The first call is made with one version, the second with another. Answers and n-best lists must be
equal; scores may differ by rounding. Exit code 1 if they do not agree.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from readlet import Reader, ReadletError
from readlet.data import read_examples

ROUNDING = 1e-5

Predictions = Mapping[str, Mapping[str, Any]]


def predictions_of(reader: str, data: str) -> dict[str, dict[str, Any]]:
    examples = list(read_examples(data))
    answers = Reader.load(reader).answer_batch((e.question, e.context) for e in examples)
    return {e.id: asdict(prediction) for e, prediction in zip(examples, answers, strict=True)}


def compare(before: Predictions, now: Predictions) -> tuple[int, int, float]:
    """Questions with another answer or n-best list, and the largest change of a score."""
    answers = lists = 0
    largest = 0.0
    for identity, old in before.items():
        new = now[identity]
        answers += any(old[name] != new[name] for name in ("text", "start", "end"))
        places = [[(c["text"], c["start"]) for c in p["n_best"]] for p in (old, new)]
        lists += places[0] != places[1]
        changes = [abs(old[name] - new[name]) for name in ("score", "no_answer")]
        pairs = zip(old["n_best"], new["n_best"], strict=False)
        changes += [abs(one["score"] - other["score"]) for one, other in pairs]
        largest = max(largest, *changes)
    return answers, lists, largest


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reader")
    parser.add_argument("data")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--save", type=Path, help="write the predictions")
    which.add_argument("--against", type=Path, help="compare with predictions written before")
    options = parser.parse_args(words)
    now = predictions_of(options.reader, options.data)
    if options.save:
        options.save.write_text(json.dumps(now), "utf-8")
        return 0
    before = json.loads(options.against.read_text("utf-8"))
    if before.keys() != now.keys():
        parser.exit(1, "the questions are not the same\n")
    answers, lists, largest = compare(before, now)
    print(f"{len(now):,} questions: {answers} answers and {lists} n-best lists differ; ", end="")
    print(f"scores differ by at most {largest:.1e}")
    return int(answers > 0 or lists > 0 or largest > ROUNDING)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ReadletError as error:
        sys.exit(f"same_predictions: {error}")
