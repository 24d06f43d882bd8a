from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.augmentation.translation.sentences import LONGEST, halves, split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["Mr. Hale met J. R. Finch in the U.S. Navy.", "It rained."],
        ["He left for the U.S.", "The ship sank at 5 p.m.", "They swam."],
        ['"Stop!" he said.', "She did (slowly.)", "Why?", '"Because."'],
        ["It cost 3.14 or 1,250.5 crowns.", "See No. 5 and fig. 3."],
        ["It was so.[1]", "It is not.[2][3]", "Ah… well."],
        ["¿Quién fue?", "¡Nadie!", "La Sra. Ruiz lo vio."],
        ["Am 3. Oktober kam z.B. Dr. Weiß.", "Er blieb."],
        ["今日は晴れ。", "「明日も。」", "本当？", "はい"],
        ["यह घर है।", "वह पेड़ था॥", "ठीक"],
        ["هل هذا بيت؟", "نعم.", "یہ گھر ہے۔", "جی"],
    ],
)
def test_sentences_of_many_scripts(sentences: list[str]) -> None:
    between = "" if sentences[0][-1] in "。" else "  "
    text = between.join(sentences)
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Water\n\nIt is wet. It\nflows", ["Water", "It is wet.", "It\nflows"]),
        ("Tools:\n- a saw\n- an axe", ["Tools:", "- a saw", "- an axe"]),
        ("Acid (H\n2SO\n4) burns.", ["Acid (H\n2SO\n4) burns."]),
        ("\n Rivers \n", ["Rivers"]),
        ("  \n ", []),
    ],
)
def test_lines_and_paragraphs(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


_PIECES = st.sampled_from(
    [*'. ? ! 。 ... é e\u0301 字 🙂 " ) a B 7 Mr.'.split(), ". ", "? ", " ", "\n", "\t"]
)


@given(st.lists(_PIECES, max_size=60).map("".join) | st.text(max_size=80))
def test_only_white_space_stands_between_sentences(text: str) -> None:
    last = 0
    for start, end in split_sentences(text):
        assert text[last:start].strip() == ""
        assert text[start:end] == text[start:end].strip() != ""
        assert last <= start
        last = end
    assert text[last:].strip() == ""


@given(st.text("ab ,\u0301字", min_size=LONGEST, max_size=4 * LONGEST))
def test_long_text_is_cut_between_words(text: str) -> None:
    sentences = split_sentences(text)
    assert all(end - start <= LONGEST for start, end in sentences)
    for (_, end), (start, _) in pairwise(sentences):
        window = text[end - LONGEST // 2 : end]
        if " " in window.strip():  # there was a place to cut
            assert end < start or text[end - 1] in ", "


def test_halves_cover_the_text() -> None:
    text = "one two three, four five six"
    assert [text[start:end] for start, end in halves(text)] == ["one two three,", "four five six"]
    assert halves("abcdef") == [(0, 5), (5, 6)]
