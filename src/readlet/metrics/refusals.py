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
    values = np.asarray(no_answer, np.float64)  # (questions,)
    lower = np.sort(values[answerable])  # (answerable,)
    upper = values[~answerable]  # (impossible,)
    pairs = len(lower) * len(upper)
    if not pairs:
        return None
    below = np.searchsorted(lower, upper, "left")  # (impossible,)
    not_above = np.searchsorted(lower, upper, "right")  # (impossible,)
    return float((below + not_above).sum() / (2 * pairs))
