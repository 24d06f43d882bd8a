"""Which of several processes this is, as `accelerate launch` says it, and how they wait.

All processes of a machine share a cache, which SQLite allows. Machines have a cache each, since
locks over a network are not to be trusted.
"""

import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from readlet.augment.shards import Shard

_LONGEST_WAIT = timedelta(days=30)  # a process with slow sentences must not end the others


@dataclass(frozen=True, slots=True)
class Processes:
    """This process and this machine, counted from 0, and how many there are of each."""

    number: int = 0
    count: int = 1
    machine: int = 0
    machines: int = 1
    number_here: int = 0  # among those of this machine
    count_here: int = 1

    @classmethod
    def launched(cls) -> "Processes":
        """As the environment says; a single process without one."""

        def value(name: str, default: int) -> int:
            return int(os.environ.get(name, default))

        return cls(
            value("RANK", 0),
            value("WORLD_SIZE", 1),
            value("GROUP_RANK", 0),
            value("GROUP_WORLD_SIZE", 1),
            value("LOCAL_RANK", 0),
            value("LOCAL_WORLD_SIZE", 1),
        )

    @property
    def shard(self) -> Shard:
        return Shard(self.number, self.count)

    @property
    def is_main(self) -> bool:
        return self.number == 0

    def own_cache(self, cache: Path) -> Path:
        """The cache of this machine."""
        return cache if self.machines == 1 else _of_machine(cache, self.machine)

    def other_caches(self, cache: Path) -> list[Path]:
        """Those that the main process adds to the cache when all have finished."""
        if self.machines == 1:
            return []
        return [_of_machine(cache, number) for number in range(self.machines)]

    def wait_for_all(self) -> None:
        if self.count > 1:
            from accelerate import PartialState  # slow import

            PartialState(cpu=True, timeout=_LONGEST_WAIT).wait_for_everyone()


def _of_machine(cache: Path, number: int) -> Path:
    return cache.with_name(f"{cache.name}.machine-{number}")
