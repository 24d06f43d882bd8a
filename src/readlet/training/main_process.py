"""Work of one process of several, such as writing a file."""

from collections.abc import Callable

from accelerate import Accelerator
from accelerate.utils import broadcast_object_list

from readlet.errors import ReadletError, disk_fault


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
