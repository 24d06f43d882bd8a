"""The options of a call, by the names that transformers' pipeline gave them."""

from dataclasses import dataclass, fields, replace
from typing import Any

from readlet.errors import ReadletError

MOST_TOKENS, MOST_OVERLAP = 384, 128  # of a window, unless the options say otherwise


@dataclass(frozen=True)
class Options:
    """None is the default of the model."""

    top_k: int = 1
    handle_impossible_answer: bool = False
    max_answer_len: int | None = None  # in tokens
    max_seq_len: int | None = None  # of question and window together
    doc_stride: int | None = None  # tokens that two windows share
    align_to_words: bool | None = None
    # These two never changed a result; programs that give them still run.
    max_question_len: int | None = None
    padding: bool | str | None = None

    def __post_init__(self) -> None:
        for name in ("top_k", "max_answer_len"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise ReadletError(f"{name}: {value!r:.40}; give a number from 1")

    def changed(self, given: dict[str, Any]) -> "Options":
        """With what a call gives; None leaves an option as it is."""
        known = [field.name for field in fields(self)]
        for name in given:
            if name not in known:
                raise ReadletError(f"{name}: no such option; give one of {', '.join(known)}")
        return replace(self, **{name: v for name, v in given.items() if v is not None})
