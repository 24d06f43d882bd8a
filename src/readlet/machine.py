"""What this machine has to spare: memory and processor cores."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def memory_bytes() -> int | None:
    """The memory that this process can have at most; None if unknown."""
    limits = [int(n) for n in _words("memory.max") if n.isdecimal()]
    with suppress(AttributeError, ValueError, OSError):  # not on Windows
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(limits, default=None)


def usable_cores() -> int:
    """The cores that this process may use: its affinity, and the limit of its container."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        cores = os.cpu_count() or 1
    quota = [int(n) for n in _words("cpu.max") if n.isdecimal()]  # "max 100000": no limit
    return max(1, min(cores, -(-quota[0] // quota[1]))) if len(quota) == 2 and quota[1] else cores


def local_rank() -> tuple[int, int]:
    """The number of this process on its machine, and of how many, as `accelerate launch` says."""
    return int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def own_cores() -> int:
    """The cores for this process, if the others that were launched with it take as many."""
    return max(1, usable_cores() // local_rank()[1])


def _words(limit: str) -> Iterator[str]:
    with suppress(OSError):
        yield from (_CGROUP / limit).read_text("ascii").split()
