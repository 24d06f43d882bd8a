"""A CTranslate2 model with its SentencePiece models: sentences to translations with word links."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readlet.errors import bad_input
from readlet.machine import local_rank, own_cores
from readlet.translation.losses import loss_of
from readlet.translation.pieces import Pieces, missing_library
from readlet.translation.sentences import halves
from readlet.translation.types import EngineError, Link, Loss, Range, Translation

_WAY = 1  # changes whenever the same model would be driven in another way
# Models are trained on single sentences; many have no positions beyond 512.
_LONGEST_INPUT, _LONGEST_OUTPUT = 200, 500  # pieces
_TOKENS_IN_BATCH = {"cpu": 768, "cuda": 16384}  # larger ones are no faster on cores
_BEAM, _LENGTH_PENALTY = 4, 0.2  # as in Argos Translate
_END = "</s>"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model, and whether its source ends with `</s>`."""

    model: Path
    source_pieces: Path
    target_pieces: Path
    ends_source: bool

    @property
    def version(self) -> str:
        digest = hashlib.blake2b(digest_size=8)
        for path in (self.model / "model.bin", self.source_pieces, self.target_pieces):
            with path.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
        return f"{digest.hexdigest()} {_WAY}"


@dataclass(frozen=True, slots=True)
class _Made:
    """A part of a sentence and its translation."""

    part: Range
    translation: Translation


class NeuralModel:
    """A loaded model. Several processes on a machine share its cores and GPUs."""

    def __init__(self, files: ModelFiles) -> None:
        try:
            import ctranslate2
        except ImportError:
            raise missing_library("ctranslate2") from None
        rank, processes = local_rank()
        gpus = ctranslate2.get_cuda_device_count()
        self._device = "cuda" if gpus else "cpu"
        own = [rank % gpus] if gpus and processes > 1 else list(range(gpus))
        self._files = files
        self._source, self._target = Pieces(files.source_pieces), Pieces(files.target_pieces)
        try:
            # Cores translate batches of their own: threads inside of a batch wait for each other.
            self._model = ctranslate2.Translator(
                str(files.model),
                device=self._device,
                device_index=own or 0,
                inter_threads=1 if gpus else own_cores(),
                intra_threads=1,
            )
        except (RuntimeError, ValueError) as error:
            fault = f"no CTranslate2 model ({str(error).splitlines()[0]})"
            raise bad_input(files.model, "", fault, "install or convert it again") from None

    def translate(
        self, sentences: Sequence[str], *, source_prefix: str = "", target_prefix: str = ""
    ) -> list[Translation]:
        """The translations; a sentence that is too long for the model is translated in parts."""
        parts = [list(self._parts(sentence)) for sentence in sentences]
        texts = [
            s[start:end] for s, own in zip(sentences, parts, strict=True) for start, end in own
        ]
        made = iter(self._translated(texts, source_prefix, target_prefix))
        return [
            _joined(sentence, [_Made(part, next(made)) for part in own])
            for sentence, own in zip(sentences, parts, strict=True)
        ]

    def _parts(self, text: str, start: int = 0) -> Iterator[Range]:
        if len(text) < 2 or len(self._source.encoded(text)[0]) <= _LONGEST_INPUT:
            yield start, start + len(text)
            return
        for first, last in halves(text):
            yield from self._parts(text[first:last], start + first)

    def _translated(self, texts: Sequence[str], before: str, prefix: str) -> list[Translation]:
        encoded = [self._source.encoded(text) for text in texts]
        after = [_END] if self._files.ends_source else []
        tokens = [[*filter(None, [before]), *pieces, *after] for pieces, _ in encoded]
        try:
            results = self._model.translate_batch(
                tokens,
                target_prefix=[[prefix]] * len(tokens) if prefix else None,
                max_batch_size=_TOKENS_IN_BATCH[self._device],
                batch_type="tokens",
                beam_size=_BEAM,
                length_penalty=_LENGTH_PENALTY,
                replace_unknowns=True,
                return_attention=True,
                max_input_length=0,  # never cut: `_parts` has made them short enough
                max_decoding_length=_LONGEST_OUTPUT,
            )
        except RuntimeError as error:
            raise EngineError(f"{self._files.model}: {str(error).splitlines()[0]}") from None
        skipped = 1 if prefix else 0  # the translation begins with the prefix
        first = 1 if before else 0
        return [
            self._result(text, offsets, result, skipped, first)
            for text, (_, offsets), result in zip(texts, encoded, results, strict=True)
        ]

    def _result(
        self, source: str, source_pieces: list[Range], result: Any, skipped: int, first: int
    ) -> Translation:
        import numpy as np  # here, so that engines are listed without it

        from readlet.translation.links import links_from_attention

        pieces = result.hypotheses[0]
        text, target_pieces = self._target.decoded(pieces[skipped:])
        if len(pieces) >= _LONGEST_OUTPUT:
            return Translation(text, loss=Loss.REPEATED)  # it has never come to an end
        loss = loss_of(source, text)
        if loss is not None or not text:
            return Translation(text, loss=loss)
        attention = np.asarray(result.attention[0], np.float32)  # (target pieces, source tokens)
        attention = attention[skipped:, first : first + len(source_pieces)]  # (pieces, pieces)
        return Translation(
            text, links_from_attention(attention, source, source_pieces, text, target_pieces)
        )


def _joined(sentence: str, made: Sequence[_Made]) -> Translation:
    """The translations of the parts of a sentence as one; what stood between them stays."""
    texts: list[str] = []
    links: list[Link] = []
    length = last = 0
    for one in made:
        (start, end), translation = one.part, one.translation
        texts += [sentence[last:start], translation.text]
        length += start - last
        links += [
            Link((a + start, b + start), (c + length, d + length))
            for (a, b), (c, d) in translation.links or ()
        ]
        length, last = length + len(translation.text), end
    loss = next((one.translation.loss for one in made if one.translation.loss), None)
    return Translation("".join(texts), None if loss else tuple(links), loss)


def model_config(folder: Path) -> dict[str, Any]:
    """The configuration of a CTranslate2 model; old models have none."""
    try:
        stored = json.loads((folder / "config.json").read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise bad_input(folder / "config.json", "", f"{error}", "install it again") from None
    return stored if isinstance(stored, dict) else {}
