"""The tokenizer of a pretrained encoder on disk, with what its network was configured with."""

from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tokenizers import Tokenizer

from readlet.storage.files import write_text
from readlet.storage.stored_files import damage_of, read_json, stored_text, write_json
from readlet.text.labels import Labels
from readlet.text.subwords import Layout, check_vocabulary, layout_from

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


def labels_of(stored: dict[str, Any]) -> tuple[Labels, bool]:
    """The labels of a classifier, and whether it reads pairs; ValueError if damaged."""
    labels, pairs = Labels.from_json(stored["labels"]), stored["pairs"]
    if not isinstance(pairs, bool):
        raise ValueError(f"pairs: {pairs!r:.40}")
    return labels, pairs


def _tokenizer_from(text: str) -> Tokenizer:
    try:
        return Tokenizer.from_str(text)
    except Exception as error:  # the Rust library raises plain exceptions
        raise ValueError(str(error)) from None
