"""Stages 1 and 5: markers around the answer that survive translation."""

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from readlet.augment.relocation.clues import GUILLEMETS, AskedSentence, Markers, WordRange
from readlet.augment.relocation.place import Place
from readlet.augment.relocation.similarity import text_similarity
from readlet.encoding.words import words

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
