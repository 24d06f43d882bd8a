"""Errors that are shown to the user."""

from pathlib import Path


class ReadletError(ValueError):
    """Invalid input: one line with the place and the remedy. The command exits with code 2."""


def bad_input(source: str | Path, place: str, fault: str, remedy: str) -> ReadletError:
    """Every error about a file has the same four parts, in the same order."""
    where = f"{source}: {place}: " if place else f"{source}: "
    return ReadletError(" ".join(f"{where}{fault}; {remedy}".splitlines()))


def disk_fault(error: OSError) -> str:
    """The message of an operating system error, in one line."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}; check disk and paths"


class CannotResumeError(ReadletError):
    """An interrupted run cannot be resumed: it is damaged, or has other data or another version."""


class FailedTrainingError(ReadletError):
    """Training failed because of its hyperparameters; other values may work."""
