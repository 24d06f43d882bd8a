"""Connections on which no request arrives are closed: a client may be slow, but not for ever."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 10.0


class Impatient(H11Protocol):
    """uvicorn waits without end for the first request, and for the rest of a header."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_idle and self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        """No request is being answered, so the client is to send one."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        asked = self.cycle
        self._timer = asyncio.get_running_loop().call_later(SECONDS, self._end, asked)

    def _end(self, asked: Any) -> None:
        self._timer = None
        if not self._is_idle:
            return
        if self.cycle is asked:  # no new request since then
            self.transport.close()
        else:
            self._wait()
