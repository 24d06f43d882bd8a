"""Models of the hub, against a local stand-in of its HTTP API."""

import json
import re
import shutil
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from readlet.errors import InputError, ReadletError
from readlet.inference import hub
from readlet.inference.classifier import Classifier
from readlet.inference.publish import publish
from readlet.inference.reader import Reader

MODELS = Path(__file__).parents[1] / "fixtures" / "models"
LARGE = (".onnx", ".safetensors")  # sent apart from the commit, as large files are
KILN = "The old kiln stands in Hollow Lane. Ada Brook built it in 1881."


class Hub(ThreadingHTTPServer):
    """Repositories as lists of commits, and the requests that were made."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.commits: dict[str, list[dict[str, bytes]]] = {}
        self.large: dict[str, bytes] = {}  # large files by their digest
        self.asked: list[str] = []

    def commit(self, name: str, files: dict[str, bytes]) -> str:
        self.commits.setdefault(name, []).append(files)
        return self.number(name, -1)

    def number(self, name: str, index: int) -> str:
        return sha1(f"{name} {index % len(self.commits[name])}".encode()).hexdigest()

    def files(self, name: str, revision: str) -> tuple[str, dict[str, bytes]] | None:
        commits = self.commits.get(name, [])
        for index, files in reversed([*enumerate(commits)]):
            if revision in ("main", self.number(name, index)):
                return self.number(name, index), files
        return None


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, body: bytes, code: int = 200, **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        user, name, _, revision, file = self.path.partition("?")[0].strip("/").split("/", 4)
        self.server.asked.append(file)
        found = self.server.files(f"{user}/{name}", revision)
        if found is None:
            self.answer(b"", 404, X_Error_Code="RepoNotFound")
        elif file not in found[1]:
            self.answer(b"", 404, X_Error_Code="EntryNotFound", X_Repo_Commit=found[0])
        else:
            content = found[1][file]
            etag = f'"{sha1(content).hexdigest()}"'
            self.answer(content, ETag=etag, X_Repo_Commit=found[0])

    do_HEAD = do_GET  # noqa: N815

    def do_PUT(self) -> None:
        """A large file, at the address that the hub gave for it."""
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.large[self.path.rpartition("/")[2]] = content
        self.answer(b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/info/lfs/objects/batch"):
            url = f"http://127.0.0.1:{self.server.server_port}/large/"
            objects = [
                {**one, "actions": {"upload": {"href": url + one["oid"]}}}
                for one in json.loads(body)["objects"]
            ]
            self.answer(json.dumps({"transfer": "basic", "objects": objects}).encode())
            return
        parts = self.path.partition("?")[0].strip("/").split("/")
        if parts[1] == "repos":
            name = json.loads(body)["name"]
            self.answer(json.dumps({"url": f"/u/{name}"}).encode())
        elif parts[1] == "validate-yaml":
            self.answer(json.dumps({"errors": [], "warnings": []}).encode())
        elif parts[4] == "preupload":
            listed = [
                {
                    "path": one["path"],
                    "uploadMode": "lfs" if one["path"].endswith(LARGE) else "regular",
                    "shouldIgnore": False,
                }
                for one in json.loads(body)["files"]
            ]
            self.answer(json.dumps({"files": listed}).encode())
        else:
            lines = [json.loads(line)["value"] for line in body.splitlines()]
            files = {v["path"]: b64decode(v["content"]) for v in lines if "content" in v}
            files |= {v["path"]: self.server.large[v["oid"]] for v in lines if "oid" in v}
            number = self.server.commit("/".join(parts[2:4]), files)
            made = {"commitOid": number, "commitUrl": f"/u/n/commit/{number}"}
            self.answer(json.dumps(made).encode())


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    from huggingface_hub import constants

    with Hub() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(constants, "ENDPOINT", url)
        template = url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(
            constants, "HF_HUB_DISABLE_XET", True
        )  # its protocol is not spoken here
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setattr("huggingface_hub.hf_api.HfApi.token", "a token", raising=False)
        monkeypatch.chdir(tmp_path)
        hub.downloaded.cache_clear()
        yield server
        server.shutdown()
        hub.downloaded.cache_clear()


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_reader_is_downloaded_once_and_answers_as_its_folder(server: Hub) -> None:
    server.commit("ada/kiln", files_of(MODELS / "exported"))
    expected = Reader.load(MODELS / "exported").answer("Who built the kiln?", KILN)
    assert Reader.load("ada/kiln").answer("Who built the kiln?", KILN) == expected
    asked = len(server.asked)
    Reader.load("ada/kiln")
    assert len(server.asked) == asked


def test_only_files_of_the_model_are_fetched(server: Hub) -> None:
    server.commit("ada/kiln", files_of(MODELS / "exported") | {"setup.py": b"raise SystemExit"})
    folder = hub.downloaded("ada/kiln")
    assert "setup.py" not in server.asked
    assert not (folder / "setup.py").exists()


def test_a_revision_is_pinned(server: Hub) -> None:
    first = server.commit("ada/kiln", files_of(MODELS / "exported"))
    calibration = json.loads((MODELS / "exported" / "calibration.json").read_text())
    other = json.dumps(calibration | {"temperature": 3.25}).encode()
    server.commit("ada/kiln", files_of(MODELS / "exported") | {"calibration.json": other})
    assert Reader.load("ada/kiln").calibration.temperature == 3.25
    assert Reader.load(f"ada/kiln@{first}").calibration.temperature != 3.25


def test_without_the_hub_what_is_cached_is_read(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    server.commit("ada/kiln", files_of(MODELS / "exported"))
    Reader.load("ada/kiln")
    hub.downloaded.cache_clear()
    server.asked.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert Reader.load("ada/kiln").answer("Who built it?", KILN)
    assert server.asked == []
    with pytest.raises(InputError) as error:
        Reader.load("ada/other")
    assert error.value.source == "ada/other"


@pytest.mark.parametrize("name", ["ada/none", "ada/kiln@no-such-tag"])
def test_a_name_that_the_hub_does_not_know_is_one_line(server: Hub, name: str) -> None:
    server.commit("ada/kiln", files_of(MODELS / "exported"))
    with pytest.raises(InputError) as error:
        Reader.load(name)
    assert error.value.source == name
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("files", [None, ["../../etc/passwd"], ["a/b"], "model.onnx"])
def test_a_config_that_names_other_places_is_refused(server: Hub, files: Any) -> None:
    config = json.loads((MODELS / "exported" / "config.json").read_text()) | {"files": files}
    server.commit("ada/kiln", {"config.json": json.dumps(config).encode()})
    with pytest.raises(InputError, match=r"config\.json"):
        Reader.load("ada/kiln")
    assert set(server.asked) == {"config.json"}


def test_folders_come_before_names_of_the_hub(server: Hub, tmp_path: Path) -> None:
    shutil.copytree(MODELS / "exported", tmp_path / "runs" / "kiln")
    Reader.load("runs/kiln")
    with pytest.raises(ReadletError):
        Reader.load("runs/other")  # `runs` is a folder here
    assert server.asked == []


def test_a_published_model_is_loaded_again(
    server: Hub, readlet: Callable[..., Any], tmp_path: Path
) -> None:
    model = shutil.copytree(MODELS / "exported-classifier", tmp_path / "kinds")
    done = readlet("push", model, "ada/kinds", "--licence", "mit")
    assert done.code == 0, done.err
    assert "commit" in done.out
    (files,) = server.commits["ada/kinds"]
    front = yaml.safe_load(files["README.md"].decode().split("---\n")[1])
    assert front["library_name"] == "readlet"
    assert front["pipeline_tag"] == "text-classification"
    assert front["license"] == "mit"
    assert files["model.onnx"] in server.large.values()
    loaded = Classifier.load("ada/kinds")
    assert loaded.predict("Cold.") == Classifier.load(model).predict("Cold.")


def test_a_dry_run_sends_nothing(server: Hub, readlet: Callable[..., Any]) -> None:
    done = readlet("push", "bundled", "ada/reader", "--dry-run")
    assert done.code == 0, done.err
    assert server.commits == {}
    assert "model.safetensors" in done.out
    front = yaml.safe_load(done.out[done.out.index("---\n") + 4 :].rpartition("\n---")[0])
    assert front["pipeline_tag"] == "question-answering"
    assert front["license_link"] == "NOTICE.md"
    (results,) = front["model-index"]
    metrics = {one["type"]: one["value"] for one in results["results"][0]["metrics"]}
    assert metrics == {"exact_match": 71.39, "f1": 73.85}


def test_a_card_is_not_given_its_metadata_twice(server: Hub, tmp_path: Path) -> None:
    model = tmp_path / "kiln"
    Reader.load(MODELS / "exported").save(model)
    name = Reader.load(model).name
    card = publish(str(model), f"ada/{name}", dry_run=True).card
    assert card == (model / "README.md").read_text()


def test_a_card_names_its_repository_and_its_data_as_the_hub_does(server: Hub) -> None:
    card = publish("bundled", "ada/kiln", dry_run=True).card
    (result,) = yaml.safe_load(card.split("---\n")[1])["model-index"]
    assert result["name"] == "kiln"
    assert re.fullmatch(r"[\w./-]+", result["results"][0]["dataset"]["type"])


@pytest.mark.parametrize("name", ["kiln", "ada/", "ada/kiln@main", "https://hub/ada/kiln"])
def test_a_name_to_publish_under_has_two_parts(name: str) -> None:
    with pytest.raises(InputError) as error:
        publish("bundled", name, dry_run=True)
    assert error.value.source == name


def test_a_hub_that_does_not_answer_is_not_waited_for(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    server.commit("ada/kiln", files_of(MODELS / "exported"))
    Reader.load("ada/kiln")
    hub.downloaded.cache_clear()
    gone = "http://127.0.0.1:9/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", gone)
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("it tries again"))
    assert Reader.load("ada/kiln").answer("Who built it?", KILN)
    with pytest.raises(InputError):
        Reader.load("ada/other")


def test_a_hub_out_of_reach_is_one_line(server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ReadletError) as error:
        publish("bundled", "ada/kiln")
    assert "\n" not in str(error.value)
