"""Compilation before training: a trial run, so that a machine without a compiler still trains."""

import warnings
from collections.abc import Callable


def compiles(trial: Callable[[], None]) -> bool:
    """Run a trial of compiled parts; False, with a warning, if torch cannot compile them.

    A C compiler may be missing, for example.
    """
    from torch._dynamo.exc import TorchDynamoException  # takes two seconds: only on a GPU

    try:
        trial()
    except TorchDynamoException as error:
        cause = str(getattr(error, "inner_exception", error)).strip()
        reason = cause.splitlines()[0] if cause else type(error).__name__
        warnings.warn(f"training runs slower, not compiled ({reason})", stacklevel=2)
        return False
    return True
