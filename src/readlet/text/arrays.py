"""Batches of rows in NumPy, in a few fixed shapes: compiled steps are reused, padding stays small.

Of words: indices into the batch's distinct forms. Of subwords: question and window in one sequence,
or a text and its second, with their special tokens.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from readlet.errors import ReadletError
from readlet.text.rows import NO_LABEL, Ints, Windows
from readlet.text.subwords import Layout, SentenceEncoder, SentenceRows, SubwordEncoder, SubwordRows
from readlet.text.word_features import NULL_FORM, PADDING_FORM, Features

Shape = tuple[int, ...]
"""Padded lengths of a batch, one for each dimension that varies."""
Arrays = dict[str, NDArray[Any]]
"""The inputs of a model by name."""


def padded(values: NDArray[Any], pieces: Ints, shape: tuple[int, int]) -> NDArray[Any]:
    """Pieces (first, count) of a long array as rows, padded with zeros: (rows, 2) -> (B, L)."""
    table = np.zeros(shape, values.dtype)  # (B, L)
    for i, (first, count) in enumerate(pieces):
        table[i, :count] = values[first : first + count]
    return table


Batch = TypeVar("Batch")


class Batches(Generic[Batch]):
    """Batches of a data set, in a shuffled order that depends on seed and epoch only.

    `lengths` are the lengths of each row, (rows, dimensions). `shapes` are listed smallest first;
    every row fits into the last one. `collate(shape, rows, size)` makes a batch: if there are fewer
    rows than `size`, it adds empty rows of weight 0, so that the shape never changes.
    """

    def __init__(
        self,
        lengths: Ints,
        shapes: Sequence[Shape],
        batch_size: int,
        collate: Callable[[Shape, Ints, int], Batch],
        *,
        trainable: Ints,
        guessing: float = np.inf,
        seed: int = 0,
    ) -> None:
        self.batch_size = batch_size
        self.guessing = guessing  # loss of a model that guesses at random
        self._shapes = list(shapes)
        self._collate = collate
        self._trainable = trainable
        self._lengths = lengths
        self._seed = seed
        fits = np.stack([(lengths <= np.array(s)).all(axis=1) for s in shapes])  # (shapes, rows)
        self._shape_of_row: NDArray[np.int64] = np.argmax(fits, axis=0)  # (rows,)

    def epoch(self, number: int) -> list[tuple[Shape, Ints]]:
        """The batches of an epoch: rows of one shape each, full except the last of each shape."""
        generator = np.random.default_rng((self._seed, number))
        rows = generator.permutation(self._trainable)
        batches = self._cut(rows)
        return [batches[i] for i in generator.permutation(len(batches))]

    def in_order(self) -> list[tuple[Shape, Ints]]:
        """All rows, for prediction; long ones first, so that memory runs out at once or never."""
        return self._cut(np.arange(len(self._shape_of_row), dtype=np.int32))[::-1]

    def by_length(self, places: int) -> list[Ints]:
        """All rows, longest first, in batches of limited size, padding included.

        Each has at most the batch size; a longer row is a batch of its own. The first length counts
        before the others: it is that of the context, where padding costs most.
        """
        order = np.lexsort(-self._lengths.T[::-1]).astype(np.int32)  # (rows,)
        cuts, start = [], 0
        while start < len(order):
            most = self._lengths[order[start : start + self.batch_size]]  # (rows, dimensions)
            most = np.maximum.accumulate(most, axis=0).sum(axis=1)  # (rows,)
            fits = np.arange(1, len(most) + 1) * most <= places  # (rows,)
            count = max(1, int(fits.sum()))
            cuts.append(order[start : start + count])  # (B,)
            start += count
        return cuts

    def places(self) -> int:
        """Of all rows, without padding."""
        return int(self._lengths.sum())

    def least_shape(self, rows: Ints) -> Shape:
        """The least padding for these rows, for models that accept any shape."""
        return tuple(self._lengths[rows].max(axis=0).clip(min=1).tolist())

    def make(self, shape: Shape, rows: Ints, *, filled: bool = True) -> Batch:
        """A batch of the full size; unless `filled`, of these rows only: no shape is reused."""
        return self._collate(shape, rows, self.batch_size if filled else len(rows))

    def __iter__(self) -> Iterator[Batch]:
        return (self.make(shape, rows) for shape, rows in self.in_order())

    def _cut(self, rows: Ints) -> list[tuple[Shape, Ints]]:
        cut = []
        for number, shape in enumerate(self._shapes):
            members = rows[self._shape_of_row[rows] == number]
            for start in range(0, len(members), self.batch_size):
                cut.append((shape, members[start : start + self.batch_size]))  # noqa: PERF401
        return cut


Make = Callable[[Ints, int, Arrays], Batch]
"""Makes a batch of the numbers of its rows, their number with fillers, and its arrays."""


def only_arrays(_rows: Ints, _size: int, arrays: Arrays) -> Arrays:
    """A batch that is no more than its arrays."""
    return arrays


def _collate(
    arrays_of: Callable[[Shape, Ints, int], Arrays], make: Make[Batch]
) -> Callable[[Shape, Ints, int], Batch]:
    def collate(shape: Shape, rows: Ints, size: int) -> Batch:
        return make(rows, size, arrays_of(shape, rows, size))

    return collate


PADDING = 0
"""The index of padding among a batch's forms."""

# Padded lengths. All but one question in a thousand have at most 32 words.
_CONTEXT_LENGTHS = (64, 96, 128, 160, 192, 224, 256, 320)
_QUESTION_LENGTH = 32
_MULTIPLE = 16  # fused attention is slow at other lengths, and compiled again for them
# The array of a batch's distinct forms is padded to thirds of the number of tokens: few sizes, and
# mostly one per shape. A batch of 32 SQuAD questions repeats every form three times, one of 128
# five times.
_FORM_SIZES = 3


def shapes(windows: Windows, *, null: bool, languages: Iterable[str] = ()) -> list[Shape]:
    """Lengths of context and question, smallest first; every row fits into the last one."""
    longest = _rounded(windows.max_context + null)
    usual, finer = _rounded(windows.max_question), _rounded(windows.longest_question(languages))
    question = min(_QUESTION_LENGTH, usual)
    listed: list[Shape] = [(length, question) for length in _CONTEXT_LENGTHS if length < longest]
    listed += [(longest, length) for length in sorted({question, usual, finer})]
    return listed


def _rounded(length: int) -> int:
    return -(-length // _MULTIPLE) * _MULTIPLE


def _up_to(longest: int, lengths: Iterable[int]) -> list[Shape]:
    return [(length,) for length in (*(n for n in lengths if n < longest), longest)]


def word_batches_of(
    features: Features,
    listed: list[Shape],
    batch_size: int,
    make: Make[Batch],
    *,
    null: bool,
    seed: int = 0,
) -> Batches[Batch]:
    """Batches of these shapes; with `null`, every context begins with the null position."""
    texts = (features.row_window[:, 1] + null, features.row_question[:, 1])  # (rows,) each
    lengths = np.stack(texts, axis=1)  # (rows, 2)
    return Batches(
        lengths,
        listed,
        batch_size,
        _collate(partial(word_arrays, features, null), make),
        trainable=features.trainable(can_abstain=null),
        # A uniform guess: a first and a last word among those of the longest shape.
        guessing=2 * math.log(max(context for context, _ in listed)),
        seed=seed,
    )


def word_arrays(features: Features, null: bool, shape: Shape, rows: Ints, size: int) -> Arrays:
    """`forms` (U,), `context` (B, Lc) and `question` (B, Lq): see `WordBatch`."""
    context_length, question_length = shape
    words = size, context_length - null
    context = padded(features.forms, features.row_window[rows], words)  # (B, Lc - null) forms
    if null:
        place = np.zeros((size, 1), np.int32)  # (B, 1)
        place[: len(rows)] = NULL_FORM
        context = np.concatenate([place, context], axis=1)  # (B, Lc)
    question = padded(features.forms, features.row_question[rows], (size, question_length))
    texts = np.concatenate([context, question], axis=1)  # (B, Lc + Lq)
    forms, places = _distinct(texts)  # (U,), (B, Lc + Lq)
    context, question = np.split(places, [context_length], axis=1)  # (B, Lc), (B, Lq)
    return {"forms": forms, "context": context, "question": question}


def _distinct(texts: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The distinct forms of the texts, padding first, and the texts as indices into them."""
    found, places = np.unique(texts, return_inverse=True)
    if found[0] != PADDING_FORM:
        found, places = np.insert(found, 0, PADDING_FORM), places + 1
    step = -(-(texts.size + 1) // _FORM_SIZES)  # one more: padding may not be in the texts
    forms = np.full(-(-len(found) // step) * step, PADDING_FORM, np.int32)
    forms[: len(found)] = found
    return forms, places.reshape(texts.shape).astype(np.int32)


def usable_positions(config: dict[str, Any]) -> int | None:
    """The longest sequence that a network can read; None: no limit."""
    longest = config.get("max_position_embeddings")
    if not isinstance(longest, int) or longest <= 0:
        return None
    # RoBERTa and its relatives count positions from the number of the padding token.
    starts_late = config.get("model_type") in _LATE_POSITIONS
    return longest - (int(config.get("pad_token_id") or 0) + 1 if starts_late else 0)


_LATE_POSITIONS = frozenset(
    "roberta xlm-roberta xlm-roberta-xl camembert data2vec-text ibert mpnet longformer "
    "roberta-prelayernorm xmod".split()
)


def check_length(
    windows_length: int,
    config: dict[str, Any],
    name: str,
    *,
    field: str = "data.max_context",
    remedy: str = "lower max_context or max_question",
) -> None:
    """Reject windows that are longer than the encoder can read."""
    longest = usable_positions(config)
    if longest is not None and windows_length > longest:
        fault = f"a window takes {windows_length} tokens, the encoder {name} reads {longest}"
        raise ReadletError(f"{field}: {fault}; {remedy}")


# Padded lengths of question and window together. Half of SQuAD's rows have at most 160 tokens.
_SUBWORD_LENGTHS = (64, 96, 128, 160, 192, 224, 256, 320, 384, 512, 768, 1024, 1536, 2048, 3072)


def subword_batches_of(
    rows: SubwordRows,
    encoder: SubwordEncoder,
    batch_size: int,
    make: Make[Batch],
    *,
    null: bool,
    seed: int = 0,
) -> Batches[Batch]:
    """Batches of a few lengths; every row fits into the longest one."""
    longest = _rounded(encoder.longest)
    longest = min(longest, usable_positions(encoder.config) or longest)
    texts = rows.row_window[:, 1:] + rows.row_question[:, 1:]  # (rows, 1)
    lengths = texts + encoder.layout.special  # (rows, 1)
    return Batches(
        lengths,
        _up_to(longest, _SUBWORD_LENGTHS),
        batch_size,
        _collate(partial(subword_arrays, rows, encoder.layout), make),
        trainable=rows.trainable(can_abstain=null),
        # A uniform guess: a first and a last position among those of the longest window.
        guessing=2 * math.log(longest),
        seed=seed,
    )


def subword_arrays(
    rows: SubwordRows, layout: Layout, shape: Shape, numbers: Ints, size: int
) -> Arrays:
    """The inputs of a model by name: see `SubwordBatch`."""
    (width,) = shape
    questions, windows = rows.row_question[numbers], rows.row_window[numbers]  # (rows, 2) each
    tables = joined(rows.tokens, questions, windows, layout, (size, width))
    allowed = np.zeros((size, width), np.bool_)  # (B, T)
    first = np.zeros(size, np.int64)  # (B,)
    first[: len(numbers)] = len(layout.before) + questions[:, 1] + len(layout.between)
    for i, (begin, count) in enumerate(windows.tolist()):
        places = rows.offsets[begin : begin + count]  # (P, 2)
        allowed[i, :count] = places[:, 1] > places[:, 0]
    return tables | {"first": first, "allowed": allowed}


def joined(
    tokens: Ints, texts: Ints, others: Ints, layout: Layout, shape: tuple[int, int]
) -> Arrays:
    """Pairs of texts with their special tokens, as the tables `tokens`, `types` and `keep`, (B, T).

    A text is (first token, number of tokens). Rows beyond the last pair repeat the first one: with
    next to nothing to attend to, cuDNN's attention gives NaN gradients at some lengths.
    """
    table = np.full(shape, layout.padding, np.int64)  # (B, T)
    types = np.zeros(shape, np.int64)  # (B, T)
    keep = np.zeros(shape, np.bool_)  # (B, T)
    before, between, after = len(layout.before), len(layout.between), len(layout.after)
    table[: len(texts), :before] = layout.before
    types[: len(texts), :before] = layout.types[0]
    pairs = zip(texts.tolist(), others.tolist(), strict=True)
    for i, ((text, text_count), (other, count)) in enumerate(pairs):
        middle = before + text_count
        start = middle + between
        end = start + count
        table[i, before:middle] = tokens[text : text + text_count]
        table[i, middle:start] = layout.between
        table[i, start:end] = tokens[other : other + count]
        table[i, end : end + after] = layout.after
        types[i, before:middle] = layout.types[1]
        types[i, middle:start] = layout.types[2]
        types[i, start:end] = layout.types[3]
        types[i, end : end + after] = layout.types[4]
        keep[i, : end + after] = True
    for filled in (table, types, keep):
        filled[len(texts) :] = filled[0]
    return {"tokens": table, "types": types, "keep": keep}


# Padded lengths, few because each is captured or compiled anew: most sentences of GLUE have at
# most 48 tokens, most pairs at most 96.
_SENTENCE_LENGTHS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048)


def sentence_batches_of(
    rows: SentenceRows,
    encoder: SentenceEncoder,
    batch_size: int,
    make: Make[Batch],
    *,
    seed: int = 0,
) -> Batches[Batch]:
    """Batches of a few lengths; every row fits into the longest one."""
    layout, labels = encoder.layout, encoder.labels
    lengths = rows.row_text[:, 1:] + rows.row_second[:, 1:] + layout.special  # (rows, 1)
    labelled = rows.row_label != NO_LABEL  # (rows,)
    if labels.kind == "numbers":
        labelled = np.ones(len(rows), np.bool_)  # any value is a label
    return Batches(
        lengths,
        _up_to(encoder.longest, _SENTENCE_LENGTHS),
        batch_size,
        _collate(partial(sentence_arrays, rows, layout), make),
        trainable=np.flatnonzero(labelled).astype(np.int32),
        # The variance of standardised values is 1.
        guessing=math.log(labels.outputs) if labels.kind == "classes" else 1.0,
        seed=seed,
    )


def sentence_arrays(
    rows: SentenceRows, layout: Layout, shape: Shape, numbers: Ints, size: int
) -> Arrays:
    """The inputs of a model by name: see `SentenceBatch`."""
    (width,) = shape
    texts, seconds = rows.row_text[numbers], rows.row_second[numbers]  # (rows, 2) each
    return joined(rows.tokens, texts, seconds, layout, (size, width))
