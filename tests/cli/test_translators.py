"""`readlet translators`, with a server on this machine that offers a real package."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

Make = Callable[[str, str], Path]


@dataclass
class Server:
    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    breaks_after: int | None = None  # bytes

    def offer(self, file: Path, source: str, target: str, version: str = "1.9") -> None:
        name = f"/{file.name}"
        self.files[name] = file.read_bytes()
        row = {
            "package_version": version,
            "from_code": source,
            "to_code": target,
            "links": [f"ipfs://{name}", f"{self.address}{name}"],
        }
        rows = json.loads(self.files.get("/index.json", b"[]"))
        self.files["/index.json"] = json.dumps([*rows, row, {"type": "sbd"}]).encode()


@pytest.fixture
def server() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            known.asked.append((self.path, asked))
            if self.path not in known.files:
                self.send_error(404)
                return
            content = known.files[self.path]
            start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            end = known.breaks_after if self.path != "/index.json" else None
            self.wfile.write(content[start:end])

        def log_message(self, *words: Any) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known = Server(f"http://127.0.0.1:{running.server_port}")
    thread = threading.Thread(target=running.serve_forever, args=(0.05,))
    thread.start()
    yield known
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(tmp_path / "packages"))
    monkeypatch.setenv("APERTIUM_DATADIR", str(tmp_path / "apertium"))
    return tmp_path / "packages"


def test_install_and_list(
    server: Server, packages: Path, argos_package: Make, readlet: Callable[..., Any]
) -> None:
    assert "no translation engine is installed" in readlet("translators", "list").out
    server.offer(argos_package("en", "es"), "en", "es")
    done = readlet("translators", "install", "en-es", "--index", f"{server.address}/index.json")
    assert done.code == 0, done.err
    assert done.out.startswith(f"en-es 1.9: {packages}")
    listed = readlet("translators", "list")
    assert listed.out.startswith("argos      en-es    1.9 ")
    assert [path.name for path in packages.iterdir()] == ["translate-en_es-1_9"]


def test_a_pivot_installs_two(
    server: Server,
    packages: Path,
    argos_package: Make,
    readlet: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARGOS_PACKAGE_INDEX", f"{server.address}/index.json")
    server.offer(argos_package("de", "en"), "de", "en")
    server.offer(argos_package("en", "es"), "en", "es")
    assert readlet("translators", "install", "de-es").code == 0
    assert len(list(packages.iterdir())) == 2


def test_several_pairs(
    server: Server, packages: Path, argos_package: Make, readlet: Callable[..., Any]
) -> None:
    for pair in (("en", "es"), ("es", "en")):
        server.offer(argos_package(*pair), *pair)
    index = f"{server.address}/index.json"
    assert readlet("translators", "install", "en-es", "es-en", "--index", index).code == 0
    assert len(list(packages.iterdir())) == 2


def test_a_broken_download_is_continued(
    server: Server, packages: Path, argos_package: Make, readlet: Callable[..., Any]
) -> None:
    file = argos_package("en", "es")
    server.offer(file, "en", "es")
    server.breaks_after = 5_000
    words = ("translators", "install", "en-es", "--index", f"{server.address}/index.json")
    broken = readlet(*words)
    assert broken.code == 2
    assert broken.err.count("\n") == 1
    assert "run it again to continue" in broken.err
    assert not [path for path in packages.iterdir() if path.is_dir()]
    server.breaks_after = None
    assert readlet(*words).code == 0
    assert server.asked[-1] == (f"/{file.name}", "bytes=5000-")


def test_what_can_go_wrong(
    server: Server, packages: Path, argos_package: Make, readlet: Callable[..., Any], tmp_path: Path
) -> None:
    def fault(pair: str, index: str = "/index.json") -> str:
        done = readlet("translators", "install", pair, "--index", f"{server.address}{index}")
        assert done.code == 2
        assert done.err.count("\n") == 1
        assert not packages.exists() or list(packages.iterdir()) == []
        return str(done.err)

    assert "cannot be fetched" in fault("en-es")
    server.offer(argos_package("en", "es"), "en", "fr")
    assert "has no package for en-es; related pairs: en-fr" in fault("en-es")
    assert "translates en-es, not en-fr" in fault("en-fr")
    server.files[f"/{argos_package('en', 'es').name}"] = b"no zip"
    assert "no Argos package" in fault("en-fr")
    server.files["/list.json"] = b"{}"
    assert "no list of packages" in fault("en-es", "/list.json")
    server.files["/page"] = b"<html>"
    assert "no JSON" in fault("en-es", "/page")
    assert "give two codes" in fault("english")
    done = readlet("translators", "install", "en-es", "--index", "file:///etc/passwd")
    assert "no web address" in done.err
