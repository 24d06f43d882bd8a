"""A small corpus and a reader that come with the package: everything works offline."""

from pathlib import Path

from readlet.errors import ReadletError

SPLITS = ("train", "dev", "test")
"""Of the bundled questions."""
KINDS = ("kinds-train", "kinds-dev", "kinds-test")
"""English questions on other domains: tables, lists, notes, contracts, manuals, reviews.

An article's title begins with its domain, as in "table: Ferry timetable". Where half
of the questions are near misses without an answer, their ids end with what is missed: "-07-row".
All of `kinds-test` is of this sort, in other styles; nothing is trained or calibrated with it.
"""
REVIEWS = ("reviews-train", "reviews-dev")
"""Short synthetic reviews with the labels good and bad, to try classifiers."""
NAMES = (*SPLITS, *KINDS, *REVIEWS)
"""All names that `corpus` accepts."""
_READER = Path(__file__).parent / "reader"


def corpus(split: str) -> Path:
    """The bundled questions of one split, as a SQuAD 2.0 file, or the reviews as a TSV file.

    Splits share no passages, and no reviews.
    """
    if split not in NAMES:
        raise ReadletError(f"no split {split!r} in the bundled corpus; use one of {NAMES}")
    suffix = "tsv" if split in REVIEWS else "json"
    return Path(__file__).parent / "corpus" / f"{split}.{suffix}"


def bundled_reader() -> Path:
    """The folder of the bundled reader."""
    return _READER
