"""Properties of all formats: detected by content, and written files are read back unchanged."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, SearchStrategy

from readlet.data import read, read_questions, write_examples
from readlet.data.answer_offsets import nearest_place, occurrences, only_place
from readlet.errors import ReadletError
from readlet.types import NO_OFFSET, Example, Span


@pytest.mark.parametrize("written", ["a.json", "a.jsonl", "a.json.gz", "a.jsonl.gz"])
@pytest.mark.parametrize("renamed", ["b.tsv", "b.parquet", "b"])
def test_wrong_suffix_works(
    tmp_path: Path, sound: list[Example], written: str, renamed: str
) -> None:
    write_examples(tmp_path / written, sound)
    (tmp_path / written).rename(tmp_path / renamed)
    assert list(read(tmp_path / renamed)) == sound


def test_rows_that_contain_squad_json_are_still_rows(tmp_path: Path) -> None:
    example = Example(
        "1", 'What does "data": [ mean?', 'It says "data": [1].', (Span(8, '"data"'),)
    )
    write_examples(tmp_path / "rows.jsonl", [example])
    assert list(read(tmp_path / "rows.jsonl")) == [example]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_what_a_table_cannot_store_is_refused(
    tmp_path: Path, sound: list[Example], name: str
) -> None:
    unlabelled = Example("u", "Who?", "Ada came.", is_labelled=False)
    with pytest.raises(ReadletError, match=r"'u': \w+ cannot store .*; write a .jsonl"):
        write_examples(tmp_path / name, [*sound, unlabelled])
    half = replace(sound[0], context=sound[0].context + "\ud83d")
    with pytest.raises(ReadletError, match="unpaired surrogate"):
        write_examples(tmp_path / name, [half])
    assert list(tmp_path.iterdir()) == []
    write_examples(tmp_path / name, [unlabelled])
    assert list(read(tmp_path / name)) == [unlabelled]


def test_a_long_article_is_written_in_parts(
    tmp_path: Path, sound: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows without titles would be one article, which must fit into memory."""
    monkeypatch.setattr("readlet.data.json_files._MAX_ARTICLE", 100)
    path = tmp_path / "a.json"
    rows = [replace(sound[0], id=str(n), context=f"{sound[0].context} {n}") for n in range(9)]
    write_examples(path, rows)
    assert len(json.loads(path.read_text())["data"]) > 2
    assert list(read(path)) == rows


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.csv", "a.tsv", "a.csv.gz", "a.parquet"])
@settings(max_examples=30)  # each writes a file
@given(data=st.data())
def test_read_write_read_is_the_identity(
    data: DataObject,
    name: str,
    example_lists: SearchStrategy[list[Example]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Any number of answers, offsets, quotes and line ends: offsets survive every format."""
    examples = data.draw(example_lists)
    if "json" not in name and examples:
        # A table has labels for all rows or none. CSV has no empty ids: a row number replaces them.
        examples = [replace(e, id=e.id if e.id.strip() else "x") for e in examples]
        examples = [e for e in examples if e.is_labelled == examples[0].is_labelled]
    if not examples and "jsonl" in name:
        return  # no rows give an empty file, which is rejected
    path = tmp_path_factory.getbasetemp() / name
    write_examples(path, examples)
    once = list(read(path))
    assert once == examples
    first = path.read_bytes()
    write_examples(path, once)
    assert path.read_bytes() == first


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_an_unpaired_surrogate_survives(tmp_path: Path, name: str) -> None:
    """JSON can encode it and UTF-8 cannot; programs that truncate UTF-16 text produce it."""
    example = Example("\udc00", "Q\ud83d", "C \ud83d", (Span(2, "\ud83d"),))
    write_examples(tmp_path / name, [example])
    assert list(read(tmp_path / name)) == [example]


def test_failed_reading_leaves_no_output(tmp_path: Path, sound: list[Example]) -> None:
    def failing() -> object:
        yield from sound
        raise ReadletError("the source broke off")

    for name in ("out.json", "out.jsonl.gz"):
        with pytest.raises(ReadletError, match="broke off"):
            write_examples(tmp_path / name, failing())  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def brute_nearest(context: str, span: Span) -> Span | None:
    places = [at for at in range(len(context)) if context.startswith(span.text, at)]
    distances = [(abs(at - span.start), at) for at in places]
    return Span(min(distances)[1], span.text) if span.text and distances else None


@given(
    context=st.text(alphabet="ab ", max_size=20),
    text=st.text(alphabet="ab", max_size=3),
    start=st.integers(-5, 25),
)
def test_nearest_place_equals_brute_force(context: str, text: str, start: int) -> None:
    assert nearest_place(context, Span(start, text)) == brute_nearest(context, Span(start, text))


@pytest.mark.parametrize(
    ("context", "text", "found"),
    [
        ("In PARIS, or Paris.", "paris", [Span(3, "PARIS"), Span(13, "Paris")]),
        ("Die Straße, die STRASSE.", "strasse", [Span(4, "Straße"), Span(16, "STRASSE")]),
        ("x İ Paris", "PARIS", [Span(4, "Paris")]),  # İ has two characters in lower case
        ("\ufb01ne Fine", "FINE", [Span(0, "\ufb01ne"), Span(4, "Fine")]),  # a ligature
        ("großs", "S", [Span(4, "s")]),  # not half of an ß
        ("Cafe\u0301 noir", "CAF\u00c9", [Span(0, "Cafe\u0301")]),
        ("Paris", "London", []),
        ("Paris paris", "paris", [Span(6, "paris")]),  # exact places come first
        ("Paris", "", []),
    ],
)
def test_occurrences_in_another_case(context: str, text: str, found: list[Span]) -> None:
    assert occurrences(context, text) == found
    assert all(span.is_in(context) for span in found)


@given(st.text(max_size=8), st.data())
def test_every_piece_is_found_in_any_case(context: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(context)))
    text = context[start:][:3]
    for other in (text, text.upper(), text.lower(), text.casefold()):
        assert all(span.is_in(context) for span in occurrences(context, other))
    assert not text or Span(start, text) in occurrences(context, text)


@pytest.mark.parametrize(
    ("context", "text", "place"),
    [
        ("It was just the US.", "us", NO_OFFSET),
        ("Just us, said the US.", "us", NO_OFFSET),  # twice
        ("Just Us.", "us", NO_OFFSET),
        ("Ten years later.", "year", 4),  # it is nowhere a word
        ("We are in the US.", "US", 14),
        ("他在北京大学读书。", "北京", 2),  # written without spaces
        ("他用IBM电脑。", "IBM", 2),
        ("เขาอยู่ที่กรุงเทพ", "กรุงเทพ", 10),
    ],
)
def test_an_answer_without_offset_is_placed_if_it_is_certain(
    context: str, text: str, place: int
) -> None:
    assert only_place(context, text) == place


def test_every_question_gets_a_unique_id(tmp_path: Path, sound: list[Example]) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    write_examples(one, [replace(e, id=i) for e, i in zip(sound, ("a", "a", "a-2"), strict=True)])
    write_examples(two, [replace(e, id=i) for e, i in zip(sound, ("a", "b", "a-2"), strict=True)])
    with pytest.warns(UserWarning, match="3 × repeated id"):
        read = read_questions(one, two)
    assert [example.id for example in read] == ["a", "a-3", "a-2", "a-4", "b", "a-2-2"]
    assert [replace(example, id="") for example in read] == [
        replace(example, id="") for example in (*sound, *sound)
    ]
