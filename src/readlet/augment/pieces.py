"""One piece of a question and what is put in its place."""

from typing import NamedTuple


class Piece(NamedTuple):
    """question[start:end] becomes `text`; nothing is replaced where start and end are the same."""

    start: int
    end: int
    text: str

    def put_into(self, question: str) -> str:
        return question[: self.start] + self.text + question[self.end :]
