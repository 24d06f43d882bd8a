"""The one kind of error that a user is meant to read."""

from pathlib import Path


class ReadletError(ValueError):
    """Bad input: one line that names the place and the remedy. The command line exits with 2."""


def bad_input(source: str | Path, place: str, fault: str, remedy: str) -> ReadletError:
    """Every complaint about a file has the same four parts, in the same order."""
    where = f"{source}: {place}: " if place else f"{source}: "
    return ReadletError(" ".join(f"{where}{fault}; {remedy}".splitlines()))


def disk_fault(error: OSError) -> str:
    """What the system complains of, in one line."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}; check disk and paths"


class CannotResumeError(ReadletError):
    """An interrupted run that cannot go on: damaged, of other data, or of another version."""


class FailedTrainingError(ReadletError):
    """Training that came to nothing by its numbers: with others it may go well."""
