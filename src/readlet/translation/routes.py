"""Routes between languages: pivots for pairs that no engine has, and links over several legs."""

from collections.abc import Collection

from readlet.translation.types import LanguagePair, Link, Route

_PIVOT = "en"


def route_to(pair: LanguagePair, pairs: Collection[LanguagePair]) -> Route | None:
    """The pair itself, or two legs by way of a third language: English if possible, as in Argos."""
    if pair in pairs:
        return (pair,)
    between = {first.target for first in pairs if first.source == pair.source}
    between &= {second.source for second in pairs if second.target == pair.target}
    if not between:
        return None
    pivot = _PIVOT if _PIVOT in between else min(between)
    return LanguagePair(pair.source, pivot), LanguagePair(pivot, pair.target)


Links = tuple[Link, ...] | None


def composed(first: Links, second: Links) -> Links:
    """Links from the source of the first leg to the target of the second."""
    if first is None or second is None:
        return None
    found = {
        Link(one.source, two.target): None  # a dict keeps the order
        for one in first
        for two in second
        if max(one.target[0], two.source[0]) < min(one.target[1], two.source[1])
    }
    return tuple(found)
