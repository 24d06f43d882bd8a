"""Files that clients send: their text, one file at a time."""

import asyncio

from readlet.errors import ReadletError
from readlet.reading.document_files import DocumentKind, document_text
from readlet.serve.limits import Limits
from readlet.serve.refusals import RefusedError

_MOST_WAITING = 8


class Uploads:
    """Reading a file takes time and memory, so only a few wait."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def text(self, data: bytes, kind: DocumentKind) -> str:
        if self._waiting >= _MOST_WAITING:
            raise RefusedError(429, "other files are being read; try again later", retry_after=1)
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.seconds), self._turn:
                return await asyncio.to_thread(self._read, data, kind)
        except ReadletError as error:
            raise RefusedError(422, str(error)) from None
        except TimeoutError:
            reason = f"the file was not read within {self._limits.seconds:g} s"
            raise RefusedError(503, reason) from None
        finally:
            self._waiting -= 1

    def _read(self, data: bytes, kind: DocumentKind) -> str:
        text = document_text(data, kind, seconds=self._limits.seconds)
        most = self._limits.passage_characters
        if len(text) > most:
            raise ReadletError(f"the file has {len(text):,} characters; at most {most:,}")
        return text
