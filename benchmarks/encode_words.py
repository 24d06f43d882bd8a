"""Vectors of words from a pretrained encoder that encodes each word alone.

A small reader with these vectors knows which words the encoder finds similar, at no cost
at inference. They complement GloVe: rare words, names and numbers have one too.

    python benchmarks/encode_words.py minilm --words glove.100d.txt.gz --out minilm.vec

They are written to a file for `words.vectors` of a recipe.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from readlet.console import track
from readlet.errors import ReadletError
from readlet.inference.trained_model import chosen_device
from readlet.models.pretrained.encoder import load_pretrained
from readlet.text.pretrained import load_config, load_tokenizer
from readlet.text.subwords import plain_tokenizer
from readlet.text.vectors import Matrix, as_wide_as_glove, vector_blocks, write_vectors

_AT_ONCE = 512  # words
_MOST = 200_000  # words that are read of a file
_MOST_TOKENS = 32  # of a word; a longer one is cut


@torch.inference_mode()
def word_states(encoder: str, words: Sequence[str], *, device: str) -> Matrix:
    """The mean state of the last layer over the tokens of each word, of length 1, (words, H)."""
    theirs = load_tokenizer(encoder)
    tokenizer = plain_tokenizer(theirs.backend_tokenizer.to_str())
    padding = theirs.pad_token_id or 0
    network = load_pretrained(encoder, load_config(encoder), None).to(device).eval()
    tokens = [coding.ids[:_MOST_TOKENS] for coding in tokenizer.encode_batch(list(words))]
    order = sorted(range(len(words)), key=lambda n: len(tokens[n]))  # little padding
    found = np.zeros((len(words), network.width), np.float32)  # (words, H)
    starts = range(0, len(order), _AT_ONCE)
    for start in track(starts, len(starts), "reading words"):
        part = order[start : start + _AT_ONCE]
        longest = len(tokens[part[-1]])
        lengths = torch.tensor([len(tokens[n]) for n in part])  # (B,)
        rows = [tokens[n] + [padding] * (longest - len(tokens[n])) for n in part]
        keep = torch.arange(longest) < lengths[:, None]  # (B, T)
        ids, keep = torch.tensor(rows, device=device), keep.to(device)  # (B, T) each
        (states,) = network(ids, torch.zeros_like(ids), keep, all_layers=False)  # (B, T, H)
        mean = (states * keep[..., None]).sum(1) / keep.sum(1, keepdim=True)  # (B, H)
        found[part] = torch.nn.functional.normalize(mean, dim=1).float().cpu().numpy()
    return found


def narrowed(states: Matrix, width: int) -> tuple[Matrix, float]:
    """The principal components, scaled to the deviation of GloVe's, and the variance they keep."""
    centred = states - states.mean(0)  # (words, H)
    variances, axes = np.linalg.eigh(centred.T.astype(np.float64) @ centred)  # (H,), (H, H)
    chosen = axes[:, ::-1][:, :width].astype(np.float32)  # (H, width)
    vectors: Matrix = centred @ chosen  # (words, width)
    kept = float(variances[::-1][:width].sum() / max(variances.sum(), 1e-12))
    return as_wide_as_glove(vectors), kept


def encode_words(encoder: str, files: Sequence[Path], out: Path, width: int, device: str) -> float:
    """Write vectors for the words of these vector files; the variance that they keep."""
    words = list(
        dict.fromkeys(
            word for path in files for names, _ in vector_blocks(path, _MOST) for word in names
        )
    )
    states = word_states(encoder, words, device=device)  # (words, H)
    if width > min(states.shape):
        fault = f"{encoder} gives {states.shape[1]} numbers for each of {len(words):,} words"
        raise ReadletError(f"--width: {fault}; give at most {min(states.shape)}")
    vectors, kept = narrowed(states, width)
    write_vectors(out, words, [vectors])
    return kept


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("encoder", help="a folder, a name on the hub, or `minilm`")
    parser.add_argument("--words", type=Path, action="append", required=True, metavar="FILE")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--width", type=int, default=256, help="numbers of each vector")
    parser.add_argument("--device", default="auto")
    given = parser.parse_args(arguments)
    device = chosen_device(given.device)
    kept = encode_words(given.encoder, given.words, given.out, given.width, device)
    print(f"Wrote {given.out}: {kept:.1%} of the variance is kept.")


if __name__ == "__main__":
    main()
