"""The encoder of word models: a vocabulary with its vectors, and the windows of long texts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from readlet.encoding.cache import Stored
from readlet.encoding.features import Features, Spans, encode, split_words
from readlet.encoding.remembered import Remembered
from readlet.encoding.vectors import Matrix
from readlet.encoding.vocabulary import Vocabulary
from readlet.encoding.windows import Windows
from readlet.types import Example


@dataclass(frozen=True)
class WordEncoder:
    vocabulary: Vocabulary
    vectors: Matrix  # (rows, width) frozen vectors, zeros for words with trainable ones
    windows: Windows
    split: Remembered[tuple[str, str], Spans] = field(
        default_factory=lambda: Remembered(split_words, lambda text: len(text[0])),
        compare=False,
        repr=False,
    )

    def encode(self, examples: Sequence[Example]) -> Features:
        return encode(examples, self.vocabulary, self.windows, self.split)

    def stored(self) -> Stored:
        return {"vectors": self.vectors}, self.vocabulary.to_json()

    def cut(self) -> dict[str, Any]:
        return asdict(self.windows)

    @classmethod
    def from_stored(cls, stored: Stored, windows: Windows) -> "WordEncoder":
        arrays, listed = stored
        return cls(Vocabulary.from_json(listed), np.asarray(arrays["vectors"]), windows)
