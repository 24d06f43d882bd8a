"""What `readlet vectors` prints."""

from typing import Any

from rich.table import Table as Grid

from readlet.cli.console import console
from readlet.vectors.alignment import Alignment
from readlet.vectors.retrieval import CUTS, Check
from readlet.vectors.vector_files import Pairs, Table

_NAMES = {"nearest": "nearest neighbour", "csls": "CSLS"}


def show_alignment(made: Alignment, out: str) -> None:
    _show_tables(made.source, made.target)
    _show_pairs(made.pairs)
    if made.undetermined:
        console.print(
            f"Only {len(made.pairs):,} pairs for {min(made.matrix.shape)} dimensions: "
            f"{made.undetermined} dimensions of the map are arbitrary; give more pairs."
        )
    console.print(
        f"Map by {made.method}, {made.matrix.shape[1]} to {made.matrix.shape[0]} dimensions; "
        f"distance from orthogonal {made.distance_from_orthogonal:.2g}."
    )
    _show(f"Wrote {out}: {len(made.source):,} words.")


def alignment_values(made: Alignment) -> dict[str, Any]:
    return {
        "method": made.method,
        "shape": list(made.matrix.shape),
        "distance_from_orthogonal": made.distance_from_orthogonal,
        "undetermined_dimensions": made.undetermined,
        "pairs": _pair_values(made.pairs),
        "source": _table_values(made.source),
        "target": _table_values(made.target),
    }


def show_check(checked: Check) -> None:
    _show_tables(checked.source, checked.target)
    _show_pairs(checked.pairs)
    grid = Grid(box=None)
    grid.add_column(f"{checked.asked:,} words with a translation")
    for cut in CUTS:
        grid.add_column(f"P@{cut}", justify="right")
    for name, values in checked.precision.items():
        grid.add_row(_NAMES[name], *(f"{values[cut]:.1%}" for cut in CUTS))
    console.print(grid)
    if checked.changed_cosines is not None:
        console.print(
            f"Cosines inside the source changed by {checked.changed_cosines:.4f} on average "
            "(0: the map is orthogonal)."
        )


def check_values(checked: Check) -> dict[str, Any]:
    return {
        "asked": checked.asked,
        "precision": checked.precision,
        "changed_cosines": checked.changed_cosines,
        "pairs": _pair_values(checked.pairs),
        "source": _table_values(checked.source),
        "target": _table_values(checked.target),
    }


def show_merged(tables: dict[str, Table], out: str) -> None:
    _show_tables(*tables.values())
    counts = ", ".join(f"{code} {len(table):,}" for code, table in tables.items())
    _show(f"Wrote {out}: {sum(map(len, tables.values())):,} words ({counts}).")


def merged_values(tables: dict[str, Table]) -> dict[str, Any]:
    return {code: _table_values(table) for code, table in tables.items()}


def _show(text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)  # so that a path can be copied


def _show_tables(*tables: Table) -> None:
    for table in tables:
        faults = [
            f"{count:,} {what}"
            for count, what in (
                (table.repeated, "repeated words left out"),
                (table.zeros, "words with a zero vector"),
            )
            if count
        ]
        text = f"{table.path}: {len(table):,} words, width {table.width}"
        _show("; ".join([text, *faults]))


def _show_pairs(pairs: Pairs) -> None:
    console.print(f"Dictionary: {len(pairs):,} of {pairs.listed:,} pairs have vectors.")
    for count, where in (
        (pairs.no_source, "the source"),
        (pairs.no_target, "the target"),
        (pairs.neither, "either file"),
    ):
        if count:
            console.print(f"  not in {where}: {count:,}")


def _pair_values(pairs: Pairs) -> dict[str, int]:
    return {
        "used": len(pairs),
        "listed": pairs.listed,
        "not_in_source": pairs.no_source,
        "not_in_target": pairs.no_target,
        "in_neither": pairs.neither,
    }


def _table_values(table: Table) -> dict[str, Any]:
    return {
        "file": str(table.path),
        "words": len(table),
        "width": table.width,
        "repeated": table.repeated,
        "zero_vectors": table.zeros,
    }
