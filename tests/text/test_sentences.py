"""Texts and pairs as rows, against the tokenizers of transformers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from readlet.text.labels import Labels
from readlet.text.pretrained import load_config, load_tokenizer
from readlet.text.subwords import (
    LONG_TEXT,
    SentenceEncoder,
    SentenceRows,
    layout_of,
    layout_of_one,
    plain_tokenizer,
)
from readlet.text.tensors import sentence_batches
from readlet.types import Sentence

KINDS = ("bert", "albert", "roberta", "deberta-v2")
LABELS = Labels("classes", ("no", "yes"))
TEXTS = ["The lamp at Cape Wick was lit.", "  Old. ", "A bridge, built in 1904 by Ada Brook, fell."]


def encoder(folder: Path, *, pairs: bool, max_length: int = 64) -> SentenceEncoder:
    tokenizer, config = load_tokenizer(str(folder)), load_config(str(folder))
    layout = layout_of(tokenizer) if pairs else layout_of_one(tokenizer)
    plain = plain_tokenizer(tokenizer.backend_tokenizer.to_str())
    return SentenceEncoder(plain, layout, config, LABELS, max_length, pairs=pairs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pairs", [False, True])
def test_a_row_is_what_transformers_makes(
    tiny_encoder: Callable[..., Path], kind: str, pairs: bool
) -> None:
    folder = tiny_encoder(kind)
    made = encoder(folder, pairs=pairs)
    seconds = TEXTS[::-1] if pairs else [None] * 3
    sentences = [
        Sentence(str(n), text, "yes", second)
        for n, (text, second) in enumerate(zip(TEXTS, seconds, strict=True))
    ]
    batches = sentence_batches(made.encode(sentences), made, 4)
    batch = batches.make((64,), np.arange(3, dtype=np.int32))  # one filler
    stripped = [text.strip() for text in TEXTS]
    given = (stripped, stripped[::-1]) if pairs else (stripped,)
    wanted = load_tokenizer(str(folder))(*given, padding="max_length", max_length=64)
    assert batch.tokens[:3].tolist() == wanted["input_ids"]
    assert batch.keep[:3].int().tolist() == wanted["attention_mask"]
    if "token_type_ids" in wanted:
        assert (batch.types * batch.keep)[:3].tolist() == wanted["token_type_ids"]
    for table in (batch.tokens, batch.types, batch.keep):
        assert table[3].tolist() == table[0].tolist()
    assert batch.labels.tolist() == [1, 1, 1, -1]
    assert batch.weight.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0])


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [(3, 20, (3, 10)), (20, 3, (10, 3)), (20, 20, (7, 6)), (6, 7, (6, 7)), (7, 20, (7, 6))],
)
def test_of_a_pair_the_longer_text_is_cut(
    tiny_encoder: Callable[..., Path], first: int, second: int, kept: tuple[int, int]
) -> None:
    """It is noted."""
    made = encoder(tiny_encoder(), pairs=True, max_length=16)  # 13 beside the special tokens
    rows = made.encode([Sentence("a", "a " * first, None, "b " * second)])
    assert (int(rows.row_text[0, 1]), int(rows.row_second[0, 1])) == kept
    assert rows.notes == ({LONG_TEXT: ["a"]} if first + second > 13 else {})
    assert rows.longest == sum(kept)


def test_a_text_is_tokenised_once_and_rows_survive_storing(
    tiny_encoder: Callable[..., Path],
) -> None:
    made = encoder(tiny_encoder(), pairs=False)
    rows = made.encode([Sentence(str(n), "The lamp.", ("no", None, "else")[n]) for n in range(3)])
    assert len({*rows.row_text[:, 0].tolist()}) == 1
    assert rows.row_label.tolist() == [0, -1, -1]
    again = SentenceRows.from_stored(rows.stored())
    for name, array in rows.stored()[0].items():
        np.testing.assert_array_equal(array, again.stored()[0][name])
    restored = SentenceEncoder.from_stored(made.stored(), 64)
    assert restored.labels == LABELS
    assert restored.encode([Sentence("1", "The lamp.", "yes")]).row_label.tolist() == [1]


def test_values_are_standardised() -> None:
    sentences = [Sentence(str(n), "a", str(value)) for n, value in enumerate((1990, 2000, 2010))]
    labels = Labels.learned("numbers", sentences)
    numbers = labels.numbers(sentences)
    assert numbers.mean() == pytest.approx(0, abs=1e-6)
    assert numbers.std() == pytest.approx(1)
    assert (numbers * labels.deviation + labels.mean).tolist() == pytest.approx([1990, 2000, 2010])
    same = Labels.learned("numbers", sentences[:1] * 2)
    assert same.deviation == 1.0  # nothing is divided by zero
