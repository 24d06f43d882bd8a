"""Subwords: windows, exact offsets, labels, and rows as the tokenizer itself would make them."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readlet.text.pretrained import load_config, load_tokenizer
from readlet.text.rows import LONG_QUESTION, NO_LABEL, Windows
from readlet.text.subwords import SubwordEncoder, SubwordRows, layout_of, plain_tokenizer, trimmed
from readlet.text.tensors import SubwordBatch, subword_batches
from readlet.types import Example, Span

KINDS = ("bert", "albert", "electra", "roberta", "deberta-v2", "distilbert", "xlm-roberta")
WIDE = Windows(4096, 128, 512)
Make = Callable[..., SubwordEncoder]
HARD = [
    "Ada Brook lit the lamp at Cape Wick in 1881.",
    "  leading,   multiple \t and trailing white space \n\n ",
    "Café Zoë, Straße, ¿Qué año?",
    "Cafe\u0301 Zoe\u0308 q\u0307\u0323 decomposed",
    "emoji 🚀 and 👩🏽\u200d🚀 and 🇫🇷 flags ❤\ufe0f.",
    "東京は大きい。北京2008年",
    "हिन्दी ที่นี่ עִבְרִית العَرَبِيَّة",
    "half \ud83d surrogate \udc00.",
    "ﬁne … ½ ™ ㎏ \u3000 wide\u00a0spaces\u2003here",
    "zero\u200bwidth \ufeff bom \x00 nul \x7f del \x85 nel",
    "[SEP] in <s> the [CLS] text </s> <mask> [UNK] <pad>",
    "supercalifragilisticexpialidocious" * 20,
    "don't \"quote\" ``this'' C++ 1,250.5 a-b",
    "\n",
    " ",
    "x",
    "",
]


@pytest.fixture(scope="module")
def encoder(tiny_encoder: Callable[..., Path]) -> Make:
    made: dict[str, Any] = {}

    def make(kind: str = "bert", windows: Windows = WIDE) -> SubwordEncoder:
        if kind not in made:
            name = str(tiny_encoder(kind))
            made[kind] = (load_tokenizer(name), load_config(name))
        tokenizer, config = made[kind]
        config = config | {"max_position_embeddings": 10_000}
        layout = layout_of(tokenizer)
        plain = plain_tokenizer(tokenizer.backend_tokenizer.to_str())
        return SubwordEncoder(plain, layout, windows, config)

    return make


def batches_of(encoder: SubwordEncoder, rows: SubwordRows) -> list[SubwordBatch]:
    return list(subword_batches(rows, encoder, 1, null=True))


# Offsets


@pytest.mark.parametrize("kind", KINDS)
def test_offsets_lie_in_the_text_in_order(encoder: Make, kind: str) -> None:
    _check_offsets(encoder(kind), HARD)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_offsets_of_arbitrary_texts(encoder: Make, kind: str, data: Any) -> None:
    odd = st.sampled_from([" ", "\n", "\u0301", "\u200d", "\ufe0f", "a", "é", "[SEP]", "🚀", "水"])
    text = st.lists(odd | st.text(max_size=3), max_size=8).map("".join)
    _check_offsets(encoder(kind), data.draw(st.lists(text, max_size=3)))


def _check_offsets(encoder: SubwordEncoder, texts: list[str]) -> None:
    rows = encoder.encode([Example(str(i), "Who?", text) for i, text in enumerate(texts)])
    assert rows.row_example.tolist() == list(range(len(texts)))
    for row, text in enumerate(texts):
        places = rows.places(row).tolist()
        for start, end in places:
            assert 0 <= start <= end <= len(text)
            assert text[start:end] == text[start:end].strip()
        for (start, end), (next_start, next_end) in pairwise(places):
            assert start <= next_start
            assert end <= next_end
        kept = [place for place in places if place[0] < place[1]]
        assert bool(kept) or not any(map(str.isalnum, text))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Ada Brook lit the lamp.", "Ada Brook"),
        ("Ada Brook lit the lamp.", "lamp"),
        ("in the Café Zoë, today", "Café Zoë"),
        ("in the Cafe\u0301 Zoe\u0308, today", "Cafe\u0301 Zoe\u0308"),
        ("in the Cafe\u0301", "Cafe\u0301"),
        ("he flew 🚀 home", "🚀"),
        ("  it   was \t red  \n", "red"),
        ("it \ud83d was red", "red"),
    ],
)
def test_an_answer_of_whole_words_is_found_again(
    encoder: Make, kind: str, text: str, answer: str
) -> None:
    begin = text.index(answer)
    example = Example("1", "What?", text, (Span(begin, answer),))
    rows = encoder(kind).encode([example])
    first, last = rows.row_label[0]
    places = rows.places(0)
    assert text[places[first, 0] : places[last, 1]] == answer
    assert rows.notes == {}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("begin", "end"), [(3, 10), (4, 10), (6, 13), (6, 14), (3, 14)])
def test_white_space_around_an_answer_is_no_part_of_it(
    encoder: Make, kind: str, begin: int, end: int
) -> None:
    """Some tokenizers have tokens for white space; a label there would never be allowed."""
    text = "Ada   qzqz    lit it"
    made = encoder(kind)
    rows = made.encode([Example("1", "Who?", text, (Span(begin, text[begin:end]),))])
    first, last = rows.row_label[0]
    (batch,) = batches_of(made, rows)
    assert batch.allowed[0, [first, last]].all()
    places = rows.places(0)
    assert text[places[first, 0] : places[last, 1]] == "qzqz"


def test_long_runs_of_white_space_take_no_time() -> None:
    text = "a" + " " * 1_000_000 + "b"
    whole = np.array([[0, 1], [1, 1_000_001], [900_000, 1_000_002]], np.int32)
    assert trimmed(whole, text).tolist() == [[0, 1], [1_000_001] * 2, [1_000_001, 1_000_002]]


# Rows


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_what_the_tokenizer_makes_of_a_pair(
    encoder: Make, tiny_encoder: Callable[..., Path], kind: str
) -> None:
    tokenizer = load_tokenizer(str(tiny_encoder(kind)))
    made = encoder(kind)
    question = "Who lit the lamp?"
    # An empty text is none to transformers, so there would be no pair.
    texts = [text for text in HARD if text and "[" not in text and "\ud83d" not in text]
    rows = made.encode([Example(str(i), question, text) for i, text in enumerate(texts)])
    found = {int(batch.rows[0]): batch for batch in batches_of(made, rows)}
    assert len(found) == len(texts)
    for row, text in enumerate(texts):
        expected = tokenizer(question, text, return_token_type_ids=True)
        batch, count = found[row], len(expected["input_ids"])
        assert batch.tokens[0, :count].tolist() == expected["input_ids"]
        assert batch.types[0, :count].tolist() == expected["token_type_ids"]
        assert batch.keep[0].tolist() == [i < count for i in range(batch.keep.shape[1])]
        assert set(batch.tokens[0, count:].tolist()) <= {tokenizer.pad_token_id}
        assert int(batch.tokens[0, made.layout.null]) == tokenizer.cls_token_id
        sides = expected.sequence_ids(0)
        first = sides.index(1) if 1 in sides else count - len(made.layout.after)
        assert int(batch.first[0]) == first


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_the_name_of_a_special_token_in_a_text_is_text(encoder: Make, kind: str) -> None:
    made = encoder(kind)
    text = "a [SEP] b [CLS] c </s> d <s> e"
    rows = made.encode([Example("1", text, text)])
    layout = made.layout
    special = {*layout.before, *layout.between, *layout.after, layout.padding}
    assert special.isdisjoint(rows.tokens.tolist())


def test_stored_truncation_and_padding_are_ignored(tiny_encoder: Callable[..., Path]) -> None:
    """As in the tokenizer.json of sentence encoders, which cut texts after 128 tokens."""
    name = str(tiny_encoder("bert"))
    tokenizer = load_tokenizer(name)
    tokenizer.backend_tokenizer.enable_truncation(8)
    tokenizer.backend_tokenizer.enable_padding(length=8)
    layout = layout_of(tokenizer)
    plain = plain_tokenizer(tokenizer.backend_tokenizer.to_str())
    made = SubwordEncoder(plain, layout, WIDE, load_config(name))
    rows = made.encode([Example("1", "Who?", "a b c d e f g h i j k l"), Example("2", "W", "a")])
    assert rows.row_window[:, 1].tolist() == [12, 1]


@pytest.mark.parametrize("kind", ["bert", "roberta", "albert"])
def test_windows_cover_every_token(encoder: Make, kind: str) -> None:
    windows = Windows(20, 8, 10)
    text = " ".join(f"word{i} é 水" for i in range(40))
    example = Example("1", "Which?", text, (Span(text.index("word39"), "word39"),))
    whole, cut = (encoder(kind, w).encode([example]) for w in (WIDE, windows))
    count = int(whole.row_window[0, 1])
    seen: list[int] = []
    for (first, length), (later, _) in pairwise(cut.row_window.tolist()):
        assert length == 20
        assert later == first + 12  # an overlap of 8
    for first, length in cut.row_window.tolist():
        seen += range(first, first + length)
    assert sorted(set(seen)) == list(range(count))
    np.testing.assert_array_equal(cut.offsets, whole.offsets)
    for row, (label, impossible) in enumerate(zip(cut.row_label, cut.row_impossible, strict=True)):
        assert impossible == (label[0] == NO_LABEL)
        if not impossible:
            places = cut.places(row)
            assert text[places[label[0], 0] : places[label[1], 1]] == "word39"
    assert not cut.row_impossible.all()


def test_a_long_question_is_truncated_with_a_note(encoder: Make) -> None:
    made = encoder("bert", Windows(20, 8, 6))
    long, short = "why " * 50, "Who lit it"
    rows = made.encode([Example("long", long, "Ada lit it."), Example("short", short, "Ada.")])
    assert rows.notes == {LONG_QUESTION: ["long"]}
    assert rows.row_question[0, 1] == 6
    for batch in batches_of(made, rows):
        assert int(batch.keep.sum()) <= made.longest


def test_each_text_is_tokenised_once(encoder: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = encoder("bert", Windows(20, 8, 10))
    seen: list[str] = []

    class Counting:
        def encode_batch(self, texts: list[str], **named: Any) -> Any:
            seen.extend(texts)
            return inner.encode_batch(texts, **named)

        def encode_batch_fast(self, texts: list[str], **named: Any) -> Any:
            seen.extend(texts)
            return inner.encode_batch_fast(texts, **named)

    inner, made.tokenizer = made.tokenizer, Counting()  # type: ignore[assignment]
    contexts = ["Ada lit the lamp. " * 9, "It was red."]
    questions = [f"Who is number {i}?" for i in range(30)]
    examples = [Example(f"{c[:3]}{q}", q, c) for c in contexts for q in questions]
    rows = made.encode(examples)
    assert sorted(seen) == sorted([*contexts, *questions])
    one = made.encode([Example("1", questions[0], contexts[0])])
    # The tokens of a context are stored once, however many questions share it.
    assert len(rows.offsets) == len(one.offsets) + len(made.encode(examples[-1:]).offsets)
    assert len(rows) > 60


def test_batches_are_no_longer_than_the_encoder_reads(tiny_encoder: Callable[..., Path]) -> None:
    """Padded lengths are rounded up, but never above the number of positions."""
    name = str(tiny_encoder("bert"))
    tokenizer, config = load_tokenizer(name), load_config(name) | {"max_position_embeddings": 125}
    windows = Windows(100, 10, 22)
    plain = plain_tokenizer(tokenizer.backend_tokenizer.to_str())
    made = SubwordEncoder(plain, layout_of(tokenizer), windows, config)
    assert made.longest == 125
    rows = made.encode([Example("1", "Who? " * 30, "Ada lit it. " * 60)])
    assert {batch.tokens.shape[1] for batch in batches_of(made, rows)} <= {64, 96, 125}
    assert max(batch.tokens.shape[1] for batch in batches_of(made, rows)) == 125


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_encoder_and_rows_survive_the_cache(encoder: Make, kind: str) -> None:
    made = encoder(kind, Windows(20, 8, 10))
    examples = [Example(str(i), f"Who {i}?", text) for i, text in enumerate(HARD)]
    again = SubwordEncoder.from_stored(made.stored(), made.windows)
    assert again.layout == made.layout
    assert again.config == made.config
    one, other = made.encode(examples), again.encode(examples)
    restored = SubwordRows.from_stored(one.stored())
    for name, array in one.stored()[0].items():
        np.testing.assert_array_equal(array, other.stored()[0][name])
        np.testing.assert_array_equal(array, restored.stored()[0][name])
