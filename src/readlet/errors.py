"""Errors that are shown to the user."""

from pathlib import Path
from typing import TypeVar


class ReadletError(ValueError):
    """Invalid input: one line with the place and the remedy. The command exits with code 2."""


class InputError(ReadletError):
    """A fault of a file, also in its parts: a reader may continue after it and list all of them."""

    source: str | Path
    place: str
    fault: str
    remedy: str


class EncodingError(InputError):
    """The text is in another encoding: all of it would be read wrongly."""


_Kind = TypeVar("_Kind", bound=InputError)


def bad_input(source: str | Path, place: str, fault: str, remedy: str) -> InputError:
    """Every error about a file has the same four parts, in the same order."""
    return input_error(InputError, source, place, fault, remedy)


def input_error(
    kind: type[_Kind], source: str | Path, place: str, fault: str, remedy: str
) -> _Kind:
    where = f"{source}: {place}: " if place else f"{source}: "
    error = kind(" ".join(f"{where}{fault}; {remedy}".splitlines()))
    # Not parameters of the class: errors are pickled with their message alone.
    error.source, error.place, error.fault, error.remedy = source, place, fault, remedy
    return error


def disk_fault(error: OSError) -> str:
    """The message of an operating system error, in one line."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}; check disk and paths"


class CannotResumeError(ReadletError):
    """An interrupted run cannot be resumed: it is damaged, or has other data or another version."""


class FailedTrainingError(ReadletError):
    """Training failed because of its hyperparameters; other values may work."""
