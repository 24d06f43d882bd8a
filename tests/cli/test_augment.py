"""`readlet augment` with real engines; interruption."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from readlet.augmentation.translation.batch_translator import Cache
from readlet.bundled import corpus
from readlet.data import read_examples, write_examples
from readlet.types import Example

Run = Callable[..., Any]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Eight English questions of the bundled corpus, on the beginnings of four articles."""
    path = tmp_path / "data.jsonl"
    short = []
    for example in [e for e in read_examples(corpus("test")) if e.language == "en"][::6]:
        ends = [match.end() for match in re.finditer(r"\. ", example.context)]
        last = max((span.end for span in example.answers), default=0)
        context = example.context[: next((end for end in ends[2:] if end > last), None)]
        short.append(replace(example, context=context, plausible_answers=()))
    write_examples(path, short)
    return path


@pytest.fixture(scope="session")
def translations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that the tests share: each sentence is translated once."""
    return tmp_path_factory.mktemp("translations") / "shared.sqlite"


def test_new_questions(
    readlet: Run, apertium: Any, data: Path, tmp_path: Path, translations: Path
) -> None:
    out, lost = tmp_path / "out.json", tmp_path / "lost.jsonl"
    words = ["augment", data, "--to", "es", "--cache", translations, "--out", out]
    done = readlet(*words, "--lost", lost)
    assert done.code == 0, done.err
    old, made = list(read_examples(data)), list(read_examples(out))  # offsets are checked here
    new = [example for example in made if example.language == "es"]
    listed = [json.loads(line) for line in lost.read_text("utf-8").splitlines()]
    assert len(made) == 8 + len(new)
    assert len(new) + len(listed) == 8
    assert len(new) >= 6
    assert {example.id for example in new} == {f"{e.id}-es" for e in old} - {
        f"{row['id']}-es" for row in listed
    }
    assert f"Wrote {out}: {len(made)} questions, {len(new)} of them new." in done.out


@pytest.mark.parametrize(
    ("preset", "languages", "moved"),
    [("B1", {"en"}, {"context"}), ("D1", {"fr"}, {"context"})],
)
def test_presets(
    readlet: Run,
    apertium: Any,
    data: Path,
    tmp_path: Path,
    translations: Path,
    preset: str,
    languages: set[str],
    moved: set[str],
) -> None:
    """French by way of Spanish, which Apertium does by itself."""
    out = tmp_path / "out.jsonl"
    words = ["--preset", preset, "--no-merge", "--keep", "all", "--cache", translations]
    done = readlet("augment", data, *words, "--out", out)
    assert done.code == 0, done.err
    old = {example.id: example for example in read_examples(data)}
    made = list(read_examples(out))
    assert len(made) >= 6
    assert {example.language for example in made} == languages
    for new in made:
        source = old[new.id.partition("-fr")[0]]
        changed = {f for f in ("question", "context") if getattr(new, f) != getattr(source, f)}
        assert changed == moved


def test_a_neural_engine(
    readlet: Run,
    argos_package: Callable[[str, str], Path],
    sound: list[Example],
    tmp_path: Path,
) -> None:
    """An Argos package, which swaps the case of every letter: the answers are found again."""
    data, out = tmp_path / "data.jsonl", tmp_path / "out.jsonl"
    write_examples(data, sound[:2])
    package = argos_package("en", "es")
    words = ["--to", "es", "--engine", package, "--cache", tmp_path / "c.sqlite", "--out", out]
    done = readlet("augment", data, *words, "--no-merge", "--json")
    assert done.code == 0, done.err
    values = json.loads(done.out)
    assert values["engines"]["en-es"].startswith("argos ")
    assert values["languages"]["es"]["kept"] == 2
    lamp, oil = read_examples(out)
    assert "aDA bROOK" in {answer.text for answer in lamp.answers}
    assert oil.is_impossible


WRONG = {
    "no language": (["--out", "OUT"], "--to"),
    "a preset and more": (
        ["--preset", "B1", "--back", "--out", "OUT"],
        "--preset: ",
    ),
    "no such engine": (["--to", "es", "--engine", "babel", "--out", "OUT"], "babel: "),
    "one file for two": (["--to", "es", "--out", "OUT", "--lost", "OUT"], "--lost"),
    "a cache that is the data": (
        ["--to", "es", "--out", "OUT", "--cache", "DATA"],
        "is also an input",
    ),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_bad_input_is_one_line(
    readlet: Run, apertium: Any, data: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    names = {"OUT": tmp_path / "out.jsonl", "DATA": data}
    given = [names.get(word, word) for word in words]
    cache = [] if "--cache" in words else ["--cache", tmp_path / "c.sqlite"]
    before = data.read_bytes()
    done = readlet("augment", data, *given, *cache)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert message in line
    assert data.read_bytes() == before
    assert not (tmp_path / "out.jsonl").exists()


def _size(path: Path) -> int:
    with Cache(path) as cache:
        return len(cache)


def _wait_for_translations(cache: Path) -> int:
    """Until there are some."""
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        if cache.exists() and (count := _size(cache)):
            return count
        time.sleep(0.02)
    raise AssertionError("nothing was translated")


def test_killed_and_continued(
    readlet: Run, forked: Any, apertium: Any, data: Path, tmp_path: Path
) -> None:
    """SIGKILL on the way back: the same command makes the same file, with what was stored."""
    out, cache = tmp_path / "out.json", tmp_path / "c.sqlite"
    words = ["augment", str(data), "--to", "es", "--back"]
    begun = [*words, "--cache", str(cache), "--out", str(out)]
    with forked.forked_readlet(*begun):
        stored = _wait_for_translations(cache)
    assert not out.exists()
    assert readlet(*begun).code == 0
    assert _size(cache) > stored
    whole = tmp_path / "whole.json"
    assert readlet(*words, "--cache", tmp_path / "new.sqlite", "--out", whole).code == 0
    assert out.read_bytes() == whole.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {
        *("data.jsonl", "out.json", "whole.json", "c.sqlite", "new.sqlite")
    }
