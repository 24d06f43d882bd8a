"""The paragraphs of XQuAD in another language: by an engine, and by people.

    python benchmarks/translated_paragraphs.py --xquad XQUAD --to de --engine en-de --cache FILE \\
        --out FOLDER
    sacrebleu FOLDER/human.txt -i FOLDER/translated.txt -m chrf bleu

Writes a line for each paragraph, from which sacrebleu (pip install sacrebleu) scores the engine.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from readlet.augmentation.translation.batch_translator import BatchTranslator, Cache
from readlet.augmentation.translation.engines import translator_for
from readlet.augmentation.translation.types import LanguagePair
from readlet.data import read_examples


def paragraphs(xquad: Path, language: str) -> dict[str, str]:
    """By the first question of each, which has the same id in all languages."""
    found: dict[str, str] = {}
    for example in read_examples(str(xquad / f"xquad.{language}.json.gz")):
        found.setdefault(example.context, example.id)
    return {identity: context for context, identity in found.items()}


def write_lines(path: Path, texts: Sequence[str]) -> None:
    path.write_text("".join(f"{' '.join(text.split())}\n" for text in texts), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xquad", type=Path, required=True)
    parser.add_argument("--to", required=True)
    parser.add_argument("--engine", help="as in readlet augment")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    english, human = (paragraphs(given.xquad, language) for language in ("en", given.to))
    route = (LanguagePair("en", given.to),)
    given.out.mkdir(parents=True, exist_ok=True)
    with Cache(given.cache) as cache:
        pool = BatchTranslator(cache, lambda pair: translator_for(pair, given.engine))
        pool.fill(english.values(), route)
        made = [pool.get(text, route).text for text in english.values()]
    write_lines(given.out / "translated.txt", made)
    write_lines(given.out / "human.txt", [human[identity] for identity in english])
    print(f"{len(made)} paragraphs in {given.out}")


if __name__ == "__main__":
    main()
