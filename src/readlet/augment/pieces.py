"""A replacement of one piece of a question."""

from typing import NamedTuple


class Piece(NamedTuple):
    """Replaces question[start:end] by `text`; an insertion if start equals end."""

    start: int
    end: int
    text: str

    def apply_to(self, question: str) -> str:
        return question[: self.start] + self.text + question[self.end :]
