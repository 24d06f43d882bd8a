"""Inference without compiled programs: compiling for it would cost more than it saves."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

import torch

_LOCK = Lock()
_INSIDE = 0
_IS_SET = False
_STANCE = ExitStack()


@contextmanager
def eagerly() -> Iterator[None]:
    """Inside the `with`, compiled modules run eagerly.

    Torch has one setting for all threads, and would not restore it if two of them overlap: the
    first thread sets it, the last one restores it. Setting it imports the compiler, which takes
    two seconds; nothing is compiled before it is imported.
    """
    global _INSIDE, _IS_SET
    with _LOCK:
        if not _IS_SET and "torch._dynamo" in sys.modules:
            _STANCE.enter_context(torch.compiler.set_stance("force_eager"))
            _IS_SET = True
        _INSIDE += 1
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE -= 1
            if not _INSIDE:
                _STANCE.close()
                _IS_SET = False
