"""Many clients at once, against one server: latency, errors, memory.

    python benchmarks/serve_load.py [--reader bundled] [--clients 32] [--seconds 60]

Starts `readlet serve`, and asks it the bundled questions from this many clients, one question at a
time each. The limits: no error, and the slowest hundredth (p99) within 10 times the median of
single requests, which are measured first in the same run; and memory grows by less than a tenth
from the middle to the end. The exit code is 1 if a limit is missed.

Clients that ask again as soon as they have an answer keep the server at its capacity, and each of
N waits for N questions: p99 is at least N over the number of times that the server is faster than
for one client. People pause. So the same clients then ask at random times, at several shares of
that capacity, and a time begins when a question was due, whether or not the client was free.
"""

import argparse
import http.client
import json
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import cycle, islice
from typing import Any

import psutil

from readlet.formats import read_examples

TIMES_SINGLE = 10.0
GROWTH = 1.1
SHARES = (0.25, 0.5, 0.75, 0.9)
_SINGLE = 30  # requests before the load, after some that warm the model up


class Client:
    """Asks one question after the other on one connection."""

    def __init__(self, port: int, reader: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.reader = reader
        self.seconds: list[float] = []
        self.errors = 0

    def ask(self, question: str, passage: str, due: float = 0.0) -> None:
        body = json.dumps({"question": question, "passage": passage, "reader": self.reader})
        began = due or time.perf_counter()
        try:
            headers = {"Content-Type": "application/json"}
            self.connection.request("POST", "/answer", body.encode(), headers)
            response = self.connection.getresponse()
            response.read()
            self.errors += response.status != 200
        except (OSError, http.client.HTTPException):
            self.errors += 1
            self.connection.close()
        self.seconds.append(time.perf_counter() - began)


def asked_until(client: Client, pairs: list[tuple[str, str]], first: int, end: float) -> None:
    for question, passage in islice(cycle(pairs), first, None):
        if time.monotonic() >= end:
            return
        client.ask(question, passage)


def asked_at_times(
    client: Client, pairs: list[tuple[str, str]], first: int, seconds: float, pause: float
) -> None:
    """At the times of a Poisson process with this mean pause."""
    drawn = random.Random(first)
    now = time.perf_counter()
    due, end = now + drawn.expovariate(1 / pause), now + seconds
    for question, passage in islice(cycle(pairs), first, None):
        if due >= end:
            return
        time.sleep(max(0.0, due - time.perf_counter()))
        client.ask(question, passage, due)
        due += drawn.expovariate(1 / pause)


def in_threads(target: Callable[..., None], given: list[tuple[Any, ...]]) -> list[threading.Thread]:
    threads = [threading.Thread(target=target, args=arguments) for arguments in given]
    for thread in threads:
        thread.start()
    return threads


def at_share(
    port: int, pairs: list[tuple[str, str]], options: argparse.Namespace, rate: float
) -> tuple[list[float], int]:
    """Sorted seconds of requests that come at this rate, and the number of errors."""
    clients = [Client(port, options.name) for _ in range(options.clients)]
    pause, seconds = options.clients / rate, options.seconds / 2
    for thread in in_threads(
        asked_at_times, [(client, pairs, i, seconds, pause) for i, client in enumerate(clients)]
    ):
        thread.join()
    times = sorted(second for client in clients for second in client.seconds)
    return times, sum(client.errors for client in clients)


def part(times: list[float], share: float) -> float:
    return times[int(share * (len(times) - 1))]


def measure(port: int, process: psutil.Process, options: argparse.Namespace) -> bool:
    """Print all figures; whether they are within their limits."""
    pairs = [(e.question, e.context) for e in read_examples("bundled:test")]
    alone = Client(port, options.name)
    for question, passage in islice(cycle(pairs), 2 * _SINGLE):
        alone.ask(question, passage)
    single = statistics.median(alone.seconds[_SINGLE:])
    clients = [Client(port, options.name) for _ in range(options.clients)]
    end = time.monotonic() + options.seconds
    threads = in_threads(
        asked_until, [(client, pairs, number, end) for number, client in enumerate(clients)]
    )
    time.sleep(options.seconds / 2)
    middle = process.memory_info().rss
    for thread in threads:
        thread.join()
    grown = process.memory_info().rss / middle
    times = sorted(second for client in clients for second in client.seconds)
    errors = alone.errors + sum(client.errors for client in clients)
    p50, p99 = (part(times, share) / single for share in (0.5, 0.99))
    rate = len(times) / options.seconds
    print(f"{len(times):,} requests of {options.clients} clients, {errors} errors")
    print(f"rate {rate * single:.2f} × that of one client")
    print(f"p50 {p50:.2f} ×, p99 {p99:.2f} × a single request (limit {TIMES_SINGLE:g} ×)")
    print(f"memory {grown:.3f} × that in the middle (limit {GROWTH:g} ×)")
    for share in SHARES:
        found, failed = at_share(port, pairs, options, share * rate)
        errors += failed
        slow = " ".join(
            f"p{round(100 * p)} {part(found, p) / single:.1f} ×" for p in (0.5, 0.9, 0.99)
        )
        print(f"at {share:.0%} of that rate: {len(found):,} requests, {slow}")
    return errors == 0 and p99 <= TIMES_SINGLE and grown <= GROWTH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reader", default="bundled")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    command = [sys.executable, "-m", "readlet", "serve", options.reader, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        try:
            assert started.stderr is not None
            line = started.stderr.readline()
            found = re.search(r"serving (.*) at http://127\.0\.0\.1:(\d+)/", line)
            if found is None:
                sys.exit(line.strip())
            options.name = found[1]
            within = measure(int(found[2]), psutil.Process(started.pid), options)
        finally:
            started.terminate()
    sys.exit(not within)


if __name__ == "__main__":
    main()
