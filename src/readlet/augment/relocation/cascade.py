"""The stages in order, and what is kept of what they find."""

from collections.abc import Callable

from readlet.augment.relocation.types import Keep, Relocated
from readlet.translation.types import TranslatedText
from readlet.types import Example


def relocate(
    example: Example, context: TranslatedText, translate: Callable[[str], str], keep: Keep
) -> Relocated:
    """The answers of a question, plausible ones too, in the translation of its context.

    `translate` gives the translation of each of the example's `clue_texts` along the same route.
    """
    raise NotImplementedError
