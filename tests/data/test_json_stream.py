import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.data.json_files import JsonStream
from readlet.errors import ReadletError

FILE = Path("some.json")


def pieces(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def streamed(text: str, size: int) -> list[Any]:
    return list(JsonStream(FILE, pieces(text, size)).items("data"))


DOCUMENTS = [
    '{"data": []}',
    '{"data": [1, -2.5, 12345678901234567890, 1e5, 1.5E-3, 0.125]}',
    '{"data": [-0.0, 1e+2, 7]}',
    '{"data": [true, false, null, "", "a\\"]}\\\\", "\\u00e9\\ud83d\\ude00"]}',
    '{"version": 1.1, "data": [{"a": [1.5, {"b": "]"}]}, [], {}]}',
    '{"data": [{"a": 1}, {"a": 2}], "version": "v2.0", "scores": [1.25, 3e7]}',
    '{"before": {"data": [9]}, "number": -12.75e-2, "data": [1], "after": null, "x": 10.5}',
    '\n {\t"data"\r\n:\n[ 1 ,\n 2 ]\n,\n"n" : 1.0 }\n\n',
    '{"data": ["水, 🇫🇷 e\u0301"]}',
]


@pytest.mark.parametrize("size", [*range(1, 8), 10_000])
@pytest.mark.parametrize("text", DOCUMENTS)
def test_chunks_may_end_anywhere(text: str, size: int) -> None:
    assert streamed(text, size) == json.loads(text)["data"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(
    before=st.dictionaries(st.text(max_size=3), JSON, max_size=2),
    items=st.lists(JSON, max_size=4),
    after=st.dictionaries(st.text(max_size=3), JSON, max_size=2),
    size=st.integers(1, 7),
    escape=st.booleans(),
    indent=st.none() | st.just(1),
)
def test_any_document_in_any_chunks(
    before: dict[str, Any],
    items: list[Any],
    after: dict[str, Any],
    size: int,
    escape: bool,
    indent: int | None,
) -> None:
    before.pop("data", None)
    after.pop("data", None)
    text = json.dumps({**before, "data": items, **after}, ensure_ascii=escape, indent=indent)
    assert streamed(text, size) == items


def test_items_are_yielded_before_the_end_is_read() -> None:
    def chunks() -> Iterator[str]:
        yield '{"data": [{"a": 1}, '
        raise AssertionError("read too far")

    assert next(JsonStream(FILE, chunks()).items("data")) == {"a": 1}


@pytest.mark.parametrize("size", [1, 3, 10_000])
@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{"data": [1, 2', 1, 15),
        ('{"data": [{"a": ]}]}', 1, 17),
        # Columns count from the start of the line, even if part of it was dropped from the window.
        ('{"data": [{"a": 1}, {"b": 2}, {"c" 3}]}', 1, 36),
        ('{"data": [\n{"a": 1},\n{"b": 2} {"c": 3}]}', 3, 10),
        ('{"data": [\n{"a": 1},\n{"b": "open', 3, 7),
        ('{"data": [1]\n', 2, 1),
        ('{"data": [1],\n  5: 6}', 2, 3),
        ('{"data": [1]}\n tail', 2, 2),
        ('{"data": {"a": 1}}', 1, 10),
    ],
)
def test_error_has_line_and_column(text: str, line: int, column: int, size: int) -> None:
    with pytest.raises(ReadletError) as caught:
        streamed(text, size)
    assert str(caught.value).startswith(f"some.json: line {line}, column {column}: ")


def test_every_truncated_document_is_an_error() -> None:
    text = DOCUMENTS[6].rstrip()
    for end in range(1, len(text)):
        with pytest.raises(ReadletError, match=r"some\.json: line 1, column \d+: .+; .+"):
            streamed(text[:end], 4)
