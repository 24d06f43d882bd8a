"""Pooled translation against the same engine called text by text, in the same run.

    python benchmarks/augment_speed.py train-v1.1.json.gz [--engine apertium] [--texts 200] [--all]

Texts are distinct contexts with their questions. Text by text, each is one call with its sentences,
as Argos Translate does it; pooled, the sentences of all texts are translated through a new cache.
Then contexts are translated there and back: `--texts` of them, from which the time of the whole set
follows by the number of characters, or with `--all` every one.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

from readlet.formats import read_examples
from readlet.translation.cache import Cache
from readlet.translation.engines import parse_pair, translator_for
from readlet.translation.pool import Pool
from readlet.translation.sentences import split_sentences
from readlet.translation.types import LanguagePair, Translator

RATIO = 4.0  # times faster than text by text
MINUTES = 20.0  # for the contexts of SQuAD train, there and back, on 2 cores


def text_by_text(engine: Translator, texts: list[str], pair: LanguagePair) -> dict[str, str]:
    made = {}
    for text in texts:
        sentences = [text[start:end] for start, end in split_sentences(text)]
        results = engine.translate(sentences, pair)
        made |= {s: result.text for s, result in zip(sentences, results, strict=True)}
    return made


def compare(engine: Translator, texts: list[str], pair: LanguagePair, folder: Path) -> None:
    engine.translate(["The first call loads the engine."], pair)
    began = time.perf_counter()
    alone = text_by_text(engine, texts, pair)
    middle = time.perf_counter()
    with Cache(folder / "compared.sqlite") as cache:
        pool = Pool(cache, lambda pair: engine)
        pool.fill(texts, (pair,))
        pooled = [pool.get(text, (pair,)) for text in texts]
        end = time.perf_counter()
    same = sum(
        made.text[slice(*sentence.target)] == alone[made.source[slice(*sentence.source)]]
        for made in pooled
        for sentence in made.sentences
    )
    count = sum(len(made.sentences) for made in pooled)
    print(f"{engine.name} {pair}, {len(texts)} texts, {count} sentences, {same / count:.2%} equal")
    print(f"text by text {middle - began:.1f} s, pooled {end - middle:.1f} s")
    print(f"ratio {(middle - began) / (end - middle):.1f}, at least {RATIO:.0f} wanted")


def there_and_back(
    engine: Translator, contexts: list[str], pair: LanguagePair, folder: Path, *, total: int
) -> None:
    back = LanguagePair(pair.target, pair.source)
    began = time.perf_counter()
    with Cache(folder / "whole.sqlite") as cache:
        filled = Pool(cache, lambda pair: engine).fill(contexts, (pair, back), total=len(contexts))
    minutes = (time.perf_counter() - began) / 60
    share = sum(map(len, contexts)) / total
    how = "measured" if share == 1 else f"from {share:.1%} of the characters"
    size = (folder / "whole.sqlite").stat().st_size
    print(f"{pair} and back, {len(contexts)} contexts, {filled.sentences} sentences", end=": ")
    print(f"{minutes:.1f} minutes, {size / filled.translated:.0f} bytes a translation in the cache")
    print(f"the whole set: {minutes / share:.1f} minutes ({how}), at most {MINUTES:.0f} wanted")
    own, programs = (
        resource.getrusage(who).ru_maxrss / 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(f"memory at most {own:.0f} MiB, largest program of the engine {programs:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", help="SQuAD")
    parser.add_argument("--pair", default="en-es")
    parser.add_argument("--engine", help="apertium, argos, or the path of a model")
    parser.add_argument("--texts", type=int, default=200, help="to compare")
    parser.add_argument("--all", action="store_true", help="translate all contexts, there and back")
    options = parser.parse_args()

    pair = parse_pair(options.pair)
    engine = translator_for(pair, options.engine)
    questions: dict[str, list[str]] = {}
    for example in read_examples(options.data):
        questions.setdefault(example.context, []).append(example.question)
    contexts = list(questions)
    texts = [text for context in contexts for text in (context, *questions[context])]
    step = max(1, len(contexts) // options.texts)
    with tempfile.TemporaryDirectory() as folder:
        compare(engine, list(dict.fromkeys(texts))[: options.texts], pair, Path(folder))
        if LanguagePair(pair.target, pair.source) in engine.pairs():
            chosen = contexts if options.all else contexts[::step]
            total = sum(map(len, contexts))
            there_and_back(engine, chosen, pair, Path(folder), total=total)


if __name__ == "__main__":
    main()
