"""The texts that are translated to find an answer again: marked sentences, the answer, its words."""

from collections.abc import Iterator, Sequence

from readlet.translation.types import Range
from readlet.types import Example


def clue_texts(example: Example, sentences: Sequence[Range]) -> Iterator[str]:
    """All texts besides the context that `relocate` will ask for; some may be repeated.

    `sentences` are those of the context, as in its `TranslatedText`.
    """
    raise NotImplementedError
