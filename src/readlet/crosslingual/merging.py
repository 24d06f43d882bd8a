"""One file with the aligned vectors of several languages."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from readlet.crosslingual.table import BLOCK, MAX_WORDS, Table, read_table
from readlet.encoding.languages import check_language
from readlet.encoding.multilingual_vectors import joined, language_of_name, published_file
from readlet.encoding.vectors import Matrix, write_vectors
from readlet.errors import ReadletError, bad_input
from readlet.progress import track
from readlet.storage.outputs import check_file


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
    """`es=FILE`, `es=FOLDER` with the published file of that language, or that file itself."""
    language, equals, name = given.partition("=")
    path = Path(name if equals else given)
    if not equals:
        named = language_of_name(path)
        if named is None:
            fault = "its language is not known"
            raise bad_input(given, "", fault, f"write it as in es={path.name}")
        return named, path
    check_language(language, given)
    return language, published_file(path, language) if path.is_dir() else path
