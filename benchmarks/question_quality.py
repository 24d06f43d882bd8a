"""What tells sound questions from garbled ones, after a translation there and back by Apertium.

    python benchmarks/question_quality.py train-v1.1.json.gz

Questions are drawn from SQuAD's train set, and translated to Spanish and back. The first 170 were
judged by hand: garbled are those below, which cannot be understood or ask for something else. The
measure was chosen on the first 110; the others were judged afterwards. The area is the probability
that a sound question has a higher value than a garbled one.
"""

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from readlet.augmentation.translated_questions import quality_of
from readlet.augmentation.translation.apertium import Apertium
from readlet.augmentation.translation.types import LanguagePair
from readlet.data import read_examples
from readlet.text.words import words

GARBLED = """
0 3 4 8 12 13 15 20 21 23 27 28 30 32 33 34 36 42 43 44 45 46 47 48 56 57 58 60 61 63 66 69 70 75 76
79 80 81 83 84 90 92 94 102 106 107 109 111 113 114 115 120 122 123 124 125 129 131 132 133 136 138
139 142 143 144 146 147 151 153 155 156 159 161
"""
JUDGED, CHOSEN_ON = 170, 110
THERE, BACK = LanguagePair("en", "es"), LanguagePair("es", "en")


def area(values: Sequence[float], sound: NDArray[np.bool_]) -> float:
    found = np.array(values)
    good, bad = found[sound][:, None], found[~sound]
    return float(((good > bad) + 0.5 * (good == bad)).mean())


def folded(text: str) -> list[str]:
    return [word.casefold() for word in words(text)]


def overlap(one: str, other: str) -> float:
    """F1 of the words."""
    first, second = Counter(folded(one)), Counter(folded(other))
    return 2 * (first & second).total() / (first.total() + second.total())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", help="SQuAD 1.1 train")
    examples = list(read_examples(parser.parse_args().data))
    asked = [e.question for e in random.Random(5).sample(examples, 600)][:JUDGED]
    sound = np.ones(JUDGED, np.bool_)
    sound[list(map(int, GARBLED.split()))] = False
    engine = Apertium()
    spanish = [made.text for made in engine.translate(asked, THERE)]
    back = [made.text for made in engine.translate(spanish, BACK)]
    again = [made.text for made in engine.translate(back, THERE)]
    seen: Counter[tuple[str, str]] = Counter()
    for text in {text for e in examples for text in (e.question, e.context)}:
        read = folded(text)
        seen.update(pairwise(read))

    def known(text: str) -> float:
        pairs = list(pairwise(folded(text)))
        return sum(seen[pair] > 0 for pair in pairs) / max(1, len(pairs))

    quality = list(map(quality_of, asked, back))
    measures = {
        "character 3-grams that are left": quality,
        "words that are left": list(map(overlap, asked, back)),
        "words of the Spanish, translated again": list(map(overlap, spanish, again)),
        "word pairs that the data has": list(map(known, back)),
    }
    print(f"{sound.sum()} of {JUDGED} are sound\n")
    print("| measure | area, first 110 | area, other 60 |\n|---|---:|---:|")
    for name, values in measures.items():
        first = area(values[:CHOSEN_ON], sound[:CHOSEN_ON])
        print(f"| {name} | {first:.2f} | {area(values[CHOSEN_ON:], sound[CHOSEN_ON:]):.2f} |")
    print("\n| `--min-quality` | sound, kept | garbled, dropped | sound among the kept |")
    print("|---:|---:|---:|---:|")
    for least in (0.0, 0.6, 0.7, 0.8, 0.9):
        kept = np.array(quality) >= least
        shares = kept[sound].mean(), (~kept)[~sound].mean(), sound[kept].mean()
        print(f"| {least} | {' | '.join(f'{share:.0%}' for share in shares)} |")


if __name__ == "__main__":
    main()
