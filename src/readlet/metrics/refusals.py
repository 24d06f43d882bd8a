"""How well a no-answer probability separates impossible questions from answerable ones."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def refusal_area(no_answer: ArrayLike, has_answer: Sequence[bool]) -> float | None:
    """The area under the ROC curve, whatever the threshold; None without both kinds of questions.

    It is the probability that an impossible question has a higher no-answer probability than an
    answerable one; ties count half.
    """
    answerable = np.asarray(has_answer, np.bool_)  # (questions,)
    impossible = int((~answerable).sum())
    pairs = impossible * int(answerable.sum())
    if not pairs:
        return None
    _, place, ties = np.unique(
        np.asarray(no_answer, np.float64), return_inverse=True, return_counts=True
    )  # (distinct,), (questions,), (distinct,)
    ranks = (ties.cumsum() - (ties - 1) / 2)[place]  # (questions,) ties share their mean
    above = ranks[~answerable].sum() - impossible * (impossible + 1) / 2
    return float(above / pairs)
