"""The stages of relocation: each finds an answer in a translated text by a different kind of
evidence.

Markers around the answer that survive translation; the answer's own text, translated alone; the
words aligned with its words; character 2-grams (the rule of QANet, Yu et al. 2018).
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from readlet.augmentation.relocation.probe_texts import (
    GUILLEMETS,
    AskedSentence,
    Markers,
    Place,
    WordLinks,
    WordRange,
)
from readlet.text.words import words

# Similarity of two words by their characters alone: for any language with an alphabet.
_ALIKE = 0.7  # less similar words are different words
_HARDLY = 0.6
_STEM = 4  # letters; shorter words with a common beginning have little in common
_HEAVY = 8  # letters; longer words have no more weight


@lru_cache(maxsize=1 << 16)
def plain(word: str) -> str:
    """Without case and accents."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign)) or word


@lru_cache(maxsize=1 << 16)
def bigrams(text: str) -> frozenset[str]:
    """The character 2-grams of a text, its borders included."""
    padded = f" {plain(text)} "
    return frozenset(padded[i : i + 2] for i in range(len(padded) - 1))


def bigram_score(one: str, other: str) -> float:
    """Dice coefficient of the 2-grams."""
    first, second = bigrams(one), bigrams(other)
    return 2 * len(first & second) / (len(first) + len(second))


@lru_cache(maxsize=1 << 18)
def word_similarity(one: str, other: str) -> float:
    """1 for words that are equal except for case and accents; 0 for dissimilar ones.

    Words with the same stem are similar, whatever their endings; numbers are either equal or not.
    """
    first, second = plain(one), plain(other)
    if first == second:
        return 1.0
    short, long = sorted((len(first), len(second)))
    if short < long * _HARDLY / 2 or not (first.isalpha() and second.isalpha()):
        return 0.0
    common = next((n for n in range(short) if first[n] != second[n]), short)
    stem = common / long if common >= _STEM else 0.0
    alike = max(stem, bigram_score(one, other))
    return alike if alike >= _HARDLY else 0.0


def similarities(some: Sequence[str], others: Sequence[str]) -> NDArray[np.float64]:
    """The similarity of each word to each of the others."""
    alike = [[word_similarity(one, other) for other in others] for one in some]
    return np.array(alike, dtype=float).reshape(len(some), len(others))  # (S, O)


def weights(words: Sequence[str]) -> NDArray[np.float64]:
    """The weight of a word: its letters, as short words are often function words; more for numbers.

    Punctuation has next to none.
    """
    letters = [
        _HEAVY if any(sign.isnumeric() for sign in word) else sum(map(str.isalpha, word))
        for word in words
    ]
    return np.array(letters, dtype=float).clip(0.5, _HEAVY)  # (W,)


def text_similarity(some: Sequence[str], others: Sequence[str]) -> float:
    """F1 over letters of two lists of words, in any order: from 0 to 1."""
    alike = similarities(some, others)  # (S, O)
    alike[alike < _ALIKE] = 0.0
    here, there = weights(some), weights(others)  # (S,), (O,)
    recall = float(alike.max(axis=1) @ here / here.sum())
    precision = float(alike.max(axis=0) @ there / there.sum())
    return 2 * recall * precision / (recall + precision) if recall and precision else 0.0


# Brackets and guillemets.
_QUOTE = '"'  # what guillemets become in English, if the engine translates them
_AS_MARKED = 0.8  # F1 of the words between the markers and those found in the plain translation


def find_marked(
    markers: Markers,
    place: Place,
    asked: Sequence[AskedSentence],
    translate: Callable[[str], str],
) -> WordRange | None:
    """The words between the markers, from the first to the last sentence of the answer.

    The translation of the marked sentence is compared with the plain one word by word, so markers,
    and spaces that came with them, leave no trace.
    """
    found: list[WordRange] = []
    for sentence, (first, last) in zip(asked, place.borders, strict=True):
        plain = [word.casefold() for word in place.words[first:last]]
        here = _find_between(markers, sentence, plain, translate)
        if here is None:
            return None
        found.append((first + here[0], first + here[1]))
    return found[0][0], found[-1][1]


def _find_between(
    markers: Markers,
    sentence: AskedSentence,
    plain: list[str],
    translate: Callable[[str], str],
) -> WordRange | None:
    """The words of the plain translation between the markers, if both survived in order."""
    marked = sentence.marked(markers)
    translated = translate(marked) if marked else ""
    if markers == GUILLEMETS and _QUOTE not in sentence.text and translated.count(_QUOTE) == 2:
        left = right = _QUOTE
    elif translated.count(markers[0]) == translated.count(markers[1]) == 1:
        left, right = markers
    else:
        return None
    before, _, rest = translated.partition(left)
    inside, survived, after = rest.partition(right)
    if not survived:  # the markers are in the wrong order
        return None
    return _map(_folded(before), _folded(inside), _folded(after), plain)


def _folded(text: str) -> list[str]:
    return [word.casefold() for word in words(text)]


def _map(
    before: list[str], marked: list[str], after: list[str], plain: list[str]
) -> WordRange | None:
    """The marked words in the plain translation; None if the two differ too much around them."""
    start, end = len(before), len(before) + len(marked)
    whole = [*before, *marked, *after]
    if start == end:
        return None
    if whole == plain:
        return start, end
    new_start = new_end = None
    for _, a, b, x, y in SequenceMatcher(None, whole, plain, autojunk=False).get_opcodes():
        same_length = b - a == y - x
        if a <= start < b and (same_length or a == start):
            new_start = x + start - a
        if a < end <= b and (same_length or b == end):
            new_end = y - (b - end)
    if new_start is None or new_end is None or new_start >= new_end:
        return None
    alike = text_similarity(marked, plain[new_start:new_end])
    return (new_start, new_end) if alike >= _AS_MARKED else None


# The answer's own text, exact and inflected.
_ENOUGH = 0.8  # F1 of the letters; chosen on half of the articles of XQuAD


def find_exact(place: Place, texts: Sequence[str]) -> WordRange | None:
    """The first text that occurs word for word, ignoring case; nearest to the expected place."""
    there = [word.casefold() for word in place.words]
    for text in texts:
        wanted = [word.casefold() for word in words(text)]
        found = occurrences(there, wanted)
        if found:
            return min(found, key=place.distance)
    return None


def occurrences(there: Sequence[str], wanted: Sequence[str]) -> list[WordRange]:
    size = len(wanted)
    if not size:
        return []
    return [
        (start, start + size)
        for start in range(len(there) - size + 1)
        if there[start] == wanted[0] and there[start : start + size] == wanted
    ]


def find_inflected(place: Place, texts: Sequence[str]) -> WordRange | None:
    """The words most similar to those of a text, in any order and with other endings.

    The measure is F1 over letters: how much of the answer is found, and how much of what is found
    belongs to it.
    """
    scored = (
        (score, found)
        for wanted in filter(None, map(words, texts))
        for score, found in _windows(place.words, wanted)
        if score >= _ENOUGH
    )
    return _best(scored, place)


def _best(scored: Iterable[tuple[float, WordRange]], place: Place) -> WordRange | None:
    """The range with the highest score; of equal ones the nearest to the expected place."""
    return max(((s, -place.distance(found), found) for s, found in scored), default=(None,))[-1]


def _windows(there: Sequence[str], wanted: Sequence[str]) -> list[tuple[float, WordRange]]:
    """The best window from each word that is similar to one of the answer's, with its F1."""
    alike = similarities(wanted, there)  # (W, T)
    alike[alike < _ALIKE] = 0.0
    wanted_weights, there_weights = weights(wanted), weights(there)  # (W,), (T,)
    belongs = alike.max(axis=0) * there_weights  # (T,)
    longest = 2 * len(wanted) + 2
    windows: list[tuple[float, WordRange]] = []
    for start in np.flatnonzero(belongs):
        end = min(len(there), start + longest)
        found = np.maximum.accumulate(alike[:, start:end], axis=1)  # (W, E)
        recall = wanted_weights @ found / wanted_weights.sum()  # (E,)
        precision = belongs[start:end].cumsum() / there_weights[start:end].cumsum()  # (E,)
        f1 = 2 * recall * precision / (recall + precision)  # (E,)
        length = int(f1.argmax()) + 1
        windows.append((float(f1[length - 1]), (int(start), int(start) + length)))
    return windows


# Word alignment.
_NEARNESS = 0.2  # weight of word order relative to similarity
_CONSISTENT = 0.8  # share of the letters whose links stay inside
_UNLINKED = 0.1  # an unaligned word inside an answer costs this share of its letters


class Alignment:
    """Word alignment between an answer's sentences and their translations.

    The engine's, if it has one; otherwise mutual nearest neighbours among the words.
    """

    def __init__(self, place: Place, translate: Callable[[str], str]) -> None:
        self._place = place
        self._translate = translate
        self._weights = weights(place.words)  # (T,)

    @cached_property
    def links(self) -> WordLinks:
        engine = self._place.links
        return nearest_neighbours(self._place, self._translate) if engine is None else engine

    def find(self) -> WordRange | None:
        """The run of words with the most letters linked to the answer, less those linked elsewhere.

        None if links cross its border: then the answer's words are scattered.
        """
        votes = np.zeros(len(self._weights))  # (T,)
        for source, target in self.links:
            votes[target] += 1 if source in self._place.asked else -1
        gain = self._weights * np.where(votes == 0, -_UNLINKED, np.sign(votes))  # (T,)
        run = _best_run(gain)
        return run if run and self.is_consistent(run) else None

    def is_consistent(self, found: WordRange) -> bool:
        """Links lead from the answer into the found words, and few cross their border.

        This is phrase extraction as in statistical translation. Unaligned words do not count.
        """
        within = crossing = 0.0
        for source, target in self.links:
            asked, inside = source in self._place.asked, found[0] <= target < found[1]
            if asked and inside:
                within += self._weights[target]
            elif asked or inside:
                crossing += self._weights[target]
        return within > 0 and within >= _CONSISTENT * (within + crossing)


def nearest_neighbours(place: Place, translate: Callable[[str], str]) -> WordLinks:
    """Pairs of words that are each other's best match.

    A word is compared both unchanged, since names and numbers are copied, and translated.
    """
    there = place.words
    alike = np.zeros((len(place.source), len(there)))  # (S, T)
    for number, word in enumerate(place.source):
        forms = [word, *words(translate(word))]
        alike[number] = similarities(forms, there).max(axis=0)  # (T,)
    source = (np.arange(len(place.source)) + 0.5) / len(place.source)  # (S,)
    target = (np.arange(len(there)) + 0.5) / len(there)  # (T,)
    near = 1 - np.abs(source[:, None] - target[None, :])  # (S, T)
    score = np.where(alike > 0, alike + _NEARNESS * near, 0.0)  # (S, T)
    best_target, best_source = score.argmax(axis=1), score.argmax(axis=0)  # (S,), (T,)
    return tuple(
        (number, int(best))
        for number, best in enumerate(best_target)
        if score[number, best] > 0 and best_source[best] == number
    )


def _best_run(gain: NDArray[np.float64]) -> WordRange | None:
    """The run with the largest sum above 0: the earliest, then the shortest, of equal ones."""
    best, best_run = 0.0, None
    total, start = 0.0, 0
    for position, value in enumerate(gain):
        if total <= 0:
            total, start = 0.0, position
        total += float(value)
        if total > best:
            best, best_run = total, (start, position + 1)
    return best_run


# Character 2-grams.
_CANDIDATES = 3  # words that may begin the answer, and as many that may end it


def find_by_bigrams(place: Place, texts: Sequence[str]) -> WordRange | None:
    """The run most similar to a text, among those bounded by words like its first and last."""
    there = place.words
    scored = (
        (bigram_score(" ".join(there[start : last + 1]), " ".join(wanted)), (start, last + 1))
        for wanted in filter(None, map(words, texts))
        for start in _most_alike(there, wanted[0])
        for last in _most_alike(there, wanted[-1])
        if start <= last < start + 2 * len(wanted) + 2
    )
    return _best(((score, found) for score, found in scored if score > 0), place)


def _most_alike(there: Sequence[str], word: str) -> list[int]:
    scores = [bigram_score(word, other) for other in there]
    ranked = sorted(range(len(there)), key=lambda number: -scores[number])
    return [number for number in ranked[:_CANDIDATES] if scores[number] > 0]
