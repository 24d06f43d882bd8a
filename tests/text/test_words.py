import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from readlet.text import words as room
from readlet.text.passages import sentence_span
from readlet.text.words import TokenSpan, snap, word_spans, words


def test_no_group_of_the_standard_library_is_possessive() -> None:
    """That of Python 3.11.2 keeps what a failed repetition has read: `1881. `, one word."""
    assert not re.search(r"\)[*+?]\+", room._simple().pattern)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("In 1881. Then 4, or 5.", "In 1881 . Then 4 , or 5 ."),
        (" \t\n", ""),
        ("Rain fell, then (briefly) snow.", "Rain fell , then ( briefly ) snow ."),
        ("1,250.5 or 3.14 in 1990s, the 19th.", "1,250.5 or 3.14 in 1990s , the 19th ."),
        ("room 4b, A4, x_1", "room 4 b , A4 , x_1"),
        ("U.S. and z.B. end.", "U.S. and z.B. end ."),
        ("$5 50% #1 a-b C++", "$ 5 50 % # 1 a - b C + +"),
        # English clitics, with either apostrophe
        ("Ada's dog doesn't bark", "Ada 's dog does n't bark"),
        ("we’re sure they'd've CAN'T I’m", "we ’re sure they 'd 've CA N'T I ’m"),
        ("the boys' toys", "the boys ' toys"),
        ("'quoted' words", "' quoted ' words"),
        # French and Italian elisions
        ("l'eau d’été qu'il aujourd'hui", "l' eau d’ été qu' il aujourd'hui"),
        ("dell'arte un'idea", "dell' arte un' idea"),
        # German compounds and umlauts stay whole
        ("Donaudampfschifffahrt über Straße", "Donaudampfschifffahrt über Straße"),
        ("¿Qué año? ¡Mañana!", "¿ Qué año ? ¡ Mañana !"),
        ("Москва — город", "Москва — город"),
        ("१२३ ٣٫٥ हिन्दी", "१२३ ٣ ٫ ٥ हिन्दी"),
        ("한국어 단어", "한국어 단어"),
    ],
)
def test_words_of_european_and_other_spaced_scripts(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京は大きい。", ["東", "京", "は", "大", "き", "い", "。"]),
        ("北京2008年", ["北", "京", "2008", "年"]),
        ("ビール", ["ビー", "ル"]),  # the long-vowel sign belongs to its syllable
        ("ที่นี่", ["ที่", "นี่"]),  # vowel and tone marks stay with their consonant
        ("ภาษาPython", ["ภ", "า", "ษ", "า", "Python"]),
    ],
)
def test_scripts_without_spaces_are_split_into_characters(text: str, expected: list[str]) -> None:
    assert words(text) == expected


MARKS = "e\u0301te\u0301 q\u0307\u0323 3\u0301 12\ufe0f\u20e3 …\u0301 می\u200cخواهم"
EMOJI = "👩\u200d👩\u200d👧\u200d👦 👩🏽\u200d🚀 👍🏿 🇧🇷 🏴\u200d☠\ufe0f"
SIGNS = "5\ufe0f\u20e3 #\u20e3 ❤\ufe0f"


@pytest.mark.parametrize("whole", f"{MARKS} {EMOJI} {SIGNS}".split())
def test_marks_and_emoji_stay_together(whole: str) -> None:
    assert words(whole) == [whole]
    assert words(f"so {whole} it") == ["so", whole, "it"]


def test_flags_are_pairs() -> None:
    assert words("🇧🇷🇫🇷👍🏿👍") == ["🇧🇷", "🇫🇷", "👍🏿", "👍"]


def test_a_prepended_sign_does_not_include_the_next_space() -> None:
    assert words("\u0600 x") == ["\u0600", "x"]


SPACES = [" ", "\n", "\u00a0", "\u3000", "\x1f"]
PARTS = ["'", "’", "n't", "'s", "l'", ".", ",", "-", "7", "1.5", "U.S.", "é", "水", "ท", "่"]
JOINED = ["\u0301", "\ufe0f", "\u20e3", "\u200d", "👩", "🏽", "🇫", "\u0600", "\ud800"]
ODD = st.sampled_from([*SPACES, *PARTS, *JOINED])


@given(st.lists(ODD | st.text(max_size=3), max_size=12).map("".join))
@example("\u0600 \u0e48")  # a prepended sign before a space with a mark of its own
def test_tokenising_never_changes_the_text(text: str) -> None:
    """Words and the gaps between them, joined, are the text; gaps are white space only."""
    at, pieces = 0, []
    for start, end in word_spans(text):
        gap = text[at:start]
        assert gap == "" or gap.isspace()
        assert start < end
        assert not any(character in " \n\t\u00a0\u3000" for character in text[start:end])
        pieces += [gap, text[start:end]]
        at = end
    assert text[at:] == "" or text[at:].isspace()
    assert "".join(pieces) + text[at:] == text
    assert words(text) == pieces[1::2]


SIMPLE_TEXT = st.text(
    alphabet=st.characters(max_codepoint=127) | st.sampled_from("éÀßɏØ÷×ñΆΩώЯжҁ–’“«…¿€"),
    max_size=30,
)
ASCII_PARTS = "don't Ada's l'eau aujourd'hui 1,250.5 19th 1990s U.S. ' _ x_1 ( -- CAN'T".split()
ASCII_WORDS = st.lists(
    st.sampled_from(ASCII_PARTS) | st.text(alphabet=" \n\t\x0b\x1c'.,-snt19_aN\"", max_size=4),
    max_size=8,
).map("".join)


@given(st.lists(ODD | ASCII_WORDS | st.text(max_size=3), max_size=12).map("".join))
def test_splitting_at_spaces_gives_the_same_words(text: str) -> None:
    """Each engine reads its own parts; the general one alone finds the same words."""
    assert word_spans(text) == [match.span(1) for match in room._any_script().finditer(text)]


@given(SIMPLE_TEXT | ASCII_WORDS)
def test_both_engines_agree_on_simple_text(text: str) -> None:
    engines = (room._simple(), room._any_script())
    fast, general = ([match.span(1) for match in each.finditer(text)] for each in engines)
    assert fast == general


def brute_snap(spans: list[tuple[int, int]], start: int, end: int) -> TokenSpan | None:
    """The shortest run of words that contains every visible character of the span."""
    wanted = {at for at in range(start, end) if any(s <= at < e for s, e in spans)}
    if not wanted:
        return None
    runs = itertools.combinations_with_replacement(range(len(spans)), 2)
    for first, last in sorted(runs, key=lambda run: run[1] - run[0]):
        held = {at for s, e in spans[first : last + 1] for at in range(s, e)}
        if wanted <= held:
            return TokenSpan(first, last, moved=held != wanted)
    raise AssertionError("the words do not cover the text")


@given(text=st.text(alphabet="ab ,'水\n", min_size=1, max_size=12), data=st.data())
def test_snap_equals_brute_force(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    spans = word_spans(text)
    assert snap(spans, start, end) == brute_snap(spans, start, end)


def test_snap_outside_the_text() -> None:
    assert snap(word_spans("one two"), 7, 9) is None
    assert snap([], 0, 3) is None


def test_a_row_of_a_table_is_a_sentence_of_its_own() -> None:
    """Also where rows are long and their columns have names in lower case."""
    rows = [f"part: DL-90{n}; maker: Okonkwo and Sons Ltd; weight: {n} kg" for n in range(3)]
    text = "\n".join(rows)
    at = text.index("1 kg")
    assert text[slice(*sentence_span(text, at, at + 4))] == rows[1]
    wrapped = "The kiln that stands in Hollow Lane was built\nby Ada Brook in 1881. It is old."
    at = wrapped.index("Ada")
    assert wrapped[slice(*sentence_span(wrapped, at, at + 3))].endswith("1881.")
    assert wrapped[slice(*sentence_span(wrapped, at, at + 3))].startswith("The kiln")
