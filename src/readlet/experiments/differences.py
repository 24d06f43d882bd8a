"""Whether two rows differ by more than chance: over questions, and over seeds."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
Flags = NDArray[np.bool_]
HasAnswer = Mapping[str, Flags]
"""Which questions have an answer, (questions,), by the digest of a list of questions."""


@dataclass(frozen=True)
class Difference:
    """One row against another, by one metric, in points, over the seeds that both have."""

    row: str
    against: str
    metric: str
    mean: float
    # Over questions: what other questions of the same kind would change. None when the two rows
    # were not asked the same questions, or it is not known which of them the metric is about.
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
    def questions(self) -> tuple[str, ...]:
        """What both rows were asked: one list, or one for each seed; nothing if it differs."""
        ours, theirs = (
            tuple(run.result.questions for run in listed) for listed in (self.first, self.second)
        )
        distinct = {*ours, *theirs}
        if len(distinct) == 1:
            return ours[:1]
        # Held-out questions: others for each seed, the same for both rows.
        return ours if ours == theirs and len(distinct) == len(ours) else ()


def find_differences(
    comparisons: Sequence[tuple[str, str]],
    runs: Runs,
    metrics: Sequence[str],
    has_answer: Iterable[tuple[str, Flags]] = (),
) -> list[Difference]:
    """Every comparison by every metric; the corrections count the comparisons of a metric.

    Which questions have an answer is told for runs that did not keep it.
    """
    pairs = [_pair(row, against, runs) for row, against in comparisons]
    kept = [(r.result.questions, r.has_answer) for listed in runs.values() for r in listed]
    known = _undisputed((*has_answer, *((q, flags) for q, flags in kept if flags is not None)))
    return [found for metric in metrics for found in _by_metric(pairs, metric, known)]


def _undisputed(told: Iterable[tuple[str, Flags]]) -> HasAnswer:
    """Without lists of ids of which two files tell different things."""
    found: dict[str, Flags] = {}
    disputed = set()
    for questions, flags in told:
        if not np.array_equal(found.setdefault(questions, flags), flags):
            disputed.add(questions)
    return {questions: flags for questions, flags in found.items() if questions not in disputed}


def _pair(row: str, against: str, runs: Runs) -> _Pair:
    first, second = ({run.result.seed: run for run in runs[name]} for name in (row, against))
    common = sorted(first.keys() & second.keys())
    if not common:
        return _Pair(row, against, runs[row], runs[against], is_paired=False)
    ours, theirs = ([of_seed[seed] for seed in common] for of_seed in (first, second))
    return _Pair(row, against, ours, theirs, is_paired=True)


def _by_metric(pairs: Sequence[_Pair], metric: str, has_answer: HasAnswer) -> list[Difference]:
    known = [
        pair
        for pair in pairs
        if all(metric in run.result.scores for run in (*pair.first, *pair.second))
    ]
    over_questions = _over_questions(known, metric, has_answer)
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


def _over_questions(
    pairs: Sequence[_Pair], metric: str, has_answer: HasAnswer
) -> dict[int, tuple[float, float, float]]:
    """Interval and corrected p-value of the pairs that can be tested, by their `id`."""
    together: defaultdict[tuple[str, ...], list[_Pair]] = defaultdict(list)
    for pair in pairs:
        together[pair.questions].append(pair)
    intervals: dict[int, tuple[float, float]] = {}
    p_values: dict[int, float] = {}
    for questions, listed in together.items():
        chosen = _questions_of(metric, questions, has_answer)
        if chosen is None:
            continue
        columns = np.stack([_by_question(p, metric)[chosen] for p in listed], 1)  # (questions, P)
        keys = [id(pair) for pair in listed]
        low, high = bootstrap_intervals(columns)
        intervals |= zip(keys, zip(low.tolist(), high.tolist(), strict=True), strict=True)
        p_values |= zip(keys, paired_permutations(columns).tolist(), strict=True)
    corrected = holm(list(p_values.values()))
    return {key: (*intervals[key], p) for key, p in zip(p_values, corrected, strict=True)}


def _questions_of(
    metric: str, questions: Sequence[str], has_answer: HasAnswer
) -> Flags | slice | None:
    """The part of these questions, lists joined, that a metric is about; None: it is not known."""
    whose = metric.rpartition("_")[0]
    if not whose:
        return slice(None) if questions else None
    if not questions or not has_answer.keys() >= set(questions):
        return None
    flags = np.concatenate([has_answer[asked] for asked in questions])
    return {"HasAns": flags, "NoAns": ~flags}.get(whose)


def _by_question(pair: _Pair, metric: str) -> Numbers:
    """How far the two rows differ on each question: (questions,), lists of several seeds joined."""
    measure = metric.rpartition("_")[2]
    if len(pair.questions) == 1:
        return question_means(pair.first, measure) - question_means(pair.second, measure)
    seeds = zip(pair.first, pair.second, strict=True)
    return np.concatenate(
        [question_means([run], measure) - question_means([other], measure) for run, other in seeds]
    )


def _over_seeds(pair: _Pair, metric: str) -> float | None:
    if not pair.is_paired:
        return None
    scores = ([run.result.scores[metric] for run in listed] for listed in (pair.first, pair.second))
    return paired_t(*scores)
