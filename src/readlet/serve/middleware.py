"""Checks of every request before it is parsed: host, origin, key, size, time.

And the headers of all responses.

Plain ASGI: the body is bounded before it is parsed.
"""

import asyncio
import hmac
import json
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from readlet.serve.batching import Counters
from readlet.serve.messages import Limits, RequestError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

# No inline scripts or styles, nothing from elsewhere, no frames around the page.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class _Left(Exception):  # noqa: N818
    """The client has disconnected."""


@dataclass(frozen=True)
class Guard:
    """The application behind these checks: itself an application."""

    app: App
    limits: Limits
    counters: Counters
    key: str  # empty: no key is required
    # Allowed host names; None: any. Without a key, a page in the
    # user's browser could otherwise point its own host name at this server and read the responses.
    hosts: frozenset[str] | None
    public: frozenset[str]  # paths that need no key
    paths: frozenset[str]  # all paths, for the counters
    origins: frozenset[str] = frozenset()  # other sites whose pages may send requests

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        path = scope["path"] if scope["path"] in self.paths else "other"

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.counters.requests.labels(path, message["status"]).inc()
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            await send(message)

        try:
            self._check(scope)
            body = await self._body(scope, receive)
            await self.app(scope, _replayed(body, receive), guarded)
        except RequestError as error:
            await _respond(guarded, error)
        except _Left:
            return
        self.counters.seconds.labels(path).observe(time.perf_counter() - began)

    def _check(self, scope: MutableMapping[str, Any]) -> None:
        headers = dict(scope["headers"])
        host = _without_port(headers.get(b"host", b"").decode("latin-1"))
        if self.hosts is not None and host not in self.hosts:
            raise RequestError(421, "unknown host; this server accepts its own host name only")
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if (
            scope["method"] not in _READING
            and origin not in self.origins
            and _is_from_elsewhere(headers)
        ):
            raise RequestError(403, "pages of other sites may not use this server")
        if self.key and scope["path"] not in self.public:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, b"Bearer " + self.key.encode()):
                raise RequestError(401, "send the key as `Authorization: Bearer KEY`")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self.limits.body_bytes:
            raise self._too_large()

    async def _body(self, scope: MutableMapping[str, Any], receive: Receive) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _Left
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self.limits.body_bytes:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            seconds = self.limits.body_seconds
            raise RequestError(408, f"the body did not arrive within {seconds:g} s") from None

    def _too_large(self) -> RequestError:
        return RequestError(413, f"more than {self.limits.body_bytes:,} bytes")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body as one message; then the next messages, such as a disconnect."""
    waiting = [body]

    async def replay() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replay


_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITE = frozenset({b"same-origin", b"none"})  # none: the user, not a page


def _is_from_elsewhere(headers: Mapping[bytes, bytes]) -> bool:
    """Whether, by its headers, a page of another site or port has sent the request.

    Programs send neither header. Behind a proxy, `Host` is to be passed on.
    """
    if headers.get(b"sec-fetch-site", b"none").lower() not in _OWN_SITE:
        return True
    origin = headers.get(b"origin")
    host = headers.get(b"host", b"").lower()
    return origin is not None and origin.lower().partition(b"://")[2] != host


def _without_port(host: str) -> str:
    """`[::1]:8000` is `[::1]`."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


async def _respond(send: Send, error: RequestError) -> None:
    body = json.dumps({"reason": error.reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    headers += [(name.lower().encode(), v.encode()) for name, v in error.headers.items()]
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    # What is left of the body is not read.
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
