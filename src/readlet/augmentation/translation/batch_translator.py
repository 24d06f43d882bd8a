"""Texts of a whole data set: every distinct sentence is translated once, in large batches."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from readlet.augmentation.translation.cache import Cache, storable
from readlet.augmentation.translation.sentences import split_sentences
from readlet.augmentation.translation.types import (
    EngineError,
    LanguagePair,
    Link,
    Loss,
    Route,
    SentencePair,
    TranslatedText,
    Translation,
    Translator,
    route_to,
)
from readlet.console import say, track
from readlet.errors import ReadletError

Links = tuple[Link, ...] | None
"""Links between words, if there are any."""

# A batch is stored as a whole: it should take long enough that the engine's start does not matter,
# and be short enough that a killed run loses little.
_SECONDS = 10.0
_FIRST_BATCH, _LARGEST_BATCH = 50_000, 2_000_000  # characters
_FEWEST = 8  # sentences in a batch


@dataclass(frozen=True, slots=True)
class Filled:
    """What a run over all texts found and did."""

    sentences: int  # distinct ones
    translated: int  # over all legs; the others were in the cache
    losses: Counter[Loss]


@dataclass(frozen=True, slots=True)
class _Leg:
    translator: Translator
    pair: LanguagePair
    model: int


class BatchTranslator:
    """Translations through a cache; `translator_for` chooses the engine of a pair."""

    def __init__(self, cache: Cache, translator_for: Callable[[LanguagePair], Translator]) -> None:
        self._cache = cache
        self._translator_for = translator_for
        self._known: dict[Route, list[_Leg]] = {}

    def fill(self, texts: Iterable[str], route: Route, *, total: int | None = None) -> Filled:
        """Translate the sentences of all texts along a route, as far as they are not cached.

        The texts are read once and may be any number of them; `total` is for the progress bar.
        """
        if total is not None:
            texts = track(texts, total, "finding sentences")
        wanted = list(dict.fromkeys(_wanted(texts)))
        sentences, translated, losses = len(wanted), 0, Counter[Loss]()
        for leg in self._legs(route):
            known = self._cache.texts(leg.model, wanted)
            # By length, so that batches have little padding.
            waiting = sorted((s for s in wanted if s not in known), key=lambda s: (len(s), s))
            for _ in track(self._worked_off(waiting, leg), len(waiting), f"translating {leg.pair}"):
                translated += 1
            made = self._cache.texts(leg.model, wanted).values()
            losses.update(loss for _, loss in made if loss is not None)
            # What was lost is not wanted of the next leg.
            wanted = list(dict.fromkeys(text for text, loss in made if text and loss is None))
        return Filled(sentences, translated, losses)

    def get(self, text: str, route: Route) -> TranslatedText:
        """The translation of a text; sentences that are not in the cache are translated now."""
        ranges = split_sentences(text)
        sentences = [storable(text[start:end]) for start, end in ranges]
        made = self._translated(sentences, self._legs(route))
        pieces, pairs, length, last = [], [], 0, 0
        for (start, end), sentence in zip(ranges, sentences, strict=True):
            result = made[sentence]
            pieces += [text[last:start], result.text]
            at = length + start - last
            length, last = at + len(result.text), end
            links = _moved(result.links, start, at)
            pairs.append(SentencePair((start, end), (at, length), links, result.loss))
        return TranslatedText(text, "".join((*pieces, text[last:])), tuple(pairs))

    def has_links(self, route: Route) -> bool:
        """Whether translations along a route come with links between words."""
        return all(leg.translator.has_links for leg in self._legs(route))

    def _legs(self, route: Route) -> list[_Leg]:
        if route not in self._known:
            self._known[route] = [leg for pair in route for leg in self._legs_of(pair)]
        return self._known[route]

    def _legs_of(self, pair: LanguagePair) -> Iterator[_Leg]:
        translator = self._translator_for(pair)
        direct = route_to(pair, translator.pairs())
        if direct is None:
            raise ReadletError(f"{translator.name} has no {pair}; choose another engine")
        for leg in direct:
            version = translator.version(leg)
            yield _Leg(translator, leg, self._cache.model(translator.name, version, leg))

    def _worked_off(self, waiting: Sequence[str], leg: _Leg) -> Iterator[str]:
        """The sentences, each after it was translated and stored."""
        place, characters = 0, _FIRST_BATCH
        while place < len(waiting):
            end, room = place, characters
            while end < len(waiting) and (room > 0 or end - place < _FEWEST):
                room -= len(waiting[end])
                end += 1
            batch = list(waiting[place:end])
            began = time.monotonic()
            self._make(leg, batch)
            seconds = time.monotonic() - began
            # At most twice as much as before: longer sentences may take longer.
            factor = min(2.0, max(0.25, _SECONDS / max(seconds, 0.01)))
            characters = min(_LARGEST_BATCH, int(characters * factor))
            place = end
            yield from batch

    def _translated(self, sentences: Sequence[str], legs: Sequence[_Leg]) -> dict[str, Translation]:
        made = {sentence: Translation(sentence, _whole(sentence)) for sentence in sentences}
        for number, leg in enumerate(legs):
            going = {s: t for s, t in made.items() if t.loss is None and _has_words(t.text)}
            texts = list(dict.fromkeys(translation.text for translation in going.values()))
            found = self._cache.get(leg.model, texts)
            if missing := [text for text in texts if text not in found]:
                found |= self._make(leg, missing)
            for sentence, before in going.items():
                after = found[before.text]
                links = composed(before.links, after.links) if number else after.links
                made[sentence] = Translation(after.text, links, after.loss)
        return made

    def _make(self, leg: _Leg, sentences: list[str]) -> dict[str, Translation]:
        """Translate and store; an engine that fails has a second attempt."""
        try:
            made = leg.translator.translate(sentences, leg.pair)
        except EngineError as error:
            say(f"readlet: {error}; trying once more")
            try:
                made = leg.translator.translate(sentences, leg.pair)
            except EngineError as again:
                safe = f"all that was translated is in {self._cache.path}"
                raise EngineError(f"{again}, twice; {safe}: run it again to continue") from None
        self._cache.put(leg.model, sentences, made)
        return dict(zip(sentences, made, strict=True))


def _wanted(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for start, end in split_sentences(text):
            sentence = storable(text[start:end])
            if _has_words(sentence):
                yield sentence


def _has_words(sentence: str) -> bool:
    """Numbers and signs stay as they are."""
    return any(map(str.isalpha, sentence))


def _whole(sentence: str) -> tuple[Link, ...]:
    return (Link((0, len(sentence)), (0, len(sentence))),)


def _moved(links: tuple[Link, ...] | None, source: int, target: int) -> tuple[Link, ...] | None:
    if links is None:
        return None
    return tuple(
        Link((a + source, b + source), (c + target, d + target)) for (a, b), (c, d) in links
    )


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
