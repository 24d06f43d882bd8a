"""Translations that are of no use: neural models may say nothing, or say one thing for ever."""

import re

from readlet.translation.types import Loss

# The same piece six times in a row. Dots, rules and zeros do that in sound texts, for fewer
# characters than `_SHORTEST`, or in the source too.
_REPEATED = re.compile(r"(.{1,80}?)\1{5,}", re.DOTALL)
_SHORTEST = 20


def loss_of(source: str, translation: str) -> Loss | None:
    """Why a translation is of no use; None if it is sound."""
    if not translation.strip():
        return Loss.EMPTY if source.strip() else None
    longest = _longest_repetition(translation)
    if longest >= _SHORTEST and longest > 2 * _longest_repetition(source):
        return Loss.REPEATED
    return None


def _longest_repetition(text: str) -> int:
    return max((len(found[0]) for found in _REPEATED.finditer(text)), default=0)
