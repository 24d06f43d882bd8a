"""What readers are asked: pairs, dicts, examples; languages that they were not trained on."""

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from readlet.errors import ReadletError
from readlet.inference.baseline import LexicalBaseline
from readlet.inference.documents import Documents
from readlet.inference.inputs import Answerer, ForeignLanguages, languages_of
from readlet.inference.reader import Reader
from readlet.types import Example

LAMP = "The lamp at Cape Wick was lit by Ada Brook in 1881."
PAIRS = [("Who lit the lamp?", LAMP), ("When?", LAMP)]


@pytest.fixture(params=["baseline", "random"])
def reader(request: pytest.FixtureRequest, random_reader: Callable[..., Any]) -> Answerer:
    return LexicalBaseline() if request.param == "baseline" else random_reader(LAMP)


def test_dicts_are_answered_like_pairs(reader: Answerer) -> None:
    dicts = [
        {"id": 7, "context": context, "question": question, "answers": {"text": []}}
        for question, context in PAIRS
    ]
    expected = list(reader.answer_batch(PAIRS))
    examples = [Example(str(n), *pair) for n, pair in enumerate(PAIRS)]
    assert list(reader.answer_batch(examples)) == expected
    assert list(reader.answer_batch(dicts)) == expected
    assert list(reader.answer_batch(map(MappingProxyType, dicts))) == expected
    assert list(reader.answer_batch([list(pair) for pair in PAIRS])) == expected  # type: ignore[misc]
    assert reader.answer(question=PAIRS[0][0], context=LAMP) == expected[0]


@pytest.mark.parametrize(
    ("asked", "fault"),
    [
        ([{"question": "Who?"}], "item 1: a dict without 'context'"),
        ([PAIRS[0], "ab"], "item 2: a str"),
        ([("Who?", LAMP, "x")], "item 1: a tuple of 3"),
        ([{"question": "Who?", "context": None}], "item 1: its context"),
        ({"question": "Who?", "context": LAMP}, "answer_batch: a single dict"),
        (PAIRS[0], "item 1: a str"),
    ],
)
def test_anything_else_is_refused(reader: Answerer, asked: Any, fault: str) -> None:
    with pytest.raises(ReadletError, match=fault):
        list(reader.answer_batch(asked))


ENGLISH = "The lamp at the cape was lit by Ada Brook, and the fishermen paid for its oil."
SPANISH = "La lámpara del cabo fue encendida por Ada Brook, y los pescadores pagaron el aceite."
FRENCH = "La lampe du cap fut allumée par Ada Brook, et les pêcheurs ont payé son huile."


@pytest.fixture(scope="module")
def english(random_reader: Callable[..., Reader]) -> Reader:
    return replace(random_reader(ENGLISH, null=True), languages=("en",))


@pytest.mark.parametrize(
    ("context", "language", "asked", "expected"),
    [
        (ENGLISH, "", "", ""),
        (SPANISH, "", "", "es"),
        (SPANISH, "en", "", ""),  # what the data says counts, not the guess
        (ENGLISH, "es-MX", "", "es"),
        (ENGLISH, "en", "de", "de"),
        ("12345", "", "", ""),  # nobody knows
    ],
)
def test_given_or_guessed(context: str, language: str, asked: str, expected: str) -> None:
    example = Example("1", "?", context, language=language, question_language=asked)
    assert ForeignLanguages(["en"]).of(example) == expected
    assert ForeignLanguages([]).of(example) == ""  # a reader that does not know its own


def test_answers_say_so(english: Reader) -> None:
    with pytest.warns(UserWarning, match="1 × passage or question in es: .* trained on en only"):
        assert english.answer("¿Quién?", SPANISH).unknown_language == "es"
    with pytest.warns(UserWarning, match="in fr") as caught:
        found = list(english.answer_batch([("Who?", text) for text in (ENGLISH, FRENCH, FRENCH)]))
    assert [prediction.unknown_language for prediction in found] == ["", "fr", "fr"]
    assert [str(one.message)[:4] for one in caught] == ["2 × "]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert english.answer("Who?", ENGLISH).unknown_language == ""


def test_warnings_name_the_line_that_asks(english: Reader) -> None:
    """Whichever function it calls; else Python shows each text once in a whole program."""
    asks: list[Callable[[], object]] = [
        lambda: english.answer("¿Quién?", SPANISH),
        lambda: list(english.answer_batch([("¿Quién?", SPANISH)])),
        lambda: english.answer_any("¿Quién?", [SPANISH]),
        lambda: Documents([SPANISH]).answer(english, "¿Quién?"),
    ]
    for ask in asks:
        with pytest.warns(UserWarning, match="in es") as caught:
            ask()
        (warning,) = caught
        assert (warning.filename, warning.lineno) == (__file__, ask.__code__.co_firstlineno)


def test_languages_are_stored(english: Reader, tmp_path: Path) -> None:
    english.save(tmp_path)
    assert Reader.load(tmp_path).languages == ("en",)
    assert "Trained on passages in: en." in (tmp_path / "README.md").read_text("utf-8")
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"languages": ["klingon"]}))
    with pytest.raises(ReadletError, match=r"config\.json: "):
        Reader.load(tmp_path)


def test_languages_of_training_data() -> None:
    data = [Example(str(n), "?", f"{ENGLISH} {n}") for n in range(97)]
    data += [Example("es", "?", SPANISH), Example("none", "?", "12345")]
    assert languages_of(data) == ("en",)  # one passage in a hundred teaches no language
    data += [Example(f"fr {n}", "?", f"{n}", language="fr") for n in range(5)]
    assert languages_of(data) == ("en", "fr")
    assert languages_of([]) == ()
