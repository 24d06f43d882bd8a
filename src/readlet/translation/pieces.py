"""SentencePiece models: text to pieces and back, with the characters of each piece."""

from collections.abc import Sequence
from pathlib import Path

from readlet.errors import ReadletError, bad_input
from readlet.installing import install_extra
from readlet.translation.types import Range


class Pieces:
    def __init__(self, path: Path) -> None:
        try:
            import sentencepiece
        except ImportError:
            raise missing_library("sentencepiece") from None
        try:
            self._model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (OSError, RuntimeError) as error:
            fault = f"no SentencePiece model ({str(error).splitlines()[0]})"
            raise bad_input(path, "", fault, "install the package again") from None

    def encoded(self, text: str) -> tuple[list[str], list[Range]]:
        made = self._model.encode(text, return_type="offset_mapping")
        return made["pieces"], made["offsets"]

    def decoded(self, pieces: Sequence[str]) -> tuple[str, list[Range]]:
        if not pieces:
            return "", []
        made = self._model.decode(list(pieces), return_type="offset_mapping")
        return made["text"], made["offsets"]


def missing_library(name: str) -> ReadletError:
    return ReadletError(f"neural translation needs {name}; run: {install_extra('translate')}")
