"""Sentence boundaries, in any script. Only white space separates sentences."""

from collections.abc import Iterator

import regex

from readlet.augmentation.translation.types import Range

LONGEST = 1000
"""Characters of a sentence; longer ones are cut, between words where there are spaces."""

# Stops that need a space after them; those of other scripts need none.
_STOP = r"(?:[.!?…‼⁇⁈⁉]+|[。！？｡．।॥؟۔։።፧။។\u0964]+)"
_SPACED = ".!?…‼⁇⁈⁉؟۔"
_CLOSING = r"""["'\p{Pe}\p{Pf}]*(?:\[\p{N}+\])*"""  # and notes: [1]
_END = regex.compile(rf"(?P<stop>{_STOP}){_CLOSING}(?P<space>\s*)|(?P<line>[^\S\n]*\n\s*)")
_OPENING = regex.compile(r"""["'\p{Ps}\p{Pi}¿¡\p{Pd}*•\s]*""")
_WORD_BEFORE = regex.compile(r"[\p{L}\p{M}.]*\p{L}(?=\.)|\p{N}{1,2}(?=\.)", regex.REVERSE)
_WORD_AFTER = regex.compile(r"[\p{L}\p{M}]+")
_INITIALS = regex.compile(r"\p{Lu}|(?:\p{L}\.)+\p{L}")  # J. R. R. Tolkien; U.S.; a.m.
_BREAK = regex.compile(r"[;:,—–、，；：][\"'\p{Pe}\p{Pf}]*\s*")
_SPACE = regex.compile(r"\s+")
_JOINED = regex.compile(r"\p{M}|\u200d")
_WRAPPED = 40  # characters; a shorter line that does not end like a sentence is a heading

# Abbreviations before a name or a number, so never at the end of a sentence.
_ABBREVIATIONS = frozenset(
    """
    mr mrs ms messrs dr prof st rev hon gen col maj capt cmdr lt sgt cpl adm gov sen rep pres supt
    mt ft no nos vol vols fig figs eq ch sec pp p art ed eds vs v cf viz approx ca c e.g i.e al op
    sr sra srta dña ud uds núm pág págs art cap mme mlle mm m jh ste chap
    hr fr frl nr bd s z.b u.a d.h bzw vgl evtl ggf geb gest jh dott sig ing avv
    jan feb mar apr jun jul aug sep sept oct nov dec
    """.split()
)
# After initials a sentence ends only if the next one begins with one of these.
_BEGINNINGS = frozenset(
    """
    The This That These Those There In It Its He She They We You His Her Their On At As An A And But
    By For From However If After Before When While Although Also Some Many Most One Since Such With
    El La Los Las En Un Una Es Se Lo Su Sus Por Para Con Pero Como Este Esta Le Les Un Une Il Elle
    Ils Dans Ce Cette Der Die Das Ein Eine Es Er Sie Im Am Und
    """.split()
)
_MONTHS = frozenset(
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
)


def split_sentences(text: str) -> list[Range]:
    """The sentences of a text in order; white space at their ends belongs to none."""
    sentences: list[Range] = []
    start = 0
    for end in (*_ends(text), len(text)):
        sentences += _cut(text, *_stripped(text, start, end))
        start = end
    return sentences


def _ends(text: str) -> Iterator[int]:
    for found in _END.finditer(text):
        end = found.end()
        is_end = _is_line_end(text, found) if found["line"] else _is_stop(text, found)
        if is_end and end < len(text):
            yield end


def _is_stop(text: str, found: regex.Match[str]) -> bool:
    space = found["space"]
    if "\n" in space:  # the text may be wrapped here: only a blank line is certain
        if space.count("\n") > 1:
            return True
    elif not space and found["stop"][-1] in _SPACED:
        return False
    if found["stop"][-1] not in _SPACED:
        return True
    at = _OPENING.match(text, found.end()).end()  # type: ignore[union-attr]
    if at < len(text) and text[at].islower():
        return False
    return found["stop"] != "." or not _is_abbreviation(text, found.end("stop"), at)


def _is_abbreviation(text: str, stop: int, following: int) -> bool:
    before = _WORD_BEFORE.search(text, max(0, stop - 20), stop)
    if before is None or before.end() != stop - 1:
        return False
    word, after = before[0], _WORD_AFTER.match(text, following)
    following_word = after[0] if after else ""
    if word[0].isdecimal():
        return following_word in _MONTHS  # a German date: 3. Oktober
    if word.lower() in _ABBREVIATIONS and not (len(word) == 1 and word.isupper()):
        return True
    return bool(_INITIALS.fullmatch(word)) and following_word not in _BEGINNINGS


def _is_line_end(text: str, found: regex.Match[str]) -> bool:
    """Whether a line that ends without a stop is a heading or an item, not a wrapped line."""
    if found["line"].count("\n") > 1:
        return True
    if found.end() == len(text) or found.start() == 0:
        return False
    following = text[found.end()]
    if following.islower() or following.isdecimal() or not following.isalpha():
        return following in "•*-–—" and text[found.end() + 1 : found.end() + 2].isspace()
    if text[found.start() - 1] in ":;":
        return True
    return found.start() - (text.rfind("\n", 0, found.start()) + 1) < _WRAPPED


def _stripped(text: str, start: int, end: int) -> Range:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _cut(text: str, start: int, end: int) -> Iterator[Range]:
    """The sentence, or short enough pieces of it."""
    while end - start > LONGEST:
        at = _best_cut(text, start + LONGEST // 2, start + LONGEST)
        yield _stripped(text, start, at)
        start, end = _stripped(text, at, end)
    if start < end:
        yield start, end


def halves(text: str) -> list[Range]:
    """Two parts of a sentence that is too long for an engine; white space at their ends is left."""
    at = _best_cut(text, len(text) // 3, 2 * len(text) // 3 + 1)
    parts = _stripped(text, 0, at), _stripped(text, at, len(text))
    return [(start, end) for start, end in parts if start < end]


def _best_cut(text: str, earliest: int, latest: int) -> int:
    """After a comma if there is one, else between words, else anywhere."""
    for pattern in (_BREAK, _SPACE):
        ends = [found.end() for found in pattern.finditer(text, earliest, latest)]
        if ends:
            return ends[-1]
    while latest - 1 > earliest and _JOINED.match(text[latest]):
        latest -= 1  # a letter keeps its marks
    return latest
