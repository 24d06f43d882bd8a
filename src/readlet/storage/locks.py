"""Locks in a folder that several processes, and perhaps several users, work in."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Whether the lock is ours; False while another process has it. A crash gives it back."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = _open(path)
    try:
        yield _take(handle, path)
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)  # less what the umask takes
    except PermissionError:
        if not path.exists():
            raise
        return os.open(path, os.O_RDONLY)  # another user's: who may read it may hold it


def _take(handle: int, path: Path) -> bool:
    try:
        import fcntl
    except ImportError:  # not on Windows, where nothing guards against two at once
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:  # some disks of a network hold no locks
        raise OSError(error.errno, f"cannot be locked ({error.strerror})", str(path)) from None
    return True
