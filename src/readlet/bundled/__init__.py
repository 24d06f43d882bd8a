"""What comes with the package: a small corpus, so that everything works with no download."""

from pathlib import Path

from readlet.errors import ReadletError

SPLITS = ("train", "dev", "test")


def corpus(split: str) -> Path:
    """The bundled questions of one split, as a SQuAD 2.0 file; passages never cross splits."""
    if split not in SPLITS:
        raise ReadletError(f"no split {split!r} in the bundled corpus; use one of {SPLITS}")
    return Path(__file__).parent / "corpus" / f"{split}.json"
