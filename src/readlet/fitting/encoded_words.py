"""A file of word vectors made by an encoder, for `words.vectors` of a recipe."""

from collections.abc import Sequence
from pathlib import Path

from readlet.encoding.vectors import vector_blocks, write_vectors
from readlet.errors import ReadletError
from readlet.models.encoder_vectors import narrowed, word_states
from readlet.storage.outputs import check_file


def encode_words(
    encoder: str,
    files: Sequence[Path],
    out: Path,
    *,
    width: int = 256,
    max_words: int = 200_000,
    device: str = "cpu",
    overwrite: bool = False,
) -> tuple[int, float]:
    """Write vectors for the words of these vector files; how many, and the variance they keep."""
    check_file(out, files, overwrite=overwrite)
    words = list(
        dict.fromkeys(
            word for path in files for names, _ in vector_blocks(path, max_words) for word in names
        )
    )
    states = word_states(encoder, words, device=device)  # (words, H)
    if width > min(states.shape):
        fault = f"{encoder} gives {states.shape[1]} numbers for each of {len(words):,} words"
        raise ReadletError(f"--width: {fault}; give at most {min(states.shape)}")
    vectors, kept = narrowed(states, width)
    write_vectors(out, words, [vectors])
    return len(words), kept
