"""Insert a "not" into a question where the result reads naturally.

Replace a word of a question by its opposite.
"""

import random
import re
from typing import NamedTuple

from readlet.augmentation.passages import Passage, Piece

# Verbs that may follow the subject. The list distinguishes "What did Ada win" from "What did Ada
# Brook students win", since "students" is not a verb.
_VERBS = (
    "accept achieve act add adopt agree aid allow announce appear argue ask assist attack attempt "
    "attend become begin believe bring build buy call capture cause change claim collect "
    "command compare compete complete compose conquer consider consist contain continue contribute "
    "control convert cover create criticize declare defeat defend depict describe design develop "
    "direct discover discuss encourage enter establish expect experience explain export face "
    "feature fight find follow force form found gain get give go grant have help hold identify "
    "import include increase influence introduce invade invent issue join kill know launch lead "
    "learn leave like live lose make marry mean meet move name need note obtain occupy offer "
    "oppose order own participate pass pay perform permit place plan play prefer present produce "
    "promise promote propose protect prove provide publish purchase reach receive recognize record "
    "refer reject release rely remain replace report represent require resemble return reveal "
    "rule say see seek sell send serve share show sign speak spend start state study suffer "
    "suggest support take teach tell think travel try use visit want win work worship write".split()
)
_NAME = r"(?:[A-Z][\w.'’-]*)(?: [A-Z][\w.'’-]*){0,3}"
_SUBJECT = rf"(?:he|she|it|they|{_NAME}|the [a-z]+|the {_NAME})"
_DOES = re.compile(
    r"(?:What|Which|Who|Whom|Where|(?:What|Which) (?!year|date|month|day|time|percent)\w+)"
    rf" (?:did|does|do) {_SUBJECT} (?=(?:{'|'.join(_VERBS)})\b)"
)
# "What was built": a form in -ed or a common irregular one, right after the auxiliary.
_PARTICIPLE = (
    r"(?:\w{2,}ed|built|made|known|given|taken|held|found|sold|born|written|seen|used|shown|"
    r"chosen|led|won|sent|brought|paid|spoken|taught|grown|drawn|kept|left|lost)"
)
_IS = re.compile(
    r"(?:Who|What|Which|(?:What|Which)(?: \w+){1,3})"
    rf" (?:was|were|is|are) (?={_PARTICIPLE}\b(?! (?:as|for|after)\b))"
)
_MAY = re.compile(
    r"(?:Who|What|Which|(?:What|Which)(?: \w+){1,3})"
    r" (?:can|could|would|should|will|must) (?=be\b|have\b)"
)
# A paragraph with one of these words may answer the negated question.
_DENYING = frozenset(
    "not no never nor neither none nothing without except excluding unlike only t cannot abstaind "
    "failed rejected instead but although however unable".split()
)
_ALREADY = re.compile(r"\b(?:not|no|never|n['’]t|only|other|else)\b|n['’]t\b", re.IGNORECASE)


def negate(question: str, passage: Passage) -> Piece | None:
    """The insertion of "not " into the question, or None."""
    if _ALREADY.search(question) or passage.words & _DENYING:
        return None
    for pattern in (_DOES, _IS, _MAY):
        match = pattern.match(question)
        if match is not None:
            return Piece(match.end(), match.end(), "not ")
    return None


# One row per pair: its forms on both sides, in the same order. After the bar: further words that
# express either side, so that a paragraph with them may answer the new question.
_TABLE = """
first / last | initial initially original originally / \
final finally latest ultimate recent recently third fourth fifth then
earliest / latest | first oldest earlier / newest last recent recently final
largest / smallest | biggest greatest / tiniest least fewest small
biggest / tiniest | largest greatest / smallest least small
larger / smaller | bigger greater / less lesser fewer small
highest / lowest | tallest top peak / bottom least low
higher / lower | greater more / less reduced fewer low
longest / shortest | / briefest short
longer / shorter | / briefer short
oldest / youngest | earliest first / newest latest young
older / younger | elder old / newer young
best / worst | good / poorest poor bad
better / worse | good / poorer poor bad
strongest / weakest | strong / weak
stronger / weaker | strong / weak less
fastest / slowest | quickest fast / slow
faster / slower | quicker fast / slow
heaviest / lightest | heavy / light
richest / poorest | wealthiest rich / poverty poor
hottest / coldest | warmest hot / coolest cold
warmer / cooler | hotter warm / colder cold cool
most / least | / fewest fewer less
more / fewer | / less under
before / after | prior previously earlier until previous former had / \
following later then subsequently afterwards once upon next since followed
increase increases increased increasing / decrease decreases decreased decreasing | \
rise rose risen grow grew growth gain up / \
decline declined fell fall drop dropped reduce reduced loss down less
win wins won / lose loses lost | \
victory defeated beat / defeat defeated loss runner beaten beat
victory victories / defeat defeats | won win / lost lose loss
began begin begins / ended end ends | start started opened founded first starting beginning / \
until stopped ceased finished concluded closed finally over last through lasted completed to ending
starts started start / finishes finished finish | began begin / end ended until completed stopped
opens opened / closes closed | began opening / shut ended until demolished
born / buried | birth / died death grave
inside / outside | within interior inner / beyond exterior outer external
inner / outer | inside / outside
internal / external | domestic / foreign outside
north / south | northern / southern southeast southwest
northern / southern | north / south southeast southwest
east / west | eastern / western northwest southwest
eastern / western | east / west northwest southwest
northeast / southwest | /
northwest / southeast | /
major / minor | main important / small smaller lesser little
maximum / minimum | most up / least lowest
positive / negative | good / bad adverse harmful
advantage advantages / disadvantage disadvantages | benefit benefits / \
drawback problem problems expense cost costs but however although while disadvantageous
male males / female females | man men boys his he / woman women girls her she
men man / women woman | male males / female females girls
boys boy / girls girl | male / female women
father fathers / mother mothers | dad / mom parents
son sons / daughter daughters | boy / girl children
brother brothers / sister sisters | / siblings
husband husbands / wife wives | married / married
kings king / queens queen | monarch / monarch
public / private | / independent
urban / rural | city cities / country countryside village villages
modern / ancient | contemporary today / old early earlier antiquity medieval
domestic / foreign | national / international abroad
allow allows allowed / forbid forbids forbidden | permit permitted / prohibit prohibited banned ban
accept accepts accepted / reject rejects rejected | / refused denied declined
support supports supported / oppose opposes opposed | / opposition against opponents
imports imported import / exports exported export | / trade
agree agreed agrees / disagree disagreed disagrees | / dispute disputed refused
strengths strength / weaknesses weakness | strong / weak
successful / unsuccessful | success / failure failed
summer / winter | / snow
"""
# Fixed phrases, and phrases in which the word does not have this opposite.
_FIXED = frozenset(
    (
        "first name; last name; first century; first world; first lady; first person; first "
        "aid; first half; last half; first language; first hand; first degree; first class; "
        "first two; last two; first used; first and; first time; last time; first place; last "
        "place; at first; at last; at best; at worst; best known; better known; best selling; "
        "best described; long before; long after; shortly after; soon after; ever after; after "
        "all; after whom; after what; after which; before what; before which; before whom; "
        "named after; look after; looked after; modeled after; modelled after; patterned after; "
        "sought after; go after; come before; no longer; any longer; higher education; higher "
        "level; major league; major in; minor league; major general; to end; to begin; an end; "
        "the end; end up; ended up; lost in; lost to; lost during; lost at; win over; won over; "
        "closed to; most of; most part; at most; most likely; once more; any more; more or; "
        "more about; more often; western world; western europe; eastern europe; eastern "
        "orthodox; western culture; public domain; public school; public schools; public "
        "relations; public transport; private school; private schools; modern times; modern "
        "day; modern english; men and; all men; for men; for women; son of; son and; king of; "
        "opposed to; in support; support of; support for; agreed upon; after a; before a; the "
        "start"
    ).split("; ")
)
_WORD = re.compile(r"(?<![\w'’-])[a-z]+(?![\w'’-])")


class Opposite(NamedTuple):
    """The replacement of a word, and words that the paragraph must and must not contain."""

    text: str
    required: frozenset[str]
    forbidden: frozenset[str]


def _read(table: str) -> tuple[dict[str, Opposite], list[tuple[str, str]]]:
    opposites: dict[str, Opposite] = {}
    pairs: list[tuple[str, str]] = []
    for row in table.strip().splitlines():
        forms, _, others = row.partition(" | ")
        left, right = (side.split() for side in f"{forms} ".split("/"))
        more_left, more_right = (side.split() for side in f" {others} ".split("/"))
        sides = frozenset(left + more_left), frozenset(right + more_right)
        for one, other in zip(left, right, strict=True):
            pairs.append((one, other))
            opposites.setdefault(one, Opposite(other, sides[0], sides[1] - sides[0]))
            opposites.setdefault(other, Opposite(one, sides[1], sides[0] - sides[1]))
    return opposites, pairs


OPPOSITES, PAIRS = _read(_TABLE)


def replace_by_opposite(question: str, passage: Passage, rng: random.Random) -> Piece | None:
    """The replacement of one word by its opposite, or None.

    The paragraph must contain the word or a synonym: otherwise it may express the opposite in
    other words.
    """
    found = [match for match in _WORD.finditer(question) if match[0] in OPPOSITES]
    asked = set(_WORD.findall(question))
    rng.shuffle(found)
    for match in found:
        opposite = OPPOSITES[match[0]]
        if (
            match.start() > 0
            and _reads_well(question, match)
            and passage.words & opposite.required
            and not (passage.words | asked) & opposite.forbidden
            and opposite.text not in passage.words
        ):
            return Piece(match.start(), match.end(), opposite.text)
    return None


# Contexts in which a word has its opposite; not in "most people", "Kanye west", "won attention".
_OBJECT = r" (?:the|an?|his|her|their|its)\b"
_PLACES = re.compile(
    r"(?:the|to|of|from|far) (?:north|south|east|west)\b"
    r"|(?:north|south|east|west) (?:of|side|coast|bank|end|part|entrance|border|wall|wing)\b"
)
_CONTESTS = re.compile(rf"(?:wins?|won|loses?|lost){_OBJECT}(?! (?:war|battle)\b)")
_SIDES = re.compile(rf"(?:support|oppose)s?(?:\?|{_OBJECT})|(?:support|oppos)ed{_OBJECT}")
_TURNS = re.compile(r"(?<!was )(?<!were )(?<!is )(?:began|ended)\b")
_ONLY = {
    **dict.fromkeys(("north", "south", "east", "west"), _PLACES),
    **dict.fromkeys(("before", "after"), re.compile(r"(?:before|after) \w")),
    **dict.fromkeys(("win", "wins", "won", "lose", "loses", "lost"), _CONTESTS),
    **dict.fromkeys(("support", "supports", "supported", "oppose", "opposes", "opposed"), _SIDES),
    **dict.fromkeys(("began", "ended"), _TURNS),
    **dict.fromkeys(("begin", "end"), re.compile(r"(?:did|does|do) (?:\S+ ){1,6}(?:begin|end)\b")),
    "start": re.compile(r"(?:did|does|do) (?:\S+ ){1,6}start\b(?! to\b)"),
    "started": re.compile(r"started\b(?! (?:to|by|with)\b)"),
    "last": re.compile(
        r"last (?!\d|few|several|two|three|five|ten|fifty|year|decade|century|month)"
    ),
    "most": re.compile(r"\bthe most (?!of\b)"),
    "least": re.compile(r"\bthe least "),
    # Only countable nouns take "fewer".
    "more": re.compile(r"more (?:than \d|people\b|(?!\w+(?:ou|s)s\b)\w+s\b)"),
    "fewer": re.compile(r"fewer "),
}


def _reads_well(question: str, match: re.Match[str]) -> bool:
    only = _ONLY.get(match[0])
    if only is not None and not any(
        found.start() <= match.start() < found.end() for found in only.finditer(question)
    ):
        return False
    if question.count('"', 0, match.start()) % 2:  # quotations stay unchanged
        return False
    before = question[: match.start()].casefold().split()[-1:]
    after = re.findall(r"^ ([\w]+)", question[match.end() :].casefold())
    pairs = {f"{word} {match[0]}" for word in before} | {f"{match[0]} {word}" for word in after}
    return not pairs & _FIXED
