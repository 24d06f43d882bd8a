"""Pooled translation against the same engine called text by text, in the same run.

    python benchmarks/augment_speed.py train-v1.1.json.gz [--engine apertium] [--contexts 0]

Texts are contexts with their questions. Text by text, each is one call with its sentences, as Argos
Translate does it; pooled, the sentences of all texts are translated through a new cache. A second
ratio is for a file that is translated question by question, each with its context: the time of a
context then counts once for every question.
Then contexts are translated there and back: some, from which the time of the whole set follows by
the number of characters, or all of them.
"""

import argparse
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path

from readlet.augmentation.translation.batch_translator import BatchTranslator, Cache
from readlet.augmentation.translation.engines import translator_for
from readlet.augmentation.translation.sentences import split_sentences
from readlet.augmentation.translation.types import LanguagePair, Translator
from readlet.data import read_examples

RATIO = 4.0  # times faster than text by text
MINUTES = 20.0  # for the contexts of SQuAD train, there and back, on 2 cores


def text_by_text(
    engine: Translator, texts: Counter[str], pair: LanguagePair
) -> tuple[dict[str, str], float, float]:
    """The translated sentences; seconds for each text once, and as often as it occurs."""
    made: dict[str, str] = {}
    once = repeated = 0.0
    for text, count in texts.items():
        began = time.perf_counter()
        sentences = [text[start:end] for start, end in split_sentences(text)]
        results = engine.translate(sentences, pair)
        made |= {s: result.text for s, result in zip(sentences, results, strict=True)}
        seconds = time.perf_counter() - began
        once, repeated = once + seconds, repeated + seconds * count
    return made, once, repeated


def compare(engine: Translator, texts: Counter[str], pair: LanguagePair, folder: Path) -> None:
    engine.translate(["The first call loads the engine."], pair)
    alone, once, repeated = text_by_text(engine, texts, pair)
    began = time.perf_counter()
    with Cache(folder / "compared.sqlite") as cache:
        pool = BatchTranslator(cache, lambda pair: engine)
        pool.fill(texts, (pair,))
        pooled = [pool.get(text, (pair,)) for text in texts]
        seconds = time.perf_counter() - began
    same = sum(
        made.text[slice(*sentence.target)] == alone[made.source[slice(*sentence.source)]]
        for made in pooled
        for sentence in made.sentences
    )
    count = sum(len(made.sentences) for made in pooled)
    print(f"{engine.name} {pair}, {len(texts)} texts, {count} sentences, {same / count:.2%} equal")
    print(
        f"text by text {once:.1f} s, question by question {repeated:.1f} s, pooled {seconds:.1f} s"
    )
    print(f"ratios {once / seconds:.1f} and {repeated / seconds:.1f}, at least {RATIO:.0f} wanted")


def processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def total_texts(questions: dict[str, list[str]]) -> int:
    return len(questions) + sum(map(len, questions.values()))


def there_and_back(
    engine: Translator, contexts: list[str], pair: LanguagePair, folder: Path, *, total: int
) -> None:
    back = LanguagePair(pair.target, pair.source)
    began, busy = time.perf_counter(), processor_seconds()
    with Cache(folder / "whole.sqlite") as cache:
        translated = BatchTranslator(cache, lambda pair: engine).fill(contexts, (pair, back))
    minutes = (time.perf_counter() - began) / 60
    busy_minutes = (processor_seconds() - busy) / 60
    share = sum(map(len, contexts)) / total
    how = "measured" if share == 1 else f"from {share:.1%} of the characters"
    size = (folder / "whole.sqlite").stat().st_size
    print(f"{pair} and back, {len(contexts)} contexts, {translated} translations", end=": ")
    print(f"{minutes:.1f} minutes, {size / translated:.0f} bytes a translation in the cache")
    print(f"the whole set: {minutes / share:.1f} minutes ({how}), at most {MINUTES:.0f} wanted")
    print(f"without other work on the machine: {busy_minutes / share / 2:.1f} minutes of 2 cores")
    own, programs = (
        resource.getrusage(who).ru_maxrss / 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(f"memory at most {own:.0f} MiB, largest program of the engine {programs:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", help="SQuAD")
    parser.add_argument("--pair", default="en-es")
    parser.add_argument("--engine", help="apertium, or the path of a model")
    parser.add_argument("--texts", type=int, default=200, help="to compare")
    parser.add_argument("--contexts", type=int, default=300, help="there and back; 0: all")
    options = parser.parse_args()

    pair = LanguagePair(*options.pair.split("-"))
    engine = translator_for(pair, options.engine)
    questions: dict[str, list[str]] = {}
    for example in read_examples(options.data):
        questions.setdefault(example.context, []).append(example.question)
    contexts = list(questions)
    texts = Counter[str]()
    for context in contexts[: max(1, options.texts * len(contexts) // total_texts(questions))]:
        texts.update({context: len(questions[context])})
        texts.update(questions[context])
    step = max(1, len(contexts) // options.contexts) if options.contexts else 1
    with tempfile.TemporaryDirectory() as folder:
        compare(engine, texts, pair, Path(folder))
        if LanguagePair(pair.target, pair.source) in engine.pairs():
            total = sum(map(len, contexts))
            there_and_back(engine, contexts[::step], pair, Path(folder), total=total)


if __name__ == "__main__":
    main()
