"""The tokenizer of a pretrained encoder on disk, and the inputs of its ONNX model."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tokenizers import Tokenizer

from readlet.models.encoder.config import EncoderConfig
from readlet.models.onnx.model import Inputs
from readlet.storage.files import write_text
from readlet.storage.stored_files import damage_of, read_json, stored_text, write_json
from readlet.text.arrays import (
    Arrays,
    Batches,
    check_length,
    only_arrays,
    sentence_batches_of,
    subword_batches_of,
)
from readlet.text.subwords import (
    Layout,
    SentenceEncoder,
    SentenceRows,
    SubwordEncoder,
    SubwordRows,
    check_vocabulary,
    layout_from,
    plain_tokenizer,
)

if TYPE_CHECKING:
    from readlet.text.labels import Labels

CONFIG, TOKENIZER = "encoder.json", "tokenizer.json"


class TokenizerOfNetwork(Protocol):
    """An encoder of texts for a pretrained network."""

    tokenizer: Tokenizer
    layout: Layout
    config: dict[str, Any]


class StoredTokenizer(NamedTuple):
    tokenizer: Tokenizer
    layout: Layout
    config: dict[str, Any]  # of the network
    more: dict[str, Any]  # of encoder.json


def save_tokenizer(folder: Path, encoder: TokenizerOfNetwork, **more: Any) -> list[str]:
    """Write tokenizer and configuration; return the names of the files."""
    write_text(folder / TOKENIZER, encoder.tokenizer.to_str(pretty=True))
    layout = encoder.layout._asdict()
    write_json(folder / CONFIG, {"config": encoder.config, "layout": layout} | more)
    return [TOKENIZER, CONFIG]


def load_tokenizer(folder: Path) -> StoredTokenizer:
    """Read them; `damage_of` reports damaged files."""
    with damage_of(folder / TOKENIZER):
        tokenizer = _tokenizer_from(stored_text(folder / TOKENIZER))
    with damage_of(folder / CONFIG):
        values = read_json(folder / CONFIG)
        layout, config = layout_from(values["layout"]), dict(values["config"])
        check_vocabulary(tokenizer, layout, config)
    return StoredTokenizer(tokenizer, layout, config, values)


def labels_of(stored: dict[str, Any]) -> "tuple[Labels, bool]":
    """The labels of a classifier, and whether it reads pairs; ValueError if damaged."""
    from readlet.text.labels import Labels

    labels, pairs = Labels.from_json(stored["labels"]), stored["pairs"]
    if not isinstance(pairs, bool):
        raise ValueError(f"pairs: {pairs!r:.40}")
    return labels, pairs


def _tokenizer_from(text: str) -> Tokenizer:
    try:
        return plain_tokenizer(text)
    except Exception as error:  # the Rust library raises plain exceptions
        raise ValueError(str(error)) from None


@dataclass(frozen=True)
class SubwordInputs(Inputs):
    encoder: SubwordEncoder

    names = ("tokens", "types", "keep", "first", "allowed")

    def batches(self, rows: SubwordRows, batch_size: int) -> Batches[Arrays]:
        return subword_batches_of(rows, self.encoder, batch_size, only_arrays, null=self.null)

    def save(self, folder: Path) -> list[str]:
        return save_tokenizer(folder, self.encoder)


@dataclass(frozen=True)
class SentenceInputs(Inputs):
    encoder: SentenceEncoder

    names = ("tokens", "types", "keep")

    def batches(self, rows: SentenceRows, batch_size: int) -> Batches[Arrays]:
        return sentence_batches_of(rows, self.encoder, batch_size, only_arrays)

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
