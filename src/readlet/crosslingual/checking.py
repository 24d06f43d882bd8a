"""How good an alignment is: translations of a dictionary that it has not seen, found again."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from readlet.crosslingual.csls import csls
from readlet.crosslingual.dictionary import Pairs, find_pairs
from readlet.crosslingual.neighbours import nearest
from readlet.crosslingual.table import MAX_WORDS, Table, read_table
from readlet.errors import bad_input

CUTS = (1, 5)
"""The k of P@k: a word counts if one of its translations is among the k best."""
_SAMPLE = 2000  # words of which cosines are compared


@dataclass(frozen=True)
class Check:
    source: Table
    target: Table
    pairs: Pairs
    asked: int  # words of the source with a translation
    precision: dict[str, dict[int, float]]  # by nearest neighbour and by CSLS, at each cut
    changed_cosines: float | None
    """Mean change of cosines between source words by the map: 0 if it is orthogonal."""


def check_files(
    source: Path,
    target: Path,
    dictionary: Path,
    *,
    original: Path | None = None,
    max_words: int = MAX_WORDS,
    device: str = "cpu",
) -> Check:
    """Score aligned vectors, `source`; `original` are those before they were aligned."""
    left, right = read_table(source, max_words), read_table(target, max_words)
    if left.width != right.width:
        fault = f"vectors of width {left.width}, but {right.width} in {target}"
        raise bad_input(source, "", fault, "align it first: readlet vectors align")
    pairs = find_pairs(dictionary, left, right)
    changed = None if original is None else _changed_cosines(read_table(original, max_words), left)
    wanted = pairs.translations()
    precision = precisions(left.vectors, right.vectors, wanted, device=device)
    return Check(left, right, pairs, len(wanted), precision, changed)


def precisions(
    sources: Tensor, targets: Tensor, wanted: dict[int, set[int]], *, device: str = "cpu"
) -> dict[str, dict[int, float]]:
    """P@k by method. `wanted` has the right targets of each source row; all are of unit length."""
    queries = sources[list(wanted)]  # (Q, D)
    found = {
        "nearest": nearest(queries, targets, max(CUTS), device=device, label="nearest")[1],
        "csls": csls(queries, sources, targets, max(CUTS), device=device)[1],
    }  # (Q, k) each
    return {
        name: {cut: _share_found(rows[:, :cut].tolist(), wanted) for cut in CUTS}
        for name, rows in found.items()
    }


def _share_found(found: list[list[int]], wanted: dict[int, set[int]]) -> float:
    hits = [not right.isdisjoint(rows) for rows, right in zip(found, wanted.values(), strict=True)]
    return sum(hits) / len(hits)


def _changed_cosines(before: Table, after: Table) -> float:
    """Over pairs of frequent words that both tables have."""
    shared = [word for word in after.words if word in before.rows][:_SAMPLE]
    if len(shared) < 2:
        fault = f"hardly any word of {after.path} is in it"
        raise bad_input(before.path, "", fault, "give the file that was aligned")
    x = before.vectors[[before.rows[word] for word in shared]]  # (S, D)
    z = after.vectors[[after.rows[word] for word in shared]]  # (S, D')
    change = (x @ x.T - z @ z.T).abs()  # (S, S)
    pairs = torch.triu_indices(len(shared), len(shared), offset=1)  # (2, S(S-1)/2)
    return float(change[pairs[0], pairs[1]].mean())
