"""A small corpus and a reader that come with the package: everything works offline."""

from pathlib import Path

from readlet.errors import ReadletError

SPLITS = ("train", "dev", "test")
_READER = Path(__file__).parent / "reader"


def corpus(split: str) -> Path:
    """The bundled questions of one split, as a SQuAD 2.0 file; splits share no passages."""
    if split not in SPLITS:
        raise ReadletError(f"no split {split!r} in the bundled corpus; use one of {SPLITS}")
    return Path(__file__).parent / "corpus" / f"{split}.json"


def bundled_reader() -> Path | None:
    """The folder of the bundled reader, or None if this copy of the package has none."""
    return _READER if (_READER / "config.json").is_file() else None
