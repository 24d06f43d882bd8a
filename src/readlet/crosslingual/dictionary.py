"""Bilingual dictionaries: a word and its translation on each line, as in the files of MUSE."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from readlet.crosslingual.table import Table
from readlet.errors import bad_input
from readlet.storage.files import text_lines


@dataclass(frozen=True)
class Pairs:
    """The pairs of a dictionary as rows of two tables, and how many have no vector."""

    source: Tensor  # (n,) rows
    target: Tensor  # (n,) rows
    listed: int
    no_source: int
    no_target: int
    neither: int

    def __len__(self) -> int:
        return len(self.source)

    @property
    def missing(self) -> int:
        return self.no_source + self.no_target + self.neither

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
    """The pairs of a dictionary of which both words have a vector."""
    rows: list[tuple[int, int]] = []
    no_source = no_target = neither = 0
    listed = read_dictionary(path)
    for word, translation in listed:
        row, other = source.rows.get(word), target.rows.get(translation)
        if row is not None and other is not None:
            rows.append((row, other))
        elif row is not None:
            no_target += 1
        elif other is not None:
            no_source += 1
        else:
            neither += 1
    if not rows:
        fault = f"none of its {len(listed):,} pairs has a vector in both files"
        remedy = "each line is a word of the source, then its translation; check the order"
        raise bad_input(path, "", fault, remedy)
    found = torch.tensor(rows)  # (n, 2)
    return Pairs(found[:, 0], found[:, 1], len(listed), no_source, no_target, neither)
