"""Processes of `readlet` that start with torch imported: a server imports it once and forks them.

They are real processes, with signals, streams and exit codes of their own, and start at once.
"""

import multiprocessing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        *(
            "readlet.cli",
            "readlet.experiments.runner",
            "readlet.augmentation.pipeline",
            "accelerate",
        ),
        "torch._dynamo",  # every optimiser imports it
    ]
)

# A text, since the server cannot import files beside the tests.
_PROGRAM = """
import os, sys
for number, path in ((1, out), (2, err)):
    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
os.environ.update(environment)
sys.argv = ["readlet", *words]
exec(first)
from readlet.__main__ import main
main()
"""


@contextmanager
def forked_readlet(
    *words: object,
    out: str | Path = "/dev/null",
    err: str | Path = "/dev/null",
    environment: Mapping[str, str] | None = None,
    first: str = "",
) -> Iterator[BaseProcess]:
    """`readlet WORDS...`, with its streams in files, killed at the end of the block.

    `first` is code to run before it.
    """
    values = {
        "words": [str(word) for word in words],
        "out": str(out),
        "err": str(err),
        "environment": dict(environment or {}),
        "first": first,
    }
    process = _CONTEXT.Process(target=exec, args=(_PROGRAM, values))
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()
