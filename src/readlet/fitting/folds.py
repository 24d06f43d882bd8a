"""Folds: contexts divided into parts by their text, so that a reader has a part it never saw."""

import hashlib
from collections.abc import Iterable

from readlet.recipe.recipe import Data
from readlet.types import Example


def digest_of(text: str) -> int:
    """A number that depends on the text only: the same in every file, process and version."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8])


def part_of(context: str, folds: int) -> int:
    """The part of a context, 0 to folds - 1."""
    return digest_of(context) % folds


def texts_in_fold(data: Data, texts: Iterable[str]) -> set[str]:
    """The texts of the part that a model with these settings is not trained on."""
    if not data.folds:
        return set()
    return {text for text in {*texts} if part_of(text, data.folds) == data.fold}


def contexts_in_fold(data: Data, examples: Iterable[Example]) -> set[str]:
    """The contexts of that part."""
    return texts_in_fold(data, (example.context for example in examples))
