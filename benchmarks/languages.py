"""Readers of the table `augmentation-multilingual` on XQuAD: English, Spanish, and across the two.

    readlet experiment run augmentation-multilingual --data FOLDER --out runs/languages \\
        --keep-readers
    python benchmarks/languages.py --runs runs/languages --xquad XQUAD

XQuAD has the same questions in every language, so questions of one file are asked about the
passages of another. A cell is the mean over the seeds, with the deviation of F1. Below the table:
the comparisons of the table file, with a 95 % interval over questions and the p-value of a
permutation test over questions.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from readlet.data import read_questions
from readlet.errors import ReadletError
from readlet.evaluation.squad import rules_of, score_questions
from readlet.evaluation.statistics import bootstrap_intervals, paired_permutations
from readlet.experiments.grid import plan
from readlet.experiments.store import READER, find_finished
from readlet.inference.evaluate_files import predict
from readlet.inference.inputs import ALL_ANSWERABLE
from readlet.inference.reader import Reader
from readlet.types import Example

TABLE = "augmentation-multilingual"
Scores = NDArray[np.float64]  # (questions, 2) exact match and F1 of each question, 0 to 1


def joined(questions: Sequence[Example], passages: Sequence[Example]) -> list[Example]:
    """The questions of one file about the passages of another, by id."""
    asked = {example.id: example for example in questions}
    if asked.keys() != {example.id for example in passages}:
        raise ReadletError("--xquad: the files have different questions; copy them again")
    return [
        replace(
            example,
            question=asked[example.id].question,
            question_language=asked[example.id].language,
        )
        for example in passages
    ]


def xquad_sets(folder: Path) -> dict[str, list[Example]]:
    """By name; with the languages, which the files do not say."""
    files = {
        code: [replace(e, language=code) for e in read_questions(folder / f"xquad.{code}.json.gz")]
        for code in ("en", "es")
    }
    return {
        "English": joined(files["en"], files["en"]),
        "Spanish": joined(files["es"], files["es"]),
        "English questions, Spanish passages": joined(files["en"], files["es"]),
    }


def scores_of(reader: Reader, examples: Sequence[Example]) -> Scores:
    answers = predict(reader, examples, ALL_ANSWERABLE)
    texts = {key: prediction.text for key, prediction in answers.items()}
    scored = score_questions(examples, texts, rules_of(examples))
    return np.stack([scored.exact, scored.f1], axis=1)  # (questions, 2)


Pairs = list[tuple[str, str]]


def readers_of(
    runs: Path, *, small: bool, changes: Sequence[str], data: Sequence[Path] = ()
) -> tuple[dict[str, list[Path]], Pairs]:
    """The folders of the kept readers of every finished row, one for each seed, and which rows are
    compared."""
    options = "--small" if small else "--data FOLDER"
    remedy = f"make them: readlet experiment run {TABLE} {options} --out {runs} --keep-readers"
    if not any(runs.glob("*/result.json")):
        raise ReadletError(f"{runs}: no finished run; {remedy}")
    grid, place = plan(TABLE, small=small, out=runs, folders=data, changes=changes)
    finished = find_finished(grid, place).runs
    found: dict[str, list[Path]] = {}
    for run in grid.runs:
        if run.key in finished:
            folder = place / run.key / READER
            if not (folder / "config.json").is_file():
                raise ReadletError(f"{place / run.key}: without its reader; {remedy}")
            found.setdefault(run.row, []).append(folder)
    if not found:
        raise ReadletError(f"{runs}: no finished run of this table; give the same --set")
    return found, [pair for pair in grid.comparisons if {*pair} <= found.keys()]


def measured(
    readers: Mapping[str, Sequence[Path]], sets: Mapping[str, Sequence[Example]], device: str
) -> dict[str, dict[str, list[Scores]]]:
    """Scores by row and test set, one array for each seed."""
    found: dict[str, dict[str, list[Scores]]] = {}
    for row, folders in readers.items():
        for folder in folders:
            reader = Reader.load(folder, device=device)
            for name, examples in sets.items():
                scores = scores_of(reader, examples)
                found.setdefault(row, {}).setdefault(name, []).append(scores)
    return found


def table(found: Mapping[str, Mapping[str, Sequence[Scores]]]) -> list[str]:
    names = list(next(iter(found.values())))
    lines = [f"| EM / F1 | {' | '.join(names)} |", "|---|" + "---:|" * len(names)]
    for row, by_set in found.items():
        cells = []
        for seeds in by_set.values():
            by_seed = 100 * np.mean(seeds, axis=1)  # (seeds, 2)
            exact, f1 = by_seed.mean(axis=0)
            more = f" ± {by_seed[:, 1].std(ddof=1):.1f}" if len(seeds) > 1 else ""
            cells.append(f"{exact:.1f} / {f1:.1f}{more}")
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return lines


def differences(found: Mapping[str, Mapping[str, Sequence[Scores]]], pairs: Pairs) -> list[str]:
    """F1 of one row less that of another, question by question, mean over the seeds."""
    lines = ["| F1 of | against | test set | difference | 95 % interval | p |"]
    lines.append("|---|---|---|---:|---|---:|")
    for row, against in pairs:
        for name, seeds in found[row].items():
            own = np.mean([scores[:, 1] for scores in seeds], axis=0)  # (questions,)
            other = np.mean([scores[:, 1] for scores in found[against][name]], axis=0)
            gains = (own - other)[:, None]  # (questions, 1)
            low, high = 100 * bootstrap_intervals(gains)[:, 0]
            p = paired_permutations(gains)[0]
            gap = 100 * float((own - other).mean())
            interval = f"{low:+.2f} to {high:+.2f}"
            lines.append(f"| {row} | {against} | {name} | {gap:+.2f} | {interval} | {p:.3f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--xquad", type=Path, required=True, metavar="FOLDER")
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="of the data files; needed if some rows were never run",
    )
    parser.add_argument("--small", action="store_true", help="the small variant of the table")
    parser.add_argument("--set", action="append", default=[], help="as in `experiment run`")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    readers, pairs = readers_of(
        options.runs, small=options.small, changes=options.set, data=options.data
    )
    found = measured(readers, xquad_sets(options.xquad), options.device)
    print("\n".join(table(found)))
    if pairs:
        print()
        print("\n".join(differences(found, pairs)))


if __name__ == "__main__":
    try:
        main()
    except ReadletError as error:
        sys.exit(f"languages: {error}")
