"""The server's process: socket, key, start and shutdown."""

import asyncio
import ipaddress
import os
import re
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from readlet.console import say
from readlet.errors import bad_input
from readlet.serve.messages import Limits

if TYPE_CHECKING:
    from readlet.inference.classifier import Classifier
    from readlet.inference.inputs import Answerer

KEY_VARIABLE = "READLET_API_KEY"
_SHORTEST_KEY = 16
_IDLE_SECONDS, _ENDING_SECONDS = 10, 5
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def api_key(file: Path | None) -> str:
    """The key in a file, or in the environment; empty if there is none."""
    if file is None:
        source, key = KEY_VARIABLE, os.environ.get(KEY_VARIABLE, "")
        if not key:
            return ""
    else:
        try:
            source, key = str(file), file.read_text("utf-8")
        except UnicodeError:
            raise bad_input(file, "", "not text", "write the key as one line of text") from None
    key = key.strip()
    if len(key) < _SHORTEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        remedy = f"take {_SHORTEST_KEY} or more letters and digits"
        raise bad_input(source, "", "the key is too easy to guess", remedy)
    return key


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach the host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_host(host: str, key: str) -> None:
    """Do not serve other machines without a key."""
    if not is_loopback(host) and not key:
        remedy = f"give --api-key-file FILE, or set {KEY_VARIABLE}"
        raise bad_input(f"--host {host}", "", "other machines could use it without a key", remedy)


def check_origins(origins: Sequence[str]) -> frozenset[str]:
    """Origins in the form that browsers send."""
    for origin in origins:
        if not re.fullmatch(r"https?://[^\s/?#@*]+/?", origin):
            remedy = "give https://HOST or http://HOST:PORT"
            raise bad_input("--allow-origin", "", f"{origin:.60}: not an origin", remedy)
    return frozenset(origin.lower().rstrip("/") for origin in origins)


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket on this address, before the models are loaded; 0 is any free port."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        # With the protocol: asyncio sends small answers at once only if it knows that this is TCP.
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except (OSError, UnicodeError, OverflowError) as error:
        fault = getattr(error, "strerror", None) or str(error)
        remedy = "choose another --host or --port"
        raise bad_input(f"{host} port {port}", "", f"cannot be used ({fault})", remedy) from None
    return bound


def serve(
    models: "dict[str, Answerer | Classifier]",
    bound: socket.socket,
    *,
    host: str,
    key: str,
    limits: Limits,
    origins: frozenset[str] = frozenset(),
) -> None:
    """Answer requests until Ctrl-C or SIGTERM."""
    import uvicorn

    from readlet.serve.app import make_app
    from readlet.serve.batching import Counters
    from readlet.serve.registry import serve_models

    counters = Counters()
    served = serve_models(models, limits, counters)
    hosts = _LOOPBACK | {host.lower()} if is_loopback(host) else None
    config = uvicorn.Config(
        make_app(served, limits, counters, key=key, hosts=hosts, origins=origins),
        http="h11",
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_ENDING_SECONDS,
    )
    bound.listen()  # announced only once it accepts connections
    _say_where(bound, [*served.readers, *served.classifiers], key)
    server = uvicorn.Server(config)
    try:
        # Ctrl-C is the usual way to end it. The server finishes its requests, then raises the
        # signal again; the interrupt may come too late for asyncio to pass it on.
        with suppress(KeyboardInterrupt):
            asyncio.run(server.serve(sockets=[bound]))
        say("readlet: stopped")
    finally:
        served.close()


def _say_where(bound: socket.socket, names: Sequence[str], key: str) -> None:
    host, port = bound.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    say(f"readlet: serving {', '.join(names)} at http://{shown}:{port}/ (Ctrl-C stops it)")
    say("readlet: models are loaded once; start again to serve a folder that has changed")
    if key:
        say("readlet: requests need the header `Authorization: Bearer KEY`")
