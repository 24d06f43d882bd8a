"""Stage 1: markers around the answer that survive translation."""

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from readlet.augment.relocation.clues import AskedSentence, WordRange
from readlet.augment.relocation.place import Place
from readlet.encoding.words import words


def find_marked(
    place: Place, asked: Sequence[AskedSentence], translate: Callable[[str], str]
) -> WordRange | None:
    """The words between the markers, from the first to the last sentence of the answer.

    The translation of the marked sentence is compared with the plain one word by word, so markers,
    and spaces that came with them, leave no trace. Where the two differ, the words around the
    answer are matched.
    """
    found: list[WordRange] = []
    for sentence, (first, last) in zip(asked, place.borders, strict=True):
        inside = _between_markers(sentence, translate)
        if inside is None:
            return None
        before, marked, after = inside
        here = _map(before, marked, after, place.words[first:last])
        if here is None:
            return None
        found.append((first + here[0], first + here[1]))
    return found[0][0], found[-1][1]


def _between_markers(
    sentence: AskedSentence, translate: Callable[[str], str]
) -> tuple[list[str], list[str], list[str]] | None:
    """The words before, between and after the markers, if both survived in their order."""
    if sentence.markers is None or sentence.marked is None:
        return None
    left, right = sentence.markers
    translated = translate(sentence.marked)
    if translated.count(left) != 1 or translated.count(right) != 1:
        return None
    before, _, rest = translated.partition(left)
    marked, survived, after = rest.partition(right)
    if not survived:  # the markers changed places
        return None
    return _folded(before), _folded(marked), _folded(after)


def _folded(text: str) -> list[str]:
    return [word.casefold() for word in words(text)]


def _map(
    before: Sequence[str], marked: Sequence[str], after: Sequence[str], plain: Sequence[str]
) -> WordRange | None:
    """The marked words in the plain translation; None if the two differ too much around them."""
    start, end = len(before), len(before) + len(marked)
    whole, plain = [*before, *marked, *after], [word.casefold() for word in plain]
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
    return new_start, new_end
