"""What this machine has to spare: memory and processor cores."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_CGROUP = Path("/sys/fs/cgroup")
_SHORTEST = 0.1  # seconds in which the share of busy cores can be measured


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


class Usage(NamedTuple):
    """Seconds so far: by the clock, of all cores while idle, of this process."""

    clock: float
    idle: float | None  # None if unknown
    own: float

    @classmethod
    def now(cls) -> "Usage":
        idle = None
        with suppress(OSError, ValueError, IndexError):
            first = Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()
            idle = (int(first[4]) + int(first[5])) / os.sysconf("SC_CLK_TCK")
        return cls(time.monotonic(), idle, time.process_time())


def free_cores(since: Usage) -> int:
    """The cores that other processes leave free, at least one: measured since then.

    Where that cannot be measured, the load average of the last minute is used.
    """
    now, cores = Usage.now(), os.cpu_count() or 1
    seconds = now.clock - since.clock
    if now.idle is not None and since.idle is not None and seconds > _SHORTEST:
        free = (now.idle - since.idle + now.own - since.own) / seconds
    else:
        try:
            free = cores - os.getloadavg()[0]
        except (AttributeError, OSError):  # Windows
            free = cores
    return max(1, min(usable_cores(), round(free)))


def _words(limit: str) -> Iterator[str]:
    with suppress(OSError):
        yield from (_CGROUP / limit).read_text("ascii").split()
