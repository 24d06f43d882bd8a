"""Words of any script with exact character offsets. Tokenising never changes the text."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import regex

# Scripts written without spaces: every base character, with its marks, is a separate word.
_SINGLE = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
)
_APOSTROPHE = "['’]"
UNSPACED = frozenset(("bo", "ja", "km", "lo", "my", "th", "zh"))
"""Languages in such scripts: their words are finer than those of other languages."""

# Letters that the fast engine handles: Latin, Greek and Cyrillic, without marks and numerals.
_EUROPEAN = "A-Za-zÀ-ÖØ-öø-ɏΆΈ-ΊΌΎ-ΡΣ-ώЀ-ҁҊ-ӿ"
# Punctuation that is always a separate word.
_SIGNS = "–—‘’“”„‚«»‹›…¿¡€£¥§•"


def _clitics(letter: str, inside: str) -> str:
    """Words with an apostrophe, in English, French and Italian."""
    clitic = rf"(?:[sSdDmM]|re|ve|ll|RE|VE|LL)(?!{inside})"
    negation = rf"[nN]{_APOSTROPHE}[tT](?!{inside})"
    return rf"""
    | [aA]ujourd{_APOSTROPHE}hui (?!{inside})                # one word, despite the apostrophe
    | {letter}{inside}*? (?={negation})                      # do | n't
    | {negation}
    | {_APOSTROPHE}{clitic}                                  # Ada | 's
    | {letter}{inside}*+ (?={_APOSTROPHE}{clitic})
    | {letter}{inside}*+ {_APOSTROPHE} (?={letter})          # l' | eau   dell' | arte
    """


class _Patterns(NamedTuple):
    """The patterns that differ between the engines: a letter, the inside of a word, and so on."""

    first: str
    letter: str
    inside: str
    marks: str
    symbol: str


def _rules(patterns: _Patterns) -> str:
    """The rules as one pattern. Alternatives are tried in order: the first few match most words.

    No group here is possessive, as in `(?:[.,][0-9])*+`: the standard library of Python 3.11.2
    keeps what a failed repetition of it has read, and "1881. " would be one word.
    """
    first, letter, inside, marks, symbol = patterns
    return rf"""
    (
      {first}
    | [,.;:()"-] (?=[ A-Za-z0-9\n])                          # plain punctuation
    | [0-9#*]\ufe0f?\u20e3                                   # a keycap emoji
    | [0-9]++ (?:[.,][0-9]++)* (?:(?:st|nd|rd|th|s)(?!{inside}))? {marks}  # 3  1,250.5  19th
    | (?:{letter}\.){{2,}}                                   # U.S.  z.B.
    {_clitics(letter, inside)}
    | {letter}{inside}*+
    | {symbol}
    )
    \s*+
    """


# Two engines, one set of rules. The standard library's is fast but does not know scripts, so it
# handles only text in the characters above. Its \s is ASCII: both engines treat \x1c to \x1f as
# symbols, as Unicode does, not as white space.
_SIMPLE = _Patterns(
    first=rf"[{_EUROPEAN}]++ (?=[ ,;:)\]\n\"!?-])",  # a plain word
    letter=f"[{_EUROPEAN}]",
    inside=f"[{_EUROPEAN}0-9_]",
    marks="",
    symbol=r"\S",
)
_LETTER = rf"[\p{{L}}--[{_SINGLE}]]"
# Zero-width joiners are part of Persian and Indic words.
_INSIDE = rf"[[\p{{L}}\p{{M}}\p{{N}}_\u200c\u200d]--[{_SINGLE}]]"
_ANY_SCRIPT = _Patterns(
    # One character of a script without spaces, or a plain word.
    first=rf"[{_SINGLE}][\p{{M}}\p{{Lm}}]*+ | {_LETTER}{_INSIDE}*+ (?=[ ,])",
    letter=_LETTER,
    inside=_INSIDE,
    marks=r"\p{M}*+",
    # Digits of other scripts, or any other symbol. \X matches a whole emoji, and a mark with
    # its base character; but it would also match the space after the few characters that
    # combine with the following one (Prepend).
    symbol=r"""\p{N}++ (?:[.,]\p{N}++)*+ \p{M}*+
        | (?=\S)(?!\p{GCB=Prepend}++\s)\X | \S""",
)


# Compiled on first use: that takes longer than tokenising a page.
@cache
def _simple() -> re.Pattern[str]:
    return re.compile(_rules(_SIMPLE), re.VERBOSE | re.ASCII)


@cache
def _any_script() -> regex.Pattern[str]:
    return regex.compile(_rules(_ANY_SCRIPT), regex.VERBOSE | regex.VERSION1)


SENTENCE_ENDS = frozenset(".!?。！？…।؟۔")
"""Punctuation that ends a sentence, in many scripts."""

_NEAR = 32  # characters; switching the engine costs about as much as reading them
_NOT_SIMPLE = re.compile(rf"[^\x00-\x7f{_EUROPEAN}{_SIGNS}]")


class TokenSpan(NamedTuple):
    """An answer in whole words: tokens[first:last + 1]. `moved`: the answer cut a word."""

    first: int
    last: int
    moved: bool


def word_spans(text: str) -> list[tuple[int, int]]:
    """Half-open [start, end) of every word; between two words there is only white space."""
    simple = _simple()
    if text.isascii():
        return [match.span(1) for match in simple.finditer(text)]
    spans: list[tuple[int, int]] = []
    done = 0
    for start, end in _other_scripts(text):
        spans += [match.span(1) for match in simple.finditer(text, done, start)]
        spans += [match.span(1) for match in _any_script().finditer(text, start, end)]
        done = end
    spans += [match.span(1) for match in simple.finditer(text, done)]
    return spans


def _other_scripts(text: str) -> Iterator[tuple[int, int]]:
    """The parts that need the slower engine. No word contains a space, so they end at spaces.

    The final space is included: some characters combine with it. Parts close together are joined.
    """
    start = end = -1
    for odd in _NOT_SIMPLE.finditer(text):
        if odd.start() < end:
            continue
        if end < 0 or odd.start() > end + _NEAR:
            if end >= 0:
                yield start, end
            start = text.rfind(" ", 0, odd.start()) + 1
        end = text.find(" ", odd.start()) + 1 or len(text)
    if end >= 0:
        yield start, end


def words(text: str) -> list[str]:
    """The words without their offsets."""
    return [text[start:end] for start, end in word_spans(text)]


def snap(spans: Sequence[tuple[int, int]], start: int, end: int) -> TokenSpan | None:
    """The smallest run of words that covers [start, end); a word that is cut is included whole.

    None if the span contains no word (only white space, or outside the text).
    """
    first = bisect_right(spans, start, key=lambda span: span[1])  # first word that ends later
    last = bisect_left(spans, end, key=lambda span: span[0]) - 1  # last word that begins earlier
    # White space may be a token without characters: no answer begins or ends there.
    while first <= last and spans[first][0] == spans[first][1]:
        first += 1
    while first <= last and spans[last][0] == spans[last][1]:
        last -= 1
    if first > last:
        return None
    moved = spans[first][0] < start or spans[last][1] > end
    return TokenSpan(first, last, moved)
