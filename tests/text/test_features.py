"""Examples to rows: words keep their offsets, no text is cut, every change is noted."""

from collections import Counter, defaultdict
from itertools import pairwise
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, SearchStrategy

from readlet.text.rows import LONG_QUESTION, NO_LABEL, Windows
from readlet.text.word_features import (
    NULL_FORM,
    PADDING_FORM,
    UNKNOWN,
    Features,
    Vocabulary,
    count_words,
    encode,
)
from readlet.text.words import word_spans, words
from readlet.types import Example, Span

KNOWN = Vocabulary(("lamp",), ("the", "by"), "abcdehlmpty", 4)
WIDE = Windows(50, 10, 20)
CUT = "answer cuts a word: taken with the whole word"
EMPTY = "answer without a word: not trained on"
LONG_CONTEXT = "long context: read in windows"
NO_WINDOW = "answer fits into no window: not trained on"


def labelled(features: Features, row: int, context: str) -> str:
    """The text between the first and the last labelled word of a row."""
    places = features.places(row)
    first, last = features.row_label[row]
    return context[places[first, 0] : places[last, 1]]


@given(st.data())
def test_every_word_keeps_its_offsets(
    example_lists: SearchStrategy[list[Example]], data: DataObject
) -> None:
    """Spans are those of the text, and equal numbers mean equal words."""
    examples = data.draw(example_lists)
    windows = Windows(16, 5, 8)
    features = encode(examples, KNOWN, windows)
    assert len(features.forms) == len(features.offsets)
    forms: dict[int, str] = {}
    windows_of: defaultdict[int, list[tuple[int, list[tuple[int, int]]]]] = defaultdict(list)
    for row, number in enumerate(features.row_example.tolist()):
        example = examples[number]
        first, count = features.row_window[row].tolist()
        asked_first, asked = features.row_question[row].tolist()
        spans = [tuple(pair) for pair in features.places(row).tolist()]
        windows_of[number].append((first, spans))
        question = features.offsets[asked_first : asked_first + asked].tolist()
        assert [tuple(pair) for pair in question] == word_spans(example.question)[:8]
        for begin, length, text in (
            (first, count, example.context),
            (asked_first, asked, example.question),
        ):
            for place in range(begin, begin + length):
                start, end = features.offsets[place].tolist()
                form = int(features.forms[place])
                assert form not in (PADDING_FORM, NULL_FORM)
                assert forms.setdefault(form, text[start:end]) == text[start:end]
    for number, listed in windows_of.items():
        whole = word_spans(examples[number].context)
        first = listed[0][0]  # index of the text's first word among those of all texts
        assert [start - first for start, _ in listed] == list(windows.starts(len(whole)))
        for start, spans in listed:
            assert spans == whole[start - first : start - first + 16]
    assert len(set(forms.values())) == len(forms)
    assert set(features.row_example.tolist()) == set(range(len(examples)))  # none is missing
    for form, word in forms.items():
        assert features.form_words[form] == KNOWN.word_number(word)
        assert features.form_characters[form].tolist() == KNOWN.character_numbers(word)


@given(st.data())
def test_labels_cover_the_gold_answer(
    example_lists: SearchStrategy[list[Example]], data: DataObject
) -> None:
    examples = [e for e in data.draw(example_lists) if all(a.is_in(e.context) for a in e.answers)]
    features = encode(examples, KNOWN, WIDE)
    for row, number in enumerate(features.row_example):
        example = examples[number]
        has_label = features.row_label[row, 0] != NO_LABEL
        assert not (has_label and features.row_impossible[row])
        if not example.answers:
            assert features.row_impossible[row]
        if has_label:
            gold = example.answers[0]
            covered = labelled(features, row, example.context)
            assert gold.text.strip() in covered
            # No extra word: without its first or last word it covers less than the answer.
            length = features.row_label[row, 1] - features.row_label[row, 0] + 1
            assert length <= max(len(words(gold.text)), 1) + 1


def test_answers_that_cut_words_are_extended_and_noted() -> None:
    context = "The 1880s lamp-lighters of Wick"
    examples = [
        Example("cut", "?", context, (Span(5, "880"),)),
        Example("whole", "?", context, (Span(4, "1880s lamp"),)),
        Example("spaces", "?", context, (Span(3, " 1880s "),)),
        Example("nothing", "?", context, (Span(3, " "),)),
        Example("none", "?", context, ()),
    ]
    features = encode(examples, KNOWN, WIDE)
    assert [labelled(features, row, context) for row in range(3)] == [
        "1880s",
        "1880s lamp",
        "1880s",
    ]
    assert (features.row_label[3:] == NO_LABEL).all()
    # An answer that could not be labelled does not become "no answer".
    assert features.row_impossible.tolist() == [False, False, False, False, True]
    assert features.notes == {CUT: ["cut"], EMPTY: ["nothing"]}


@given(st.integers(2, 40), st.integers(0, 39), st.integers(0, 300))
def test_windows_cover_every_word_and_overlap_exactly(size: int, overlap: int, length: int) -> None:
    overlap %= size
    starts = Windows(size, overlap, 9).starts(length)
    covered = [range(start, min(start + size, length)) for start in starts]
    assert set().union(*covered) == set(range(length))
    assert covered[-1].stop == length
    for left, right in pairwise(covered):
        assert len(left) == size
        assert len(set(left) & set(right)) == overlap
        assert right.stop > left.stop  # every window has new words
    if length <= size:
        assert len(covered) == 1


@given(st.integers(4, 12), st.integers(0, 11), st.integers(1, 60), st.integers(0, 59), st.data())
def test_long_contexts_are_never_cut(
    size: int, overlap: int, length: int, first: int, data: DataObject
) -> None:
    overlap, first = overlap % size, first % length
    last = data.draw(st.integers(first, min(length - 1, first + 5)))
    context = " ".join(f"w{number}" for number in range(length))
    spans = word_spans(context)
    answer = Span(spans[first][0], context[spans[first][0] : spans[last][1]])
    features = encode(
        [Example("long", "w1?", context, (answer,))], KNOWN, Windows(size, overlap, 3)
    )
    seen: Counter[int] = Counter()
    for start, count in features.row_window:
        assert count <= size
        seen.update(range(start, start + count))
    assert set(seen) == set(range(length))
    assert (LONG_CONTEXT in features.notes) == (length > size)
    held = 0
    for row, (start, count) in enumerate(features.row_window):
        if start <= first and last < start + count:
            held += 1
            assert features.row_label[row].tolist() == [first - start, last - start]
            assert labelled(features, row, context) == answer.text
            assert not features.row_impossible[row]
        else:
            assert (features.row_label[row] == NO_LABEL).all()
    # Windows without the answer are impossible, unless no window has it: then none is.
    assert features.row_impossible.sum() == (len(features) - held if held else 0)
    assert features.notes.get(NO_WINDOW, []) == ([] if held else ["long"])
    if last - first < overlap:
        assert held


def test_long_questions_are_noted_and_kept() -> None:
    question = "who lit the lamp at the cape in the year of the storm"
    features = encode([Example("q", question, "the lamp")], KNOWN, Windows(50, 10, 5))
    assert features.notes == {LONG_QUESTION: ["q"]}
    first, asked = features.row_question[0].tolist()
    assert [question[s:e] for s, e in features.offsets[first : first + asked]] == (
        words(question)[:5]
    )
    assert len(features.forms) == len(words("the lamp")) + len(words(question))


def test_texts_and_forms_are_encoded_once() -> None:
    context = "The lamp. the LAMP"
    examples = [Example(str(i), q, context) for i, q in enumerate(["lamp?", "the?", "lamp?"])]
    features = encode(examples, KNOWN, WIDE)
    assert len(features.forms) == 5 + 2 + 2  # words of one context and of two questions
    asked = features.row_question.tolist()
    assert asked[0] == asked[2] != asked[1]
    assert len({tuple(window) for window in features.row_window.tolist()}) == 1
    assert len(features.form_words) == 2 + len({"The", "lamp", ".", "the", "LAMP", "?"})
    the, lamp, stop, small, capital = features.forms[:5]
    keys = features.form_keys
    assert keys[the] == keys[small] != keys[lamp] == keys[capital] != keys[stop]
    assert min(keys[[the, lamp, stop]]) > 1 > keys[PADDING_FORM]
    assert keys[NULL_FORM] == 1


def test_combining_accents_give_the_same_numbers_and_keep_their_offsets() -> None:
    known = Vocabulary(("où", "fête"), ("café",), "aceéfotêùhb", 8)
    question, context = "Où est le café ?", "La fête est au Café."
    examples = [
        Example("e", normalize(form, question), normalize(form, context)) for form in ("NFC", "NFD")
    ]
    whole, apart = (encode([example], known, Windows(20, 5, 20)) for example in examples)
    for table in ("form_words", "form_characters", "form_keys", "forms"):
        assert np.array_equal(getattr(whole, table), getattr(apart, table)), table
    assert apart.offsets[-2:].max() == len(examples[1].question)  # in the original text


@pytest.mark.parametrize(
    ("question", "context"), [("", ""), (" ", "the"), ("who", ""), ("who", " \n")]
)
def test_empty_texts_have_a_row(question: str, context: str) -> None:
    features = encode([Example("e", question, context)], KNOWN, WIDE)
    assert len(features) == 1
    assert features.row_window.tolist() == [[0, len(words(context))]]
    assert features.row_impossible.all()


SPEAKING = Vocabulary((), ("en:me", "es:me", "tr:ev"), "aem", 4, ("en", "es", "tr", "th"))


def test_equal_words_of_two_languages_are_two_forms() -> None:
    example = Example("a", "me", "me Me", language="es", question_language="en")
    features = encode([example, Example("b", "me", "me", language="es")], SPEAKING, WIDE)
    spanish, capital, english = features.forms[:3]
    assert features.form_languages[[spanish, capital, english]].tolist() == [2, 2, 1]
    assert features.form_words[spanish] != features.form_words[english] != UNKNOWN
    assert len(set(features.form_keys[[spanish, capital, english]])) == 1  # they match
    assert (features.form_languages[[PADDING_FORM, NULL_FORM]] == 0).all()
    # The second question has the language of its context, so it is another text.
    assert features.row_question[0, 0] != features.row_question[1, 0]
    counted = count_words([example], SPEAKING.languages)
    assert counted == Counter({("es", "me"): 1, ("es", "Me"): 1, ("en", "me"): 1})


def test_questions_without_spaces_may_have_more_words() -> None:
    windows = Windows(50, 10, 5)
    thai = Example("a", "ใครสร้างโรงสี", "1904", language="th")
    assert 5 < len(words(thai.question)) <= windows.longest_question(["th"]) == 20
    whole = encode([thai], SPEAKING, windows)
    assert not whole.notes
    assert whole.row_question[0, 1] == len(words(thai.question))
    assert LONG_QUESTION in encode([thai], KNOWN, windows).notes
