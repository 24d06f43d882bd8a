"""(language, word) pairs from merged, published and plain files."""

from pathlib import Path

import numpy as np
import pytest

from readlet.errors import ReadletError
from readlet.text.vectors import ANY, joined, published_file, read_multilingual


def test_a_merged_file(tmp_path: Path) -> None:
    path = tmp_path / "all.vec"
    path.write_text("3 2\nes:mar 1 2\nen:10:30 3 4\nfr:en:x 5 6\n")
    pairs, vectors = read_multilingual(path, 10)
    assert pairs == [("es", "mar"), ("en", "10:30"), ("fr", "en:x")]
    assert [joined(*pair) for pair in pairs] == ["es:mar", "en:10:30", "fr:en:x"]
    np.testing.assert_array_equal(vectors, [[1, 2], [3, 4], [5, 6]])
    assert read_multilingual(path, 1)[0] == [("es", "mar")]


def test_a_plain_file_names_no_language(tmp_path: Path) -> None:
    """Even if one of its words looks as if it did."""
    path = tmp_path / "glove.txt"
    path.write_text("the 1 2\nes:mar 3 4\n: 5 6\n")
    assert read_multilingual(path, 10)[0] == [(ANY, "the"), (ANY, "es:mar"), (ANY, ":")]


@pytest.mark.parametrize("word", ["mar", "qq:mar", ":mar", "es:"])
def test_a_merged_file_names_all_languages(tmp_path: Path, word: str) -> None:
    path = tmp_path / "all.vec"
    path.write_text(f"es:sol 1 2\n{word} 3 4\n")
    with pytest.raises(ReadletError, match=f"word 2: '{word}' is not behind a language"):
        read_multilingual(path, 10)


def test_published_files_have_their_language_in_their_name(tmp_path: Path) -> None:
    path = tmp_path / "wiki.es.align.vec"
    path.write_text("1 2\nen:mar 1 2\n")
    assert read_multilingual(path, 10)[0] == [("es", "en:mar")]
    assert published_file(tmp_path, "es") == path
    with pytest.raises(ReadletError, match=r"there is no wiki\.de\.align\.vec"):
        published_file(tmp_path, "de")
    unknown = path.rename(tmp_path / "wiki.qq.align.vec")
    with pytest.raises(ReadletError, match="unknown language 'qq'"):
        read_multilingual(unknown, 10)
