"""Stage 6: the rule of QANet (Yu et al. 2018), character 2-grams inside the translated sentence."""

from collections.abc import Sequence

from readlet.augment.relocation.clues import WordRange
from readlet.augment.relocation.place import Place
from readlet.augment.relocation.similarity import bigram_score
from readlet.encoding.words import words

_CANDIDATES = 3  # words that may begin the answer, and as many that may end it


def find_by_bigrams(place: Place, texts: Sequence[str]) -> WordRange | None:
    """Of the runs between words like the first and the last of a text, the one most like it."""
    there = place.words
    best: tuple[float, float, WordRange] | None = None
    for text in texts:
        wanted = words(text)
        if not wanted:
            continue
        for start in _most_alike(there, wanted[0]):
            for last in _most_alike(there, wanted[-1]):
                if not start <= last < start + 2 * len(wanted) + 2:
                    continue
                found = (start, last + 1)
                score = bigram_score(" ".join(there[start : last + 1]), " ".join(wanted))
                candidate = (score, -place.distance(found), found)
                if score > 0 and (best is None or candidate > best):
                    best = candidate
    return best[2] if best else None


def _most_alike(there: Sequence[str], word: str) -> list[int]:
    scores = [bigram_score(word, other) for other in there]
    ranked = sorted(range(len(there)), key=lambda number: -scores[number])
    return [number for number in ranked[:_CANDIDATES] if scores[number] > 0]
