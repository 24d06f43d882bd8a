"""Questions are computed together; those that nobody waits for are not computed."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from readlet.serve.batching import Batcher, Counters
from readlet.serve.messages import Limits, RequestError

PASSAGE = "Ada lit the lamp."


def ask(server: Any, question: str, **options: Any) -> Any:
    return server.post("/answer", question=question, passage=PASSAGE, **options)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_requests_that_come_at_once_are_computed_together(
    start: Callable[..., Any], slow: Any
) -> None:
    server = start({"slow": slow}, window_seconds=0.5, together=6)
    slow.may_go.set()
    with ThreadPoolExecutor(6) as clients:
        got = list(clients.map(lambda n: ask(server, f"question {n}"), range(6)))
    assert {answer.status_code for answer in got} == {200}
    assert len(slow.batches) == 1  # full, so the window did not have to pass
    assert sorted(q for q, _ in slow.batches[0]) == [f"question {n}" for n in range(6)]
    counted = server.counters.registry.get_sample_value
    assert counted("readlet_batches_total", {"model": "slow"}) == 1


def test_long_passages_are_computed_one_by_one(start: Callable[..., Any], slow: Any) -> None:
    """So a request that is out of time leaves most of them in the queue, where they are dropped."""
    server = start({"slow": slow}, passage_characters=100, seconds=0.3)
    passages = ["a" * 30, "b" * 30, "c" * 60, "d" * 100]
    late = server.post("/answer", question=["Who?"] * 4, passage=passages)
    assert late.status_code == 503
    slow.may_go.set()
    assert ask(server, "next").status_code == 200
    assert [[p[0] for _, p in batch] for batch in slow.batches] == [["a", "b"], ["A"]]


def test_other_settings_are_computed_apart(start: Callable[..., Any], slow: Any) -> None:
    server = start({"slow": slow}, window_seconds=0.5, together=3)
    slow.may_go.set()
    with ThreadPoolExecutor(3) as clients:
        got = list(clients.map(lambda t: ask(server, "q", min_confidence=t), (0.1, 0.9, 0.9)))
    abstained = [answer.json()["answers"][0]["abstained"] for answer in got]
    assert abstained == [False, True, True]
    assert sorted(map(len, slow.batches)) == [1, 2]


def test_a_full_queue_rejects_at_once(start: Callable[..., Any], slow: Any) -> None:
    server = start({"slow": slow}, queue=2, questions=2, together=1, window_seconds=0.001)
    with ThreadPoolExecutor(3) as clients:
        running = clients.submit(ask, server, "first")
        assert slow.entered.acquire(timeout=10)
        waiting = clients.submit(server.post, "/answer", question=["a", "b"], passage=PASSAGE)
        wait_for(lambda: server.models.waiting()["slow"] == 2)
        refused = ask(server, "one too many")
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "1"
        assert "waiting" in refused.json()["reason"]
        slow.may_go.set()
        assert running.result(10).status_code == 200
        assert len(waiting.result(10).json()["answers"]) == 2


def test_a_request_that_ran_out_of_time_is_not_computed(
    start: Callable[..., Any], slow: Any
) -> None:
    server = start({"slow": slow}, seconds=0.3, together=1)
    with ThreadPoolExecutor(1) as clients:
        running = clients.submit(ask, server, "first")
        assert slow.entered.acquire(timeout=10)
        late = ask(server, "late")
        assert late.status_code == 503
        assert "0.3 s" in late.json()["reason"]
        assert running.result(10).status_code == 503
    slow.may_go.set()
    assert ask(server, "next").status_code == 200
    assert [batch[0][0] for batch in slow.batches] == ["first", "next"]


def test_one_failure_does_not_reach_the_others(start: Callable[..., Any], slow: Any) -> None:
    server = start({"slow": slow}, window_seconds=0.5, together=2)
    slow.may_go.set()
    with ThreadPoolExecutor(2) as clients:
        got = list(clients.map(lambda q: ask(server, q).status_code, ("fail", "fine")))
    assert got == [500, 200]


def test_closing_rejects_what_waits() -> None:
    entered, may_go = threading.Event(), threading.Event()

    def compute(asked: list[int]) -> list[int]:
        entered.set()
        assert may_go.wait(10)
        return asked

    batcher = Batcher("b", compute, Limits(together=1), Counters(), lambda _: 1)
    (first,) = batcher.submit([1])
    assert entered.wait(10)
    (second,) = batcher.submit([2])
    threading.Timer(0.05, may_go.set).start()
    batcher.close()
    assert first.result(10) == 1
    for refused in (second.result, lambda: batcher.submit([3])):
        with pytest.raises(RequestError, match="stopping"):
            refused()


def test_two_threads_compute_at_once() -> None:
    """And neither waits for more questions, nor takes all of them."""
    both, taken = threading.Barrier(2), []

    def compute(asked: list[int]) -> list[int]:
        taken.append(asked)
        both.wait(10)
        return asked

    limits = Limits(window_seconds=60)
    batcher = Batcher("b", compute, limits, Counters(), lambda _: 1, threads=2)
    futures = batcher.submit([1, 2])
    assert [future.result(10) for future in futures] == [1, 2]
    assert sorted(taken) == [[1], [2]]
    batcher.close()
