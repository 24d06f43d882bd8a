"""What every way of making questions without an answer shares: its result and its draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

from readlet.types import Example


@dataclass(frozen=True, slots=True)
class NewQuestions:
    """The new questions, how many were wanted, and two lists of ids.

    `kinds` has the new ids by the way they were made, `left` the old ids of which nothing could be
    made, by reason.
    """

    added: list[Example]
    wanted: int
    kinds: Mapping[str, list[str]]
    left: Mapping[str, list[str]]


def draw(example: Example, seed: int, *purpose: str) -> bytes:
    """A random number of the question's own, the same in every process and for every order."""
    text = "\0".join((str(seed), example.id, example.question, example.context, *purpose))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def plain(text: str) -> str:
    """The text without case, all white space alike."""
    return " ".join(text.casefold().split())
