"""The subwords that an ONNX model reads, of questions or of texts; its tokenizer on disk."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from readlet.models.encoder.config import EncoderConfig
from readlet.models.onnx.model import Inputs
from readlet.models.pretrained.tokenizer_files import (
    CONFIG,
    labels_of,
    load_tokenizer,
    save_tokenizer,
)
from readlet.storage.stored_files import damage_of
from readlet.text.arrays import (
    Arrays,
    Batches,
    Shape,
    check_length,
    sentence_arrays,
    sentence_batches_of,
    subword_arrays,
    subword_batches_of,
)
from readlet.text.rows import Ints
from readlet.text.subwords import SentenceEncoder, SentenceRows, SubwordEncoder, SubwordRows


@dataclass(frozen=True)
class SubwordInputs(Inputs):
    encoder: SubwordEncoder

    names = ("tokens", "types", "keep", "first", "allowed")

    def batches(self, rows: SubwordRows, batch_size: int) -> Batches[Arrays]:
        def collate(shape: Shape, numbers: Ints, size: int) -> Arrays:
            return subword_arrays(rows, self.encoder.layout, shape, numbers, size)

        return subword_batches_of(rows, self.encoder, batch_size, collate, null=self.null)

    def save(self, folder: Path) -> list[str]:
        return save_tokenizer(folder, self.encoder)


@dataclass(frozen=True)
class SentenceInputs(Inputs):
    encoder: SentenceEncoder

    names = ("tokens", "types", "keep")

    def batches(self, rows: SentenceRows, batch_size: int) -> Batches[Arrays]:
        def collate(shape: Shape, numbers: Ints, size: int) -> Arrays:
            return sentence_arrays(rows, self.encoder.layout, shape, numbers, size)

        return sentence_batches_of(rows, self.encoder, batch_size, collate)

    def save(self, folder: Path) -> list[str]:
        labels = {"labels": asdict(self.encoder.labels), "pairs": self.encoder.pairs}
        return save_tokenizer(folder, self.encoder, **labels)


def load_subwords(folder: Path, config: dict[str, Any]) -> SubwordInputs:
    with damage_of(folder / "config.json"):
        settings = EncoderConfig.read(config)
    stored = load_tokenizer(folder)
    encoder = SubwordEncoder(stored.tokenizer, stored.layout, settings.windows, stored.config)
    check_length(encoder.longest, stored.config, settings.model.encoder)
    return SubwordInputs(encoder, settings)


def load_sentences(folder: Path, config: dict[str, Any]) -> SentenceInputs:
    from readlet.models.classifier.config import ClassifierConfig

    with damage_of(folder / "config.json"):
        settings = ClassifierConfig.read(config)
    stored = load_tokenizer(folder)
    with damage_of(folder / CONFIG):
        labels, pairs = labels_of(stored.more)
        length = settings.max_length
        encoder = SentenceEncoder(
            stored.tokenizer, stored.layout, stored.config, labels, length, pairs=pairs
        )
        check_length(encoder.longest, stored.config, settings.model.encoder)
    return SentenceInputs(encoder, settings)
