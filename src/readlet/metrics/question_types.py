"""The type of a question, from its question word: in English, Spanish, French and German."""

from unicodedata import normalize

from readlet.encoding.words import words

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
