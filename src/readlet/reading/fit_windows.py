"""How much doubt each further window adds: fitted on passages that are put into long documents.

Every window is another chance of a plausible wrong answer, so the best of many leads more easily
over "no answer" than that of one. If the best of n windows were the best of n independent scores
with exponential tails, it would grow with log n: hence the form of the term.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from readlet.reading.calibration import Calibration, Doubles, logit
from readlet.reading.predictor import Predictor
from readlet.text.rows import Rows
from readlet.types import Example

_DOCUMENTS = 200  # questions
PARAGRAPHS = (3, 10, 30)  # of the documents, in turn: the factor must suit all lengths
_MOST = 3.0  # a larger term would mean that nothing in a long text is believed


def fit_windows(predictor: Predictor, examples: Sequence[Example], fitted: Calibration) -> float:
    """The factor of log(windows) with which documents are refused as often as passages alone.

    `predictor` has no calibration; `fitted` is that of the passages alone. Each question is
    compared with itself, so its label does not matter, and 200 of them are enough. 0 if documents
    are refused as often without it.
    """
    step = max(1, len(examples) // _DOCUMENTS)
    chosen = list(examples[::step])
    documents = in_documents(chosen, examples)
    alone, inside = (_odds(predictor, asked, fitted) for asked in (chosen, documents))
    more = np.log(inside.windows / alone.windows)  # (questions,)
    wanted = float(np.mean(_logistic(alone.values)))

    def missing(factor: float) -> float:
        return wanted - float(np.mean(_logistic(inside.values + factor * more)))

    if missing(0.0) <= 0.0 or missing(_MOST) >= 0.0:
        return 0.0 if missing(0.0) <= 0.0 else _MOST
    from scipy.optimize import brentq  # used only in training, and slow to import

    return float(brentq(missing, 0.0, _MOST))


class _Odds(NamedTuple):
    values: Doubles  # (questions,) log-odds of "no answer"
    windows: NDArray[np.int64]  # (questions,)


def _odds(predictor: Predictor, asked: Sequence[Example], fitted: Calibration) -> _Odds:
    rows = predictor.scorer.encoder.encode(asked)
    leads = np.array([logit(p.no_answer) for p in predictor.predict(asked, rows)])  # (questions,)
    values = fitted.no_answer_slope * leads + fitted.no_answer_bias  # (questions,)
    return _Odds(values, windows_of(rows, len(asked)))


def _logistic(x: Doubles) -> Doubles:
    return np.exp(-np.logaddexp(0.0, -x))  # (questions,)


def in_documents(
    examples: Sequence[Example],
    others: Sequence[Example],
    paragraphs: Sequence[int] = PARAGRAPHS,
) -> list[Example]:
    """The questions about longer texts: the passage stands among passages of other articles.

    The places of the answers are not moved. Without titles, any other passage may stand there.
    """
    passages = sorted({(example.title, example.context) for example in others})
    draw = random.Random(0)
    made = []
    for example, count in zip(examples, cycle(paragraphs), strict=False):
        around = [
            text
            for title, text in passages
            if (title != example.title or not title) and text != example.context
        ]
        texts = draw.sample(around, min(count - 1, len(around)))
        texts.insert(draw.randrange(len(texts) + 1), example.context)
        made.append(replace(example, context="\n\n".join(texts)))
    return made


def windows_of(rows: Rows, examples: int) -> NDArray[np.int64]:
    """The number of windows of each example, at least 1."""
    return np.maximum(np.bincount(rows.row_example, minlength=examples), 1)  # (examples,)
