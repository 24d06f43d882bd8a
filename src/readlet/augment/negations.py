"""Insert a "not" into a question where the result reads naturally."""

import re

from readlet.augment.passages import Passage
from readlet.augment.pieces import Piece

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
    "not no never nor neither none nothing without except excluding unlike only t cannot refused "
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
