"""Texts of a whole data set, translated sentence by sentence through one cache."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from readlet.translation.types import LanguagePair, Route, TranslatedText, Translator


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several processes that share the sentences: the process `number` of `count`."""

    number: int = 0
    count: int = 1


class Pool:
    """Translations through a cache file; `translator_for` chooses the engine of a pair."""

    def __init__(
        self, cache: object, translator_for: Callable[[LanguagePair], Translator]
    ) -> None: ...

    def fill(self, texts: Iterable[str], route: Route, shard: Shard = Shard()) -> None:
        """Translate the sentences of all texts along a route, as far as they are not cached."""
        raise NotImplementedError

    def get(self, text: str, route: Route) -> TranslatedText:
        """The translation of a text, from the cache; sentences that are missing are translated."""
        raise NotImplementedError
