"""NormSoftmax (2022): softmax of scores divided by their standard deviation."""

from readlet.errors import ReadletError

SIGMA_FLOOR = 1e-6
"""Scores with a smaller standard deviation count as equal; a smaller cap would have no effect."""
ALLOWED = "sqrt(d), infinity or a number of 1e-6 or more"


def check_gamma(gamma: float) -> None:
    try:
        is_valid = not isinstance(gamma, bool) and gamma >= SIGMA_FLOOR
    except TypeError:  # a string, or None
        is_valid = False
    if not is_valid:
        raise ReadletError(f"gamma {gamma!r}: give {ALLOWED}, as a float")
