"""Words of any script with exact character offsets. Tokenising never changes the text (law 1)."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import regex

# Scripts written without spaces: every base character, with its marks, is a word of its own.
_SINGLE = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
)
_APOSTROPHE = "['’]"


def _rules(letter: str, inside: str, marks: str, symbol: str) -> str:
    """The rules as one pattern, given what a letter, the inside of a word and a symbol are.

    Alternatives are tried in order: the first two catch most of a European text.
    """
    clitic = rf"(?:[sSdDmM]|re|ve|ll|RE|VE|LL)(?!{inside})"
    negation = rf"[nN]{_APOSTROPHE}[tT](?!{inside})"
    return rf"""
    (
      [A-Za-z]++ (?=[ ,;:)\]\n"!?-])                         # a plain word
    | [,.;:()"-] (?=[ A-Za-z0-9\n])                          # plain punctuation
    | [0-9#*]\ufe0f?\u20e3                                   # a keycap emoji
    | [0-9]++ (?:[.,][0-9]++)*+ (?:(?:st|nd|rd|th|s)(?!{inside}))? {marks}  # 3  1,250.5  19th
    | (?:{letter}\.){{2,}}                                   # U.S.  z.B.
    | [aA]ujourd{_APOSTROPHE}hui (?!{inside})                # one word, in spite of its looks
    | {letter}{inside}*? (?={negation})                      # do | n't
    | {negation}
    | {_APOSTROPHE}{clitic}                                  # Ada | 's
    | {letter}{inside}*+ (?={_APOSTROPHE}{clitic})
    | {letter}{inside}*+ {_APOSTROPHE} (?={letter})          # l' | eau   dell' | arte
    | {letter}{inside}*+
    | {symbol}
    )
    \s*+
    """


# Two engines, one set of rules: the standard library's is twice as fast but knows no scripts.
# re.ASCII: both take \x1c to \x1f for symbols, as Unicode does, not for white space.
_ASCII = re.compile(_rules("[A-Za-z]", "[A-Za-z0-9_]", "", r"\S"), re.VERBOSE | re.ASCII)
_ANY_SCRIPT = regex.compile(
    _rules(
        letter=rf"[\p{{L}}--[{_SINGLE}]]",
        # The joiners hold Persian and Indic words together.
        inside=rf"[[\p{{L}}\p{{M}}\p{{N}}_\u200c\u200d]--[{_SINGLE}]]",
        marks=r"\p{M}*+",
        # One character of a script without spaces, digits of other scripts, or any other symbol:
        # \X takes the whole of an emoji, and a mark with what it stands on; but it would also
        # take the space after the few signs that lean on what follows them.
        symbol=rf"""[{_SINGLE}][\p{{M}}\p{{Lm}}]*+
            | \p{{N}}++ (?:[.,]\p{{N}}++)*+ \p{{M}}*+
            | (?=\S)(?!\X(?<=\s))\X | \S""",
    ),
    regex.VERBOSE | regex.VERSION1,
)


_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


class TokenSpan(NamedTuple):
    """An answer in whole words: tokens[first:last + 1]. `moved` tells that it cut a word."""

    first: int
    last: int
    moved: bool


def word_spans(text: str) -> list[tuple[int, int]]:
    """Half-open [start, end) of every word; what lies between two of them is white space."""
    if text.isascii():
        return [match.span(1) for match in _ASCII.finditer(text)]
    # No word reaches over a space, so the slower engine reads only what stands between two spaces
    # and is not all ASCII.
    spans: list[tuple[int, int]] = []
    done = 0
    for odd in _NOT_ASCII.finditer(text):
        if odd.start() >= done:
            start, end = _between_spaces(text, odd.start())
            spans += [match.span(1) for match in _ASCII.finditer(text, done, start)]
            spans += [match.span(1) for match in _ANY_SCRIPT.finditer(text, start, end)]
            done = end
    spans += [match.span(1) for match in _ASCII.finditer(text, done)]
    return spans


def _between_spaces(text: str, place: int) -> tuple[int, int]:
    """From after the space before a place to after the next one: signs may lean on that."""
    end = text.find(" ", place) + 1
    return text.rfind(" ", 0, place) + 1, end or len(text)


def words(text: str) -> list[str]:
    """Only the words, for those who need no places."""
    return [text[start:end] for start, end in word_spans(text)]


def snap(spans: Sequence[tuple[int, int]], start: int, end: int) -> TokenSpan | None:
    """The smallest run of words that covers [start, end), growing outwards where it cuts one.

    None when the piece holds no word at all (white space, or outside the text).
    """
    first = bisect_right(spans, start, key=lambda span: span[1])  # first word that ends later
    last = bisect_left(spans, end, key=lambda span: span[0]) - 1  # last word that begins earlier
    if first > last:
        return None
    moved = spans[first][0] < start or spans[last][1] > end
    return TokenSpan(first, last, moved)
