"""Many clients at once, against one server: latency, errors, memory.

    python benchmarks/serve_load.py [--reader bundled] [--clients 32] [--seconds 60] [--pause 5]

Starts `readlet serve`, and asks it the bundled questions from this many clients, one question at a
time each, in two ways. Times are compared with the median of single requests, which are measured
first in the same run.

Clients that pause between an answer and their next question, as people do who read and type: the
slowest hundredth (p99) within 10 times a single request. The pauses are random (exponential) with
the given mean.

Clients that ask again at once keep the server at its capacity, and each of N waits for N
questions: p99 is at least N over the number of times that the server is faster than for one
client. It is shown, but has no limit: 32 clients and 10 times would need 3.2 times, and two cores,
which both compute a single request already, cannot give that.

In both: no error, and memory grows by less than a tenth from the middle to the end. The exit code
is 1 if a limit is missed.
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
from dataclasses import dataclass

import psutil

from readlet.data import read_examples

TIMES_SINGLE = 10.0
GROWTH = 1.1
_SINGLE = 60  # requests before the load, after some that warm the model up


class Client:
    """Asks one question after the other on one connection."""

    def __init__(self, port: int, reader: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.reader = reader
        self.seconds: list[float] = []
        self.errors = 0

    def ask(self, question: str, passage: str) -> None:
        body = json.dumps({"question": question, "passage": passage, "reader": self.reader})
        began = time.perf_counter()
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


def asked_until(
    client: Client, pairs: list[tuple[str, str]], seed: int, end: float, pause: float
) -> None:
    drawn = random.Random(seed)
    while True:
        if pause:
            client.connection.close()  # a server closes those of clients that wait too long
            waited = drawn.expovariate(1 / pause)
            time.sleep(max(0.0, min(waited, end - time.monotonic())))
        if time.monotonic() >= end:
            return
        # Not in the order of the list: all clients would ask about the same passage.
        client.ask(*drawn.choice(pairs))


@dataclass
class Load:
    """What many clients saw; times in multiples of a single request."""

    times: list[float]  # sorted
    errors: int
    rate: float  # questions per single request's time
    grown: float  # memory at the end, over that in the middle

    def part(self, share: float) -> float:
        return self.times[int(share * (len(self.times) - 1))]

    def __str__(self) -> str:
        slow = " ".join(f"p{round(100 * p)} {self.part(p):.1f} ×" for p in (0.5, 0.9, 0.99))
        asked = f"{len(self.times):,} requests, {self.errors} errors"
        rate = f"rate {self.rate:.2f} × that of one client"
        return f"{asked}, {rate}, {slow} a single request, memory {self.grown:.3f} ×"


def under_load(
    port: int, process: psutil.Process, options: argparse.Namespace, single: float, pause: float
) -> Load:
    pairs = bundled_pairs()
    clients = [Client(port, options.name) for _ in range(options.clients)]
    end = time.monotonic() + options.seconds
    threads = [
        threading.Thread(target=asked_until, args=(client, pairs, number, end, pause))
        for number, client in enumerate(clients)
    ]
    for thread in threads:
        thread.start()
    time.sleep(options.seconds / 2)
    middle = process.memory_info().rss
    for thread in threads:
        thread.join()
    grown = process.memory_info().rss / middle
    times = sorted(second / single for client in clients for second in client.seconds)
    errors = sum(client.errors for client in clients)
    return Load(times, errors, len(times) / options.seconds * single, grown)


def bundled_pairs() -> list[tuple[str, str]]:
    return [(e.question, e.context) for e in read_examples("bundled:test")]


def measure(port: int, process: psutil.Process, options: argparse.Namespace) -> bool:
    """Print all figures; whether they are within their limits."""
    alone, drawn, pairs = Client(port, options.name), random.Random(0), bundled_pairs()
    for _ in range(2 * _SINGLE):
        alone.ask(*drawn.choice(pairs))
    single = statistics.median(alone.seconds[_SINGLE:])
    print(f"{options.clients} clients; limits: p99 of those that pause {TIMES_SINGLE:g} ×,")
    print(f"memory {GROWTH:g} × that in the middle, no error")
    at_once = under_load(port, process, options, single, 0.0)
    print(f"asking again at once: {at_once}")
    pausing = under_load(port, process, options, single, options.pause)
    print(f"after {options.pause:g} s: {pausing}")
    errors = alone.errors + at_once.errors + pausing.errors
    grown = max(at_once.grown, pausing.grown)
    return errors == 0 and pausing.part(0.99) <= TIMES_SINGLE and grown <= GROWTH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reader", default="bundled")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each of the two ways")
    parser.add_argument("--pause", type=float, default=5.0, help="seconds, the mean")
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
