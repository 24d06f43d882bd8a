"""The word vectors that a recipe names, as the rows of a vocabulary."""

from collections import Counter
from pathlib import Path

import numpy as np

from readlet.encoding.multilingual_vectors import ANY, joined, read_multilingual, split
from readlet.encoding.vectors import Matrix, concatenate_vectors
from readlet.errors import ReadletError, bad_input

# That of GloVe's vectors. Aligned vectors are of length 1, which is so little that positions would
# outweigh the words in the network.
_DEVIATION = 0.4


def word_vectors(
    paths: list[Path], max_words: int, languages: tuple[str, ...]
) -> tuple[list[str], Matrix]:
    """Words, the frequent ones first, and their vectors, (words, width).

    Without languages, the vectors of several files are concatenated. With languages, the files
    have vectors in one space: their words are put together, written behind their language, and
    the space is scaled.
    """
    if languages:
        return _in_one_space(paths, max_words, languages)
    words, vectors = concatenate_vectors(paths, max_words)
    if split(words[0]) is not None:
        fault = f"has words behind their language ({words[0]!r:.40})"
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
