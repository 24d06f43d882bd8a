"""Replace a name in a question by another name of its article that the paragraph lacks."""

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from readlet.augmentation.passages import (
    Found,
    Passage,
    Piece,
    find_names,
    initials,
    occurs_in,
    stem,
    word_list,
)

# The replacement is drawn from the few most similar names. Other names would read oddly ("born in
# Franz Liszt"); always taking the most similar one would be repetitive.
BEST_FEW = 4
# Minimum similarity of two names, between 0 and 1, for a natural question.
MIN_SIMILARITY = 0.22
# Maximum difference in how often two names follow "in" and the like: persons rarely do.
_PLACE_GAP = 0.2

# Capitalised in questions and headings without being names.
_NOT_NAMES = frozenset(
    "a an the i in on at of by for from to with and or but what which who whom whose when where "
    "why how is was are were do does did has have had can could would should will if it its he she "
    "they his her their this that these those there year after before during".split()
)
# These words exclude the name after them from the question: another name keeps the answer.
_EXCLUDING = re.compile(
    r"\b(?:than|except(?: for)?|excluding|(?:un)?like|or|not|outside(?: of)?)(?: the)? $"
    r"|\b(?:besides?|such as|(?:aside|apart) from|other than|addition to|along with)\b.{,60}$",
    re.IGNORECASE,
)
# Related names with different beginnings.
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
# "Ada's Lamp" is one name, and the apostrophe of "Wells' lamp" belongs to the name.
_OWNER = re.compile(r"['’] |['’]s [A-Z]")
_OWNED = re.compile(r"[A-Z]\w*['’]s? $")
_PREVIOUS = re.compile(r"(\w+),? $")
_NEXT = re.compile(r"(['’]s\b|,? \w+|[,.;)])")


class Names:
    """All names of the data: the articles of each, and how it is used.

    Names are similar if the same words precede and follow them and their form is similar (number
    of words, ending). A name that occurs in several articles has one profile for all of them.
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
        self, question: str, passage: Passage, article: tuple[str, str], rng: random.Random
    ) -> Piece | None:
        """A replacement of one of the question's names, or None."""
        if not article[0]:  # without a title, the article is unknown
            return None
        found = list(self._replaceable(question, passage))
        rng.shuffle(found)
        for name in found:
            free = (
                other
                for other in self._similar(article, name.text)
                if self._fits(other, question, name)
                and _is_new(other, name.text, question, passage, article[0])
            )
            best = list(islice(free, BEST_FEW))
            if best:
                return Piece(name.start, name.end, rng.choice(best))
        return None

    def _replaceable(self, question: str, passage: Passage) -> Iterable[Found]:
        """Names of the question that also occur in the paragraph."""
        known = {name.text for name in passage.names if not name.starts}
        for name in find_names(question):
            if name.starts and name.text not in known:
                # "When Ada came": the first word of the question is not part of the name.
                head, _, rest = name.text.partition(" ")
                name = Found(name.start + len(head) + 1, rest, False)
            if (
                _is_name(name.text)
                and name.text in self._profiles
                and occurs_in(name.text, passage.text)
                and not _EXCLUDING.search(question[: name.start])
                and not _OWNER.match(question, name.end)
                and not _OWNED.search(question[: name.start])
            ):
                yield name

    def _similar(self, article: tuple[str, str], name: str) -> list[str]:
        key = article, name
        if key not in self._ranked:
            similarity: defaultdict[str, float] = defaultdict(float)
            names_with = self._names_with(article)
            for trait, weight in self._profiles[name].items():
                for other, its_weight in names_with.get(trait, ()):
                    similarity[other] += weight * its_weight
            place = self._as_place[name]
            similar = (
                other
                for other, score in similarity.items()
                if score >= MIN_SIMILARITY
                and abs(self._as_place[other] - place) <= _PLACE_GAP
                and (other in _MONTHS) == (name in _MONTHS)
            )
            self._ranked[key] = sorted(similar, key=lambda other: (-similarity[other], other))
        return self._ranked[key]

    def _names_with(self, article: tuple[str, str]) -> dict[str, list[tuple[str, float]]]:
        """Index of an article's names by trait: only names that share a trait are compared."""
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
    return bool(words) and words[0] not in _NOT_NAMES and len(text) > 2 and len(words) < 6


def _use(text: str, name: Found) -> Iterable[str]:
    before = _PREVIOUS.search(text[max(0, name.start - 30) : name.start])
    after = _NEXT.match(text, name.end)
    if before is not None:
        yield f"before {before[1].casefold()}"
    if after is not None:
        yield f"after {after[1].casefold()}"


def _share_as_place(use: Counter[str]) -> float:
    places = sum(use[f"before {word}"] for word in ("in", "at", "near", "from", "to"))
    return places / max(3, sum(n for trait, n in use.items() if trait.startswith("before")))


def _profiles(uses: Mapping[str, Counter[str]]) -> dict[str, dict[str, float]]:
    """The traits of each name as a unit vector; rare traits have the largest weights (TF-IDF)."""
    traits = {name: uses[name] + Counter(_form(name)) for name in sorted(uses)}
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


def _form(name: str) -> list[str]:
    words = name.split()
    traits = [f"{len(words)} words", f"ends in {words[-1][-3:]}", f"last word {words[-1]}"]
    if len(words) > 1:
        traits.append(f"first word {words[0]}")
    if name.isupper():
        traits.append("capitals")
    if " of " in name:
        traits.append("of")
    return traits


def _is_new(other: str, name: str, question: str, passage: Passage, title: str) -> bool:
    """Whether the other name occurs in no form in the paragraph, the question or the title.

    Words that it shares with the replaced name are ignored ("University of Oslo" for "University
    of Kent"), but neither name may contain the other.
    """
    old, new = _stems(name), _stems(other)
    subject = _stems(title.replace("_", " "))
    near = passage.stems | _stems(question) | subject
    fresh = new - (old - subject)
    if old <= new or not new - old or other in passage.text:
        return False
    # A short name may be the prefix of a word in the text: "Mac" of "Macintosh".
    if any(word.startswith(tuple(fresh)) for word in near):
        return False
    short = initials(other)
    if short and (short in passage.initials or short in passage.words):
        return False
    # One related word in the paragraph is enough: "British" refers to the United Kingdom.
    related = set().union(*(group for group in _ALIASES if group & (fresh | {short})))
    return not related & near


def _stems(text: str) -> set[str]:
    return {stem(word) for word in word_list(text) if len(word) > 2}
