"""The tokenizer of a pretrained encoder on disk, and the inputs of its ONNX model."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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

CONFIG, TOKENIZER = "encoder.json", "tokenizer.json"


def _save_tokenizer(
    folder: Path, encoder: SubwordEncoder | SentenceEncoder, **more: Any
) -> list[str]:
    write_text(folder / TOKENIZER, encoder.tokenizer.to_str(pretty=True))
    layout = encoder.layout._asdict()
    write_json(folder / CONFIG, {"config": encoder.config, "layout": layout} | more)
    return [TOKENIZER, CONFIG]


def _load_tokenizer(folder: Path) -> tuple[Tokenizer, Layout, dict[str, Any], dict[str, Any]]:
    """The tokenizer, its layout, the configuration of the network, and all of encoder.json."""
    with damage_of(folder / TOKENIZER):
        tokenizer = plain_tokenizer(stored_text(folder / TOKENIZER))
    with damage_of(folder / CONFIG):
        values = read_json(folder / CONFIG)
        layout, config = layout_from(values["layout"]), dict(values["config"])
        check_vocabulary(tokenizer, layout, config)
    return tokenizer, layout, config, values


@dataclass(frozen=True)
class SubwordInputs(Inputs):
    encoder: SubwordEncoder

    names = ("tokens", "types", "keep", "first", "allowed")

    def batches(self, rows: SubwordRows, batch_size: int) -> Batches[Arrays]:
        return subword_batches_of(rows, self.encoder, batch_size, only_arrays, null=self.null)

    def save(self, folder: Path) -> list[str]:
        return _save_tokenizer(folder, self.encoder)


@dataclass(frozen=True)
class SentenceInputs(Inputs):
    encoder: SentenceEncoder

    names = ("tokens", "types", "keep")

    def batches(self, rows: SentenceRows, batch_size: int) -> Batches[Arrays]:
        return sentence_batches_of(rows, self.encoder, batch_size, only_arrays)

    def save(self, folder: Path) -> list[str]:
        labels = {"labels": asdict(self.encoder.labels), "pairs": self.encoder.pairs}
        return _save_tokenizer(folder, self.encoder, **labels)


def load_subwords(folder: Path, config: dict[str, Any]) -> SubwordInputs:
    """The tokenizer of a reader and its settings; `damage_of` reports damaged files."""
    with damage_of(folder / "config.json"):
        settings = EncoderConfig.read(config)
    tokenizer, layout, of_network, _ = _load_tokenizer(folder)
    encoder = SubwordEncoder(tokenizer, layout, settings.windows, of_network)
    check_length(encoder.longest, of_network, settings.model.encoder)
    return SubwordInputs(encoder, settings)


def load_sentences(folder: Path, config: dict[str, Any]) -> SentenceInputs:
    """The same of a classifier, with its labels."""
    from readlet.models.classifier.config import ClassifierConfig
    from readlet.text.labels import Labels

    with damage_of(folder / "config.json"):
        settings = ClassifierConfig.read(config)
    tokenizer, layout, of_network, stored = _load_tokenizer(folder)
    with damage_of(folder / CONFIG):
        labels, pairs = Labels.from_json(stored["labels"]), stored["pairs"]
        if not isinstance(pairs, bool):
            raise ValueError(f"pairs: {pairs!r:.40}")
    length = settings.max_length
    encoder = SentenceEncoder(tokenizer, layout, of_network, labels, length, pairs=pairs)
    check_text_length(encoder, settings.model.encoder)
    return SentenceInputs(encoder, settings)


def check_text_length(encoder: SentenceEncoder, name: str) -> None:
    field = "data.max_length"
    check_length(encoder.longest, encoder.config, name, field=field, remedy="lower it")
