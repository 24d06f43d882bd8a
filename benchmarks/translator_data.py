"""The training data of `translator.py`: from pairs of sentences to batches of numbers.

At first every pair is an example of its own: in short ones it is easy to learn which word of the
source belongs to which of the target. A model that began with rows of pairs ignored the source
after 4,300 steps.

A pair may have the markers « and » around words that mean the same on both sides. Half of the time
they become [ and ], and often they are left out. Pairs of short sentences teach neither long
sentences nor rare names. So later most examples are several short pairs in a row; names and numbers
that are the same on both sides are often replaced by those of other texts, and marked.
"""

import gzip
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import regex
import sentencepiece
import torch
from torch.utils.data import IterableDataset, get_worker_info

from readlet.text.languages import FUNCTION_WORDS

LEFT, RIGHT = "«", "»"  # as in readlet.augmentation.relocation
BRACKETS = str.maketrans(LEFT + RIGHT, "[]")
NOTHING = str.maketrans("", "", LEFT + RIGHT)
END, UNKNOWN, PADDING = "</s>", "<unk>", "<pad>"
LONGEST = 256  # pieces
ROW = 160  # characters; a longer pair stands alone
POOL = 16_384  # examples that are sorted by length
ALONE = 25  # pools at the beginning of each process, of single pairs
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}.\-]*[\p{L}\p{N}]|[\p{L}\p{N}]")
_NAME = regex.compile(r"\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)*|\p{N}[\p{N}.,]*\p{N}")

_LIGHT = frozenset().union(*FUNCTION_WORDS.values())  # they may begin a sentence

Pair = tuple[str, str]
Coded = tuple[list[int], list[int]]
Batch = tuple[torch.Tensor, torch.Tensor]


def read_pairs(paths: Sequence[Path], *, reverse: bool) -> list[Pair]:
    pairs = []
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            for line in stream:
                source, target = line.rstrip("\n").split("\t")[:2]
                pairs.append((target, source) if reverse else (source, target))
    return pairs


def names_in(texts: Iterable[str], pairs: Sequence[Pair]) -> list[str]:
    """Distinct names and numbers inside of sentences, without words that the pairs translate."""
    seen, same = Counter[str](), Counter[str]()
    for source, target in pairs:
        there = set(_WORD.findall(source.casefold()))
        seen.update(there)
        same.update(there.intersection(_WORD.findall(target.casefold())))
    found = {m[0] for text in texts for m in _NAME.finditer(text) if m.start()}
    translated = {word for word, count in seen.items() if 2 * same[word] < count}
    return sorted(name for name in found if translated.isdisjoint(name.casefold().split()))


def _places(text: str) -> dict[str, int]:
    """Where names and numbers stand that a text has once; whole words only."""
    found = [m for m in _WORD.finditer(text) if m[0][0].isupper() or m[0][0].isdigit()]
    counts = Counter(m[0] for m in found)
    return {
        m[0]: m.start()
        for m in found
        if counts[m[0]] == 1 and (m[0][0].isdigit() or m[0].casefold() not in _LIGHT)
    }


class Examples:
    """Draws training examples from pairs."""

    def __init__(self, pairs: Sequence[Pair], names: Sequence[str], seed: int) -> None:
        self._pairs, self._draw = pairs, random.Random(seed)
        self._names = [name for name in names if not name[0].isdigit()]
        self._numbers = [name for name in names if name[0].isdigit()]

    def __iter__(self) -> Iterator[Pair]:
        for number in itertools.count():
            drawn = [self._one()]
            if number >= ALONE * POOL and self._draw.random() < 0.7:
                while len(drawn) < 6 and sum(len(source) for source, _ in drawn) < ROW:
                    drawn.append(self._one())
            yield self._row(drawn)

    def _one(self) -> Pair:
        """A pair; a name or number that both sides have may be another one, and is marked."""
        pair = self._draw.choice(self._pairs)
        places = _places(pair[0]), _places(pair[1])
        shared = sorted(places[0].keys() & places[1].keys())
        if not shared or LEFT in pair[0]:
            return pair
        word = new = self._draw.choice(shared)
        others = self._numbers if word[0].isdigit() else self._names
        if others and self._draw.random() < 0.5:
            new = self._draw.choice(others)
        source, target = (
            f"{side[: place[word]]}{LEFT}{new}{RIGHT}{side[place[word] + len(word) :]}"
            for side, place in zip(pair, places, strict=True)
        )
        return source, target

    def _row(self, drawn: list[Pair]) -> Pair:
        """The pairs in a row, with markers in one of them or in none; or what they mark."""
        marked = [number for number, (source, _) in enumerate(drawn) if LEFT in source]
        kept = self._draw.choice(marked) if marked and self._draw.random() < 0.5 else None
        if kept is not None and self._draw.random() < 0.1:
            source, target = (side.partition(LEFT)[2].partition(RIGHT)[0] for side in drawn[kept])
            return source, target
        source, target = (
            " ".join(
                side if number == kept else side.translate(NOTHING)
                for number, side in enumerate(sides)
            )
            for sides in zip(*drawn, strict=True)
        )
        if kept is not None and "[" not in source + target and self._draw.random() < 0.5:
            return source.translate(BRACKETS), target.translate(BRACKETS)
        return source, target


def train_pieces(texts: Sequence[str], size: int, path: Path) -> None:
    """One SentencePiece model for both languages; unknown characters become bytes."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_prefix=str(path.with_suffix("")),
        vocab_size=size,
        character_coverage=0.9998,
        byte_fallback=True,
        user_defined_symbols=[LEFT, RIGHT, "[", "]"],
        max_sentence_length=20_000,
        input_sentence_size=400_000,
        minloglevel=1,
    )
    path.with_suffix(".vocab").unlink()


def numbers_of(pieces: Any) -> dict[str, int]:
    """The vocabulary as Marian has it: the end first, padding last."""
    own = [pieces.id_to_piece(n) for n in range(pieces.vocab_size())]
    usual = [piece for piece in own if piece not in ("<s>", END, UNKNOWN)]
    return {piece: n for n, piece in enumerate([END, UNKNOWN, *usual, PADDING])}


class Batches(IterableDataset[Batch]):
    """Padded (B, S) and (B, T), of similar lengths, at most `tokens` in each.

    Each process that makes them draws its own. The source is cut into pieces in ever new ways,
    which makes more of few pairs.
    """

    def __init__(
        self, pairs: Sequence[Pair], names: Sequence[str], pieces: Any, tokens: int
    ) -> None:
        self._pairs, self._names, self._pieces, self._tokens = pairs, names, pieces, tokens
        numbers = numbers_of(pieces)
        own = (pieces.id_to_piece(n) for n in range(pieces.vocab_size()))
        self._numbers = np.array([numbers.get(piece, 1) for piece in own], np.int32)  # (V,)
        self._padding = numbers[PADDING]

    def __iter__(self) -> Iterator[Batch]:
        process = get_worker_info()
        seed = process.id if process else 0
        examples, draw = iter(Examples(self._pairs, self._names, seed)), random.Random(seed)
        while True:
            drawn = list(itertools.islice(examples, POOL))
            sources = self._coded([source for source, _ in drawn], enable_sampling=True, alpha=0.3)
            targets = self._coded([target for _, target in drawn])
            rows = [row for row in zip(sources, targets, strict=True) if _length(row) <= LONGEST]
            rows.sort(key=lambda row: (len(row[0]) // 8, len(row[1])))
            made = list(self._cut(rows))
            draw.shuffle(made)
            yield from made

    def _coded(self, texts: list[str], **options: Any) -> list[list[int]]:
        """Without the end; `num_threads`, since other processes have the other cores."""
        coded: list[list[int]] = self._pieces.encode(texts, num_threads=1, **options)
        return coded

    def _cut(self, rows: Sequence[Coded]) -> Iterator[Batch]:
        start = widest = 0
        for number, row in enumerate(rows):
            widest = max(widest, _length(row))
            if widest * (number + 1 - start) > self._tokens and number > start:
                yield self._padded(rows[start:number])
                start, widest = number, _length(row)
        yield self._padded(rows[start:])

    def _padded(self, rows: Sequence[Coded]) -> Batch:
        sides = []
        for side in zip(*rows, strict=True):
            width = -(-(max(map(len, side)) + 1) // 8) * 8  # few shapes
            table = np.full((len(side), width), self._padding, np.int32)  # (B, width)
            for line, coded in zip(table, side, strict=True):
                line[: len(coded)] = self._numbers[coded]
                line[len(coded)] = 0  # the end
            sides.append(torch.from_numpy(table))
        return sides[0], sides[1]


def _length(row: Coded) -> int:
    return max(map(len, row)) + 1
