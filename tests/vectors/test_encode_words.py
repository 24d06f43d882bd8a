"""Vectors of words from a pretrained encoder."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from readlet.errors import ReadletError
from readlet.text.vectors import read_vectors
from readlet.vectors.encode_words import encode_words, narrowed, word_states


def test_a_file_with_the_words_of_all_files(
    tiny_encoder: Callable[..., Path], tmp_path: Path
) -> None:
    one, two, out = (tmp_path / name for name in ("one.txt", "two.txt", "out.vec"))
    one.write_text("lamp 1 2\nsea 1 3\n")
    two.write_text("sea 1 2 3\nharbour 1 3 4\nkeeper 0 0 1\n")
    count, kept = encode_words(str(tiny_encoder("bert")), [one, two], out, width=3)
    words, vectors = read_vectors(out, 100)
    assert (count, words) == (4, ["lamp", "sea", "harbour", "keeper"])
    assert vectors.shape == (4, 3)
    assert 0.5 < kept <= 1.0
    with pytest.raises(ReadletError, match=r"gives 16 numbers .* give at most 4"):
        encode_words(str(tiny_encoder("bert")), [one, two], tmp_path / "wide.vec", width=5)
    with pytest.raises(ReadletError, match="exists"):
        encode_words(str(tiny_encoder("bert")), [one, two], out, width=3)


WORDS = ["lamp", "the", "keeper's", "1891", "x" * 400, "harbour"]


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_the_mean_of_the_tokens_of_each_word(
    kind: str, tiny_encoder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoModel, AutoTokenizer

    folder = tiny_encoder(kind)
    monkeypatch.setattr("readlet.vectors.encode_words._AT_ONCE", 4)
    found = word_states(str(folder), WORDS, device="cpu")
    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    for word, vector in zip(WORDS, found, strict=True):
        ids = torch.tensor([tokenizer(word)["input_ids"][:32]])  # (1, T)
        with torch.no_grad():
            states = network.eval()(input_ids=ids).last_hidden_state[0]  # (T, H)
        expected = states.mean(0) / states.mean(0).norm()  # (H,)
        assert np.allclose(vector, expected.numpy(), atol=1e-5), word


def test_components_keep_what_differs_most() -> None:
    draw = np.random.default_rng(0)
    scales = np.array([5.0, 0.1, 3.0, 0.01])
    states = (draw.normal(size=(500, 4)) * scales + 7.0).astype(np.float32)
    vectors, kept = narrowed(states, 2)
    assert vectors.std() == pytest.approx(0.4, rel=1e-4)
    assert kept == pytest.approx(34.0 / 34.0101, abs=1e-3)
    # Distances between words are those of the two wide directions.
    theirs = states[:, [0, 2]]
    mine, other = (np.linalg.norm(v[:50, None] - v[None, :50], axis=2) for v in (vectors, theirs))
    factor = mine.sum() / other.sum()
    assert np.allclose(mine, factor * other, atol=0.02 * mine.max())
