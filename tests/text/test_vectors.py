"""Word vectors: both formats, several files at once, and clear errors for bad files."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.errors import ReadletError
from readlet.text import vectors
from readlet.text.vectors import concatenate_vectors, read_vectors, write_vectors

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


@pytest.mark.parametrize("text", [GLOVE, FASTTEXT])
def test_only_the_first_words_are_read(write: Write, text: str) -> None:
    # A header may promise more words than are read: that is not an error.
    words, numbers = read_vectors(write(text + "oar 1 2\n"), 1)
    assert words == ["sea"]
    np.testing.assert_array_equal(numbers, EXPECTED[:1])


@pytest.mark.parametrize("word", ["New\u00a0York", "a b", ". . .", "x\u2003y", "\u00a0", "水", "1"])
def test_unusual_white_space_belongs_to_the_word(write: Write, word: str) -> None:
    words, numbers = read_vectors(write(f"sea 1 2 3\n{word} 4 5 6\n"), 10)
    assert words == ["sea", word]
    np.testing.assert_array_equal(numbers[1], [4, 5, 6])


def test_many_blocks_are_one_table(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_BLOCK", 3)
    text = "".join(f"w{i} {i} {i}.5\n" for i in range(10))
    words, numbers = read_vectors(write(text), 8)
    assert words == [f"w{i}" for i in range(8)]
    np.testing.assert_array_equal(numbers, [[i, i + 0.5] for i in range(8)])


@pytest.mark.parametrize(
    ("text", "place", "fault"),
    [
        ("sea 1 2 3\nship 1 2\noar 1 2 3\n", "line 2", "2 numbers instead of 3"),
        ("sea 1 2 3\nship 1 2 3 4\n", "line 2", "more than 3"),
        ("2 3\nsea 1 2 3\nship 1 2\n", "line 3", "2 numbers instead of 3"),
        ("2 3\nsea 1 2 3 4\nship 1 2 3 4\n", "line 2", "more than 3"),
        ("3 3\nsea 1 2 3\nship 1 2 3\n", "", "ends after 2 of 3 words"),
        ("1 3\nsea 1 2 3\nship 1 2 3\n", "line 3", "says 1 words, but there are more"),
        ("sea 1 2 3\nship 1 2", "line 2", "2 numbers instead of 3"),  # the last line is cut
        ("sea 1 2 3\nship 1 - 3\n", "line 2", "'-' is not a number"),
        ("2 3\nsea 1 2 3\nship 1 2 x3\n", "line 3", "'x3' is not a number"),
        ("sea 1 2 3\nship 1 nan 3\n", "line 2", "not finite"),
        ("2 3\nsea 1 2 inf\nship 1 2 3\n", "line 2", "not finite"),
        ("sea\n", "line 1", "not a word and its numbers"),
        ("0 3\n", "", "no word"),
        ("sea 1 2 3\n\nship 1 2 3\n", "line 2", "0 numbers"),
        ("", "", "empty"),
    ],
)
@pytest.mark.parametrize("block", [1, 4096])
def test_faults_are_reported_with_file_and_line(
    write: Write, monkeypatch: pytest.MonkeyPatch, block: int, text: str, place: str, fault: str
) -> None:
    monkeypatch.setattr(vectors, "_BLOCK", block)
    path = write(text)
    with pytest.raises(ReadletError) as caught:
        read_vectors(path, 100)
    message = str(caught.value)
    assert message.startswith(f"{path}: {place}: " if place else f"{path}: ")
    assert fault in message
    assert "\n" not in message


def test_a_gzip_file_that_ends_early(write: Write) -> None:
    path = write(GLOVE * 500, "vectors.gz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ReadletError, match=r"vectors\.gz.*ends early"):
        read_vectors(path, 10_000)


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


def test_one_bad_file_of_several_is_named(write: Write) -> None:
    good, bad = write(GLOVE, "good.txt"), write("sea 1 2\nship 1\n", "bad.txt")
    with pytest.raises(ReadletError, match=r"bad\.txt: line 2"):
        concatenate_vectors([good, bad], 10)


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


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    numbers = np.array([[0.5, -1e-7, 3], [1 / 3, 2e30, 0]], np.float32)
    path = tmp_path / "out.vec.gz"
    write_vectors(path, ["mar", "New\u00a0York"], [numbers[:1], numbers[1:]])
    words, found = read_vectors(path, 10)
    assert words == ["mar", "New\u00a0York"]
    np.testing.assert_allclose(found, numbers, rtol=5e-6)
    assert gzip.decompress(path.read_bytes()).startswith(b"2 3\nmar 0.5 -1e-07 3\n")
