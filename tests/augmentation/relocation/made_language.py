"""A made-up language with a translator of known alignment: the tests' independent reference.

Every word has one translation, with an ending that depends on its sentence. An adjective moves
behind its noun. Names and numbers are copied. Brackets are words, which nothing moves across;
guillemets are white space, and words move across them.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from readlet.augmentation.translation.types import Range, SentencePair, TranslatedText

NOUNS = ("lamp", "river", "king", "letter", "bridge")
ADJECTIVES = ("green", "ancient", "broken")
OTHERS = ("saw", "carried", "under", "before", "nobody", "Ada", "Oslo", "1905", "24")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_SENTENCE = re.compile(r"[^.]+\.")


def word(text: str, plural: bool = False) -> str:
    if not text.islower():
        return text
    stem = text[::-1].translate(str.maketrans("aeiou", "eioua"))
    return f"{stem}{'ari' if plural else 'ar'}"


def moved(tokens: Sequence[str]) -> list[int]:
    """The places in the source of the words of the translation, in their new order."""
    order = list(range(len(tokens)))
    solid = [n for n in order if tokens[n] not in "«»"]
    for first, second in pairwise(solid):
        if tokens[first] in ADJECTIVES and tokens[second] in NOUNS:
            order[first], order[second] = order[second], order[first]
    return order


def sentence(text: str) -> str:
    """The translation of one sentence or phrase."""
    tokens = _TOKEN.findall(text)
    plural = sum(token.isalnum() for token in tokens) % 2 == 0
    words = [word(tokens[place], plural) for place in moved(tokens)]
    spaced = re.sub(r" ([.\]»])", r"\1", " ".join(words))
    spaced = re.sub(r"([\[«]) ", r"\1", spaced)
    return spaced[:1].upper() + spaced[1:]


def sentences(text: str) -> list[Range]:
    return [
        (found.start() + len(found[0]) - len(found[0].lstrip()), found.end())
        for found in _SENTENCE.finditer(text)
    ]


def translated(
    text: str, ranges: Sequence[Range], translate: Callable[[str], str] = sentence
) -> TranslatedText:
    """A text whose sentences are translated one by one."""
    made, pairs, last = "", [], 0
    for start, end in ranges:
        made += text[last:start]
        target = translate(text[start:end])
        pairs.append(SentencePair((start, end), (len(made), len(made) + len(target))))
        made += target
        last = end
    return TranslatedText(text, made + text[last:], tuple(pairs))
