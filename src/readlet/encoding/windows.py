"""Windows: how a long context is cut into pieces of the model's input length."""

from collections.abc import Iterable
from dataclasses import dataclass

from readlet.encoding.words import UNSPACED

# In scripts without spaces every character is a word: about as many make up a word of others.
_CHARACTERS_OF_WORD = 4


@dataclass(frozen=True)
class Windows:
    """The sizes of windows, in words."""

    max_context: int
    overlap: int
    max_question: int

    def starts(self, length: int) -> range:
        """The first word of each window; together they cover all of `length` words."""
        step = self.max_context - self.overlap
        beyond = max(length - self.max_context, 0)
        return range(0, beyond + step if beyond else 1, step)

    def longest_question(self, languages: Iterable[str]) -> int:
        """The most words of a question in one of these languages."""
        is_finer = not UNSPACED.isdisjoint(languages)
        return self.max_question * (_CHARACTERS_OF_WORD if is_finer else 1)
