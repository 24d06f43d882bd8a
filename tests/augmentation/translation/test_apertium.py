import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from readlet.augmentation.translation.apertium import Apertium, _opened
from readlet.augmentation.translation.sentences import split_sentences
from readlet.augmentation.translation.types import EngineError, LanguagePair
from readlet.bundled import corpus
from readlet.data import read_examples

PAIR = LanguagePair("en", "es")
# The tagger's data do not know what `known`, `included` and `near` may be.
HARD = [
    "It is known as the old mill.",
    "Zorbling, he instituted gratches, which included the lamp.",
    "A zorble near the river.",
    "Grommets made all four of his boats.",
]


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    contexts = list(dict.fromkeys(e.context for e in read_examples(corpus("dev"))))[:12]
    return HARD + [text[start:end] for text in contexts for start, end in split_sentences(text)]


def test_as_the_program_translates_each_sentence(apertium: Any, sentences: list[str]) -> None:
    chosen = [*HARD[:2], sentences[10], "The [box] / ^is$ {here} @ <b> \\ *x*", "No stop here"]
    made = [translation.text for translation in apertium.translate(chosen, PAIR)]
    for sentence, text in zip(chosen, made, strict=True):
        command = ["apertium", "-u", "eng-spa"]
        done = subprocess.run(command, input=sentence, capture_output=True, text=True, check=True)
        assert text == _opened(done.stdout.strip())


def test_a_translation_does_not_depend_on_the_batch(apertium: Any, sentences: list[str]) -> None:
    texts = [made.text for made in apertium.translate(sentences, PAIR)]
    order = random.Random(3).sample(range(len(sentences)), len(sentences))
    shuffled = apertium.translate([sentences[number] for number in order], PAIR)
    assert [made.text for made in shuffled] == [texts[number] for number in order]
    assert apertium.translate(sentences[:1], PAIR)[0].text == texts[0]


def test_characters_of_the_stream_and_white_space(apertium: Any) -> None:
    [made] = apertium.translate(["[a]\n~5\0 <b>  \ud800 «x» 字 🙂"], PAIR)
    assert "~5" in made.text
    assert "<b>" in made.text
    assert "«x» 字 🙂" in made.text
    assert "\0" not in made.text


@pytest.mark.parametrize(
    ("given", "opened"),
    [
        ("Qué es esto?", "¿Qué es esto?"),
        ("En 1881, en qué casa vivió?", "En 1881, ¿en qué casa vivió?"),
        ("Ada vive en qué casa?", "¿Ada vive en qué casa?"),
        ("¿Qué es esto?", "¿Qué es esto?"),
        ('Ven!"', '¡Ven!"'),
        ("No sé qué es.", "No sé qué es."),
    ],
)
def test_spanish_questions_have_their_opening_sign(given: str, opened: str) -> None:
    assert _opened(given) == opened


def test_the_version_follows_the_data(apertium: Any, tmp_path: Path) -> None:
    (tmp_path / "modes").mkdir()
    data, mode = tmp_path / "x.bin", tmp_path / "modes" / "eng-deu.mode"
    data.write_bytes(b"1")
    mode.write_text(f"lt-proc '{data}'")
    pair = LanguagePair("en", "de")
    before = Apertium(tmp_path).version(pair)
    other = tmp_path / "modes" / "eng-fra.mode"
    data.write_bytes(b"2")
    other.write_text(f"lt-proc '{data}'")
    after = Apertium(tmp_path).version(LanguagePair("en", "fr"))
    assert before.split()[1] != after.split()[1]


@pytest.mark.parametrize(
    "program", ["exit 3", "exec sleep 60", "tr -d '\\000'"], ids=["dies", "hangs", "loses texts"]
)
def test_a_program_that_fails(
    tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "tool"
    tool.write_text(f"#!/bin/sh\n{program}\n")
    tool.chmod(0o755)
    (tmp_path / "modes").mkdir()
    (tmp_path / "modes" / "eng-spa.mode").write_text(f"{tool}")
    monkeypatch.setattr("readlet.augmentation.translation.apertium._SECONDS", 0.5)
    with pytest.raises(EngineError, match="apertium en-es: "):
        Apertium(tmp_path).translate(["One."], PAIR)
