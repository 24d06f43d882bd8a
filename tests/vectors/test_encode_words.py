"""Files of word vectors that an encoder makes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from readlet.errors import ReadletError
from readlet.text.vectors import read_vectors
from readlet.vectors.encode_words import encode_words


def test_a_file_with_the_words_of_all_files(
    tiny_encoder: Callable[..., Path], tmp_path: Path
) -> None:
    one, two, out = (tmp_path / name for name in ("one.txt", "two.txt", "out.vec"))
    one.write_text("lamp 1 2\nsea 1 3\n")
    two.write_text("sea 1 2 3\nharbour 1 3 4\nkeeper 0 0 1\n")
    count, kept = encode_words(str(tiny_encoder("bert")), [one, two], out, width=3)
    words, vectors = read_vectors(out, 100)
    assert (count, words) == (4, ["lamp", "sea", "harbour", "keeper"])
    assert vectors.shape == (4, 3)
    assert 0.5 < kept <= 1.0
    with pytest.raises(ReadletError, match=r"gives 16 numbers .* give at most 4"):
        encode_words(str(tiny_encoder("bert")), [one, two], tmp_path / "wide.vec", width=5)
    with pytest.raises(ReadletError, match="exists"):
        encode_words(str(tiny_encoder("bert")), [one, two], out, width=3)
