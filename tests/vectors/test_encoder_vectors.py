"""Vectors of words from an encoder, against transformers word by word."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from readlet.vectors.encode_words import narrowed, word_states

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
