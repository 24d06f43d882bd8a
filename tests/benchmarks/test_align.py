"""The scripts about alignment, at the smallest possible size."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readlet.augmentation.translation.types import LanguagePair, Translation
from readlet.text.vectors import write_vectors
from readlet.vectors.vector_files import read_table


def test_hashes_are_those_of_spacy(load_script: Callable[[str], Any]) -> None:
    """Its manual gives the first of these numbers; longer words take the loop, too."""
    script = load_script("align_data")
    assert script.murmur_hash(b"coffee") == 3197928453018144401
    assert script.murmur_hash(b"coffee-house") != script.murmur_hash(b"coffee-housf")


def test_vectors_are_taken_out_of_a_package(
    load_script: Callable[[str], Any], tmp_path: Path
) -> None:
    script = load_script("align_data")
    folder = tmp_path / "package" / "vocab"
    folder.mkdir(parents=True)
    with (folder / "vectors").open("wb") as file:
        np.save(file, np.array([[1, 2], [3, 4]], np.float32))
    (folder / "strings.json").write_text('["mer", "océan", "lac"]')
    keys = [script.murmur_hash(word.encode()) for word in ("mer", "lac", "océan")]
    # The third word was pruned: it points to the vector of the first.
    entries = zip(keys, (b"\x00", b"\xcd\x00\x01", b"\x00"), strict=True)
    packed = b"".join(b"\xcf" + key.to_bytes(8, "big") + row for key, row in entries)
    (folder / "key2row").write_bytes(b"\xdf\x00\x00\x00\x03" + packed)
    words, vectors = script.spacy_vectors(tmp_path)
    assert words == ["mer", "lac"]
    np.testing.assert_array_equal(vectors, [[1, 2], [3, 4]])


def test_a_dictionary_has_words_that_translate_back(
    load_script: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = load_script("align_data")
    (tmp_path / "es").write_text("mar 1 2\nMar 1 2\nsol 1 2\nno 1 2\n, 1 2\nx9 1 2\n")
    (tmp_path / "en").write_text("sea 1 2\nsun 1 2\nnot 1 2\n")
    known = {"mar": "sea", "sol": "sunshine", "no": "not", "sea": "mar", "not": "ni"}
    monkeypatch.setattr(script, "translated", lambda words, _: [known.get(w, "") for w in words])
    assert script.dictionary(tmp_path / "es", tmp_path / "en", [], []) == [("mar", "sea")]


def test_words_are_translated_by_models_in_folders(
    load_script: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = load_script("align_data")
    made = {
        ("de-fr", "meer"): "Mer.",
        ("de-fr", "see"): "un lac",
        ("fr-en", "mer"): "Sea",
        ("fr-en", ""): "Nothing",
    }

    class Engine:
        def __init__(self, folder: str) -> None:
            self.name = Path(folder).name

        def pairs(self) -> list[LanguagePair]:
            return [LanguagePair(*self.name.split("-"))]

        def translate(self, words: list[str], pair: Any) -> list[Translation]:
            assert str(pair) == self.name
            return [Translation(made[self.name, word]) for word in words]

    monkeypatch.setattr(script, "engine_named", Engine)
    for name in ("de-fr", "fr-en"):
        (tmp_path / name).mkdir()
    ways = [str(tmp_path / name) for name in ("de-fr", "fr-en")]
    assert script.translated(["meer", "see"], ways) == ["sea", ""]


def test_quality_and_picture(
    load_script: Callable[[str], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = load_script("align")
    numbers = np.random.default_rng(0).standard_normal((400, 5))
    for name, turned in (("es", numbers), ("en", numbers[:, ::-1])):
        write_vectors(tmp_path / f"{name}.vec", [f"{name}{n}" for n in range(400)], [turned])
    for name, rows in (("train", range(340)), ("test", range(340, 400))):
        lines = [f"es{n}\ten{n}\n" for n in rows]
        (tmp_path / f"es-en.{name}.tsv").write_text("".join(lines))
    source, target = read_table(tmp_path / "es.vec"), read_table(tmp_path / "en.vec")
    script.quality(target, source, tmp_path / "es-en")
    assert "| procrustes | csls | 100.0% | 100.0% |" in capsys.readouterr().out
    pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install readlet[plots]")
    pytest.importorskip("sklearn", reason="t-SNE needs scikit-learn: pip install readlet[examples]")
    script.picture(target, source, tmp_path / "es-en", 20, tmp_path / "space.png")
    assert (tmp_path / "space.png").stat().st_size > 10_000


def test_speed(load_script: Callable[[str], Any], capsys: pytest.CaptureFixture[str]) -> None:
    load_script("align").speed(600, 8, 300, 50)
    printed = capsys.readouterr().out
    assert "x as fast as the limit of 120 s, by the clock" in printed
    assert "x the limit of 2 GB" in printed
