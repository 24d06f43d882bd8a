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
    """One row against another, by one metric, in points, over the seeds that both have."""

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


@dataclass(frozen=True)
class _Pair:
    """Two rows with the runs of the seeds that both have: anything else would compare seeds."""

    row: str
    against: str
    first: Sequence[FinishedRun]
    second: Sequence[FinishedRun]
    is_paired: bool  # False: no seed in common, and all runs are taken

    @property
    def has_same_questions(self) -> bool:
        return len({run.result.questions for run in (*self.first, *self.second)}) == 1


def find_differences(
    comparisons: Sequence[tuple[str, str]], runs: Runs, metrics: Sequence[str]
) -> list[Difference]:
    """Every comparison by every metric; the corrections count the comparisons of a metric."""
    pairs = [_pair(row, against, runs) for row, against in comparisons]
    return [found for metric in metrics for found in _by_metric(pairs, metric)]


def _pair(row: str, against: str, runs: Runs) -> _Pair:
    first, second = ({run.result.seed: run for run in runs[name]} for name in (row, against))
    common = sorted(first.keys() & second.keys())
    if not common:
        return _Pair(row, against, runs[row], runs[against], is_paired=False)
    ours, theirs = ([of_seed[seed] for seed in common] for of_seed in (first, second))
    return _Pair(row, against, ours, theirs, is_paired=True)


def _by_metric(pairs: Sequence[_Pair], metric: str) -> list[Difference]:
    known = [
        pair
        for pair in pairs
        if all(metric in run.result.scores for run in (*pair.first, *pair.second))
    ]
    asked = [p for p in known if p.has_same_questions and metric in QUESTION_METRICS]
    over_questions = dict(zip(map(id, asked), _over_questions(asked, metric), strict=True))
    over_seeds = {id(pair): _over_seeds(pair, metric) for pair in known}
    tested = {key: p for key, p in over_seeds.items() if p is not None}
    corrected = dict(zip(tested, holm(list(tested.values())), strict=True))
    found = []
    for pair in known:
        low, high, p_questions = over_questions.get(id(pair), (None, None, None))
        first, second = (
            statistics.fmean(run.result.scores[metric] for run in listed)
            for listed in (pair.first, pair.second)
        )
        found.append(
            Difference(
                row=pair.row,
                against=pair.against,
                metric=metric,
                mean=first - second,
                low=low,
                high=high,
                p_questions=p_questions,
                seeds=len(pair.first) if pair.is_paired else 0,
                p_seeds=corrected.get(id(pair)),
            )
        )
    return found


def _over_questions(pairs: Sequence[_Pair], metric: str) -> list[tuple[float, float, float]]:
    """Interval and corrected p-value of every pair."""
    if not pairs:
        return []
    differences = [
        question_means(pair.first, metric) - question_means(pair.second, metric) for pair in pairs
    ]
    columns = np.stack(differences, axis=1)  # (questions, pairs)
    low, high = bootstrap_intervals(columns)
    p_values = holm(paired_permutations(columns).tolist())
    return list(zip(low.tolist(), high.tolist(), p_values, strict=True))


def _over_seeds(pair: _Pair, metric: str) -> float | None:
    if not pair.is_paired:
        return None
    scores = ([run.result.scores[metric] for run in listed] for listed in (pair.first, pair.second))
    return paired_t(*scores)
