"""Groups of questions: by their type, by the length of the answer and of the context.

The type comes from the question word, in English, Spanish, French and German.
"""

from collections.abc import Iterable, Mapping, Sequence
from unicodedata import normalize

from readlet.encoding.words import word_spans, words
from readlet.types import Example

TYPES = ("what", "who", "when", "where", "why", "which", "how", "how many", "other")

_TYPE_OF_WORD = {
    "what": "what que qué qu quoi was",
    "who": "who whom whose quién quiénes qui wer wen wem wessen",
    "when": "when cuándo quand wann",
    "where": "where dónde adónde où wo woher wohin",
    "why": "why warum weshalb wieso pourquoi",
    "which": (
        "which cuál cuáles quel quelle quels quelles lequel laquelle "
        "welche welcher welches welchen welchem"
    ),
    "how": "how cómo comment wie",
    "how many": "cuánto cuánta cuántos cuántas combien wieviel",
}
_TYPES = {word: kind for kind, listed in _TYPE_OF_WORD.items() for word in listed.split()}
# "was" is also an English verb, and "que" a conjunction: inside a question they count only if no
# other question word follows ("The bridge was opened when?").
_WEAK = frozenset(("que", "qu", "was"))
# Pairs of words with a meaning of their own.
_PAIRS = {
    ("how", "many"): "how many",
    ("how", "much"): "how many",
    ("wie", "viele"): "how many",
    ("wie", "viel"): "how many",
    ("por", "qué"): "why",
}


def question_type(question: str) -> str:
    """The first question word decides; "In what year" is `what`, "How many" is `how many`."""
    text = normalize("NFC", question.lower())  # "qué" may have a separate combining accent
    listed = [word.rstrip("'’") for word in words(text) if word[0].isalnum()]
    fallback = "other"
    for position, word in enumerate(listed):
        pair = tuple(listed[position : position + 2])
        if pair in _PAIRS:
            return _PAIRS[pair]
        if word in _WEAK and position > 0:
            fallback = _TYPES[word]
        elif word in _TYPES:
            return _TYPES[word]
    return fallback


_ANSWER_LENGTHS = {"none": (0, 1), "1": (1, 2), "2": (2, 3), "3-4": (3, 5), "5-9": (5, 10)}
_ANSWER_LENGTHS |= {"10+": (10, 1 << 30)}
_CONTEXT_LENGTHS = {"0-99": (0, 100), "100-149": (100, 150), "150-199": (150, 200)}
_CONTEXT_LENGTHS |= {"200-299": (200, 300), "300+": (300, 1 << 30)}


def group_members(rows: Sequence[Example]) -> dict[str, dict[str, list[int]]]:
    """Rows by kind of question and by length, in words; empty groups are left out."""
    context_words = {context: len(word_spans(context)) for context in {e.context for e in rows}}
    groups: dict[str, tuple[Iterable[str], list[str]]] = {
        "question type": (TYPES, [question_type(e.question) for e in rows]),
        "answer words": (_ANSWER_LENGTHS, [_bin(_ANSWER_LENGTHS, _shortest(e)) for e in rows]),
        "context words": (
            _CONTEXT_LENGTHS,
            [_bin(_CONTEXT_LENGTHS, context_words[e.context]) for e in rows],
        ),
    }
    result: dict[str, dict[str, list[int]]] = {}
    for group, (names, member_of) in groups.items():
        for name in names:
            members = [row for row, member in enumerate(member_of) if member == name]
            if members:
                result.setdefault(group, {})[name] = members
    return result


def _shortest(example: Example) -> int:
    """Length in words of the shortest gold answer."""
    return min((len(word_spans(answer.text)) for answer in example.answers), default=0)


def _bin(bins: Mapping[str, tuple[int, int]], length: int) -> str:
    return next(name for name, (low, high) in bins.items() if low <= length < high)
