"""Batches of words: complete rows, few shapes, and weights that sum to one."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from readlet.text.arrays import PADDING, Batches, Shape, shapes
from readlet.text.rows import NO_LABEL, Windows
from readlet.text.tensors import WordBatch, word_batches
from readlet.text.word_features import NULL_FORM, PADDING_FORM, Features, Vocabulary, encode
from readlet.text.words import word_spans
from readlet.types import Example, Span

KNOWN = Vocabulary((), (), "abc", 4)
MAX_QUESTION = 40
WINDOWS = Windows(150, 20, MAX_QUESTION)


def features_of(count: int = 23, longest: int = 400) -> Features:
    """Contexts and questions of very different lengths; every third question has no answer."""
    generator = np.random.default_rng(3)
    examples = []
    for number in range(count):
        length = int(generator.integers(0 if number % 3 else 1, longest))
        context = " ".join(f"c{i}" for i in range(length))
        question = " ".join(f"q{i}" for i in range(int(generator.integers(1, 60))))
        answers = ()
        if number % 3 and length:
            start, end = word_spans(context)[int(generator.integers(0, length))]
            answers = (Span(start, context[start:end]),)
        examples.append(Example(str(number), question, context, answers))
    return encode(examples, KNOWN, WINDOWS)


FEATURES = features_of()


def batches_of(null: bool = True, size: int = 4, seed: int = 0) -> Batches[WordBatch]:
    return word_batches(FEATURES, shapes(WINDOWS, null=null), size, null=null, seed=seed)


def test_trainable_rows() -> None:
    has_label = FEATURES.row_label[:, 0] != NO_LABEL
    assert has_label.any()
    assert not has_label.all()
    answered = np.flatnonzero(has_label).tolist()
    assert FEATURES.trainable(can_abstain=False).tolist() == answered
    either = np.flatnonzero(has_label | FEATURES.row_impossible).tolist()
    assert FEATURES.trainable(can_abstain=True).tolist() == either
    assert len(answered) < len(either)


@pytest.mark.parametrize("null", [False, True])
def test_rows_are_complete_and_in_the_smallest_shape(null: bool) -> None:
    batches, listed = batches_of(null), shapes(WINDOWS, null=null)
    for shape, rows in batches.in_order():
        assert shape in listed
        batch = batches.make(shape, rows)
        assert batch.context.shape == (4, shape[0])
        assert batch.question.shape == (4, shape[1])
        for i, row in enumerate(rows):
            first, length = FEATURES.row_window[row]
            words = FEATURES.forms[first : first + length].tolist()
            expected = [NULL_FORM] * null + words
            assert batch.forms[batch.context[i, : length + null]].tolist() == expected
            assert not batch.context[i, length + null :].any()
            first, count = FEATURES.row_question[row]
            asked = FEATURES.forms[first : first + count]
            assert count <= MAX_QUESTION
            assert batch.forms[batch.question[i, : len(asked)]].tolist() == asked.tolist()
            assert not batch.question[i, len(asked) :].any()
            fitting = [s for s in listed if length + null <= s[0] and len(asked) <= s[1]]
            assert shape == fitting[0]


@pytest.mark.parametrize("null", [False, True])
def test_labels_count_words_not_the_null_place(null: bool) -> None:
    batches = batches_of(null)
    impossible = 0
    for shape, rows in batches.epoch(0):
        batch = batches.make(shape, rows)
        for i, row in enumerate(rows):
            first, last = FEATURES.row_label[row].tolist()
            if first == NO_LABEL:
                assert null
                assert FEATURES.row_impossible[row]
                assert batch.labels[i].tolist() == [-1, -1]
                impossible += 1
                continue
            assert batch.labels[i].tolist() == [first, last]
            words = batch.context[i, null:]  # (words,)
            start = FEATURES.row_window[row, 0]
            assert batch.forms[words[first]] == FEATURES.forms[start + first]
            assert batch.forms[words[last]] == FEATURES.forms[start + last]
    assert (impossible > 0) == null


def padded_forms(features: Features, shape: Shape, rows: list[int], null: bool) -> list[list[int]]:
    """The texts of a batch in forms, by hand: context, padding, question, padding."""
    padded = []
    for row in rows:
        context, question = [NULL_FORM] if null and row >= 0 else [], []
        if row >= 0:
            first, length = features.row_window[row]
            context += features.forms[first : first + length].tolist()
            first, length = features.row_question[row]
            question += features.forms[first : first + length].tolist()
        context += [PADDING_FORM] * (shape[0] - len(context))
        padded.append(context + question + [PADDING_FORM] * (shape[1] - len(question)))
    return padded


def assert_forms_are_distinct(batch: WordBatch, texts: list[list[int]]) -> int:
    """The batch has these texts, and every form once. Returns the size in thirds of all."""
    places = torch.cat([batch.context, batch.question], dim=1)
    assert batch.forms[places].tolist() == texts
    assert torch.equal(places == PADDING, torch.tensor(texts) == PADDING_FORM)
    assert PADDING == 0
    forms = batch.forms.tolist()
    wanted = {form for text in texts for form in text} - {PADDING_FORM}
    used = len(wanted) + 1
    assert forms[PADDING] == PADDING_FORM
    assert sorted(forms[1:used]) == sorted(wanted)  # each once, and no others
    assert set(forms[used:]) <= {PADDING_FORM}
    third = math.ceil((places.numel() + 1) / 3)  # padding may need an entry of its own
    thirds, rest = divmod(len(forms), third)
    assert rest == 0
    assert len(forms) - third < used <= len(forms)  # not more than needed
    # Padding is there even if nothing is padded: then it may be one form too many.
    assert thirds <= 3
    return thirds


def texts_of_words(most: int) -> st.SearchStrategy[str]:
    """Some with many repetitions, some with few."""
    numbers = st.sampled_from([1, 5, 99]).flatmap(lambda n: st.integers(0, n))
    return st.lists(numbers, max_size=most).map(lambda ns: " ".join(f"w{n}" for n in ns))


@given(
    st.lists(st.tuples(texts_of_words(6), texts_of_words(40)), min_size=1, max_size=5),
    st.integers(1, 4),
    st.booleans(),
)
def test_forms_are_the_distinct_forms_of_the_texts(
    texts: list[tuple[str, str]], size: int, null: bool
) -> None:
    examples = [Example(str(i), *pair) for i, pair in enumerate(texts)]
    features = encode(examples, KNOWN, Windows(20, 5, 4))
    batches = word_batches(features, [(8, 4), (20 + null, 4)], size, null=null)
    for shape, rows in batches.in_order():
        batch = batches.make(shape, rows)
        assert batch.rows[: len(rows)].tolist() == rows.tolist()
        expected = padded_forms(features, shape, batch.rows.tolist(), null)
        assert_forms_are_distinct(batch, expected)


def test_filler_rows_have_no_weight() -> None:
    batches = batches_of(size=4)
    shape, rows = next((s, r) for s, r in batches.epoch(0) if len(r) < 4)
    batch = batches.make(shape, rows)
    count = len(rows)
    assert batch.rows.tolist() == [*rows.tolist(), *[-1] * (4 - count)]
    assert not batch.context[count:].any()
    assert not batch.question[count:].any()
    assert (batch.labels[count:] == -1).all()
    assert (batch.weight[count:] == 0).all()
    torch.testing.assert_close(batch.weight[:count], torch.full((count,), 1 / count))


@pytest.mark.parametrize("size", [1, 3, 4, 7])
def test_weights_sum_to_one(size: int) -> None:
    batches = batches_of(size=size)
    for shape, rows in batches.epoch(0):
        assert float(batches.make(shape, rows).weight.sum()) == pytest.approx(1, abs=1e-6)


@given(st.integers(1, 4), st.integers(0, 99))
def test_the_parts_average_to_the_whole(parts: int, epoch: int) -> None:
    batches = batches_of(size=8)
    for shape, rows in batches.epoch(epoch)[:3]:
        batch = batches.make(shape, rows)
        of_row = torch.rand(8)
        cut = [batch.part(index, parts) for index in range(parts)]
        losses = [float((of_row[i::parts] * p.weight).sum()) for i, p in enumerate(cut)]
        assert sum(losses) / parts == pytest.approx(float((of_row * batch.weight).sum()), abs=1e-5)
        assert sorted(r for p in cut for r in p.rows.tolist()) == sorted(batch.rows.tolist())
        for i, p in enumerate(cut):
            assert torch.equal(p.forms, batch.forms)  # indices keep their meaning
            assert torch.equal(p.context, batch.context[i::parts])
            assert torch.equal(p.question, batch.question[i::parts])
            assert torch.equal(p.labels, batch.labels[i::parts])


@given(st.integers(16, 600), st.integers(4, 100), st.booleans())
def test_shapes_are_few_and_fit_everything(context: int, question: int, null: bool) -> None:
    listed = shapes(Windows(context, 5, question), null=null)
    longest, longest_question = listed[-1]
    assert 0 <= longest - (context + null) < 16
    assert 0 <= longest_question - question < 16
    assert all(length % 16 == 0 for shape in listed for length in shape)
    assert len(set(listed)) == len(listed) <= 10
    assert listed == sorted(listed, key=lambda shape: (shape[1], shape[0]))
    assert all(length <= longest for length, _ in listed)


def test_languages_without_spaces_have_a_shape_for_long_questions() -> None:
    windows = Windows(400, 128, 50)
    usual = shapes(windows, null=True)
    assert shapes(windows, null=True, languages=("en", "es")) == usual
    assert shapes(windows, null=True, languages=("en", "th")) == [*usual, (416, 208)]
