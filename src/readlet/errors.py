"""Errors and warnings that are shown to the user."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

_LONGEST = 300  # characters of a path in a message


class ReadletError(ValueError):
    """Invalid input: one line with the place and the remedy. The command exits with code 2.

    >>> try:
    ...     Reader.load("runs/nothing")
    ... except ReadletError as error:
    ...     print("cannot load it")
    cannot load it
    """


class InputError(ReadletError):
    """A fault in a file, with its parts: a reader may continue after it and list all faults."""

    source: str | Path
    place: str
    fault: str
    remedy: str


class BusyError(InputError):
    """Another process is writing the file: it may be waited for."""


class EncodingError(InputError):
    """The text is in another encoding, so none of it can be trusted."""


_Kind = TypeVar("_Kind", bound=InputError)


def bad_input(source: str | Path, place: str, fault: str, remedy: str) -> InputError:
    """Every error about a file has the same four parts, in the same order."""
    return input_error(InputError, source, place, fault, remedy)


def input_error(
    kind: type[_Kind], source: str | Path, place: str, fault: str, remedy: str
) -> _Kind:
    where = f"{shortened(source)}: {place}: " if place else f"{shortened(source)}: "
    error = kind(" ".join(f"{where}{fault}; {remedy}".splitlines()))
    # Not parameters of the class: errors are pickled with their message alone.
    error.source, error.place, error.fault, error.remedy = source, place, fault, remedy
    return error


def shortened(source: str | Path) -> str:
    """A path as shown in messages: a very long one is cut in the middle."""
    text = str(source)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 2 :]}"


def install_extra(extra: str) -> str:
    """The command that adds the libraries of an extra; in a clone, `readlet` is `.`."""
    return f"pip install 'readlet[{extra}]'"


class MissingLibraryError(ReadletError):
    """A library of an extra is not installed; the message says how to install it."""

    subject = ""  # what needs it, if that is not simply what the user called

    def of(self, called: str) -> "MissingLibraryError":
        """The same error about the command or function that was called, if it names no subject."""
        return self if self.subject else _missing(called, f"{called}: {self}")


def missing_library(extra: str, library: str | None, subject: str = "") -> MissingLibraryError:
    fault = f"needs {library}, which is not installed; {install_extra(extra)}"
    return _missing(subject, f"{subject}: {fault}" if subject else fault)


def _missing(subject: str, message: str) -> MissingLibraryError:
    error = MissingLibraryError(message)
    error.subject = subject  # not a parameter, as above
    return error


@contextmanager
def extra_needed(extra: str, subject: str = "") -> Iterator[None]:
    """A library that cannot be imported becomes an error of one line."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_library(extra, error.name or str(error), subject) from None


def warn_caller(message: str) -> None:
    """Warn at the line that called the package: by default Python shows a text once for a line."""
    package, level = __name__.partition(".")[0], 1
    frame = sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def reason_of(error: Exception) -> str:
    """The message of a library's error, in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def disk_fault(error: OSError) -> str:
    """The message of an operating system error, in one line."""
    where = f"{shortened(str(error.filename))}: " if error.filename else ""
    return f"{where}{error.strerror or error}; check disk and paths"


def is_out_of_memory(error: BaseException) -> bool:
    """The out-of-memory errors of Python, NumPy and torch, which has no class for it on the CPU."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    texts = ("can't allocate memory", "Cannot allocate memory", "not enough memory", "bad_alloc")
    return isinstance(error, (RuntimeError, OSError)) and any(t in str(error) for t in texts)


def memory_fault(error: BaseException) -> str:
    is_gpu = "CUDA" in str(error)
    return f"the {'GPU' if is_gpu else 'machine'}'s memory is full"


@contextmanager
def memory_reported(remedy: str, kind: type["ReadletError"] = ReadletError) -> Iterator[None]:
    """Running out of memory becomes an error of one line with this remedy."""
    try:
        yield
    except (MemoryError, RuntimeError, OSError) as error:
        if not is_out_of_memory(error):
            raise
        raise kind(f"{memory_fault(error)}; {remedy}") from None


class CannotResumeError(ReadletError):
    """An interrupted run cannot be resumed: it is damaged, or has other data or another version."""


class FailedTrainingError(ReadletError):
    """Training failed because of its hyperparameters; other values may work."""
