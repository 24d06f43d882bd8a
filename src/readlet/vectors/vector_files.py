"""Vectors of several languages on disk: tables, dictionaries between them, one merged file.

Vectors have unit length, and are mapped into memory.
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from readlet.console import track
from readlet.errors import ReadletError, bad_input
from readlet.storage.files import text_lines
from readlet.storage.overwrite import check_file
from readlet.text.languages import check_language
from readlet.text.vectors import (
    Matrix,
    joined,
    vector_blocks,
    write_vectors,
)

MAX_WORDS = 200_000
"""Words that are read of a file by default: as many as papers on alignment use."""
BLOCK = 4096  # rows of a table that are computed with at a time


@dataclass(frozen=True)
class Table:
    """Distinct words and their vectors of unit length; frequent words come first."""

    path: Path
    words: list[str]
    vectors: Tensor  # (N, D) float32, on the CPU
    repeated: int  # words that were left out, because they are repeated in the file
    zeros: int  # words whose vector is zero, and has no direction

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    @property
    def width(self) -> int:
        return self.vectors.shape[1]

    def mapped(self, matrix: Tensor) -> Iterator[Tensor]:
        """The vectors after the map W, (D', D), of unit length again, block by block."""
        for block in torch.split(self.vectors, BLOCK):
            yield normalize(block @ matrix.T)  # (block, D')


def read_table(path: Path, max_words: int = MAX_WORDS) -> Table:
    """Read GloVe or fastText text. Of repeated words, the first is kept."""
    known: dict[str, None] = {}
    repeated = zeros = width = 0
    with tempfile.TemporaryFile(prefix="readlet-") as store:
        for words, vectors in vector_blocks(path, max_words):
            fresh = []
            for row, word in enumerate(words):
                if word not in known:
                    known[word] = None
                    fresh.append(row)
            repeated += len(words) - len(fresh)
            # In float64: the square of a large number is not a float32.
            kept = vectors[fresh].astype(np.float64)  # (fresh, D)
            lengths = np.linalg.norm(kept, axis=1, keepdims=True)  # (fresh, 1)
            zeros += int((lengths == 0).sum())
            kept /= np.where(lengths == 0, 1, lengths)
            store.write(kept.astype(np.float32).tobytes())
            width = vectors.shape[1]
        store.flush()
        mapped = np.memmap(store, np.float32, "r+", shape=(len(known), width))  # (N, D)
    if zeros == len(known):
        raise bad_input(path, "", "all vectors are zero", "check how the file was made")
    return Table(path, list(known), torch.from_numpy(mapped), repeated, zeros)


@dataclass(frozen=True)
class Pairs:
    """The pairs of a dictionary as rows of two tables, and how many it lists."""

    source: Tensor  # (n,) rows
    target: Tensor  # (n,) rows
    listed: int

    def __len__(self) -> int:
        return len(self.source)

    def translations(self) -> dict[int, set[int]]:
        """The target rows of each source row: a word may have several translations."""
        found: dict[int, set[int]] = defaultdict(set)
        for source, target in zip(self.source.tolist(), self.target.tolist(), strict=True):
            found[source].add(target)
        return dict(found)


def read_dictionary(path: Path) -> list[tuple[str, str]]:
    """Pairs of words, separated by a tab or by white space; a repeated pair counts once."""
    pairs: dict[tuple[str, str], None] = {}
    for number, line in enumerate(text_lines(path), 1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()
        if len(cells) != 2 or not all(cells):
            fault = f"{len(cells)} words instead of a word and its translation"
            raise bad_input(path, f"line {number}", fault, "write two words, with a tab between")
        pairs[cells[0], cells[1]] = None
    return list(pairs)


def find_pairs(path: Path, source: Table, target: Table) -> Pairs:
    """The pairs of a dictionary whose words both have vectors."""
    listed = read_dictionary(path)
    rows = [
        (source.rows[word], target.rows[translation])
        for word, translation in listed
        if word in source.rows and translation in target.rows
    ]
    if not rows:
        fault = f"none of its {len(listed):,} pairs has a vector in both files"
        remedy = "each line is a word of the source, then its translation; check the order"
        raise bad_input(path, "", fault, remedy)
    found = torch.tensor(rows)  # (n, 2)
    return Pairs(found[:, 0], found[:, 1], len(listed))


def merge_files(
    parts: Sequence[tuple[str, Path]],
    out: Path,
    *,
    max_words: int = MAX_WORDS,
    overwrite: bool = False,
) -> dict[str, Table]:
    """Write the vectors of each (language, file), of unit length, into one multilingual file."""
    files = dict(parts)
    if len(files) < len(parts):
        raise ReadletError("a language is given twice; give one file for each")
    check_file(out, files.values(), overwrite=overwrite)
    tables = {language: read_table(path, max_words) for language, path in files.items()}
    first = next(iter(tables.values()))
    for table in tables.values():
        if table.width != first.width:
            fault = f"vectors of width {table.width}, but {first.width} in {first.path}"
            raise bad_input(table.path, "", fault, "align it first: readlet vectors align")
    # By rank: a limit on the words of the file cuts off the rare ones of every language.
    order = sorted(
        (row, number) for number, table in enumerate(tables.values()) for row in range(len(table))
    )
    listed = list(tables.items())
    words = [joined(listed[number][0], listed[number][1].words[row]) for row, number in order]
    write_vectors(out, words, _rows([table for _, table in listed], order))
    return tables


def _rows(tables: list[Table], order: list[tuple[int, int]]) -> Iterator[Matrix]:
    arrays = [table.vectors.numpy() for table in tables]
    starts = range(0, len(order), BLOCK)
    for start in track(starts, len(starts), "writing"):
        yield np.stack([arrays[n][row] for row, n in order[start : start + BLOCK]])  # (block, D)


def parse_part(given: str) -> tuple[str, Path]:
    """A language and its file: `es=FILE`."""
    language, _, name = given.partition("=")
    check_language(language, given)
    if not name:
        raise bad_input(given, "", "names no file", f"write it as in {language}=vectors.txt")
    return language, Path(name)
