"""Many clients at once, against one server: latency, errors, memory.

    python benchmarks/serve_load.py [--reader bundled] [--clients 32] [--seconds 60]

Starts `readlet serve`, and asks it the bundled questions from this many clients, one question at a
time each. The limits: no error, and the slowest hundredth (p99) within 10 times the median of
single requests, which are measured first in the same run; and memory grows by less than a tenth
from the middle to the end. The exit code is 1 if a limit is missed.
"""

import argparse
import http.client
import json
import re
import statistics
import subprocess
import sys
import threading
import time
from itertools import cycle, islice

import psutil

from readlet.formats import read_examples

TIMES_SINGLE = 10.0
GROWTH = 1.1
_SINGLE = 30  # requests before the load, after some that warm the model up


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


def asked_until(client: Client, pairs: list[tuple[str, str]], first: int, end: float) -> None:
    for question, passage in islice(cycle(pairs), first, None):
        if time.monotonic() >= end:
            return
        client.ask(question, passage)


def measure(port: int, process: psutil.Process, options: argparse.Namespace) -> bool:
    """Print all figures; whether they are within their limits."""
    pairs = [(e.question, e.context) for e in read_examples("bundled:test")]
    alone = Client(port, options.name)
    for question, passage in islice(cycle(pairs), 2 * _SINGLE):
        alone.ask(question, passage)
    single = statistics.median(alone.seconds[_SINGLE:])
    clients = [Client(port, options.name) for _ in range(options.clients)]
    end = time.monotonic() + options.seconds
    threads = [
        threading.Thread(target=asked_until, args=(client, pairs, number, end))
        for number, client in enumerate(clients)
    ]
    for thread in threads:
        thread.start()
    time.sleep(options.seconds / 2)
    middle = process.memory_info().rss
    for thread in threads:
        thread.join()
    grown = process.memory_info().rss / middle
    times = sorted(second for client in clients for second in client.seconds)
    errors = alone.errors + sum(client.errors for client in clients)
    p50, p99 = (times[int(share * (len(times) - 1))] / single for share in (0.5, 0.99))
    rate = len(times) / options.seconds * single
    print(f"{len(times):,} requests of {options.clients} clients, {errors} errors")
    print(f"rate {rate:.2f} × that of one client")
    print(f"p50 {p50:.2f} ×, p99 {p99:.2f} × a single request (limit {TIMES_SINGLE:g} ×)")
    print(f"memory {grown:.3f} × that in the middle (limit {GROWTH:g} ×)")
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
