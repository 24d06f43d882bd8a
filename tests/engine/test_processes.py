"""Work of the main process: if it fails, all processes raise the error."""

import errno
import os
from types import SimpleNamespace
from typing import Any

import pytest

from readlet.engine import processes as module
from readlet.engine.processes import in_main
from readlet.errors import ReadletError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ReadletError("x.json: not written; free some space"), "x.json: not written; free some"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "x.json"), "x.json: No space left .*;"),
    ],
)
def test_a_failure_is_raised_in_all_processes(
    monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    sent: list[Any] = []

    def broadcast(values: list[Any]) -> None:
        if sent:  # the main process has been here
            values[:] = sent
        sent[:] = values

    def fail() -> None:
        assert not sent, "worked twice"
        raise error

    monkeypatch.setattr(module, "broadcast_object_list", broadcast)
    for is_main in (True, False):
        with pytest.raises(ReadletError, match=message):
            in_main(SimpleNamespace(is_main_process=is_main), fail)  # type: ignore[arg-type]
