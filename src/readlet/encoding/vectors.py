"""Word vectors in text files: GloVe and fastText, plain or gzip."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from readlet.errors import bad_input
from readlet.storage.files import atomic_text, text_lines

Matrix = NDArray[np.float32]
_BLOCK = 4096  # lines parsed at a time


def read_vectors(path: Path, max_words: int) -> tuple[list[str], Matrix]:
    """Words in the order of the file and their vectors, (words, width)."""
    words: list[str] = []
    blocks: list[Matrix] = []
    for names, numbers in vector_blocks(path, max_words):
        words += names
        blocks.append(numbers)
    return words, np.concatenate(blocks)


def vector_blocks(path: Path, max_words: int) -> Iterator[tuple[list[str], Matrix]]:
    """Some thousand words and their vectors at a time, for files larger than the memory."""
    lines = text_lines(path)
    first = next(lines)
    promised = _header(first)
    if promised is None:
        lines = chain([first], lines)
        width = len(first.rstrip().split(" ")) - 1
    else:
        width = promised[1]
    if width < 2:
        raise bad_input(path, "line 1", "not a word and its numbers", "give GloVe or fastText text")
    line_number = 1 if promised is None else 2
    read = 0
    for block in _blocks(islice(lines, max_words)):
        yield _parse(path, block, width, line_number)
        read += len(block)
        line_number += len(block)
        if promised is not None and read > promised[0]:
            fault = f"the first line says {promised[0]} words, but there are more"
            raise bad_input(path, f"line {promised[0] + 2}", fault, "correct the first line")
    if promised is not None and read < min(promised[0], max_words):
        fault = f"ends after {read} of {promised[0]} words"
        raise bad_input(path, "", fault, "copy or download it again")
    if not read:
        raise bad_input(path, "", "contains no words", "give GloVe or fastText text")


def write_vectors(path: Path, words: Sequence[str], blocks: Iterable[Matrix]) -> None:
    """fastText text with six digits, of the vectors that the blocks hold together."""
    names = iter(words)
    with atomic_text(path) as out:
        for number, block in enumerate(blocks):
            width = block.shape[1]
            if not number:
                out.write(f"{len(words)} {width}\n")
            line = "%s" + " %.6g" * width + "\n"
            for vector in block.tolist():
                out.write(line % (next(names), *vector))


def concatenate_vectors(paths: list[Path], max_words: int) -> tuple[list[str], Matrix]:
    """One table from several files with the words of all; zeros where a file lacks a word.

    Words are sorted by their best rank, so a limit cuts off the rare words of every file.
    """
    tables = [read_vectors(path, max_words) for path in paths]
    rank: dict[str, int] = {}
    for words, _ in tables:
        for row, word in enumerate(words):
            rank[word] = min(rank.get(word, row), row)
    index = {word: row for row, word in enumerate(sorted(rank, key=rank.__getitem__)[:max_words])}
    parts = []
    for words, vectors in tables:
        part = np.zeros((len(index), vectors.shape[1]), np.float32)  # (words, width)
        sources = [row for row, word in enumerate(words) if word in index]
        part[[index[words[row]] for row in sources]] = vectors[sources]
        parts.append(part)
    return list(index), np.concatenate(parts, axis=1)


def _header(line: str) -> tuple[int, int] | None:
    """fastText's first line: number of words and width."""
    cells = line.split()
    if len(cells) == 2 and all(cell.isdigit() for cell in cells):
        return int(cells[0]), int(cells[1])
    return None


def _blocks(lines: Iterator[str]) -> Iterator[list[str]]:
    while block := list(islice(lines, _BLOCK)):
        yield block


def _parse(path: Path, block: list[str], width: int, first_line: int) -> tuple[list[str], Matrix]:
    # From the right: a word may contain unusual white space, a number never does.
    cut = [line.rstrip().rsplit(" ", width) for line in block]
    for number, cells in enumerate(cut, first_line):
        # If the last part of the word is a number, the line has too many numbers.
        too_many = " " in cells[0] and _is_number(cells[0].rsplit(" ", 1)[1])
        if len(cells) != width + 1 or too_many:
            count = f"more than {width}" if too_many else f"{len(cells) - 1}"
            fault = f"{count} numbers instead of {width}"
            remedy = "all vectors must be as wide as the first; check that the file is complete"
            raise bad_input(path, f"line {number}", fault, remedy)
    try:
        numbers = np.array([cells[1:] for cells in cut], dtype=np.float32)  # (block, width)
    except ValueError:
        for number, cells in enumerate(cut, first_line):
            for cell in cells[1:]:
                if not _is_number(cell):
                    fault = f"{cell!r:.40} is not a number"
                    remedy = f"check that the vectors have {width} numbers each"
                    raise bad_input(path, f"line {number}", fault, remedy) from None
        raise
    if not np.isfinite(numbers).all():
        line = first_line + int(np.argmin(np.isfinite(numbers).all(axis=1)))
        raise bad_input(path, f"line {line}", "a number is not finite", "fix or remove it")
    return [cells[0] for cells in cut], numbers


def _is_number(text: str) -> bool:
    try:
        np.float32(text)
    except ValueError:
        return False
    return True
