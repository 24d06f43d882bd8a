"""Whether two rows differ by more than chance: over questions, and over seeds."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from readlet.experiments.store import FinishedRun
from readlet.metrics.significance import (
    Numbers,
    bootstrap_intervals,
    holm,
    paired_permutations,
    paired_t,
)

Runs = Mapping[str, Sequence[FinishedRun]]
"""Finished runs by the name of their row."""
QUESTION_METRICS = ("exact", "f1")
"""Metrics that every question has; others are averages over some of them."""


@dataclass(frozen=True)
class Difference:
    """One row against another, by one metric, in points."""

    row: str
    against: str
    metric: str
    mean: float
    # Over questions: what other questions of the same kind would change. None when the two rows
    # were not asked the same questions, or the metric is no average over all of them.
    low: float | None
    high: float | None
    p_questions: float | None  # corrected for the number of comparisons (Holm)
    # Over seeds: what another seed would change. None without two common seeds and a spread.
    seeds: int
    p_seeds: float | None  # corrected too


def question_means(listed: Sequence[FinishedRun], metric: str) -> Numbers:
    """Every question's score, averaged over the seeds, in percent: (questions,)."""
    stacked = np.stack([run.question_scores[metric] for run in listed])  # (seeds, questions)
    means: Numbers = 100 * stacked.mean(axis=0)
    return means


def find_differences(
    comparisons: Sequence[tuple[str, str]], runs: Runs, metrics: Sequence[str]
) -> list[Difference]:
    """Every comparison by every metric; the corrections count the comparisons of a metric."""
    found = []
    for metric in metrics:
        same = [
            len({run.result.questions for run in (*runs[a], *runs[b])}) == 1
            and metric in QUESTION_METRICS
            for a, b in comparisons
        ]
        paired = [pair for pair, is_same in zip(comparisons, same, strict=True) if is_same]
        over_questions = iter(_over_questions(paired, runs, metric))
        over_seeds = [_over_seeds(runs[a], runs[b], metric) for a, b in comparisons]
        tested = [p for _, p in over_seeds if p is not None]
        corrected = iter(holm(tested))
        for (a, b), is_same, (common, p) in zip(comparisons, same, over_seeds, strict=True):
            low, high, p_questions = next(over_questions) if is_same else (None, None, None)
            mean = statistics.fmean(r.result.scores[metric] for r in runs[a])
            other = statistics.fmean(r.result.scores[metric] for r in runs[b])
            found.append(
                Difference(
                    row=a,
                    against=b,
                    metric=metric,
                    mean=mean - other,
                    low=low,
                    high=high,
                    p_questions=p_questions,
                    seeds=common,
                    p_seeds=next(corrected) if p is not None else None,
                )
            )
    return found


def _over_questions(
    pairs: Sequence[tuple[str, str]], runs: Runs, metric: str
) -> list[tuple[float, float, float]]:
    """Interval and corrected p-value of every pair."""
    if not pairs:
        return []
    names = {name for pair in pairs for name in pair}
    means = {name: question_means(runs[name], metric) for name in names}
    columns = np.stack([means[a] - means[b] for a, b in pairs], axis=1)  # (questions, pairs)
    low, high = bootstrap_intervals(columns)
    p_values = holm(paired_permutations(columns).tolist())
    return list(zip(low.tolist(), high.tolist(), p_values, strict=True))


def _over_seeds(
    first: Sequence[FinishedRun], second: Sequence[FinishedRun], metric: str
) -> tuple[int, float | None]:
    by_seed = [
        {r.result.seed: r.result.scores[metric] for r in listed} for listed in (first, second)
    ]
    common = sorted(by_seed[0].keys() & by_seed[1].keys())
    return len(common), paired_t(*([scores[seed] for seed in common] for scores in by_seed))
