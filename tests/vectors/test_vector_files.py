"""Alignment from files to files: tables, dictionaries, merged languages, and their faults."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import ortho_group
from torch.nn.functional import normalize

from readlet.errors import ReadletError
from readlet.text.vectors import read_multilingual, read_vectors, write_vectors
from readlet.vectors.alignment import align_files, check_files
from readlet.vectors.vector_files import (
    find_pairs,
    merge_files,
    parse_part,
    read_dictionary,
    read_table,
)

Write = Callable[[str, str], Path]
WORDS, WIDTH = 60, 6


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    return file


@pytest.fixture
def languages(tmp_path: Path) -> tuple[Path, Path, Path, Path]:
    """A language, a rotation of it, and dictionaries to learn from and to check by."""
    numbers = torch.randn(WORDS, WIDTH) * 3
    rotation = torch.from_numpy(ortho_group.rvs(WIDTH, random_state=0)).float()
    source, target = tmp_path / "es.vec", tmp_path / "en.vec"
    write_vectors(source, [f"s{n}" for n in range(WORDS)], [numbers.numpy()])
    write_vectors(target, [f"t{n}" for n in range(WORDS)], [(numbers @ rotation).numpy()])
    known, unseen = tmp_path / "train.tsv", tmp_path / "test.tsv"
    known.write_text("".join(f"s{n}\tt{n}\n" for n in range(30)))
    unseen.write_text("".join(f"s{n} t{n}\n" for n in range(30, WORDS)) + "s1 nil\nnil t1\nno no\n")
    return source, target, known, unseen


def test_a_table_has_distinct_words_and_unit_length(write: Write) -> None:
    path = write("a.txt", "sea 3 4\nship 0 0\nsea 1 0\nbig 3e38 3e38\n")
    table = read_table(path)
    assert table.words == ["sea", "ship", "big"]
    assert (table.repeated, table.zeros) == (1, 1)
    expected = [[0.6, 0.8], [0, 0], [0.5**0.5, 0.5**0.5]]
    np.testing.assert_allclose(table.vectors.numpy(), expected, rtol=1e-6)
    assert read_table(path, 2).words == ["sea", "ship"]
    mapped = torch.cat(list(table.mapped(torch.tensor([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]))))
    torch.testing.assert_close(mapped[0], normalize(torch.tensor([1.6, 0.6, 0.0]), dim=0))


def test_dictionaries(write: Write) -> None:
    path = write("d.txt", "casa house\ncasa\thome\nmar  sea\n\ncasa house\nde nada\tnot at all\n")
    expected = [("casa", "house"), ("casa", "home"), ("mar", "sea"), ("de nada", "not at all")]
    assert read_dictionary(path) == expected
    with pytest.raises(ReadletError, match=r"d\.txt: line 2: 3 words instead of a word and its"):
        read_dictionary(write("d.txt", "casa house\nde nada nothing\n"))


def test_words_without_a_vector_are_counted(write: Write) -> None:
    source, target = read_table(write("a", "a 1 2\nb 3 4\n")), read_table(write("b", "x 1 2\n"))
    found = find_pairs(write("d", "a x\nb y\nc x\nd z\ne z\n"), source, target)
    assert (len(found), found.listed) == (1, 5)
    with pytest.raises(ReadletError, match="none of its 1 pairs has a vector in both files"):
        find_pairs(write("d", "x a\n"), source, target)


@pytest.mark.parametrize("method", ["procrustes", "rcsls"])
def test_an_alignment_finds_unseen_translations(
    tmp_path: Path, languages: tuple[Path, Path, Path, Path], method: str
) -> None:
    source, target, known, unseen = languages
    out = tmp_path / "aligned.vec.gz"
    made = align_files(source, target, known, out, method=method)  # type: ignore[arg-type]
    assert made.undetermined == 0
    words, vectors = read_vectors(out, 100)
    assert words == [f"s{n}" for n in range(WORDS)]
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    checked = check_files(out, target, unseen)
    assert checked.asked == 30
    if method == "procrustes":
        expected = {"nearest": {1: 1.0, 5: 1.0}, "csls": {1: 1.0, 5: 1.0}}
        assert checked.precision == expected
    else:
        assert checked.precision["csls"][1] > 0.9


def test_languages_take_turns_in_a_merged_file(write: Write, tmp_path: Path) -> None:
    spanish = write("a.vec", "3 2\nde 2 0\n10:30 0 5\nmar 1 1\n")
    english = write("b.vec", "the 0 1\nde 1 0\n")
    out = tmp_path / "both.vec"
    tables = merge_files([("es", spanish), ("en", english)], out)
    assert [len(table) for table in tables.values()] == [3, 2]
    pairs, vectors = read_multilingual(out, 10)
    assert pairs == [("es", "de"), ("en", "the"), ("es", "10:30"), ("en", "de"), ("es", "mar")]
    half = 0.5**0.5
    expected = [[1, 0], [0, 1], [0, 1], [1, 0], [half, half]]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    # Still a file of vectors like any other.
    assert read_vectors(out, 2)[0] == ["es:de", "en:the"]


def test_parts_of_a_merged_file(write: Write, tmp_path: Path) -> None:
    spanish = write("b.vec", "1 2\nmar 1 2\n")
    assert parse_part(f"es={spanish}") == ("es", spanish)
    for wrong in (f"qq={spanish}", "b.vec", "es"):
        with pytest.raises(ReadletError, match=wrong):
            parse_part(wrong)
    with pytest.raises(ReadletError, match="a language is given twice"):
        merge_files([("es", spanish), ("es", spanish)], tmp_path / "out")
