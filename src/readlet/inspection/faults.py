"""The kinds of fault, and their detection in one example."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import regex

from readlet.encoding.words import snap
from readlet.formats.places import differs_in_case
from readlet.inspection.placing import placement
from readlet.types import NO_OFFSET, Example, Span

# Tabs and line ends are allowed; U+FFFD and unpaired surrogates are traces of a failed
# conversion.
CONTROL = regex.compile(r"[\p{Cc}\p{Cs}\uFEFF\uFFFD--[\t\n\r]]", regex.VERSION1)


class Fault(Enum):
    """A kind of fault: its name, and whether it makes the data wrong."""

    MALFORMED = ("malformed row", True)
    UNREADABLE = ("rest is unreadable", True)
    MISPLACED = ("misplaced answer", True)
    NO_OFFSET = ("answer without offset", True)
    CASE = ("answer in another case", True)
    NOWHERE = ("answer not in context", True)
    EMPTY = ("empty field", True)
    CONTROL = ("control character", True)
    FLAG = ("contradictory flag", True)
    SAME_ID = ("duplicate id", True)
    SHARED = ("text in two files", True)
    ONE_CLASS = ("only one class", True)
    NO_NUMBER = ("label is no number", True)
    CUT = ("answer cuts a word", False)  # training uses the whole word
    SPACE = ("space around answer", False)
    REPEATED = ("repeated question", False)
    UNLABELLED = ("unlabelled question", False)
    REPEATED_TEXT = ("repeated text", False)
    UNLABELLED_TEXT = ("unlabelled text", False)
    TWO_LABELS = ("same text with two labels", False)  # official CoLA has some
    RARE_CLASS = ("class with one row", False)
    SIMILAR_LABELS = ("labels differ only in case", False)

    def __init__(self, label: str, is_wrong: bool) -> None:
        self.label = label
        self.is_wrong = is_wrong


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, the id of its example (the place of a malformed row) and the details."""

    fault: Fault
    id: str
    detail: str


def context_faults(identity: str, context: str) -> Iterator[Finding]:
    """Faults of a context, reported once for all questions that share it."""
    if not context.strip():
        yield Finding(Fault.EMPTY, identity, "the context has no text")
    yield from control_faults(identity, "context", context)


def example_faults(example: Example, spans: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    """Faults of a question and its answers, given the word spans of its context."""
    if not example.question.strip():
        yield Finding(Fault.EMPTY, example.id, "the question has no text")
    yield from control_faults(example.id, "question", example.question)
    if example.is_impossible and example.answers:
        yield Finding(Fault.FLAG, example.id, "marked impossible but has answers")
    if not example.is_labelled:
        detail = "usable for predictions, not for training"
        yield Finding(Fault.UNLABELLED, example.id, detail)
    elif not example.is_impossible and not example.answers:
        yield Finding(Fault.FLAG, example.id, "has no answer but is not marked impossible")
    for answer in (*example.answers, *example.plausible_answers):
        yield from _answer_faults(example, answer, spans)


def _answer_faults(
    example: Example, answer: Span, spans: Sequence[tuple[int, int]]
) -> Iterator[Finding]:
    shown = f"{answer.text!r:.60}"
    if not answer.text.strip():
        yield Finding(Fault.EMPTY, example.id, "an answer has no text")
    elif not answer.is_in(example.context):
        yield _place_fault(example, answer, spans)
    else:
        if answer.text != answer.text.strip():
            yield Finding(Fault.SPACE, example.id, shown)
        whole = snap(spans, answer.start, answer.end)
        if whole is not None and whole.moved:
            covering = example.context[spans[whole.first][0] : spans[whole.last][1]]
            yield Finding(Fault.CUT, example.id, f"{shown} of {covering!r:.60}")


def _place_fault(example: Example, answer: Span, spans: Sequence[tuple[int, int]]) -> Finding:
    """The fault of an answer that is not at its offset, or has none."""
    has_offset = answer.start != NO_OFFSET
    shown = f"{answer.text!r:.60}"
    shown += f" at {answer.start}" if has_offset else ": no offset given"
    found = placement(example.context, answer, spans)
    if found is None:
        return Finding(Fault.NOWHERE, example.id, shown)
    near = found.place
    several = f", occurs {found.occurring} times" if found.occurring > 1 else ""
    if differs_in_case(near.text, answer.text):
        detail = f"{shown}, is {near.text!r:.60} at {near.start}{several}"
        return Finding(Fault.CASE, example.id, detail)
    other = "" if near.text == answer.text else ", in another Unicode normalisation"
    if several:
        detail = f"{shown}{several}{other} (--fix takes the first)"
        return Finding(Fault.NO_OFFSET, example.id, detail)
    return Finding(Fault.MISPLACED, example.id, f"{shown}, is at {near.start}{other}")


def control_faults(identity: str, field: str, text: str) -> Iterator[Finding]:
    match = CONTROL.search(text)
    if match:
        name = unicodedata.name(match[0], f"U+{ord(match[0]):04X}")
        yield Finding(Fault.CONTROL, identity, f"{name} at {match.start()} of the {field}")
