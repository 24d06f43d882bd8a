"""The server's process: how it starts and ends, and clients that are slow or leave."""

import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from readlet.errors import ReadletError
from readlet.inference.baseline import LexicalBaseline
from readlet.serve.batching import Counters
from readlet.serve.messages import Limits
from readlet.serve.registry import load_models, serve_models
from readlet.serve.server import api_key, bound_socket, check_host, check_origins, is_loopback

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"


@pytest.mark.parametrize(
    ("host", "only_here"),
    [
        *(("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True)),
        *(("0.0.0.0", False), ("::", False), ("192.168.1.4", False), ("example.org", False)),
        ("localhost.example.org", False),
    ],
)
def test_other_machines_need_a_key(host: str, only_here: bool) -> None:
    assert is_loopback(host) == only_here
    check_host(host, "k" * 16)
    if only_here:
        check_host(host, "")
    else:
        with pytest.raises(ReadletError, match="without a key; give --api-key-file"):
            check_host(host, "")


def test_origins_are_sites() -> None:
    assert check_origins(["https://A.example/", "http://b:80"]) == {
        "https://a.example",
        "http://b:80",
    }
    for wrong in ("*", "a.example", "https://", "https://a.example/path", "https://*.example"):
        with pytest.raises(ReadletError, match="--allow-origin"):
            check_origins([wrong])


def test_keys_come_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text("0123456789abcdef\n")
    monkeypatch.delenv("READLET_API_KEY", raising=False)
    assert api_key(None) == ""
    assert api_key(file) == "0123456789abcdef"
    monkeypatch.setenv("READLET_API_KEY", "fedcba9876543210")
    assert api_key(None) == "fedcba9876543210"
    for weak in ("", "short", "é" * 20, "two words of a key"):
        file.write_text(weak, "utf-8")
        with pytest.raises(ReadletError, match="easy to guess"):
            api_key(file)


def test_faults_are_one_line(
    readlet: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("READLET_API_KEY", raising=False)
    with bound_socket("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        for words, fault in (
            (("--host", "0.0.0.0"), "--api-key-file"),
            (("baseline", "--port", port), str(port)),
            ((tmp_path, "--port", 0), str(tmp_path)),
            (("baseline", "--max-passage", 0), "passage_characters: "),
        ):
            done = readlet("serve", *words)
            assert done.code == 2, words
            assert fault in done.err
            assert done.err.count("\n") == 1


def test_names_are_the_last_part_of_the_path(
    tmp_path: Path, random_reader: Callable[..., Any], trained_classifier: Callable[..., Any]
) -> None:
    for name in ("one/tiny", "two/tiny"):
        random_reader("a lamp").save(tmp_path / name)
    folders = [str(tmp_path / "one/tiny"), f"{tmp_path}/two/tiny/", "baseline"]
    models = load_models([*folders, str(trained_classifier()[0])], "cpu")
    assert list(models) == ["tiny", "tiny-2", "baseline", trained_classifier()[0].name]
    assert type(models[trained_classifier()[0].name]).__name__ == "Classifier"


@pytest.fixture(scope="module")
def process() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`readlet serve` with its port."""
    pytest.importorskip("uvicorn")
    command = [sys.executable, "-m", "readlet", "serve", "baseline", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        line = started.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert found, line
        yield started, int(found[1])
        started.kill()


def test_every_command_of_the_page_runs(process: tuple[Any, int], tmp_path: Path) -> None:
    script = "\n".join(re.findall(r"```bash\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
    lines = script.replace("\\\n", "").splitlines()
    (tmp_path / "report.pdf").write_bytes(b"no PDF")
    asked = [line for line in lines if line.startswith("curl ")]
    assert len(asked) >= 4
    for line in asked:
        sent = line.replace(":8000", f":{process[1]}").replace(
            "curl ", "curl -s -w '%{http_code}' "
        )
        done = subprocess.run(
            ["bash", "-c", sent], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        expected = {"report.pdf": "422", "/classify": "404"}
        status = next((code for name, code in expected.items() if name in line), "200")
        assert done.stdout.endswith(status), (line, done.stdout)


def test_ctrl_c_ends_it(process: tuple[subprocess.Popen[str], int]) -> None:
    """Even with a client that has not sent its request."""
    started, port = process
    with socket.create_connection(("127.0.0.1", port)) as silent:
        silent.sendall(b"GET /health HT")
        started.send_signal(signal.SIGINT)
        assert started.wait(20) == 0
    assert started.stderr is not None
    assert started.stderr.read().splitlines()[-1] == "readlet: stopped"


@pytest.fixture
def listen() -> Iterator[Callable[..., Any]]:
    """Serve a reader in a thread, on a real socket: returns a function that connects."""
    uvicorn = pytest.importorskip("uvicorn")
    from readlet.serve.app import make_app

    running: list[tuple[Any, threading.Thread]] = []

    def start(reader: Any, **limits: Any) -> tuple[Callable[[], socket.socket], Any]:
        chosen, counters = Limits(**limits), Counters()
        models = serve_models({"reader": reader}, chosen, counters)
        app = make_app(models, chosen, counters)
        config = uvicorn.Config(app, http="h11", lifespan="off", log_level="error")
        server, bound = uvicorn.Server(config), bound_socket("127.0.0.1", 0)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        running.append((server, thread))
        return lambda: socket.create_connection(bound.getsockname(), timeout=10), models

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(10)


def request(body: bytes, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    head = "POST /answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {size}\r\n\r\n".encode() + body


BODY = b'{"question": "Who lit it?", "passage": "Ada lit it."}'


def received(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def test_slow_clients_are_told(listen: Callable[..., Any]) -> None:
    connect, _ = listen(LexicalBaseline(), body_seconds=0.2, body_bytes=1000)
    with connect() as slow, connect() as large, connect() as endless:
        slow.sendall(request(BODY[:10], len(BODY)))
        large.sendall(request(b"", 2000))
        chunked = request(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
        endless.sendall(chunked + b"7d0\r\n" + b"x" * 2000 + b"\r\n")
        assert b" 413 " in received(large)
        assert b" 413 " in received(endless)
        assert b" 408 " in received(slow)


def test_a_client_that_leaves_is_not_answered(listen: Callable[..., Any], slow: Any) -> None:
    connect, models = listen(slow, together=1)
    with connect() as first:
        first.sendall(request(BODY))
        assert slow.entered.acquire(timeout=10)
        with connect() as second:
            second.sendall(request(BODY.replace(b"Who", b"Why")))
            while models.waiting()["reader"] == 0:
                time.sleep(0.005)
        time.sleep(0.2)  # the server is told that it has left
        slow.may_go.set()
        assert b" 200 " in first.recv(65536)
    with connect() as third:
        third.sendall(request(BODY))
        assert b" 200 " in third.recv(65536)
    assert [batch[0][0] for batch in slow.batches] == ["Who lit it?", "Who lit it?"]


def test_one_file_is_read_at_a_time(
    listen: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when a request is over, or its client has left: its process ends first."""
    running: list[Any] = []
    most = 0

    class Slow(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, _: object, **named: Any) -> None:
            nonlocal most
            super().__init__(["sleep", "600"], **named)
            running.append(self)
            most = max(most, sum(one.poll() is None for one in running))

    monkeypatch.setattr(subprocess, "Popen", Slow)
    connect, _ = listen(LexicalBaseline(), seconds=0.5)
    head = "POST /text?kind=pdf HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/pdf\r\n"
    upload = f"{head}Content-Length: 5\r\n\r\n%PDF-".encode()
    with connect() as leaving:
        leaving.sendall(upload)
        while not running:
            time.sleep(0.005)
    with connect() as first, connect() as second:
        first.sendall(upload)
        second.sendall(upload)
        assert b" 503 " in first.recv(65536)
        assert b" 503 " in second.recv(65536)
    assert most == 1
    assert len(running) >= 2
    assert all(one.wait(5) for one in running)
