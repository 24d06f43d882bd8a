"""Locks in a folder that several processes, and perhaps several users, share."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Yield whether the lock was acquired; False if another process has it.

    The operating system releases it when the process ends, even by a crash.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = _open(path)
    try:
        yield acquire(handle, path)
    finally:
        os.close(handle)


@contextmanager
def locked_folder(folder: Path) -> Iterator[bool]:
    """The same for a folder that exists, without a file for it."""
    if os.name == "nt":  # a folder cannot be opened there
        yield True
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield acquire(handle, folder)
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)  # minus the umask
    except PermissionError:
        if not path.exists():
            raise
        return os.open(path, os.O_RDONLY)  # another user's file: read access is enough to lock it


def acquire(handle: int, path: Path) -> bool:
    """Lock an open file, if no other process has; the lock ends when the file is closed."""
    try:
        import fcntl
    except ImportError:  # Windows has no flock: concurrent runs are not prevented there
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:  # some network file systems do not support locks
        raise OSError(error.errno, f"cannot be locked ({error.strerror})", str(path)) from None
    return True
