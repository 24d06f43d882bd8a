"""Vectors of words from a pretrained encoder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from readlet.text.vectors import read_vectors

WORDS = ["lamp", "the", "keeper's", "1891", "x" * 400, "harbour"]


def test_a_file_with_the_words_of_all_files(
    load_script: Callable[[str], Any], tiny_encoder: Callable[..., Path], tmp_path: Path
) -> None:
    one, two, out = (tmp_path / name for name in ("one.txt", "two.txt", "out.vec"))
    one.write_text("lamp 1 2\nsea 1 3\n")
    two.write_text("sea 1 2 3\nharbour 1 3 4\nkeeper 0 0 1\n")
    words = ["--words", str(one), "--words", str(two), "--width", "3", "--device", "cpu"]
    load_script("encode_words").main([str(tiny_encoder("bert")), *words, "--out", str(out)])
    found, vectors = read_vectors(out, 100)
    assert found == ["lamp", "sea", "harbour", "keeper"]
    assert vectors.shape == (4, 3)


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_the_mean_of_the_tokens_of_each_word(
    kind: str, load_script: Callable[[str], Any], tiny_encoder: Callable[..., Path]
) -> None:
    from transformers import AutoModel, AutoTokenizer

    folder = tiny_encoder(kind)
    found = load_script("encode_words").word_states(str(folder), WORDS, device="cpu")
    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    for word, vector in zip(WORDS, found, strict=True):
        ids = torch.tensor([tokenizer(word)["input_ids"][:32]])  # (1, T)
        with torch.no_grad():
            states = network.eval()(input_ids=ids).last_hidden_state[0]  # (T, H)
        expected = states.mean(0) / states.mean(0).norm()  # (H,)
        assert np.allclose(vector, expected.numpy(), atol=1e-5), word
