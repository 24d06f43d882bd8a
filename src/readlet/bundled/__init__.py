"""What comes with the package, so that all works with no download: a small corpus, a reader."""

from pathlib import Path

from readlet.errors import ReadletError

SPLITS = ("train", "dev", "test")
_READER = Path(__file__).parent / "reader"


def corpus(split: str) -> Path:
    """The bundled questions of one split, as a SQuAD 2.0 file; passages never cross splits."""
    if split not in SPLITS:
        raise ReadletError(f"no split {split!r} in the bundled corpus; use one of {SPLITS}")
    return Path(__file__).parent / "corpus" / f"{split}.json"


def bundled_reader() -> Path | None:
    """The folder of the trained reader, or None in a copy of the package without one."""
    return _READER if (_READER / "config.json").is_file() else None
