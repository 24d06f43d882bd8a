"""Vectors of several languages in one space, as the rows of a vocabulary."""

from pathlib import Path

import numpy as np
import pytest

from readlet.errors import ReadletError
from readlet.text.vectors import word_vectors

MERGED = "en:the 1 0\nes:el 0 1\nde:der 5 5\nen:me 2 0\nes:me 0 2\nen:rare 3 0\n"


@pytest.fixture
def merged(tmp_path: Path) -> Path:
    path = tmp_path / "merged.vec"
    path.write_text(MERGED)
    return path


def test_words_of_the_chosen_languages(merged: Path) -> None:
    words, vectors = word_vectors([merged], 100, ("es", "en"))
    assert words == ["en:the", "es:el", "en:me", "es:me", "en:rare"]
    assert vectors.dtype == np.float32
    assert vectors.std() == pytest.approx(0.4)  # whatever the length of the vectors is
    wanted = np.array([[1, 0], [0, 1], [2, 0], [0, 2], [3, 0]])
    np.testing.assert_allclose(vectors, wanted * vectors[0, 0], rtol=1e-6)


def test_published_files_are_put_together_by_rank(tmp_path: Path) -> None:
    (tmp_path / "wiki.en.align.vec").write_text("3 2\nthe 1 0\nme 2 0\nrare 3 0\n")
    (tmp_path / "wiki.es.align.vec").write_text("2 2\nel 0 1\nme 0 2\n")
    paths = [tmp_path / f"wiki.{code}.align.vec" for code in ("en", "es")]
    words, vectors = word_vectors(paths, 4, ("en", "es"))
    assert words == ["en:the", "es:el", "en:me", "es:me"]  # the limit cuts off rare words
    wanted = np.array([[1, 0], [0, 1], [2, 0], [0, 2]])
    np.testing.assert_allclose(vectors, wanted * vectors[0, 0], rtol=1e-6)


def test_words_without_a_language_serve_for_all(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("the 1 0\nriver 2 0\n")
    assert word_vectors([tmp_path / "glove.txt"], 9, ("fr",))[0] == ["the", "river"]


def test_faults(merged: Path, tmp_path: Path) -> None:
    with pytest.raises(ReadletError, match=r"no vectors for 'fr' in these files; leave it out"):
        word_vectors([merged], 100, ("en", "fr"))
    with pytest.raises(ReadletError, match=r"merged.vec: has words behind their language .*en,es"):
        word_vectors([merged], 100, ())
    wide = tmp_path / "wide.vec"
    wide.write_text("en:the 1 0 0\n")
    with pytest.raises(ReadletError, match=r"wide.vec: 3 numbers for a word, but 2 in "):
        word_vectors([merged, wide], 100, ("en",))
