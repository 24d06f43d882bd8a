"""The page in a real browser: what a person sees, with a mouse, keys, and a screen reader."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from readlet.inference.baseline import LexicalBaseline
from readlet.serve.limits import Limits
from readlet.serve.monitoring import Counters
from readlet.serve.registry import serve_models
from readlet.serve.server import bound_socket

PASSAGE = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil."
KEY = "a-key-of-20-letters!"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = started.chromium.launch(executable_path=chromium, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(random_encoder_reader: Callable[..., Any]) -> Iterator[Callable[[str], str]]:
    """The address of a server with this key."""
    uvicorn = pytest.importorskip("uvicorn")
    from readlet.serve.app import make_app

    running: list[tuple[Any, threading.Thread]] = []
    models = {"baseline": LexicalBaseline(), "layered": random_encoder_reader()}

    def start(key: str = "") -> str:
        limits, counters = Limits(passage_characters=5000), Counters()
        app = make_app(serve_models(models, limits, counters), limits, counters, key=key)
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="error"))
        bound = bound_socket("127.0.0.1", 0)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        running.append((server, thread))
        return f"http://127.0.0.1:{bound.getsockname()[1]}/"

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def plain(address: Callable[..., str]) -> str:
    return address()


@pytest.fixture(scope="module")
def window(browser: Any) -> Any:
    """One for all tests, since each would be a process."""
    return browser.new_page()


@pytest.fixture
def page(window: Any, plain: str) -> Iterator[Any]:
    """The page without a key; an error in its scripts, or of its policy, fails the test."""
    faults: list[str] = []
    watched = {
        "pageerror": lambda error: faults.append(str(error)),
        "console": lambda line: faults.append(line.text) if line.type == "error" else None,
    }
    for event, note in watched.items():
        window.on(event, note)
    window.set_viewport_size({"width": 1100, "height": 900})
    window.goto(plain)
    window.wait_for_selector("#bundled option:nth-child(2)", state="attached")
    yield window
    window.evaluate("0")  # what the page reported before this has arrived
    for event, note in watched.items():
        window.remove_listener(event, note)
    assert [fault for fault in faults if "422" not in fault] == []


def wait_for(page: Any, selector: str) -> Any:
    """Not by a function in the page: its policy forbids what is not in its files."""
    from playwright.sync_api import expect

    return expect(page.locator(selector))


def ask(page: Any, passage: str, question: str) -> None:
    page.fill("#passage", passage)
    page.fill("#question", question)
    page.press("#question", "Enter")
    wait_for(page, "article").to_have_count(2)


def marked(page: Any, reader: str = "baseline") -> list[str]:
    """The texts before, inside and after the mark."""
    script = """card => [...card.querySelector('.passage').childNodes].map(n => n.textContent)"""
    return page.eval_on_selector(f"article[aria-label={reader}]", script)


def test_an_answer_is_marked_in_its_place(page: Any) -> None:
    ask(page, PASSAGE, "Who lit the lamp?")
    expected = LexicalBaseline().answer("Who lit the lamp?", PASSAGE)
    before, inside, after = marked(page)
    assert (before, inside) == (PASSAGE[: expected.start], expected.text)
    assert before + inside + after == PASSAGE
    assert expected.text in page.inner_text("#status")  # which screen readers read out
    assert page.get_attribute("#status", "aria-live") == "polite"
    assert "% sure" in page.inner_text("article")
    # Other candidates are one key away.
    page.keyboard.press("Alt+ArrowDown")
    assert marked(page)[1] == expected.n_best[1].text
    page.keyboard.press("Alt+ArrowUp")
    assert marked(page)[1] == expected.text
    # A follow-up question keeps the passage, and is typed over the first one.
    page.keyboard.type("When was it lit?")
    page.keyboard.press("Enter")
    wait_for(page, "#status").to_contain_text("1881")
    assert marked(page)[1] == "1881"


def test_no_answer_is_shown_as_such(page: Any) -> None:
    ask(page, PASSAGE, "Why do penguins dance?")
    assert "No answer here" in page.inner_text("article[aria-label=baseline]")
    assert marked(page) == [PASSAGE]
    page.check("#always")
    page.press("#question", "Enter")
    page.wait_for_selector("article[aria-label=baseline] mark")


SCRIPTS = {
    "astral": (
        "👩🏽\u200d🚀 flew past the 🌙. The lamp was lit by Ada Brook in 1881.",
        "When was it lit?",
    ),
    "right-to-left": ("أضاءت آدا المصباح في عام 1881. دفع الصيادون ثمن الزيت.", "When 1881 عام?"),
    "combining": (
        "L'e\u0301te\u0301 1881 : la lampe de Zoe\u0301 fut allume\u0301e.",
        "When lampe allumée?",
    ),
}


def test_marks_of_any_script(page: Any) -> None:
    page.check("#always")
    for script, (passage, question) in SCRIPTS.items():
        ask(page, passage, question)
        expected = LexicalBaseline().answer(question, passage, always_answer=True)
        wait_for(page, "article[aria-label=baseline] .passage").to_have_text(passage)
        parts = marked(page)
        assert parts[1] == expected.text, script
        assert "".join(parts) == passage, script


def test_files_and_bundled_passages(page: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<script>window.ran = 1</script><p>Lit in 1881 &lt;b>.</p>")
    (tmp_path / "bad.pdf").write_bytes(b"no PDF")
    page.set_input_files("#file", tmp_path / "page.html")
    wait_for(page, "#passage").to_have_value("Lit in 1881 <b>.")
    ask(page, page.input_value("#passage"), "When was it lit?")
    assert "<b>." in marked(page)[2]  # shown as text
    assert page.evaluate("window.ran") is None
    page.set_input_files("#file", tmp_path / "bad.pdf")
    page.wait_for_selector("#status.fault")
    assert "no PDF" in page.inner_text("#status")
    page.select_option("#bundled", index=1)
    page.click("#suggestions button")
    wait_for(page, "article").to_have_count(2)
    assert "".join(marked(page)) == page.input_value("#passage")


def test_a_key_is_asked_for(browser: Any, address: Callable[..., str]) -> None:
    page = browser.new_page()
    page.goto(address(KEY))
    page.fill("#key", "wrong")
    page.press("#key", "Enter")
    page.wait_for_selector("#status.fault")
    page.fill("#key", KEY)
    page.press("#key", "Enter")
    page.wait_for_selector("#key-form", state="hidden")
    page.close()
