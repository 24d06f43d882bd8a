"""Stages 1 and 5: markers around the answer that survive translation.

Stages 2 and 3: the answer's own text, translated alone or as it was, among the words.

Stage 6: the rule of QANet (Yu et al. 2018), character 2-grams inside the translated sentence.
"""

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

import numpy as np

from readlet.augmentation.relocation.alignment import (
    ALIKE,
    bigram_score,
    similarities,
    text_similarity,
    weights,
)
from readlet.augmentation.relocation.probe_texts import (
    GUILLEMETS,
    AskedSentence,
    Markers,
    Place,
    WordRange,
)
from readlet.text.words import words

_QUOTE = '"'  # what guillemets become in English, if the engine knows what they are
_ALIKE = 0.8  # what stands between the markers, and what is found in the plain translation


def find_marked(
    signs: Markers,
    place: Place,
    asked: Sequence[AskedSentence],
    translate: Callable[[str], str],
) -> WordRange | None:
    """The words between the signs, from the first to the last sentence of the answer.

    The translation of the marked sentence is compared with the plain one word by word, so signs,
    and spaces that came with them, leave no trace.
    """
    found: list[WordRange] = []
    for sentence, (first, last) in zip(asked, place.borders, strict=True):
        plain = [word.casefold() for word in place.words[first:last]]
        here = _find_between(signs, sentence, plain, translate)
        if here is None:
            return None
        found.append((first + here[0], first + here[1]))
    return found[0][0], found[-1][1]


def _find_between(
    signs: Markers,
    sentence: AskedSentence,
    plain: list[str],
    translate: Callable[[str], str],
) -> WordRange | None:
    """The words between the signs, if both survived in their order, in the plain translation."""
    marked = sentence.marked(signs)
    translated = translate(marked) if marked else ""
    if signs == GUILLEMETS and _QUOTE not in sentence.text and translated.count(_QUOTE) == 2:
        left = right = _QUOTE
    elif translated.count(signs[0]) == translated.count(signs[1]) == 1:
        left, right = signs
    else:
        return None
    before, _, rest = translated.partition(left)
    inside, survived, after = rest.partition(right)
    if not survived:  # the signs changed places
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
    return (new_start, new_end) if alike >= _ALIKE else None


_ENOUGH = 0.8  # F1 of the letters; chosen on half of the articles of XQuAD


def find_exact(place: Place, texts: Sequence[str]) -> WordRange | None:
    """The first of the texts that stands there word by word, case aside, nearest to its place."""
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
    """The words that are most like those of a text, in any order and with other endings.

    The measure is F1 over letters: what of the answer is found, and what of the found words belongs
    to the answer.
    """
    best: tuple[float, float, WordRange] | None = None
    for text in texts:
        wanted = words(text)
        if not wanted:
            continue
        for score, found in _windows(place.words, wanted):
            candidate = (score, -place.distance(found), found)
            if score >= _ENOUGH and (best is None or candidate > best):
                best = candidate
    return best[2] if best else None


def _windows(there: Sequence[str], wanted: Sequence[str]) -> list[tuple[float, WordRange]]:
    """The best window from every word on that is like one of the answer's, with its F1."""
    alike = similarities(wanted, there)  # (W, T)
    alike[alike < ALIKE] = 0.0
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


_CANDIDATES = 3  # words that may begin the answer, and as many that may end it


def find_by_bigrams(place: Place, texts: Sequence[str]) -> WordRange | None:
    """Of the runs between words like the first and the last of a text, the one most like it."""
    there = place.words
    best: tuple[float, float, WordRange] | None = None
    for text in texts:
        wanted = words(text)
        if not wanted:
            continue
        for start in _most_alike(there, wanted[0]):
            for last in _most_alike(there, wanted[-1]):
                if not start <= last < start + 2 * len(wanted) + 2:
                    continue
                found = (start, last + 1)
                score = bigram_score(" ".join(there[start : last + 1]), " ".join(wanted))
                candidate = (score, -place.distance(found), found)
                if score > 0 and (best is None or candidate > best):
                    best = candidate
    return best[2] if best else None


def _most_alike(there: Sequence[str], word: str) -> list[int]:
    scores = [bigram_score(word, other) for other in there]
    ranked = sorted(range(len(there)), key=lambda number: -scores[number])
    return [number for number in ranked[:_CANDIDATES] if scores[number] > 0]
