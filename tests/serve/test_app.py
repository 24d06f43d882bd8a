"""The paths of the API: the answers of the model itself, and a reason for every error."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest

from readlet.inference.baseline import LexicalBaseline

PASSAGE = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil."
QUESTION = "Who lit the lamp?"
KEY = "a-key-of-20-letters!"


@pytest.fixture(scope="module")
def models(
    random_reader: Callable[..., Any],
    random_encoder_reader: Callable[..., Any],
    trained_classifier: Callable[..., Any],
) -> dict[str, Any]:
    return {
        "tiny": random_reader(PASSAGE, QUESTION, null=True),
        "baseline": LexicalBaseline(),
        "layered": random_encoder_reader(),
        "classes": trained_classifier()[1],
    }


@pytest.fixture(scope="module")
def server(start: Callable[..., Any], models: dict[str, Any]) -> Any:
    return start(models, passage_characters=2000, questions=4, body_bytes=20_000, n_best=20)


@pytest.mark.parametrize("reader", ["tiny", "baseline", "layered"])
def test_answers_are_those_of_the_reader(server: Any, models: dict[str, Any], reader: str) -> None:
    got = server.post("/answer", question=QUESTION, passage=PASSAGE, reader=reader, n_best=3)
    expected = models[reader].answer(QUESTION, PASSAGE, n_best=3)
    assert got.status_code == 200
    (answer,) = got.json()["answers"]
    assert [c["text"] for c in answer["n_best"]] == [c.text for c in expected.n_best]
    assert answer["certainty"] == expected.certainty
    assert answer["score"] == pytest.approx(expected.score)
    assert answer["no_answer"] == pytest.approx(expected.no_answer)
    assert answer["abstained"] == expected.abstained
    for found in answer["n_best"]:
        assert PASSAGE[found["start"] : found["end"]] == found["text"]


def test_lists_are_answered_in_order(server: Any, models: dict[str, Any]) -> None:
    other = "Ida Moor paid for the oil in 1890."
    asked = [(QUESTION, PASSAGE), ("Who paid?", other), ("When?", PASSAGE)]
    got = server.post("/answer", question=[q for q, _ in asked], passage=[p for _, p in asked])
    starts = [answer["n_best"][0]["start"] for answer in got.json()["answers"]]
    assert starts == [models["tiny"].answer(q, p).n_best[0].start for q, p in asked]
    shared = server.post("/answer", question=["When?", QUESTION], passage=PASSAGE)
    assert [a["n_best"][0]["start"] for a in shared.json()["answers"]] == [starts[2], starts[0]]


def test_abstaining_can_be_set(server: Any) -> None:
    def abstained(**options: Any) -> Any:
        got = server.post("/answer", question=QUESTION, passage=PASSAGE, **options)
        return got.json()["answers"][0]["abstained"], got.json()["answers"][0]["no_answer"]

    assert abstained(min_confidence=1.0)[0]
    assert not abstained(min_confidence="always")[0]
    assert abstained(min_confidence="always", unanswerable_share=0) == (False, 0.0)
    assert (
        abstained(unanswerable_share=0.01)[1]
        < abstained()[1]
        < abstained(unanswerable_share=0.99)[1]
    )
    for wrong in (
        {"unanswerable_share": 0.2, "reader": "baseline"},
        {"unanswerable_share": 1.0},
    ):
        got = server.post("/answer", question=QUESTION, passage=PASSAGE, **wrong)
        assert got.status_code == 422
        assert "share" in got.json()["reason"]


LONG = "Nothing of note happened on that day. " * 100


def ask(server: Any, question: str, reader: str = "baseline", **texts: str) -> Any:
    documents = [{"name": name, "text": text} for name, text in texts.items()]
    return server.post("/ask", question=question, documents=documents, reader=reader)


@pytest.mark.parametrize("around", ["", LONG])
def test_an_answer_in_documents_has_its_place(server: Any, around: str) -> None:
    """In a text that is read as a whole, and in one that is read in pieces."""
    texts = {"wick": f"{around}\n\n👩🏽‍🚀 {PASSAGE}", "other": "The mill grinds corn."}
    for documents in ({"wick": texts["wick"]}, texts):
        got = ask(server, "When was the lamp lit?", **documents).json()
        assert (got["text"], got["abstained"]) == ("1881", False)
        best = got["candidates"][0]
        assert best["document"] == "wick"
        for one in got["candidates"]:
            text = documents[one["document"]]
            assert text[one["start"] : one["end"]] == one["text"]
            start = one["sentence_start"]
            assert text[start : start + len(one["sentence"])] == one["sentence"]
            assert start <= one["start"] < one["end"] <= start + len(one["sentence"])
        assert best["line"] == 3
        assert got["read"] <= got["pieces"]


def test_places_of_answers_are_those_of_the_parts(server: Any) -> None:
    rows = ["Item | Built", "Item: kiln; Built: 1881", "Item: mill; Built: 1790"]
    starts = [0, 13, 37]
    table = {"name": "table", "text": "\n".join(rows), "starts": starts}
    labels = ["row 1", "row 2", "row 3"]
    question = "When was the mill built?"
    asked = {"question": question, "documents": [table | {"labels": labels}], "reader": "baseline"}
    got = server.post("/ask", **asked).json()
    assert (got["text"], got["candidates"][0]["place"], got["pieces"]) == ("1790", "row 3", 3)
    got = server.post("/ask", **asked | {"documents": [table]})
    assert got.status_code == 422
    got = ask(server, question, table=table["text"]).json()
    assert got["candidates"][0]["place"].startswith("line ")


def test_documents_are_indexed_once(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from readlet.serve import documents as module

    made = []

    class Noted(module.Documents):
        def __init__(self, texts: Any) -> None:
            made.append(list(texts))
            super().__init__(texts)

    monkeypatch.setattr(module, "Documents", Noted)
    for question in ("Who lit the lamp?", "When?"):
        for name in ("a", "b"):
            assert ask(server, question, **{name: PASSAGE + LONG}).status_code == 200
    assert made == [["a"], ["b"]]


def test_an_unknown_language_is_named(start: Callable[..., Any], models: dict[str, Any]) -> None:
    server = start({"english": replace(models["tiny"], languages=("en",))})
    got = server.post("/answer", question="Wer?", passage=PASSAGE, language="de")
    assert got.json()["answers"][0]["unknown_language"] == "de"
    got = server.post("/answer", question=QUESTION, passage=PASSAGE)
    assert got.json()["answers"][0]["unknown_language"] == ""


def test_offsets_count_code_points(server: Any) -> None:
    passage = "👩🏽‍🚀 مَرْحَبًا e\u0301t\u00e9 Ada 1881."
    got = server.post("/answer", question="Ada?", passage=passage, n_best=20)
    for found in got.json()["answers"][0]["n_best"]:
        assert passage[found["start"] : found["end"]] == found["text"]


def test_classes_are_those_of_the_classifier(server: Any, models: dict[str, Any]) -> None:
    texts = ["The old lamp was lit.", "The new bridge was built."]
    got = server.post("/classify", text=texts).json()
    assert got["classifier"] == "classes"
    for found, text in zip(got["predictions"], texts, strict=True):
        expected = asdict(models["classes"].predict(text))
        assert found["label"] == expected["label"]
        assert found["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-5)


def test_models_and_passages_are_listed(server: Any) -> None:
    listed = server.client.get("/readers").json()
    assert [reader["name"] for reader in listed["readers"]] == ["tiny", "baseline", "layered"]
    assert listed["classifiers"] == [{"name": "classes", "classes": ["new", "old"], "pairs": False}]
    assert listed["limits"]["questions"] == 4
    assert isinstance(listed["limits"]["questions"], int)
    for passage in server.client.get("/passages").json():
        assert passage["passage"]
        assert passage["questions"]


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        ("/answer", {"question": QUESTION}, 422, "passage: Field required"),
        ("/answer", {"q": QUESTION, "passage": PASSAGE}, 422, "question: Field required; q: Extra"),
        ("/ask", {"question": QUESTION, "documents": []}, 422, "documents"),
        ("/ask", {"question": QUESTION, "documents": [{"name": "a"}]}, 422, "documents.0.text"),
        ("/ask", {"question": "?", "documents": [{"name": "a.txt", "text": " "}]}, 422, "a.txt: "),
        ("/ask", {"question": "?", "documents": [{"name": "a", "text": "b"}] * 2}, 422, "a: two"),
        ("/answer", {"question": " ", "passage": PASSAGE}, 422, "question: is empty"),
        ("/answer", {"question": QUESTION, "passage": "a " * 1001}, 422, "2,002 characters"),
        ("/answer", {"question": ["a"] * 5, "passage": PASSAGE}, 422, "at most 4"),
        ("/answer", {"question": "a", "passage": PASSAGE, "n_best": 21}, 422, "at most 20"),
        (
            "/answer",
            {"question": "a", "passage": PASSAGE, "min_confidence": 2},
            422,
            "min_confidence",
        ),
        ("/answer", {"question": "a", "passage": PASSAGE, "language": "../x"}, 422, "language"),
        ("/answer", {"question": "a", "passage": PASSAGE, "reader": "/etc"}, 404, "/readers"),
        ("/answer", {"question": "a", "passage": "p" * 20_000}, 413, "20,000 bytes"),
        ("/classify", {"text": ["a", " "]}, 422, "empty"),
        ("/classify", {"text": "a", "classifier": "tiny"}, 404, "/readers"),
        ("/nothing", {}, 404, "Not Found"),
    ],
)
def test_errors_have_a_reason(server: Any, path: str, body: Any, status: int, reason: str) -> None:
    got = server.client.post(path, json=body)
    assert got.status_code == status
    assert list(got.json()) == ["reason"]
    assert reason in got.json()["reason"]


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff\xfe", b"[" * 9000, b"null", b"[]", b'"text"', b"NaN", b"1" * 5000),
        b'{"question": "\\ud800", "passage": "\\udfff"}',
        b'{"question": "a", "passage": "b", "min_confidence": NaN}',
        b'{"question": "a", "passage": "b", "n_best": 1e400}',
        b'{"question": "a", "passage": "b", "\\ud800": 1}',
    ],
)
def test_malformed_bodies_are_rejected(server: Any, content: bytes) -> None:
    headers = {"content-type": "application/json"}
    got = server.client.post("/answer", content=content, headers=headers)
    assert got.status_code in (400, 422)
    assert got.json()["reason"]


def test_an_error_of_the_model_is_no_news_for_clients(start: Callable[..., Any], slow: Any) -> None:
    slow.may_go.set()
    got = start({"slow": slow}).post("/answer", question="fail", passage=PASSAGE)
    assert got.status_code == 500
    assert "luck" not in got.text
    assert got.json()["reason"]


def test_headers_are_safe_on_every_answer(server: Any) -> None:
    for path in ("/", "/health", "/nothing", "/openapi.json"):
        headers = server.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
    assert "//" not in server.client.get("/docs").text.replace("</", "")  # all of it is ours


def test_a_key_is_asked_for(start: Callable[..., Any]) -> None:
    client = start({"baseline": LexicalBaseline()}, key=KEY).client
    for path in ("/readers", "/metrics", "/openapi.json", "/passages"):
        assert client.get(path).status_code == 401
        wrong = {"Authorization": f"Bearer {KEY}x"}
        assert client.get(path, headers=wrong).status_code == 401
        assert client.get(path, headers={"Authorization": f"Bearer {KEY}"}).status_code == 200
    assert client.post("/answer", json={}).status_code == 401
    for path in ("/", "/health"):
        assert client.get(path).status_code == 200


def test_other_names_of_this_machine_are_rejected(start: Callable[..., Any]) -> None:
    """A page elsewhere may point its own name at this server."""
    hosts = frozenset({"localhost", "127.0.0.1", "[::1]"})
    client = start({"baseline": LexicalBaseline()}, hosts=hosts).client
    for host, status in (
        *(("localhost:8000", 200), ("127.0.0.1", 200), ("[::1]:8000", 200)),
        *(("evil.example", 421), ("localhost.evil.example:80", 421), ("", 421)),
    ):
        assert client.get("/health", headers={"host": host}).status_code == status


@pytest.mark.parametrize(
    ("headers", "is_rejected"),
    [
        ({}, False),
        ({"sec-fetch-site": "same-origin", "origin": "http://testserver"}, False),
        ({"sec-fetch-site": "none"}, False),
        ({"origin": "https://TestServer"}, False),  # behind a proxy with TLS
        ({"sec-fetch-site": "cross-site"}, True),
        ({"sec-fetch-site": "same-site", "origin": "http://testserver:8000"}, True),
        ({"sec-fetch-site": ""}, True),
        ({"origin": "http://evil.example"}, True),
        ({"origin": "http://testserver:8000"}, True),
        ({"origin": "http://testserver.evil.example"}, True),
        ({"origin": "null"}, True),
        ({"origin": ""}, True),
        ({"sec-fetch-site": "same-origin", "origin": "http://evil.example"}, True),
    ],
)
@pytest.mark.parametrize("path", ["/answer", "/classify", "/text?kind=html", "/nothing"])
def test_pages_of_other_sites_are_rejected(
    server: Any, path: str, headers: dict[str, str], is_rejected: bool
) -> None:
    got = server.client.post(path, content=b"<p>Shown", headers=headers)
    assert (got.status_code == 403) == is_rejected
    assert list(got.json()) == ["reason"]


def test_pages_of_chosen_sites_may_use_it(start: Callable[..., Any]) -> None:
    friend = "https://friend.example"
    client = start({"baseline": LexicalBaseline()}, origins=frozenset({friend})).client
    for origin, status in ((friend, 200), ("https://evil.example", 403)):
        headers = {"origin": origin, "sec-fetch-site": "cross-site"}
        body = {"question": "Who?", "passage": PASSAGE}
        got = client.post("/answer", json=body, headers=headers)
        assert got.status_code == status
        assert got.headers.get("access-control-allow-origin") == (friend if status == 200 else None)
        asked = {"access-control-request-method": "POST"}
        asked["access-control-request-headers"] = "authorization,content-type"
        preflight = client.options("/answer", headers={"origin": origin} | asked)
        assert preflight.is_success == (status == 200)


def test_nothing_of_a_rejected_request_is_read(server: Any) -> None:
    async def receive() -> Any:
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message.get("status"))

    sent: list[Any] = []
    headers = [(b"host", b"localhost"), (b"sec-fetch-site", b"cross-site")]
    scope = {"type": "http", "method": "POST", "path": "/text", "headers": headers}
    asyncio.run(server.client.app(scope, receive, send))
    assert sent == [403, None]


@pytest.mark.parametrize(
    ("kind", "sent", "status"),
    [
        ("html", "application/octet-stream", 200),
        ("html", "text/HTML; charset=utf-8", 200),
        ("text", "text/plain", 200),
        ("html", "text/plain", 415),
        ("html", "multipart/form-data", 415),
        ("text", "application/x-www-form-urlencoded", 415),
        ("pdf", "text/html", 415),
        ("html", "", 415),
    ],
)
def test_a_file_is_sent_with_its_type(server: Any, kind: str, sent: str, status: int) -> None:
    got = server.client.post(
        f"/text?kind={kind}", content=b"<p>Shown", headers={"content-type": sent}
    )
    assert got.status_code == status


def test_parts_of_a_file_have_names(server: Any) -> None:
    headers = {"content-type": "text/csv"}
    content = "item,price\nkiln,1881 €\nmill,1790 €\n".encode("cp1252")
    got = server.client.post("/text?kind=csv", content=content, headers=headers).json()
    assert got["guessed_encoding"] == "cp1252"
    third = got["starts"][2]
    assert "1790 €" in got["text"][third:]
    assert "1881 €" not in got["text"][third:]
    assert got["labels"] == ["row 1", "row 2", "row 3"]


def test_requests_are_counted(start: Callable[..., Any]) -> None:
    server = start({'a"b': LexicalBaseline()})
    server.post("/answer", question=["Who?", "When?"], passage=PASSAGE)
    server.client.get("/secret/path")
    text = server.client.get("/metrics").text
    assert 'readlet_requests_total{path="/answer",status="200"} 1.0' in text
    assert 'readlet_requests_total{path="other",status="404"} 1.0' in text
    assert 'readlet_questions_total{model="a\\"b"} 2.0' in text
    assert "secret" not in text
