"""Texts and pairs of texts to subwords for a classifier, and their labels to numbers.

A row is [CLS] text [SEP], or [CLS] text [SEP] second text [SEP], in the special tokens of the
tokenizer. Every distinct text is tokenised once.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from readlet.text.cache import Stored
from readlet.text.labels import class_names, number_in
from readlet.text.rows import NO_LABEL, AnyRows, Ints, ints
from readlet.text.subwords import Layout, layout_from, numbered, plain_tokenizer, text_tokens
from readlet.types import Sentence

LONG_TEXT = "long text: only its beginning is read"


@dataclass(frozen=True)
class Labels:
    """What a classifier predicts: one of its classes, or a value of a scale."""

    kind: Literal["classes", "numbers"]
    classes: tuple[str, ...] = ()
    # Of the training labels: values are learned with mean 0 and deviation 1.
    mean: float = 0.0
    deviation: float = 1.0

    @classmethod
    def learned(
        cls, kind: Literal["classes", "numbers"], sentences: Sequence[Sentence]
    ) -> "Labels":
        """The classes, or the scale, of labelled texts."""
        if kind == "classes":
            return cls(kind, class_names(sentences))
        values = [number_in(sentence.label or "") for sentence in sentences]
        known = np.array([value for value in values if value is not None])  # (texts,)
        if not len(known):
            return cls(kind)
        return cls(kind, (), float(known.mean()), float(known.std()) or 1.0)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Labels":
        """As `asdict` gave them; ValueError if they are damaged."""
        made = cls(**stored | {"classes": tuple(stored["classes"])})
        is_sound = made.kind in ("classes", "numbers") and all(
            isinstance(name, str) for name in made.classes
        )
        is_known = len({*made.classes}) == len(made.classes) >= 2 or made.kind == "numbers"
        if not is_sound or not is_known or not np.isfinite([made.mean, made.deviation]).all():
            raise ValueError(f"labels: {stored!r:.60}")
        return made

    @property
    def outputs(self) -> int:
        """The number of scores for each text."""
        return len(self.classes) if self.kind == "classes" else 1

    def numbers(self, sentences: Sequence[Sentence]) -> NDArray[Any]:
        """Class numbers or standardised values, (texts,); NO_LABEL without a known label."""
        if self.kind == "classes":
            known = {name: number for number, name in enumerate(self.classes)}
            return ints([known.get(s.label or "", NO_LABEL) for s in sentences])
        values = [number_in(sentence.label or "") for sentence in sentences]
        return np.array(
            [NO_LABEL if v is None else (v - self.mean) / self.deviation for v in values],
            np.float32,
        )


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
        labels: Labels,
        max_length: int,
        *,
        pairs: bool,
    ) -> None:
        self.tokenizer = plain_tokenizer(tokenizer)
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
        _, content = stored
        return cls(
            Tokenizer.from_str(content["tokenizer"]),
            layout_from(content["layout"]),
            content["config"],
            Labels.from_json(content["labels"]),
            max_length,
            pairs=content["pairs"],
        )
