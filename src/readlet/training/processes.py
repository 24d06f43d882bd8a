"""One process or several: which one this is, and work that only the main process does."""

from collections.abc import Callable

from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs, broadcast_object_list

from readlet.errors import ReadletError, disk_fault


def make_accelerator() -> Accelerator:
    """One process or many, as `accelerate launch` has set it up. Mixed precision is our own."""
    # The frozen word vectors are the same everywhere: no need to broadcast them at every step.
    kwargs = DistributedDataParallelKwargs(broadcast_buffers=False)
    return Accelerator(mixed_precision="no", kwargs_handlers=[kwargs])


def is_main_process() -> bool:
    """Whether this is the only process, or the one that writes files and messages."""
    return bool(make_accelerator().is_main_process)


def in_main(accelerator: Accelerator, work: Callable[[], object]) -> None:
    """Run `work` in the main process while the others wait; an error is raised in all of them.

    Otherwise the others would wait for ever for a process that has failed.
    """
    error_message: list[str | None] = [None]
    if accelerator.is_main_process:
        try:
            work()
        except ReadletError as error:
            error_message = [str(error)]
        except OSError as error:
            error_message = [disk_fault(error)]
    broadcast_object_list(error_message)
    if error_message[0] is not None:
        raise ReadletError(error_message[0])
