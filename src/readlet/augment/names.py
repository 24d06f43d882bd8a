"""A name in a question, replaced by another name of its article that its paragraph lacks."""

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from readlet.augment.passages import (
    Found,
    Passage,
    find_names,
    initials,
    stands_in,
    stem,
    word_list,
)
from readlet.augment.pieces import Piece

# Drawn from the few names that are used most alike. Any other name would read oddly ("born in
# Franz Liszt"); always the nearest would repeat itself.
BEST_FEW = 4
# How alike two names must be used, between 0 and 1, for a question to read naturally.
ALIKE = 0.22
# How far apart the shares may lie of places where two names follow an "in": persons hardly do.
_PLACE_GAP = 0.2

# Capitalised in questions and headings without being names.
_NO_NAMES = frozenset(
    "a an the i in on at of by for from to with and or but what which who whom whose when where "
    "why how is was are were do does did has have had can could would should will if it its he she "
    "they his her their this that these those there year after before during".split()
)
# Before these words a name is left out of what is asked, so another one leaves the answer alone.
_EXCLUDING = re.compile(
    r"\b(?:than|except(?: for)?|excluding|(?:un)?like|or|not|outside(?: of)?)(?: the)? $"
    r"|\b(?:besides?|such as|(?:aside|apart) from|other than|addition to|along with)\b.{,60}$",
    re.IGNORECASE,
)
# Related names that do not begin alike.
_ALIASES = [
    frozenset(group.split())
    for group in (
        "unit us usa amer wash",
        "unit uk brit engl lond",
        "sovi ussr russ mosc krem",
        "fran fren pari",
        "spai span madr iber",
        "germ berl reic nazi prus",
        "neth dutc holl",
        "pola poli wars",
        "wale wels",
        "irel iris eire",
        "denm dani danes",
        "swit swis",
        "chin prc beij sino",
        "japa toky",
        "rome roma ital vati papa pope",
        "jesu chri",
        "isla musl qura arab",
        "euro west occi",
        "prot pres luth calv bapt angl meth evan refo",
        "jews jewi juda hebr isra",
        "gree hell athe",
        "turk otto",
        "pers iran",
    )
]
_MONTHS = frozenset(
    "January February March April May June July August September October November December".split()
)
_VOWEL = re.compile("[AEIO](?!u|ne)")  # as spoken: a European, a One
# "Ada's Lamp" is one name, and the apostrophe of "Wells' lamp" goes with its last letter.
_OWNER = re.compile(r"['’] |['’]s [A-Z]")
_OWNED = re.compile(r"[A-Z]\w*['’]s? $")
_PREVIOUS = re.compile(r"(\w+),? $")
_NEXT = re.compile(r"(['’]s\b|,? \w+|[,.;)])")


class Names:
    """All names of the data: where each stands, and how it is used.

    Names are used alike when the same words stand before and behind them and they look alike
    (words in them, ending); where a name stands in many articles, all of them count.
    """

    def __init__(self, articles: Mapping[tuple[str, str], Sequence[Passage]]) -> None:
        uses: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._of: dict[tuple[str, str], list[str]] = {}
        self._indexes: dict[tuple[str, str], dict[str, list[tuple[str, float]]]] = {}
        self._ranked: dict[tuple[tuple[str, str], str], list[str]] = {}
        for article, passages in articles.items():
            here: set[str] = set()
            for passage in passages:
                for name in passage.names:
                    if not name.starts and _is_name(name.text):
                        here.add(name.text)
                        uses[name.text].update(_use(passage.text, name))
            self._of[article] = sorted(here)
        self._bare = {name for name, use in uses.items() if use.total() > use["before the"] * 3}
        self._with_the = {name for name, use in uses.items() if use["before the"]}
        self._as_place = {name: _share_as_place(use) for name, use in uses.items()}
        self._profiles = _profiles(uses)

    def replace(
        self, question: str, passage: Passage, article: tuple[str, str], chance: random.Random
    ) -> Piece | None:
        """Another name for one of the question's, or None."""
        if not article[0]:  # Texts without a title are of unknown articles.
            return None
        found = list(self._replaceable(question, passage))
        chance.shuffle(found)
        for name in found:
            free = (
                other
                for other in self._alike(article, name.text)
                if self._fits(other, question, name)
                and _is_new(other, name.text, question, passage, article[0])
            )
            best = list(islice(free, BEST_FEW))
            if best:
                return Piece(name.start, name.end, chance.choice(best))
        return None

    def _replaceable(self, question: str, passage: Passage) -> Iterable[Found]:
        """Names of the question that stand in the paragraph, too."""
        known = {name.text for name in passage.names if not name.starts}
        for name in find_names(question):
            if name.starts and name.text not in known:
                # "When Ada came": a question's own first word is no part of the name.
                head, _, rest = name.text.partition(" ")
                name = Found(name.start + len(head) + 1, rest, False)
            if (
                _is_name(name.text)
                and name.text in self._profiles
                and stands_in(name.text, passage.text)
                and not _EXCLUDING.search(question[: name.start])
                and not _OWNER.match(question, name.end)
                and not _OWNED.search(question[: name.start])
            ):
                yield name

    def _alike(self, article: tuple[str, str], name: str) -> list[str]:
        key = article, name
        if key not in self._ranked:
            likeness: defaultdict[str, float] = defaultdict(float)
            names_with = self._names_with(article)
            for trait, weight in self._profiles[name].items():
                for other, its_weight in names_with.get(trait, ()):
                    likeness[other] += weight * its_weight
            place = self._as_place[name]
            alike = (
                other
                for other, score in likeness.items()
                if score >= ALIKE
                and abs(self._as_place[other] - place) <= _PLACE_GAP
                and (other in _MONTHS) == (name in _MONTHS)
            )
            self._ranked[key] = sorted(alike, key=lambda other: (-likeness[other], other))
        return self._ranked[key]

    def _names_with(self, article: tuple[str, str]) -> dict[str, list[tuple[str, float]]]:
        """The names of an article by trait: only those that share something are compared."""
        if article not in self._indexes:
            index: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
            for name in self._of[article]:
                for trait, weight in self._profiles[name].items():
                    index[trait].append((name, weight))
            self._indexes[article] = dict(index)
        return self._indexes[article]

    def _fits(self, other: str, question: str, name: Found) -> bool:
        previous = _PREVIOUS.search(question[: name.start])
        word = previous[1].casefold() if previous is not None else ""
        if word in ("a", "an") and bool(_VOWEL.match(name.text)) != bool(_VOWEL.match(other)):
            return False
        return other in (self._with_the if word == "the" else self._bare)


def _is_name(text: str) -> bool:
    words = word_list(text)
    return bool(words) and words[0] not in _NO_NAMES and len(text) > 2 and len(words) < 6


def _use(text: str, name: Found) -> Iterable[str]:
    before = _PREVIOUS.search(text[max(0, name.start - 30) : name.start])
    behind = _NEXT.match(text, name.end)
    if before is not None:
        yield f"before {before[1].casefold()}"
    if behind is not None:
        yield f"behind {behind[1].casefold()}"


def _share_as_place(use: Counter[str]) -> float:
    places = sum(use[f"before {word}"] for word in ("in", "at", "near", "from", "to"))
    return places / max(3, sum(n for trait, n in use.items() if trait.startswith("before")))


def _profiles(uses: Mapping[str, Counter[str]]) -> dict[str, dict[str, float]]:
    """What is told of each name, as a vector of length 1; what few names share weighs most."""
    traits = {name: uses[name] + Counter(_looks(name)) for name in sorted(uses)}
    spread = Counter(trait for mine in traits.values() for trait in mine)
    profiles = {}
    for name, mine in traits.items():
        weights = {
            trait: math.log1p(count) * math.log(len(traits) / spread[trait])
            for trait, count in mine.items()
            if spread[trait] > 1
        }
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        profiles[name] = {trait: weight / length for trait, weight in weights.items()}
    return profiles


def _looks(name: str) -> list[str]:
    words = name.split()
    looks = [f"{len(words)} words", f"ends in {words[-1][-3:]}", f"last word {words[-1]}"]
    if len(words) > 1:
        looks.append(f"first word {words[0]}")
    if name.isupper():
        looks.append("capitals")
    if " of " in name:
        looks.append("of")
    return looks


def _is_new(other: str, name: str, question: str, passage: Passage, title: str) -> bool:
    """Whether the other name stands in no form in the paragraph, the question or the title.

    What it shares with the name that it replaces does not count, "University of Oslo" for
    "University of Kent"; but neither may be the other one with a word more.
    """
    old, new = _stems(name), _stems(other)
    subject = _stems(title.replace("_", " "))
    near = passage.stems | _stems(question) | subject
    fresh = new - (old - subject)
    if old <= new or not new - old or other in passage.text:
        return False
    # A short name may be the beginning of a word that is there: "Mac" of "Macintosh".
    if any(word.startswith(tuple(fresh)) for word in near):
        return False
    short = initials(other)
    if short and (short in passage.initials or short in passage.words):
        return False
    # One relative in the paragraph is enough: "British" tells of the United Kingdom.
    related = set().union(*(group for group in _ALIASES if group & (fresh | {short})))
    return not related & near


def _stems(text: str) -> set[str]:
    return {stem(word) for word in word_list(text) if len(word) > 2}
