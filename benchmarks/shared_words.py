"""How much two languages spell alike: word forms, frequent words, beginnings and endings.

    python benchmarks/shared_words.py --tatoeba PARALLEL --xquad XQUAD

Signorelli and Sirocchi explain by such likeness why French contexts helped their reader and Spanish
or German ones did not. Both sides of a pair are translations of each other, so they have the same
content. Forms are compared in lower case; numbers do not count. Names are spelled alike in all
languages: forms that are mostly capitalised inside English sentences are left out.
"""

import argparse
import gzip
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from readlet.console import say
from readlet.data import read_questions
from readlet.text.words import word_spans

FREQUENT = 1000
ENDING = 3  # letters
_XQUAD = ("en", "es", "de", "ro")
_TATOEBA = ("es", "fr", "de")


class Words(NamedTuple):
    """How often each form occurs, and how often with a capital inside a sentence."""

    forms: Counter[str]
    capitals: Counter[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Words":
        found = cls(Counter(), Counter())
        for text in texts:
            previous = "."
            for start, end in word_spans(text):
                word = text[start:end]
                if word.isalpha():
                    found.forms[word.lower()] += 1
                    found.capitals[word.lower()] += word[0].isupper() and previous not in ".?!¿¡:"
                previous = word
        return found

    @property
    def names(self) -> set[str]:
        return {word for word, count in self.forms.items() if self.capitals[word] > count / 2}


class Likeness(NamedTuple):
    """Shares, from 0 to 1. All but the last two are shares of the second language's words."""

    forms: float  # distinct forms that are also forms of the first language
    frequent: float  # the same of the most frequent forms
    running: float  # running words
    beginnings: float  # overlap of the distributions of first letters over distinct forms
    endings: float  # the same of last letters


def likeness(first: Counter[str], second: Counter[str]) -> Likeness:
    frequent = [word for word, _ in second.most_common(FREQUENT)]
    return Likeness(
        forms=sum(word in first for word in second) / len(second),
        frequent=sum(word in first for word in frequent) / len(frequent),
        running=sum(n for word, n in second.items() if word in first) / second.total(),
        beginnings=_overlap(*(_parts(w[:ENDING] for w in words) for words in (first, second))),
        endings=_overlap(*(_parts(w[-ENDING:] for w in words) for words in (first, second))),
    )


def _parts(parts: Iterable[str]) -> Counter[str]:
    return Counter(part for part in parts if len(part) == ENDING)


def _overlap(first: Counter[str], second: Counter[str]) -> float:
    """1 if both have the same distribution, 0 if they have nothing in common."""
    one, two = first.total(), second.total()
    return sum(min(count / one, second[part] / two) for part, count in first.items())


def without_names(words: Words, names: set[str]) -> Counter[str]:
    return Counter({word: count for word, count in words.forms.items() if word not in names})


def tatoeba(folder: Path) -> Iterator[tuple[str, Words, Words]]:
    for code in _TATOEBA:
        with gzip.open(folder / f"tatoeba.en-{code}.tsv.gz", "rt", encoding="utf-8") as lines:
            pairs = [line.rstrip("\n").split("\t") for line in lines]
        say(f"Tatoeba en-{code}: {len(pairs):,} pairs")
        yield (
            f"en-{code}",
            Words.of(dict.fromkeys(p[0] for p in pairs)),
            Words.of(dict.fromkeys(p[1] for p in pairs)),
        )


def xquad(folder: Path) -> Iterator[tuple[str, Words, Words, set[str]]]:
    read = {}
    for code in _XQUAD:
        examples = read_questions(folder / f"xquad.{code}.json.gz")
        read[code] = Words.of(dict.fromkeys(t for e in examples for t in (e.context, e.question)))
    for first, second in combinations(_XQUAD, 2):
        yield f"{first}-{second}", read[first], read[second], read["en"].names


def line(corpus: str, pair: str, found: Likeness) -> str:
    return f"| {corpus} | {pair} | {' | '.join(f'{100 * share:.1f}' for share in found)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tatoeba", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--xquad", type=Path, required=True, metavar="FOLDER")
    options = parser.parse_args()
    print(f"| corpus | pair | forms | {FREQUENT:,} frequent | running | beginnings | endings |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for pair, first, second in tatoeba(options.tatoeba):
        counts = (without_names(words, first.names) for words in (first, second))
        print(line("Tatoeba", pair, likeness(*counts)))
    for pair, first, second, names in xquad(options.xquad):
        counts = (without_names(words, names) for words in (first, second))
        print(line("XQuAD", pair, likeness(*counts)))


if __name__ == "__main__":
    main()
