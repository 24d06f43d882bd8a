"""The words that an ONNX model reads, and its vocabulary on disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readlet.models.onnx.model import Inputs
from readlet.models.qacnn.config import QacnnConfig
from readlet.storage.stored_files import damage_of, read_json, write_json
from readlet.text.arrays import (
    PADDING,
    Arrays,
    Batches,
    shapes,
    word_batches_of,
)
from readlet.text.rows import Ints
from readlet.text.word_features import Features, Vocabulary, WordEncoder

_WORDS = "vocabulary.json"


@dataclass(frozen=True)
class WordInputs(Inputs):
    encoder: WordEncoder
    settings: QacnnConfig

    names = ("forms", "context", "question", "words", "characters", "keys", "languages")

    def batches(self, rows: Features, batch_size: int) -> Batches[Arrays]:
        tables = {
            "words": rows.form_words,
            "characters": rows.form_characters,
            "keys": rows.form_keys,
            "languages": rows.form_languages,
        }  # (F,), (F, W), (F,), (F,)

        def make(_rows: Ints, _size: int, arrays: Arrays) -> Arrays:
            last = max(arrays["context"].max(), arrays["question"].max())
            # Without padding: an ONNX model accepts any number of forms.
            return arrays | {"forms": arrays["forms"][: last + 1]} | tables

        languages = self.encoder.vocabulary.languages
        listed = shapes(self.encoder.windows, null=self.null, languages=languages)
        return word_batches_of(rows, listed, batch_size, make, null=self.null)

    def allowed(self, arrays: Arrays) -> NDArray[np.bool_]:
        words = arrays["context"][:, int(self.null) :]  # (B, Lc - null)
        kept: NDArray[np.bool_] = words != PADDING  # (B, Lc - null)
        return kept

    def save(self, folder: Path) -> list[str]:
        write_json(folder / _WORDS, self.encoder.vocabulary.to_json())
        return [_WORDS]


def load_words(folder: Path, config: dict[str, Any]) -> WordInputs:
    with damage_of(folder / "config.json"):
        settings = QacnnConfig.read(config)
    with damage_of(folder / _WORDS):
        known = Vocabulary.from_json(read_json(folder / _WORDS))
    nothing = np.zeros((0, 0), np.float32)  # the vectors are in the ONNX model
    return WordInputs(WordEncoder(known, nothing, settings.windows), settings)
