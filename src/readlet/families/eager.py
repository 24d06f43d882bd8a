"""Inference without compiled programs: compiling for it would cost more than it saves."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

import torch

_LOCK = Lock()
_INSIDE = 0
_STANCE = ExitStack()


@contextmanager
def eagerly() -> Iterator[None]:
    """Inside the `with`, compiled modules run eagerly.

    Torch has one setting for all threads, and would not restore it if two of them overlap: the
    first thread sets it, the last one restores it.
    """
    global _INSIDE
    with _LOCK:
        if not _INSIDE:
            _STANCE.enter_context(torch.compiler.set_stance("force_eager"))
        _INSIDE += 1
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE -= 1
            if not _INSIDE:
                _STANCE.close()
