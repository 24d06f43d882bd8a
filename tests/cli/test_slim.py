"""`readlet slim` from the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.inference.reader import Reader
from readlet.inference.trained_model import needs_torch
from readlet.text.word_features import Vocabulary, WordEncoder

Run = Callable[..., Any]

LAMP = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil."


def known_words(folder: Path) -> Vocabulary:
    encoder = Reader.load(folder).scorer.encoder
    assert isinstance(encoder, WordEncoder)
    return encoder.vocabulary


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


@pytest.fixture
def given(tmp_path: Path, random_reader: Callable[..., Reader]) -> Path:
    random_reader(LAMP).save(tmp_path / "given")
    return tmp_path / "given"


def test_it_reports_words_and_sizes(readlet: Run, tmp_path: Path, given: Path) -> None:
    out = tmp_path / "slim"
    before, words = size(given), len(known_words(given).frozen)
    (given / "log.jsonl").write_text("x" * 100_000)  # belongs to the run, not to the reader
    done = readlet("slim", given, "--out", out)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        f"{given}: {words} words with frozen vectors, {before / 1e6:.2f} MB",
        f"{out}: {words} words with frozen vectors, {size(out) / 1e6:.2f} MB",
    ]


@pytest.fixture
def on_encoder(tmp_path: Path, random_encoder_reader: Callable[..., Reader]) -> Path:
    random_encoder_reader().save(tmp_path / "given")
    return tmp_path / "given"


def test_an_encoder_reader(readlet: Run, tmp_path: Path, on_encoder: Path) -> None:
    out = tmp_path / "slim"
    done = readlet("slim", on_encoder, "--out", out)
    assert done.code == 0, done.err
    before, after = size(on_encoder), size(out)
    assert done.out.splitlines() == [
        f"{on_encoder}: weights in float32, {before / 1e6:.2f} MB",
        f"{out}: weights in float16, {after / 1e6:.2f} MB",
    ]
    weights = [(f / "model.safetensors").stat().st_size for f in (on_encoder, out)]
    assert weights[1] < 0.6 * weights[0]
    limit = (after + 100) / 1e6
    again = readlet("slim", out, "--out", tmp_path / "again", "--max-mb", limit)
    assert again.code == 0, again.err
    assert [line.split(": ")[1] for line in again.out.splitlines()] == [
        f"weights in float16, {size(folder) / 1e6:.2f} MB" for folder in (out, tmp_path / "again")
    ]


def test_eight_bits_need_no_torch(
    readlet: Run, tmp_path: Path, random_encoder_reader: Callable[..., Reader]
) -> None:
    """As the bundled reader: an ONNX model stands beside the weights."""
    random_encoder_reader().save(tmp_path / "whole")
    assert readlet("slim", tmp_path / "whole", "--out", tmp_path / "slim", "--int8").code == 0
    assert not needs_torch(str(tmp_path / "slim"))
    assert needs_torch(str(tmp_path / "whole"))
