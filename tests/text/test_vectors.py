"""Word vectors in files, of one language and of several in one space."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.errors import InputError, ReadletError
from readlet.text import vectors
from readlet.text.vectors import (
    ANY,
    concatenate_vectors,
    joined,
    read_multilingual,
    read_vectors,
    word_vectors,
)

GLOVE = "sea 0.5 -1 2e-1\nship 1 2 3\n"
FASTTEXT = "2 3\nsea 0.5 -1 2e-1 \nship 1 2 3 \n"  # fastText ends its lines with a space
EXPECTED = np.array([[0.5, -1, 0.2], [1, 2, 3]], np.float32)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def file(text: str, name: str = "vectors.txt") -> Path:
        path = tmp_path / name
        content = text.encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return file


@pytest.mark.parametrize("text", [GLOVE, FASTTEXT, GLOVE.rstrip(), FASTTEXT.rstrip()])
@pytest.mark.parametrize("name", ["vectors.txt", "vectors.vec.gz"])
def test_both_kinds_plain_and_gzip(write: Write, text: str, name: str) -> None:
    words, numbers = read_vectors(write(text, name), 10)
    assert words == ["sea", "ship"]
    assert numbers.dtype == np.float32
    np.testing.assert_array_equal(numbers, EXPECTED)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("sea 1 2 3\nship 1 2\noar 1 2 3\n", "line 2"),
        ("sea 1 2 3\nship 1 2 3 -4\n", "line 2"),
        ("2 3\nsea 1 2 3\nship 1 2\n", "line 3"),
        ("2 3\nsea 1 2 3 4e-05\nship 1 2 3 4\n", "line 2"),
        ("3 3\nsea 1 2 3\nship 1 2 3\n", ""),
        ("sea 1 2 3\nship 1 2", "line 2"),  # the last line is cut
        ("sea 1 2 3\nship 1 - 3\n", "line 2"),
        ("2 3\nsea 1 2 3\nship 1 2 x3\n", "line 3"),
        ("sea 1 2 3\nship 1 nan 3\n", "line 2"),
        ("2 3\nsea 1 2 inf\nship 1 2 3\n", "line 2"),
        ("sea\n", "line 1"),
        ("0 3\n", ""),
        ("sea 1 2 3\n\nship 1 2 3\n", "line 2"),
        ("", ""),
    ],
)
@pytest.mark.parametrize("block", [1, 4096])
def test_faults_are_reported_with_file_and_line(
    write: Write, monkeypatch: pytest.MonkeyPatch, block: int, text: str, place: str
) -> None:
    monkeypatch.setattr(vectors, "_BLOCK", block)
    path = write(text)
    with pytest.raises(InputError) as caught:
        read_vectors(path, 100)
    assert (caught.value.source, caught.value.place) == (path, place)


def test_vectors_of_several_files_are_concatenated(write: Write) -> None:
    first = write("sea 1 2\nship 3 4\n", "a.txt")
    second = write("2 3\nship 5 6 7\noar 8 9 10\n", "b.vec.gz")
    words, numbers = concatenate_vectors([first, second], 10)
    assert words == ["sea", "ship", "oar"]
    np.testing.assert_array_equal(numbers, [[1, 2, 0, 0, 0], [3, 4, 5, 6, 7], [0, 0, 8, 9, 10]])


def test_the_frequent_words_of_every_file_are_kept(write: Write) -> None:
    first = write("sea 1 2\nship 3 4\nhull 5 5\n", "a.txt")
    second = write("oar 8 9\nhull 1 1\nmast 2 2\n", "b.txt")
    words, numbers = concatenate_vectors([first, second], 3)
    assert words == ["sea", "oar", "ship"]
    np.testing.assert_array_equal(numbers, [[1, 2, 0, 0], [0, 0, 8, 9], [3, 4, 0, 0]])
    assert concatenate_vectors([first, second], 9)[0] == ["sea", "oar", "ship", "hull", "mast"]


@given(
    table=st.dictionaries(
        st.text(st.characters(blacklist_characters="\n", blacklist_categories=["Cs", "Nd"]))
        .map(lambda word: f"w{word}")
        .filter(lambda word: " " not in word and not word.endswith("\ufeff")),
        st.lists(
            st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=2, max_size=2
        ),
        min_size=1,
        max_size=6,
    ),
    header=st.booleans(),
)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, table: dict[str, list[float]], header: bool
) -> None:
    lines = [f"{word} {' '.join(map(repr, numbers))}" for word, numbers in table.items()]
    path = tmp_path_factory.mktemp("vectors") / "any.txt"
    text = "\n".join([f"{len(table)} 2", *lines] if header else lines)
    path.write_bytes(text.encode())
    words, numbers = read_vectors(path, 100)
    assert words == list(table)
    np.testing.assert_array_equal(numbers, np.array(list(table.values()), np.float32))


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
    with pytest.raises(ReadletError, match=f"word 2: '{word}' has no language prefix"):
        read_multilingual(path, 10)


def test_published_files_have_their_language_in_their_name(tmp_path: Path) -> None:
    path = tmp_path / "wiki.es.align.vec"
    path.write_text("1 2\nen:mar 1 2\n")
    assert read_multilingual(path, 10)[0] == [("es", "en:mar")]
    unknown = path.rename(tmp_path / "wiki.qq.align.vec")
    with pytest.raises(ReadletError, match="unknown language 'qq'"):
        read_multilingual(unknown, 10)


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
    with pytest.raises(ReadletError, match=r"merged.vec: has words with language prefixes .*en,es"):
        word_vectors([merged], 100, ())
    wide = tmp_path / "wide.vec"
    wide.write_text("en:the 1 0 0\n")
    with pytest.raises(ReadletError, match=r"wide.vec: 3 numbers for a word, but 2 in "):
        word_vectors([merged, wide], 100, ("en",))
