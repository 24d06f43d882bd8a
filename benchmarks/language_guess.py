"""How often the guess of a text's language is right, wrong, or "unknown".

    python benchmarks/language_guess.py --tatoeba PARALLEL --xquad XQUAD

On passages and single questions of XQuAD, and on 3,000 everyday sentences of each language of
Tatoeba, drawn at random. A reader treats a question of unknown language like its passage.
"""

import argparse
import gzip
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from readlet.data import read_questions
from readlet.text.languages import UNKNOWN, guess_language

SAMPLE = 3000


def tatoeba(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Name, language and texts."""
    for code in ("es", "fr", "de"):
        with gzip.open(folder / f"tatoeba.en-{code}.tsv.gz", "rt", encoding="utf-8") as lines:
            english, other = zip(*(line.rstrip("\n").split("\t") for line in lines), strict=True)
        if code == "es":
            yield "Tatoeba, sentences", "en", _sample(english)
        yield "Tatoeba, sentences", code, _sample(other)


def xquad(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    for code in ("en", "es", "de", "ro"):
        examples = read_questions(folder / f"xquad.{code}.json.gz")
        yield "XQuAD, passages", code, _sample(e.context for e in examples)
        yield "XQuAD, questions", code, _sample(e.question for e in examples)


def _sample(texts: Iterable[str]) -> list[str]:
    distinct = list(dict.fromkeys(texts))
    return random.Random(1).sample(distinct, min(SAMPLE, len(distinct)))


def line(name: str, code: str, texts: list[str]) -> str:
    found = Counter(map(guess_language, texts))
    right, unknown = found[code], found[UNKNOWN]
    counts = (right, unknown, len(texts) - right - unknown)
    shares = " | ".join(f"{100 * count / len(texts):.1f}" for count in counts)
    return f"| {name} | {code} | {len(texts):,} | {shares} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tatoeba", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--xquad", type=Path, required=True, metavar="FOLDER")
    options = parser.parse_args()
    print("| texts | language | number | right | unknown | wrong |")
    print("|---|---|---:|---:|---:|---:|")
    for part in (*xquad(options.xquad), *tatoeba(options.tatoeba)):
        print(line(*part))


if __name__ == "__main__":
    main()
