"""A request waits for its results: no longer than it may, and only while its client is there."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from readlet.errors import ReadletError, is_out_of_memory
from readlet.serve.refusals import RefusedError

if TYPE_CHECKING:
    from fastapi import Request

Found = TypeVar("Found")


async def results(
    request: "Request", futures: Sequence["Future[Found]"], seconds: float
) -> list[Found]:
    """All results in order. If they are not waited for any more, what is queued is not computed."""
    all_done = asyncio.gather(*map(asyncio.wrap_future, futures))
    left = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((all_done, left), timeout=seconds, return_when="FIRST_COMPLETED")
        if all_done.done():
            return await all_done
        if left.done():
            raise RefusedError(503, "the client has left")
        raise RefusedError(503, f"no answer within {seconds:g} s; ask less, or later")
    except (MemoryError, RuntimeError, ReadletError) as error:
        if is_out_of_memory(error):
            raise RefusedError(503, "the memory is full; ask less at once") from None
        if isinstance(error, ReadletError):
            raise RefusedError(422, str(error)) from None
        raise
    finally:
        left.cancel()
        all_done.cancel()


async def _left(request: "Request") -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
