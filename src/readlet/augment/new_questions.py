"""Shared by all methods that make unanswerable questions: result type and random draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

from readlet.types import Example


@dataclass(frozen=True, slots=True)
class NewQuestions:
    """The new questions, the original of each, how many were wanted, and two mappings of ids.

    `kinds` has the new ids by kind of alteration; `left` has the ids of questions that could not be
    used, by reason.
    """

    added: list[Example]
    originals: list[Example]
    wanted: int
    kinds: Mapping[str, list[str]]
    left: Mapping[str, list[str]]


def draw(example: Example, seed: int, *purpose: str) -> bytes:
    """A random number per question that does not depend on the process or the order."""
    text = "\0".join((str(seed), example.id, example.question, example.context, *purpose))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def plain(text: str) -> str:
    """The text case-folded, with normalised white space."""
    return " ".join(text.casefold().split())
