"""Examples and Sentences to subwords: every distinct text is tokenised once.

A row is [CLS] question [SEP] window of the context [SEP], or what the tokenizer has in place of
these special tokens; of a classifier it is [CLS] text [SEP], or [CLS] text [SEP] second text [SEP].
Rows store only the positions of the texts; batches assemble them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray
from tokenizers import Tokenizer

from readlet.errors import ReadletError
from readlet.text.rows import (
    LONG_QUESTION,
    AnyRows,
    Ints,
    RowBuilder,
    Rows,
    SizedCache,
    Stored,
    Windows,
    ints,
)
from readlet.types import Example, Sentence

if TYPE_CHECKING:
    from readlet.text.labels import Labels

_AT_ONCE = 512  # texts: enough for all cores, and it bounds the memory of the tokenizer's results
LONG_TEXT = "long text: only its beginning is read"
_PARTS = 5  # of a row: three of special tokens, question and context
_SURROGATE = regex.compile(r"\p{Cs}")
_MARK = regex.compile(r"\p{M}")


class Layout(NamedTuple):
    """The special tokens around question and context, with the token types of all parts."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    types: tuple[int, int, int, int, int]  # before, question, between, context, after
    null: int  # index of the CLS token in `before`: the position of "no answer"
    padding: int  # number of the padding token
    mask: int  # number of the mask token, or of the unknown one

    @property
    def special(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)


def layout_of(tokenizer: Any) -> Layout:
    """How a tokenizer of transformers joins two texts, found by joining two."""
    cls, padding = tokenizer.cls_token_id, tokenizer.pad_token_id
    joined = plain_tokenizer(tokenizer.backend_tokenizer.to_str()).encode("a", "a")
    sides = joined.sequence_ids
    if 0 not in sides or 1 not in sides:
        raise ReadletError("the tokenizer does not join two texts; take that of another encoder")
    first, second = sides.index(0), sides.index(1)
    last = len(sides) - 1 - sides[::-1].index(1)
    between = len(sides) - 1 - sides[::-1].index(0) + 1
    ids, types = joined.ids, joined.type_ids
    if cls is None or cls not in ids[:first]:
        raise ReadletError("the tokenizer puts no CLS token first; take that of another encoder")
    return Layout(
        before=tuple(ids[:first]),
        between=tuple(ids[between:second]),
        after=tuple(ids[last + 1 :]),
        types=(types[0], types[first], types[between], types[second], types[-1]),
        null=ids.index(cls),
        padding=0 if padding is None else padding,
        mask=next(
            (n for n in (tokenizer.mask_token_id, tokenizer.unk_token_id) if n is not None), 0
        ),
    )


def layout_of_one(tokenizer: Any) -> Layout:
    """The special tokens of a tokenizer around a single text: the second text is empty."""
    pair = layout_of(tokenizer)
    alone = plain_tokenizer(tokenizer.backend_tokenizer.to_str()).encode("a")
    inside = [place for place, side in enumerate(alone.sequence_ids) if side == 0]
    end = inside[-1] + 1
    ending = alone.type_ids[-1]
    return pair._replace(
        before=tuple(alone.ids[: inside[0]]),
        between=tuple(alone.ids[end:]),
        after=(),
        types=(alone.type_ids[0], alone.type_ids[inside[0]], ending, ending, ending),
    )


def plain_tokenizer(stored: str) -> Tokenizer:
    """A tokenizer from its JSON, without truncation and padding, which many have.

    The name of a special token in a text, such as [SEP], is text.
    """
    tokenizer = Tokenizer.from_str(stored)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


@dataclass(kw_only=True)
class SubwordRows(Rows):
    """Rows of subwords. `tokens` has the tokens of all contexts, then those of all questions."""

    tokens: Ints  # (tokens of all texts,)
    row_question: Ints  # (rows, 2) first token of the question in `tokens`, and number of tokens


class SubwordEncoder:
    """A tokenizer with the windows of long texts."""

    def __init__(
        self, tokenizer: Tokenizer, layout: Layout, windows: Windows, config: dict[str, Any]
    ) -> None:
        self.tokenizer = tokenizer  # a plain one
        self.layout = layout
        self.windows = windows
        self.config = config  # of the network that the tokenizer belongs to
        self._tokenised = SizedCache(self._tokenise)

    @property
    def longest(self) -> int:
        """The number of tokens of the longest row."""
        return self.windows.max_context + self.windows.max_question + self.layout.special

    def encode(self, examples: Sequence[Example]) -> SubwordRows:
        contexts = numbered(example.context for example in examples)
        questions = numbered(example.question for example in examples)
        found = self._tokenised(list(contexts))
        tokens = np.concatenate([ints([]), *(one.tokens for one in found)])
        offsets = np.concatenate([ints([]).reshape(-1, 2), *(one.offsets for one in found)])
        starts = list(accumulate((len(one.tokens) for one in found), initial=0))
        asked, asked_starts = text_tokens(self.tokenizer, list(questions), len(tokens))
        rows = RowBuilder(self.windows)
        row_question: list[tuple[int, int]] = []
        for number, example in enumerate(examples):
            context, question = contexts[example.context], questions[example.question]
            first, length = asked_starts[question]
            if length > self.windows.max_question:
                rows.note(LONG_QUESTION, example)
                length = self.windows.max_question
            added = rows.add(number, example, found[context].places, starts[context])
            row_question += [(first, length)] * added
        return SubwordRows(
            **rows.arrays(),
            offsets=offsets,
            tokens=np.concatenate([tokens, asked]),
            row_question=ints(row_question).reshape(-1, 2),
        )

    def stored(self) -> Stored:
        content = {"tokenizer": self.tokenizer.to_str(), "config": self.config}
        return {}, content | {"layout": self.layout._asdict()}

    def cut(self) -> dict[str, Any]:
        return asdict(self.windows)

    @classmethod
    def from_stored(cls, stored: Stored, windows: Windows) -> "SubwordEncoder":
        _, content = stored
        tokenizer = plain_tokenizer(content["tokenizer"])
        return cls(tokenizer, layout_from(content["layout"]), windows, content["config"])

    def _tokenise(self, texts: list[str]) -> "list[_Context]":
        found = []
        for chunk in _chunks(texts):
            encoded = self.tokenizer.encode_batch(_valid(chunk), add_special_tokens=False)
            for text, one in zip(chunk, encoded, strict=True):
                offsets = trimmed(np.array(one.offsets, np.int32).reshape(-1, 2), text)  # (P, 2)
                places = [(start, end) for start, end in offsets.tolist()]
                found.append(_Context(ints(one.ids), offsets, places))
        return found


class _Context(NamedTuple):
    tokens: Ints  # (P,)
    offsets: Ints  # (P, 2)
    places: list[tuple[int, int]]  # the same


@dataclass(kw_only=True)
class SentenceRows(AnyRows):
    """One row for each text or pair."""

    tokens: Ints  # (tokens of all texts,)
    row_text: Ints  # (rows, 2) first token of the text in `tokens`, and number of tokens
    row_second: Ints  # (rows, 2) the same of the second text; without one 0 tokens
    # row_label: (rows,) class or standardised value; NO_LABEL where there is none

    @property
    def longest(self) -> int:
        return int((self.row_text[:, 1] + self.row_second[:, 1]).max(initial=0))


class SentenceEncoder:
    """A tokenizer with the labels of a classifier."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        layout: Layout,
        config: dict[str, Any],
        labels: "Labels",
        max_length: int,
        *,
        pairs: bool,
    ) -> None:
        self.tokenizer = tokenizer  # a plain one
        self.layout = layout
        self.config = config  # of the network that the tokenizer belongs to
        self.labels = labels
        self.max_length = max_length
        self.pairs = pairs

    @property
    def longest(self) -> int:
        """The number of tokens of the longest row."""
        return self.max_length

    def encode(self, sentences: Sequence[Sentence]) -> SentenceRows:
        texts = numbered(t for s in sentences for t in (s.text, s.second or ""))
        tokens, places = text_tokens(self.tokenizer, list(texts))
        notes: dict[str, list[str]] = {}
        rows: list[tuple[int, int, int, int]] = []
        room = self.max_length - self.layout.special
        for sentence in sentences:
            first, count = places[texts[sentence.text]]
            second, others = places[texts[sentence.second or ""]]
            if count + others > room:
                notes.setdefault(LONG_TEXT, []).append(sentence.id)
                # The longer of the two is cut, down to half of the room at most.
                count = min(count, max(room - others, room - room // 2))
                others = min(others, room - count)
            rows.append((first, count, second, others))
        table = ints(rows).reshape(-1, 4)  # (rows, 4)
        return SentenceRows(
            row_label=self.labels.numbers(sentences),
            tokens=tokens,
            row_text=table[:, :2],
            row_second=table[:, 2:],
            notes=notes,
        )

    def stored(self) -> Stored:
        content = {"tokenizer": self.tokenizer.to_str(), "config": self.config}
        known = {"labels": asdict(self.labels), "pairs": self.pairs}
        return {}, content | known | {"layout": self.layout._asdict()}

    def cut(self) -> dict[str, Any]:
        return {"max_length": self.max_length}

    @classmethod
    def from_stored(cls, stored: Stored, max_length: int) -> "SentenceEncoder":
        from readlet.text.labels import Labels

        _, content = stored
        return cls(
            plain_tokenizer(content["tokenizer"]),
            layout_from(content["layout"]),
            content["config"],
            Labels.from_json(content["labels"]),
            max_length,
            pairs=content["pairs"],
        )


def text_tokens(
    tokenizer: Tokenizer, texts: list[str], first: int = 0
) -> tuple[Ints, list[tuple[int, int]]]:
    """Tokens of all texts, and for each its first one, counted from `first`, and their number."""
    parts: list[Ints] = [ints([])]
    starts = []
    for chunk in _chunks(texts):
        stripped = _valid([text.strip() for text in chunk])
        # Fast: without offsets, which only contexts need.
        for one in tokenizer.encode_batch_fast(stripped, add_special_tokens=False):
            starts.append((first, len(one.ids)))
            parts.append(ints(one.ids))
            first += len(one.ids)
    return np.concatenate(parts), starts


def layout_from(stored: dict[str, Any]) -> Layout:
    """The layout from JSON, which has no tuples."""
    parts: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in stored.items()
    }
    layout = Layout(**parts)
    for name, value in parts.items():
        listed = value if isinstance(value, tuple) else (value,)
        if not all(type(number) is int and number >= 0 for number in listed):
            raise ValueError(f"layout: {name} is {value!r:.40}")
    if len(layout.types) != _PARTS or layout.null >= len(layout.before):
        raise ValueError(f"layout: types {layout.types!r:.40}, null {layout.null}")
    return layout


def check_vocabulary(tokenizer: Tokenizer, layout: Layout, config: dict[str, Any]) -> None:
    """Raise ValueError for a tokenizer with tokens that the network does not know."""
    special = (*layout.before, *layout.between, *layout.after, layout.padding)
    largest = max(*tokenizer.get_vocab().values(), *special)
    known = config.get("vocab_size")
    if isinstance(known, int) and largest >= known:
        raise ValueError(f"a token has number {largest}, but the network knows {known} tokens")


def _chunks(texts: list[str]) -> Iterator[list[str]]:
    return (texts[at : at + _AT_ONCE] for at in range(0, len(texts), _AT_ONCE))


def numbered(texts: Iterable[str]) -> dict[str, int]:
    """The distinct texts with their numbers, in order."""
    numbers: dict[str, int] = {}
    for text in texts:
        numbers.setdefault(text, len(numbers))
    return numbers


def _valid(texts: list[str]) -> list[str]:
    """Lone surrogates, which UTF-8 does not have, become another character; offsets stay."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return [_SURROGATE.sub("�", text) for text in texts]
    return texts


def trimmed(offsets: Ints, text: str) -> Ints:
    """Offsets (P, 2) without the white space that some tokenizers include in a word.

    A token of only white space gets an empty span: it is not part of any answer. Accents that a
    tokenizer drops, as separate characters, belong to the token before them.
    """
    space: NDArray[np.bool_] = np.fromiter(map(str.isspace, text), np.bool_, len(text))  # (chars,)
    start, end = offsets[:, 0], offsets[:, 1]  # (P,) each
    if space.any():
        following = np.append(_next(~space), len(text))  # (chars + 1,)
        preceding = len(text) - np.append(_next(~space[::-1]), len(text))[::-1]  # (chars + 1,)
        start = np.minimum(following[start], end)
        end = np.maximum(preceding[end], start)
    if _MARK.search(text):
        mark = np.zeros(len(text), np.bool_)  # (chars,)
        mark[[found.start() for found in _MARK.finditer(text)]] = True
        # Up to the next token: some tokenizers have tokens for accents.
        following = np.append(start, len(text))[np.searchsorted(start, end)]  # (P,)
        whole = np.minimum(np.append(_next(~mark), len(text))[end], following)  # (P,)
        end = np.where(start < end, np.maximum(whole, end), end)
    return np.stack([start, end], axis=1).astype(np.int32)


def _next(true: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each index the next one, or itself, that is true; the length if there is none."""
    indices = np.where(true, np.arange(len(true)), len(true))  # (n,)
    return np.minimum.accumulate(indices[::-1])[::-1]  # (n,)
