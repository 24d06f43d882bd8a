"""Vectors of several languages in one space: words are (language, word) pairs.

The file is fastText text like any other; each word is written behind its language, `es:palabra`.
Languages take turns, so the first lines hold the frequent words of all of them.
"""

import re
from pathlib import Path

from readlet.encoding.languages import LANGUAGES, check_language
from readlet.encoding.vectors import Matrix, read_vectors
from readlet.errors import bad_input

ANY = ""
"""The language of words in a file that names none: they serve for every language."""
# As published with fastText: wiki.es.align.vec
_PUBLISHED = re.compile(r"wiki\.(?P<language>[^.]+)\.align\.vec(\.gz)?")


def read_multilingual(path: Path, max_words: int) -> tuple[list[tuple[str, str]], Matrix]:
    """(language, word) pairs in the order of the file and their vectors, (words, width).

    A file is multilingual if its first word is behind a language; then all must be. All words of
    `wiki.xx.align.vec` are in language xx. In any other file their language is `ANY`.
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
            fault = f"{word!r:.40} is not behind a language, unlike the first word"
            remedy = "write each word as in es:palabra; `readlet vectors merge` does"
            raise bad_input(path, f"word {number}", fault, remedy)
        pairs.append(pair)
    return pairs, vectors


def language_of_name(path: Path) -> str | None:
    """The language that the name of a published file of aligned vectors states."""
    found = _PUBLISHED.fullmatch(path.name)
    if found is None:
        return None
    check_language(found["language"], path)
    return found["language"]


def published_file(folder: Path, language: str) -> Path:
    """The file of a language in a folder of published ones, plain or gzipped."""
    check_language(language, folder)
    names = (f"wiki.{language}.align.vec", f"wiki.{language}.align.vec.gz")
    found = [folder / name for name in names if (folder / name).is_file()]
    if not found:
        fault = f"there is no {names[0]}"
        raise bad_input(folder, "", fault, "put it there, or name the file itself")
    return found[0]


def joined(language: str, word: str) -> str:
    """How a file writes a word of a language."""
    return f"{language}:{word}"


def split(written: str) -> tuple[str, str] | None:
    """Language and word; None if no language stands before the word."""
    language, colon, word = written.partition(":")
    return (language, word) if colon and word and language in LANGUAGES else None
