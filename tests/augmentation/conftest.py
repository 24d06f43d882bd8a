"""A translator without an engine: every word gets an ending, and back it loses it."""

import re
from collections.abc import Iterable, Mapping

import pytest

from readlet.augmentation.translation.sentences import split_sentences
from readlet.augmentation.translation.types import Loss, Route, SentencePair, TranslatedText


class _WordByWord:
    """Stored translations; asking for one that was not filled in is an error of the caller."""

    def __init__(self, odd: Mapping[str, str] | None = None) -> None:
        self.odd = odd or {}  # texts with a translation of their own
        self.filled: set[tuple[str, Route]] = set()
        self.asked: list[str] = []

    def fill(self, texts: Iterable[str], route: Route) -> None:
        for text in texts:
            self.asked.append(text)
            self.filled.add((text, route))

    def has_links(self, route: Route) -> bool:
        return False

    def get(self, text: str, route: Route) -> TranslatedText:
        assert (text, route) in self.filled, f"{text!r} was not collected"
        pairs, made, last = [], "", 0
        for start, end in split_sentences(text):
            made += text[last:start]
            new = self._sentence(text[start:end], route)
            loss = None if new.strip() else Loss.EMPTY
            pairs.append(SentencePair((start, end), (len(made), len(made) + len(new)), loss=loss))
            made, last = made + new, end
        made += text[last:]
        return TranslatedText(text, made, tuple(pairs))

    def _sentence(self, text: str, route: Route) -> str:
        if text in self.odd:
            return self.odd[text]
        there = re.sub(r"([a-z])\b", rf"\1{route[0].target}", text)
        if len(route) == 1:
            return there
        # A paraphrase: one word is another after the way back.
        return re.sub(rf"{route[0].target}\b", "", there).replace("was", "has been")


@pytest.fixture
def word_by_word() -> type[_WordByWord]:
    return _WordByWord
