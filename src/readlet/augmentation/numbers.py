"""Replace a number in a question by another of its kind that the paragraph lacks."""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from readlet.augmentation.passages import Passage, Piece

_NUMBER = re.compile(
    r"(?<![\w.,/:-])(?P<digits>\d{1,3}(?:,\d{3})+|\d+)(?P<part>\.\d+)?(?P<end>s|st|nd|rd|th)?"
    r"(?!\w|[.,/:]\d|-\d)"
)
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY_BEFORE = re.compile(rf"{_MONTH} $")
_DAY_AFTER = re.compile(rf"(?:st|nd|rd|th)?(?: of)? {_MONTH}")
# What is true after 1990 is often true after 1980 too; and "an 8th" needs its own article.
_OPEN = re.compile(
    r"\b(?:an?|before|after|since|until|till|than|over|under|least|most|above|below|between|from|by|to|"
    r"nearly|almost|around|about|approximately|past|within|last|first|top|exceeds?|limit of)"
    r"(?: the)?(?: \w+)?(?: of)? [$£€]?$",
    re.IGNORECASE,
)
# "the 17th and 18th centuries" would lose their order.
_LIST_BEFORE = re.compile(r"\d\w* (?:and|or|to) $")
_LIST_AFTER = re.compile(r" (?:and|or|to) \d")
_PERCENT = re.compile(r" ?(?:%|per ?cent)")
_RANGE = re.compile(r"(\d{3,4})\s*(?:–|-|—|to|until|through|and)\s*(?:\w+ )?(\d{2,4})")
_NEAR_YEARS = 60  # a question about 1066 among those about 1990 would be easy to detect
_SPELLED = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
} | {
    word: number
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
        "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth "
        "twentieth".split(),
        start=1,
    )
}


class Number(NamedTuple):
    """A number in a text; only numbers of the same kind can replace each other."""

    start: int
    end: int
    value: float
    kind: str


class Numbers:
    """The numbers of all articles, by kind."""

    def __init__(self, articles: Mapping[tuple[str, str], Sequence[Passage]]) -> None:
        self._of: dict[tuple[str, str], dict[str, list[str]]] = {}
        for article, passages in articles.items():
            kinds: dict[str, set[str]] = {}
            for passage in passages:
                for number in find_numbers(passage.text):
                    written = passage.text[number.start : number.end]
                    kinds.setdefault(number.kind, set()).add(written)
            self._of[article] = {kind: sorted(written) for kind, written in kinds.items()}

    def replace(
        self, question: str, passage: Passage, article: tuple[str, str], rng: random.Random
    ) -> Piece | None:
        """A replacement of one of the question's numbers, or None."""
        asked = list(find_numbers(question))
        there = list(find_numbers(passage.text)) if asked else []
        taken = _values(passage, there) | {number.value for number in asked} if asked else set()
        present = {passage.text[number.start : number.end] for number in there}
        found = [
            number
            for number in asked
            if question[number.start : number.end] in present
            and not _OPEN.search(question[: number.start])
            and not _LIST_BEFORE.search(question[: number.start])
            and not _LIST_AFTER.match(question, number.end)
        ]
        rng.shuffle(found)
        for number in found:
            old = question[number.start : number.end]
            # Without a title, the article is unknown.
            others = list(self._of[article].get(number.kind, ())) if article[0] else []
            rng.shuffle(others)
            is_part = _PERCENT.match(question, number.end) is not None
            shifted = [_shifted(old, number, rng) for _ in range(8)]
            # Numbers of the article are most plausible, but an article has few of most kinds.
            tried = [*others, *shifted] if rng.random() < 0.6 else [*shifted, *others]
            for other in tried:
                if _fits(other, number, taken, is_part) and not _is_covered(other, number, passage):
                    return Piece(number.start, number.end, other)
        return None


def find_numbers(text: str) -> Iterator[Number]:
    for match in _NUMBER.finditer(text):
        value = float(match["digits"].replace(",", "") + (match["part"] or ""))
        yield Number(match.start(), match.end(), value, _kind(text, match, value))


def _kind(text: str, match: re.Match[str], value: float) -> str:
    digits, part, end = match["digits"], match["part"], match["end"]
    if end == "s":
        return "decade" if len(digits) == 4 else "plural"
    if end:
        return "century" if text.startswith(" cent", match.end()) else f"{len(digits)} signs th"
    if (
        value <= 31
        and part is None
        and (_DAY_BEFORE.search(text[: match.start()]) or _DAY_AFTER.match(text, match.end()))
    ):
        return "day"
    if part is None and len(digits) == 4 and 1000 <= value < 2100:
        money = text[max(0, match.start() - 1) : match.start()]
        return "amount" if money in ("$", "£", "€") else "year"
    return f"{len(digits)} signs{'.' * len(part or '')}"


def _fits(other: str, number: Number, taken: Iterable[float], is_part: bool) -> bool:
    (match,) = find_numbers(other)
    if match.value in taken or (is_part and match.value > 100):
        return False
    if number.kind in ("year", "decade"):
        return abs(match.value - number.value) <= _NEAR_YEARS
    return number.value / 4 <= match.value <= number.value * 4 and match.value > 1


def _shifted(old: str, number: Number, rng: random.Random) -> str:
    """A number with as many digits, commas and trailing zeros: as plausible as the old one."""
    if number.kind in ("year", "decade"):
        step = 10 if number.kind == "decade" else 1
        lowest, highest = (1, 4) if step == 10 else (2, 25)
        # Never later than the original: a future year would be easy to detect.
        return _with_digits(old, str(int(number.value) - step * rng.randint(lowest, highest)))
    if number.kind in ("day", "century") or old[-1].isalpha():
        highest = {"day": 28, "century": 20}.get(number.kind, 10 ** len(re.sub(r"\D", "", old)) - 1)
        return _ordinal(old, max(1, min(highest, int(number.value) + rng.choice((-3, -2, 2, 3)))))
    digits = re.sub(r"\D", "", old)
    kept = len(digits.rstrip("0")) or 1
    size = int(digits[:kept])
    lowest = max(10 ** (kept - 1), size // 2)
    highest = max(lowest, min(10**kept - 1, 2 * size + 1))
    return _with_digits(old, str(rng.randint(lowest, highest)) + "0" * (len(digits) - kept))


def _with_digits(old: str, digits: str) -> str:
    following = iter(digits)
    return "".join(next(following, "") if sign.isdigit() else sign for sign in old)


def _ordinal(old: str, value: int) -> str:
    if not old[-1].isalpha():
        return str(value)
    teen = value % 100 in (11, 12, 13)
    return f"{value}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(value % 10, 'th')}"


def _values(passage: Passage, numbers: Iterable[Number]) -> set[float]:
    """All numbers in the paragraph, including spelled ones and parts of words."""
    spelled = {float(_SPELLED[word]) for word in passage.words & _SPELLED.keys()}
    inside = {float(digits) for digits in re.findall(r"[0-9]+", passage.text)}
    return {number.value for number in numbers} | spelled | inside


def _is_covered(other: str, number: Number, passage: Passage) -> bool:
    """Whether the paragraph may cover this time implicitly: by a range or a decade."""
    if number.kind not in ("year", "decade", "century"):
        return False
    value = int(re.sub(r"\D", "", other))
    first, last = value, value + (9 if number.kind == "decade" else 0)
    if number.kind == "century":
        first, last = value * 100 - 100, value * 100
    for match in find_numbers(passage.text):
        if match.kind == "year" and first <= match.value <= last:
            return True
        if match.kind == "decade" and first - 9 <= match.value <= last:
            return True
    for begins, ends in _RANGE.findall(passage.text):
        whole = int(begins[: max(0, len(begins) - len(ends))] + ends)  # 1914-18
        if int(begins) <= last and whole >= first:
            return True
    return False
