"""When two stages mean the same words."""

from collections.abc import Sequence

from readlet.augment.relocation.clues import WordRange
from readlet.encoding.function_words import FUNCTION_WORDS


def core(found: WordRange, words: Sequence[str], language: str) -> WordRange:
    """Without articles, prepositions and signs at its borders, unless it has nothing else."""
    light = FUNCTION_WORDS.get(language, frozenset())
    heavy = [
        number
        for number in range(*found)
        if words[number].casefold() not in light and any(sign.isalnum() for sign in words[number])
    ]
    return (heavy[0], heavy[-1] + 1) if heavy else found


def agree(one: WordRange, other: WordRange, words: Sequence[str], language: str) -> bool:
    """The two spans are equal but for articles, prepositions and signs at their borders."""
    return core(one, words, language) == core(other, words, language)
