"""Word vectors in text files, GloVe and fastText, plain or gzip; as rows of a vocabulary.

Vectors of several languages may be in one space: words are (language, word) pairs then. The file is
fastText text like any other; each word has its language as a prefix, `es:palabra`. Languages take
turns, so the first lines hold the frequent words of all of them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from readlet.errors import ReadletError, bad_input
from readlet.storage.files import atomic_text, text_lines
from readlet.text.languages import LANGUAGES, check_language

Matrix = NDArray[np.float32]
_BLOCK = 4096  # lines parsed at a time
_TOO_MANY = re.compile(r" [+-]?[0-9.]+(e[+-]?[0-9]+)?$")  # a number at the end of a word


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
    lines = islice(lines, max_words)
    while block := list(islice(lines, _BLOCK)):
        yield _parse(path, block, width, line_number)
        read += len(block)
        line_number += len(block)
    if promised is not None and read < min(promised[0], max_words):
        fault = f"ends after {read} of {promised[0]} words"
        raise bad_input(path, "", fault, "copy or download it again")
    if not read:
        raise bad_input(path, "", "contains no words", "give GloVe or fastText text")


def write_vectors(path: Path, words: Sequence[str], blocks: Iterable[Matrix]) -> None:
    """Write fastText text with six digits; the blocks hold all vectors together."""
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


def _parse(path: Path, block: list[str], width: int, first_line: int) -> tuple[list[str], Matrix]:
    # From the right: a word may contain unusual white space, a number never does.
    cut = [line.rstrip().rsplit(" ", width) for line in block]
    try:
        numbers = np.array([cells[1:] for cells in cut], dtype=np.float32)  # (block, width)
        is_sound = numbers.shape == (len(cut), width) and bool(np.isfinite(numbers).all())
        is_sound = is_sound and not any(_TOO_MANY.search(cells[0]) for cells in cut)
    except ValueError:
        is_sound = False
    if not is_sound:
        lines = enumerate(cut, first_line)
        line = next(number for number, cells in lines if not _is_vector(cells, width))
        fault = f"not a word and {width} finite numbers"
        remedy = "correct or remove it; all vectors must be as wide as the first"
        raise bad_input(path, f"line {line}", fault, remedy)
    return [cells[0] for cells in cut], numbers


def _is_vector(cells: list[str], width: int) -> bool:
    try:
        numbers = np.array(cells[1:], np.float32)
    except ValueError:
        return False
    is_finite = bool(np.isfinite(numbers).all())
    return len(numbers) == width and is_finite and not _TOO_MANY.search(cells[0])


ANY = ""
"""The language of words in a file that names none: they serve for every language."""
# As published with fastText: wiki.es.align.vec
_PUBLISHED = re.compile(r"wiki\.(?P<language>[^.]+)\.align\.vec(\.gz)?")


def read_multilingual(path: Path, max_words: int) -> tuple[list[tuple[str, str]], Matrix]:
    """(language, word) pairs in the order of the file and their vectors, (words, width).

    A file is multilingual if its first word has a language prefix; then all must have one. All
    words of     `wiki.xx.align.vec` are in language xx. In any other file their language is `ANY`.
    """
    words, vectors = read_vectors(path, max_words)
    if language := language_of_name(path):
        return [(language, word) for word in words], vectors
    if split(words[0]) is None:
        return [(ANY, word) for word in words], vectors
    pairs = []
    for number, word in enumerate(words, 1):
        pair = split(word)
        if pair is None:
            fault = f"{word!r:.40} has no language prefix, unlike the first word"
            remedy = "write each word as in es:palabra; `readlet vectors merge` does"
            raise bad_input(path, f"word {number}", fault, remedy)
        pairs.append(pair)
    return pairs, vectors


def language_of_name(path: Path) -> str | None:
    """The language in the name of a published file of aligned vectors."""
    found = _PUBLISHED.fullmatch(path.name)
    if found is None:
        return None
    check_language(found["language"], path)
    return found["language"]


def joined(language: str, word: str) -> str:
    """A word of a language as written in a file."""
    return f"{language}:{word}"


def split(written: str) -> tuple[str, str] | None:
    """Language and word; None if the word has no language prefix."""
    language, colon, word = written.partition(":")
    return (language, word) if colon and word and language in LANGUAGES else None


# That of GloVe's vectors. Aligned vectors have length 1, so small that position encodings would
# outweigh the words in the network.
_DEVIATION = 0.4


def word_vectors(
    paths: list[Path], max_words: int, languages: tuple[str, ...]
) -> tuple[list[str], Matrix]:
    """Words, the frequent ones first, and their vectors, (words, width).

    Without languages, the vectors of several files are concatenated. With languages, the files
    have vectors in one space: their words are merged, with the language as a prefix, and
    the space is scaled.
    """
    if languages:
        return _in_one_space(paths, max_words, languages)
    words, vectors = concatenate_vectors(paths, max_words)
    if split(words[0]) is not None:
        fault = f"has words with language prefixes ({words[0]!r:.40})"
        remedy = "name the languages to read, such as words.languages=en,es"
        raise bad_input(paths[0], "", fault, remedy)
    return words, vectors


def _in_one_space(
    paths: list[Path], max_words: int, languages: tuple[str, ...]
) -> tuple[list[str], Matrix]:
    tables = [(path, *read_multilingual(path, max_words)) for path in paths]
    width = tables[0][2].shape[1]
    ranks: Counter[str] = Counter()  # words of each language so far
    chosen: dict[str, tuple[int, int, int]] = {}  # rank in its language, table, row
    for number, (path, pairs, vectors) in enumerate(tables):
        if vectors.shape[1] != width:
            fault = f"{vectors.shape[1]} numbers for a word, but {width} in {paths[0]}"
            raise bad_input(path, "", fault, "with words.languages, all vectors are in one space")
        for row, (language, word) in enumerate(pairs):
            if language not in (ANY, *languages):
                continue
            written = word if language == ANY else joined(language, word)
            if written not in chosen:
                chosen[written] = (ranks[language], number, row)
                ranks[language] += 1
    if not ranks[ANY] and (without := [code for code in languages if not ranks[code]]):
        fault = f"no vectors for {without[0]!r} in these files"
        raise ReadletError(f"words.languages: {fault}; leave it out, or add a file with some")
    # By rank, so that a limit cuts off the rare words of every language.
    listed = sorted(chosen, key=chosen.__getitem__)[:max_words]
    places = [chosen[written] for written in listed]
    found = np.stack([tables[number][2][row] for _, number, row in places])  # (words, width)
    return listed, as_wide_as_glove(found)


def as_wide_as_glove(vectors: Matrix) -> Matrix:
    """The space scaled to the deviation of GloVe's numbers."""
    return vectors * np.float32(_DEVIATION / max(float(vectors.std()), 1e-6))
