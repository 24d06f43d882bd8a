"""One process or several: which of them this is, and what only one of them does."""

import atexit
from collections.abc import Callable
from functools import cache

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs, broadcast_object_list

from readlet.errors import ReadletError, disk_fault


def make_accelerator() -> Accelerator:
    """One process or many, whatever `accelerate launch` has set up. Precision is our own."""
    # The frozen word vectors are the same everywhere: no need to send them before every step.
    kwargs = DistributedDataParallelKwargs(broadcast_buffers=False)
    accelerator = Accelerator(mixed_precision="no", kwargs_handlers=[kwargs])
    if accelerator.num_processes > 1:
        _leave_group_at_exit()
    return accelerator


@cache
def _leave_group_at_exit() -> None:
    """Threads of the process group that outlive the interpreter would abort the process."""
    atexit.register(_leave_group)


def _leave_group() -> None:
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def is_main_process() -> bool:
    """Whether this is the only process, or the one that writes and tells."""
    return bool(make_accelerator().is_main_process)


def in_main(accelerator: Accelerator, work: Callable[[], object]) -> None:
    """Done by the main process while the others wait; its failure is that of all of them.

    Else the others would wait for ever for one that has gone on to something else.
    """
    told: list[str | None] = [None]
    if accelerator.is_main_process:
        try:
            work()
        except ReadletError as error:
            told = [str(error)]
        except OSError as error:
            told = [disk_fault(error)]
    broadcast_object_list(told)
    if told[0] is not None:
        raise ReadletError(told[0])
