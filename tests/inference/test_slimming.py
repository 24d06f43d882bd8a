"""Slim readers: an oracle that only removes words and rounds, and sizes tried one by one."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from readlet.errors import ReadletError
from readlet.inference.reader import Reader
from readlet.inference.slimming import slim, slim_folder, slim_to
from readlet.models.encoder.config import MixName
from readlet.models.weights import from_int8, to_int8
from readlet.text.word_features import UNKNOWN, Vocabulary

Build = Callable[..., Reader]

LAMP = (
    "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil, and the "
    "keepers' houses stood empty for years. El puente viejo une las dos orillas del río; "
    "東京は日本の首都です。 Its last keeper, Ines Calder, left in 1953. "
    "\ud83d \x1f \\ ' 👩🏽\u200d🚀"
)
PAIRS = [
    ("Who lit the lamp?", LAMP),
    ("When did Ines Calder leave?", LAMP[40:]),
    ("¿Qué une el puente?", LAMP[120:200]),
    ("Who bought a boat?", "Nobody here has ever bought one."),
]


def known_to(reader: Reader) -> Vocabulary:
    return reader.scorer.encoder.vocabulary


@pytest.fixture(scope="module")
def reader(random_reader: Build) -> Reader:
    made = random_reader(LAMP, null=True, seed=5)
    made.metrics = {"dev": {"exact": 1.5, "f1": 2.25, "total": 3}, "dev_source": "río.json"}
    return made


@pytest.mark.parametrize("words", [0, 1, 7, 10_000])
def test_it_has_fewer_words_and_is_rounded_and_is_otherwise_the_same(
    reader: Reader, words: int
) -> None:
    """The oracle keeps the whole table, and removes the words of its later rows."""
    made = slim(reader, words)
    scorer = deepcopy(reader.scorer)
    with torch.no_grad():
        for tensor in scorer.module.state_dict().values():
            tensor.copy_(tensor.half())
    known = replace(known_to(reader), frozen=known_to(reader).frozen[:words])
    scorer.encoder = replace(scorer.encoder, vocabulary=known)
    oracle = replace(reader, scorer=scorer)
    assert known_to(made) == known
    assert list(made.answer_batch(PAIRS)) == list(oracle.answer_batch(PAIRS))
    numbers = [known_to(made).word_number(word) for word in known_to(reader).frozen]
    assert all(number > UNKNOWN for number in numbers[:words])
    assert known_to(made).trainable == known_to(reader).trainable


def test_save_and_load_give_the_same_to_the_bit(reader: Reader, tmp_path: Path) -> None:
    """In half precision."""
    made = slim(reader, 7)
    made.save(tmp_path / "one")
    stored = load_file(tmp_path / "one" / "model.safetensors")
    assert {tensor.dtype for tensor in stored.values()} == {torch.float16}
    loaded = Reader.load(tmp_path / "one")
    assert {parameter.dtype for parameter in loaded.scorer.module.parameters()} == {torch.float32}
    before, after = made.scorer.module.state_dict(), loaded.scorer.module.state_dict()
    for name, tensor in before.items():
        assert tensor.dtype == after[name].dtype, name
        assert torch.equal(tensor, after[name]), name
    assert list(made.answer_batch(PAIRS)) == list(loaded.answer_batch(PAIRS))
    loaded.save(tmp_path / "two")
    for path in (tmp_path / "one").iterdir():
        assert (tmp_path / "two" / path.name).read_bytes() == path.read_bytes(), path.name


def test_old_scores_are_labelled_as_such(reader: Reader) -> None:
    made = slim(reader, 4)
    assert made.metrics["dev_source"] == "río.json, before slimming"
    assert made.metrics["slimmed_from"] == len(known_to(reader).frozen)


def test_a_weight_beyond_half_precision_is_rejected(reader: Reader) -> None:
    wild = replace(reader, scorer=deepcopy(reader.scorer))
    with torch.no_grad():
        wild.scorer.module.start.weight[0, 0] = 70_000.0
    with pytest.raises(ReadletError, match=r"^start\.weight: has a value too large"):
        slim(wild, 4)


def size(reader: Reader, folder: Path) -> int:
    reader.save(folder)
    return sum(path.stat().st_size for path in folder.iterdir())


def test_as_many_words_as_fit(random_reader: Build, tmp_path: Path) -> None:
    """Every number of words is tried: sizes at and just below each of them, and above all."""
    reader = random_reader(LAMP[:80], null=True)
    every = range(len(known_to(reader).frozen) + 1)
    assert len(every) > 8
    sizes = [size(slim(reader, words), tmp_path / f"{words}") for words in every]
    assert sizes == sorted(sizes)
    for limit in {*sizes, *(s - 1 for s in sizes[1:]), sizes[-1] + 1}:
        fitting = max(words for words in every if sizes[words] <= limit)
        assert len(known_to(slim_to(reader, limit)).frozen) == fitting, limit
    with pytest.raises(ReadletError, match=f"{sizes[0]:,}; allow"):
        slim_to(reader, sizes[0] - 1)


def test_a_folder(reader: Reader, tmp_path: Path) -> None:
    reader.save(tmp_path / "given")
    out = tmp_path / "a" / "b" / "slim"
    limit = 0.5 * sum(path.stat().st_size for path in (tmp_path / "given").iterdir()) + 12_000
    slimmed = slim_folder(str(tmp_path / "given"), out, max_megabytes=limit / 1e6)
    assert slimmed.bytes == sum(path.stat().st_size for path in out.iterdir()) <= limit
    assert slimmed.words == len(known_to(Reader.load(out)).frozen)
    assert slimmed.words_before == len(known_to(reader).frozen)
    assert {path.name for path in out.parent.iterdir()} == {"slim"}  # no drafts


@pytest.mark.parametrize("mix", get_args(MixName))
def test_an_encoder_reader_is_rounded_and_is_otherwise_the_same(
    random_encoder_reader: Build, mix: str, tmp_path: Path
) -> None:
    """In half precision, against weights that are rounded in place."""
    reader = random_encoder_reader(mix)
    before = deepcopy(reader.scorer.module.state_dict())
    made = slim(reader)
    for name, tensor in reader.scorer.module.state_dict().items():
        assert torch.equal(tensor, before[name]), name  # the given reader is unchanged
    made.save(tmp_path / "one")
    stored = load_file(tmp_path / "one" / "model.safetensors")
    assert {tensor.dtype for tensor in stored.values()} == {torch.float16}
    loaded = Reader.load(tmp_path / "one")
    assert {weight.dtype for weight in loaded.scorer.module.parameters()} == {torch.float32}
    with torch.no_grad():
        for tensor in reader.scorer.module.state_dict().values():
            tensor.copy_(tensor.half())
    answers = list(reader.answer_batch(PAIRS))
    assert list(made.answer_batch(PAIRS)) == answers
    assert list(loaded.answer_batch(PAIRS)) == answers
    slim(loaded).save(tmp_path / "two")  # slimming again changes nothing
    for path in (tmp_path / "one").iterdir():
        assert (tmp_path / "two" / path.name).read_bytes() == path.read_bytes(), path.name


def test_an_encoder_reader_in_eight_bits(random_encoder_reader: Build, tmp_path: Path) -> None:
    reader = random_encoder_reader("dot")
    reader.save(tmp_path / "whole")
    found = slim_folder(str(tmp_path / "whole"), tmp_path / "slim", int8=True)
    assert (found.stored_before, found.stored) == ("float32", "int8")
    loaded = Reader.load(tmp_path / "slim")
    assert "eight bits" in (tmp_path / "slim" / "README.md").read_text("utf-8")
    made = slim(reader, stored="int8")
    assert list(loaded.answer_batch(PAIRS)) == list(made.answer_batch(PAIRS))
    loaded.save(tmp_path / "again")
    for folder in ("slim", "again"):
        stored = load_file(tmp_path / folder / "model.safetensors")
        assert {str(t.dtype) for t in stored.values() if t.ndim == 2} == {"torch.int8"}
    names = ("slim/model.safetensors", "again/model.safetensors")
    first, second = ((tmp_path / name).read_bytes() for name in names)
    assert first == second


@pytest.fixture(scope="module")
def weights() -> dict[str, torch.Tensor]:
    made = torch.Generator().manual_seed(3)
    matrix = torch.randn(500, 24, generator=made) * torch.logspace(-6, 3, 500)[:, None]  # (R, C)
    matrix[7] = 0.0
    return {"matrix": matrix, "bias": torch.randn(24, generator=made), "count": torch.tensor([5])}


def test_each_weight_is_the_nearest_of_255_values(weights: dict[str, torch.Tensor]) -> None:
    stored = to_int8(weights)
    matrix = weights["matrix"].double().numpy()
    scale = np.abs(matrix).max(axis=1, keepdims=True) / 127
    nearest = np.round(matrix / np.where(scale == 0, 1, scale))
    assert stored["matrix"].dtype == torch.int8
    assert np.abs(stored["matrix"].numpy() - nearest).max() <= 1
    assert stored["matrix"].abs().amax(dim=1).tolist() == [127 * (row != 7) for row in range(500)]
    read = from_int8(stored)["matrix"].numpy()
    assert np.all(np.abs(read - matrix) <= 0.501 * scale)  # a scale is rounded up, by 2**-15


def test_what_was_read_is_written_as_it_was(weights: dict[str, torch.Tensor]) -> None:
    stored = to_int8(weights)
    again = to_int8(from_int8(stored))
    assert stored.keys() == again.keys() == {"matrix", "matrix.scale", "bias", "count"}
    assert all(torch.equal(stored[name], again[name]) for name in stored)


def test_what_is_no_matrix_is_in_half_precision(weights: dict[str, torch.Tensor]) -> None:
    stored = to_int8(weights)
    assert torch.equal(stored["bias"], weights["bias"].half())
    assert torch.equal(stored["count"], weights["count"])


def test_other_weights_are_left_alone(weights: dict[str, torch.Tensor]) -> None:
    assert from_int8(weights) == weights
