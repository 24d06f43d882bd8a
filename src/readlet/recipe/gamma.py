"""The cap of NormSoftmax (gamma, paper 002): which numbers it may be.

Recipes and layers ask the same question; no torch is needed to answer it.
"""

from readlet.errors import ReadletError

SIGMA_FLOOR = 1e-6
"""Scores with a smaller deviation count as equal, so a smaller cap would cap nothing."""
ALLOWED = "sqrt(d), infinity or a number of 1e-6 or more"


def check_gamma(gamma: float) -> None:
    try:
        fits = not isinstance(gamma, bool) and gamma >= SIGMA_FLOOR
    except TypeError:  # a text, or nothing
        fits = False
    if not fits:
        raise ReadletError(f"gamma {gamma!r}: give {ALLOWED}, each of them as a float")
