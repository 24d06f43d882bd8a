"""Real CTranslate2 models whose weights are set by hand: they swap the case of every letter.

Embeddings are rows of a Hadamard matrix, so orthogonal and of zero mean: layer normalisation does
not change them. The decoder's attention compares positions only, so the n-th target token copies
the n-th source token, and the target vocabulary has its case swapped.
"""

import json
import zipfile
from pathlib import Path

import numpy as np
import sentencepiece
from ctranslate2.specs import TransformerSpec
from numpy.typing import NDArray
from scipy.linalg import hadamard

_TOKENS, _POSITIONS = 256, 512  # at most so many; as many features for each of the two
_WIDE = _TOKENS + _POSITIONS
_SENTENCES = [
    "The quick brown fox jumps over the lazy dog; PACK MY BOX, WITH FIVE DOZEN LIQUOR JUGS.",
    "the five boxing wizards jump quickly? THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG!",
    "0 1 2 3 4 5 6 7 8 9 ' \" ( ) - : é ñ",
]


def write_sentencepiece(path: Path) -> list[str]:
    """A SentencePiece model whose pieces are characters; its pieces."""
    prefix = path.parent / "trained"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(_SENTENCES),
        model_prefix=str(prefix),
        vocab_size=200,
        hard_vocab_limit=False,
        model_type="char",
        character_coverage=1.0,
        minloglevel=2,
    )
    prefix.with_suffix(".vocab").unlink()
    prefix.with_suffix(".model").rename(path)
    loaded = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [loaded.id_to_piece(number) for number in range(loaded.vocab_size())]


def write_model(folder: Path, pieces: list[str], *, ends: bool = True) -> None:
    """The CTranslate2 model: without `ends`, it never stops by itself."""
    folder.mkdir(parents=True, exist_ok=True)
    source = [*pieces]
    target = [token if token in ("<unk>", "<s>", "</s>") else token.swapcase() for token in pieces]
    if not ends:  # the end of the source becomes a word
        target = ["x!" if token == "</s>" else token for token in target] + ["</s>"]
        source.append("x!")
    spec = TransformerSpec.from_config((1, 1), num_heads=1, pre_norm=False)
    table = np.zeros((len(source), _WIDE), "float32")
    table[:, :_TOKENS] = hadamard(_TOKENS)[1 : len(source) + 1]  # the first row has a mean
    positions = np.zeros((_POSITIONS, _WIDE), "float32")
    positions[:, _TOKENS:] = hadamard(_POSITIONS)
    for part in (spec.encoder, spec.decoder):
        part.scale_embeddings = False
        part.position_encodings.encodings = positions
    spec.encoder.embeddings[0].weight = table
    spec.decoder.embeddings.weight = table
    spec.decoder.start_from_zero_embedding = True
    spec.decoder.projection.weight = table
    for layer in (*spec.encoder.layer, *spec.decoder.layer):
        _set_attention(layer.self_attention, [np.zeros((3 * _WIDE, _WIDE), "float32")], 0.0)
        for linear, shape in ((layer.ffn.linear_0, (8, _WIDE)), (layer.ffn.linear_1, (_WIDE, 8))):
            linear.weight = np.zeros(shape, "float32")
            linear.bias = np.zeros(shape[0], "float32")
        _set_norm(layer.ffn.layer_norm)
    tokens, places = np.eye(_WIDE, dtype="float32"), np.eye(_WIDE, dtype="float32")
    tokens[_TOKENS:] = 0
    places[:_TOKENS] = 0
    for layer in spec.decoder.layer:
        _set_attention(layer.attention, [20 * places, np.concatenate([places, tokens])], 8.0)
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.config.decoder_start_token = "</s>"
    spec.validate()
    spec.save(str(folder))


def _set_attention(spec: object, inputs: list[NDArray[np.float32]], gain: float) -> None:
    weights = [*inputs, gain * np.eye(_WIDE, dtype="float32")]
    for linear, weight in zip(spec.linear, weights, strict=True):  # type: ignore[attr-defined]
        linear.weight = weight
        linear.bias = np.zeros(len(weight), "float32")
    _set_norm(spec.layer_norm)  # type: ignore[attr-defined]


def _set_norm(spec: object) -> None:
    spec.gamma, spec.beta = np.ones(_WIDE, "float32"), np.zeros(_WIDE, "float32")  # type: ignore[attr-defined]


def write_argos(folder: Path, source: str, target: str, *, version: str = "1.9") -> Path:
    """An `.argosmodel` file, with one folder inside as Argos makes them."""
    inside = folder / f"translate-{source}_{target}-{version.replace('.', '_')}"
    inside.mkdir(parents=True)
    pieces = write_sentencepiece(inside / "sentencepiece.model")
    write_model(inside / "model", pieces)
    config = inside / "model" / "config.json"
    stored = json.loads(config.read_text("utf-8"))
    config.write_text(json.dumps(stored | {"add_source_eos": True}), "utf-8")
    metadata = {
        "package_version": version,
        "argos_version": "1.9.0",
        "from_code": source,
        "from_name": source.upper(),
        "to_code": target,
        "to_name": target.upper(),
    }
    (inside / "metadata.json").write_text(json.dumps(metadata), "utf-8")
    path = folder / f"{inside.name}.argosmodel"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for file in sorted(inside.rglob("*")):
            if file.is_file():
                package.write(file, file.relative_to(folder))
    return path


def write_marian(folder: Path, *, ends: bool = True) -> Path:
    """A folder of a Marian model, whose name ends with the pair."""
    folder.mkdir(parents=True)
    pieces = write_sentencepiece(folder / "source.spm")
    (folder / "target.spm").write_bytes((folder / "source.spm").read_bytes())
    write_model(folder, pieces, ends=ends)
    return folder
