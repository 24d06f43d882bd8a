"""Signals that stop training, and processes that train together.

One process or several: the rank of this one, its memory, and work for the main process only.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs, broadcast_object_list

from readlet.errors import ReadletError, disk_fault


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """SIGINT (Ctrl-C) and SIGTERM are recorded; the training loop stops between two steps."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if received:  # the second signal exits at once
            sys.exit(128 + number)
        received.append(number)

    watched = (signal.SIGINT, signal.SIGTERM)
    try:
        before = {number: signal.signal(number, note) for number in watched}
    except ValueError:  # not in the main thread: signals cannot be handled here
        before = {}
    handled = False
    try:
        yield received
    except (KeyboardInterrupt, SystemExit):
        handled = True
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if received and not handled:  # training ended before the next step: send it again
            signal.raise_signal(received[0])


def make_accelerator() -> Accelerator:
    """One process or many, as set up by `accelerate launch`. Mixed precision is our own."""
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


def memory_mib(device: torch.device) -> float | None:
    """Peak memory of this process so far: on the GPU if it uses one, otherwise in total."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
