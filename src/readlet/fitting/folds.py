"""Folds: contexts divided into parts by their text, so that a reader has a part it never saw."""

import hashlib
from collections.abc import Iterable

from readlet.recipe.recipe import Data
from readlet.types import Example


def part_of(context: str, folds: int) -> int:
    """The part of a context, 0 to folds - 1: the same in every file, process and version."""
    digest = hashlib.sha256(context.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) % folds


def contexts_in_fold(data: Data, examples: Iterable[Example]) -> set[str]:
    """The contexts of the part that a reader with these settings is not trained on."""
    if not data.folds:
        return set()
    contexts = {example.context for example in examples}
    return {context for context in contexts if part_of(context, data.folds) == data.fold}
