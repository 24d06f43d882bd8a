"""When two stages mean the same words."""

from collections.abc import Sequence

from readlet.augment.relocation.clues import WordRange
from readlet.encoding.function_words import FUNCTION_WORDS

# Articles and prepositions of one letter or two; they tell no language, so they are not there.
_SHORT_WORDS = {"en": "a an", "es": "a", "fr": "à", "it": "a", "pt": "à às"}
_LIGHT = {
    code: words | frozenset(_SHORT_WORDS.get(code, "").split())
    for code, words in FUNCTION_WORDS.items()
}
_ELISION = ("'", "’")  # l' | eau, d' | or, dell' | arte: words that end so are never content


def core(found: WordRange, words: Sequence[str], language: str) -> WordRange:
    """Without articles, prepositions and signs at its borders, unless it has nothing else."""
    light = _LIGHT.get(language, frozenset())
    heavy = [number for number in range(*found) if not _is_light(words[number], light)]
    return (heavy[0], heavy[-1] + 1) if heavy else found


def _is_light(word: str, light: frozenset[str]) -> bool:
    is_sign = not any(sign.isalnum() for sign in word)
    return is_sign or word.endswith(_ELISION) or word.casefold() in light


def agree(one: WordRange, other: WordRange, words: Sequence[str], language: str) -> bool:
    """The two spans are equal but for articles, prepositions and signs at their borders."""
    return core(one, words, language) == core(other, words, language)
