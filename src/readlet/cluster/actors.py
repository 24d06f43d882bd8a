"""Work by actors of a Ray cluster: each builds its worker once, then takes item after item.

An actor that dies is replaced and its item given to another one.
"""

import logging
import os
import socket
import sysconfig
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from readlet.errors import ReadletError, extra_needed, reason_of
from readlet.processes import CORES

Item = TypeVar("Item")
Result = TypeVar("Result")

LOCAL = "local"
AUTO = "auto"
PATIENCE = 60.0  # seconds until the actors of a killed call have ended and released their locks
ATTEMPTS = 3  # at one item, if its actor dies
_ANSWER = 5.0  # seconds for a cluster to accept a connection
_BEAT = 1.0  # seconds between checks for Ctrl-C
_STORE = 256 << 20  # bytes of shared memory for the arguments of actors


class Died:
    """The result of an item whose actors died, every time."""


class Share(NamedTuple):
    """The number of actors, and the resources of each."""

    actors: int
    cores: int
    gpus: int


class _Actor:
    """A worker in its own process, with its own threads."""

    def __init__(self, make_worker: Callable[[], Callable[[Any], Any]], cores: int) -> None:
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", CORES):
            os.environ[name] = str(cores)
        self._make_worker = make_worker
        self._work: Callable[[Any], Any] | None = None

    def do(self, item: Any) -> tuple[ReadletError | None, Any]:
        """The result; or why there is no worker, because there is no such model, for example."""
        if self._work is None:
            try:
                self._work = self._make_worker()
            except ReadletError as error:
                return error, None
        return None, self._work(item)


def by_actors(
    make_worker: Callable[[], Callable[[Item], Result]],
    items: Sequence[Item],
    where: str,
    *,
    cores: int = 0,
    with_gpu: bool = True,
    begun: Callable[[Item], None] = lambda item: None,
) -> Iterator[tuple[Item, Result | Died]]:
    """Each item with its result, in the order in which they end.

    `cores` and `with_gpu` are as for `share_of`. `begun` is called when an item is given to an
    actor.
    """
    with connected(where) as ray:
        share = share_of(_nodes(ray), len(items), cores=cores, with_gpu=with_gpu)
        remote = ray.remote(num_cpus=share.cores, num_gpus=share.gpus)(_Actor)
        reference = ray.put(make_worker)
        waiting = deque((item, 1) for item in items)  # with the number of the attempt
        at_work: dict[Any, tuple[Any, Item, int]] = {}

        def give(actor: Any) -> None:
            if waiting:
                item, attempt = waiting.popleft()
                begun(item)
                at_work[actor.do.remote(item)] = actor, item, attempt
            else:
                ray.kill(actor)  # frees its cores

        try:
            for _ in range(share.actors):
                give(remote.remote(reference, share.cores))
            while at_work:
                ended, _ = ray.wait(list(at_work), timeout=_BEAT)
                for future in ended:
                    actor, item, attempt = at_work.pop(future)
                    try:
                        error, result = ray.get(future)
                    except ray.exceptions.RayActorError:
                        actor = remote.remote(reference, share.cores)
                        if attempt < ATTEMPTS:
                            waiting.append((item, attempt + 1))
                        else:
                            yield item, Died()
                    else:
                        if error is not None:
                            raise error
                        yield item, result
                    give(actor)
        finally:
            for actor, *_ in at_work.values():
                ray.kill(actor)


_LOGS = "see the logs, by default in /tmp/ray/session_latest/logs"
_NO_CLUSTER = "start one with `ray start`, or give --ray local"


def share_of(
    nodes: Sequence[tuple[int, int]], items: int, *, cores: int = 0, with_gpu: bool = True
) -> Share:
    """The actors for `items` items on machines with these cores and GPUs.

    One actor per GPU. Without GPUs, one per `cores` cores; 0: one per core, or per several cores if
    there are fewer items than cores. On every machine there is room for an actor.
    """
    gpus = sum(count for _, count in nodes) if with_gpu else 0
    if gpus:
        each = max(1, min(of_node // count for of_node, count in nodes if count))
        return Share(min(items, gpus), each, 1)
    total = sum(of_node for of_node, _ in nodes)
    least = min((of_node for of_node, _ in nodes if of_node), default=1)
    each = min(cores or max(1, total // max(items, 1)), least)
    return Share(max(1, min(items, sum(of_node // each for of_node, _ in nodes))), each, 0)


def _nodes(ray: Any) -> list[tuple[int, int]]:
    """Cores and GPUs of each machine."""
    found = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return [(int(there.get("CPU", 0)), int(there.get("GPU", 0))) for there in found]


@contextmanager
def connected(where: str) -> Iterator[Any]:
    """The module `ray`, connected to a cluster or to actors on this machine alone.

    Nested calls share the connection. Telemetry and dashboard are off. On one machine
    Ray requires a token of its clients; a cluster that is already running has its own
    settings.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if where not in (LOCAL, AUTO) and _has_token():
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # else Ray waits, in vain
    with extra_needed("cluster", "--ray"):
        import ray
    if ray.is_initialized():
        yield ray
        return
    if where not in (LOCAL, AUTO):
        _check_port(where)
    _hush(ray)
    own: dict[str, Any] = {"include_dashboard": False, "object_store_memory": _STORE}
    try:
        _connect(
            ray,
            address=where,
            log_to_driver=False,
            logging_level=logging.ERROR,
            **(own if where == LOCAL else {}),
        )
    except Exception as error:  # errors of the system, of Ray, and of the libraries below it
        fault = "Ray does not start" if where == LOCAL else "no cluster there"
        remedy = _LOGS if where == LOCAL else _NO_CLUSTER
        raise ReadletError(f"--ray {where}: {fault} ({reason_of(error)}); {remedy}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _has_token() -> bool:
    """Whether there is a token for clusters that want one. Ray looks for it with `auto` only."""
    path = os.environ.get("RAY_AUTH_TOKEN_PATH", "~/.ray/auth_token")
    return "RAY_AUTH_TOKEN" in os.environ or Path(path).expanduser().is_file()


def _check_port(address: str) -> None:
    """Ray itself would wait for minutes where nobody answers."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdecimal():
        raise ReadletError(f"--ray {address}: no address; give local, auto or HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER).close()
    except (OSError, OverflowError) as error:  # an unknown host, nobody there, no such port
        fault = f"no cluster there ({reason_of(error)})"
        raise ReadletError(f"--ray {address}: {fault}; {_NO_CLUSTER}") from None


def _hush(ray: Any) -> None:
    """Ray prints ten lines about each dead process, on stdout and whatever `log_to_driver` is."""
    ray._private.worker.listen_error_messages = lambda *_: None


def _connect(ray: Any, **options: Any) -> None:
    """Ray puts the current folder first on the path of its workers, whatever lies there.

    That of the standard library is on their path anyway. Jobs have absolute paths.
    """
    before = os.getcwd()
    os.chdir(sysconfig.get_path("stdlib"))
    try:
        ray.init(**options)
    finally:
        os.chdir(before)
