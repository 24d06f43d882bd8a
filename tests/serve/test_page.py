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
from readlet.serve.batching import Counters
from readlet.serve.messages import Limits
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
    playwright.expect.set_options(timeout=30_000)  # the machine may be busy
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
    window.evaluate("localStorage.clear()")
    window.goto(plain)
    window.wait_for_selector("body[data-ready]")
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
    """Paste a text and ask; the other reader is left out."""
    if page.is_visible("#edit"):
        page.click("#edit")
    page.fill("#passage", passage)
    ask_again(page, question)


def ask_again(page: Any, question: str) -> None:
    page.fill("#question", question)
    page.press("#question", "Enter")
    wait_for(page, "#status").to_contain_text("baseline:")


def marked(page: Any) -> list[str]:
    """The texts before, inside and after the mark."""
    script = """text => [...text.firstChild.childNodes].map(node => node.textContent)"""
    found: list[str] = page.eval_on_selector("#text", script)
    return found


@pytest.fixture
def alone(page: Any) -> Any:
    page.uncheck("#readers input[value=layered]")
    return page


def test_an_answer_is_marked_in_its_place(alone: Any) -> None:
    page = alone
    ask(page, PASSAGE, "Who lit the lamp?")
    expected = LexicalBaseline().answer("Who lit the lamp?", PASSAGE)
    before, inside, after = marked(page)
    assert (before, inside) == (PASSAGE[: expected.start], expected.text)
    assert before + inside + after == PASSAGE
    assert expected.text in page.inner_text("#status")  # which screen readers read out
    assert page.get_attribute("#status", "aria-live") == "polite"
    card = page.inner_text("article")
    assert "Pasted text, line 1" in card
    assert PASSAGE[: expected.end] in card  # the sentence
    # Other candidates are one key away.
    page.keyboard.press("Alt+ArrowDown")
    assert marked(page)[1] == expected.n_best[1].text
    page.keyboard.press("Alt+ArrowUp")
    assert marked(page)[1] == expected.text
    # A follow-up question keeps the text, and is typed over the first one.
    page.keyboard.type("When was it lit?")
    page.keyboard.press("Enter")
    wait_for(page, "#status").to_contain_text("1881")
    assert marked(page)[1] == "1881"


AXE = """async () => (await axe.run()).violations.map(
    ({id, nodes}) => `${id}: ${nodes.map(node => node.target).join(", ")}`)"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_barrier(alone: Any, scheme: str, width: int) -> None:
    package = pytest.importorskip("axe_playwright_python")
    script = (Path(package.__file__).parent / "axe.min.js").read_text("utf-8")
    alone.set_viewport_size({"width": width, "height": 800})
    alone.emulate_media(color_scheme=scheme)
    alone.evaluate(script)
    assert alone.evaluate(AXE) == []
    ask(alone, PASSAGE, "Who lit the lamp?")
    assert alone.evaluate(AXE) == []
    alone.emulate_media(color_scheme="light")


def test_words_and_colours_of_confidence_agree(alone: Any) -> None:
    words = {"high": "Sure", "middle": "Likely", "low": "Unsure"}
    seen = set()
    for question in ("When was it lit?", "Who lit the lamp?", "Who paid for the oil of the lamp?"):
        ask(alone, PASSAGE, question)
        level = alone.get_attribute("article .sure", "class").split()[1]
        assert alone.inner_text("article .sure").split()[0] == words[level]
        score = LexicalBaseline().answer(question, PASSAGE).score
        assert f"{100 * score:.0f} %" in alone.inner_text("article .sure")
        seen.add(level)
    assert len(seen) > 1


def test_the_level_decides_which_answers_are_given(alone: Any) -> None:
    """By the rule of `min_confidence`: at once, and the next time."""
    question = "Who paid for the oil of the lamp at night?"
    ask(alone, PASSAGE, question)
    given = LexicalBaseline().answer(question, PASSAGE)
    assert not given.abstained
    assert given.text in alone.inner_text("article .answer")
    alone.locator("#level").fill("0.95")
    wait_for(alone, "article .answer").to_contain_text("No answer")
    wait_for(alone, "#text mark").to_have_count(0)
    assert alone.is_visible("article details")  # the best guesses
    alone.locator("#level").fill("0")
    wait_for(alone, "#text mark").to_have_count(1)
    assert "No answer" not in alone.inner_text("article .answer")
    alone.reload()
    wait_for(alone, "#level").to_have_value("0")


def test_the_text_stands_once_for_all_readers(page: Any) -> None:
    page.check("#readers input[value=layered]")
    ask(page, PASSAGE, "When was it lit?")
    wait_for(page, "article").to_have_count(2)
    assert page.inner_text("#source").count("Fishermen paid") == 1
    assert page.inner_text("#text") == PASSAGE


SCRIPTS = {
    "astral": (
        "👩🏽\u200d🚀 flew past the 🌙. The lamp was lit by Ada Brook in 1881.",
        "When was it lit?",
    ),
    "right-to-left": ("أضاءت آدا المصباح في عام 1881. دفع الصيادون ثمن الزيت.", "When 1881 عام?"),
    "combining": (
        "L'e\u0301te\u0301 1881 : la lampe de Zoe\u0301 fut allume\u0301e.",
        "When lampe allumée 1881?",
    ),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_marks_of_any_script(alone: Any, script: str) -> None:
    passage, question = SCRIPTS[script]
    ask(alone, passage, question)
    expected = LexicalBaseline().answer(question, passage)
    assert not expected.abstained
    assert "".join(marked(alone)) == passage
    assert alone.locator("#text mark").all_text_contents() == [expected.text]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    (root / "old").mkdir(parents=True)
    (root / "lamp.html").write_text("<script>window.ran = 1</script><p>Lit in 1881 &lt;b>.</p>")
    (root / "old" / "mill.txt").write_text("The mill was built by Ines Calder in 1790.")
    (root / "bad.pdf").write_bytes(b"no PDF")
    (root / "picture.png").write_bytes(b"")
    (root / ".hidden.txt").write_text("Nobody sees this.")
    return root


def drop(page: Any, path: Path) -> None:
    """As with the mouse."""
    session = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        event = {"type": kind, "x": 200, "y": 200, "data": data}
        session.send("Input.dispatchDragEvent", event)


@pytest.mark.parametrize("how", ["dropped", "chosen"])
def test_a_folder_is_read_and_asked(alone: Any, folder: Path, how: str) -> None:
    if how == "dropped":
        drop(alone, folder)
    else:
        alone.set_input_files("#folder", folder)
    wait_for(alone, "#documents li").to_have_count(2)
    left_out = alone.inner_text("#left-out")
    assert "docs/bad.pdf: " in left_out
    assert "docs/picture.png: " in left_out
    assert "hidden" not in left_out
    ask_again(alone, "Who built the mill?")
    assert "docs/old/mill.txt, line 1" in alone.inner_text("article")
    assert marked(alone)[1] == "Ines Calder"
    ask_again(alone, "When was it lit?")
    wait_for(alone, "#documents [aria-pressed=true]").to_have_text("docs/lamp.html")
    assert "<b>" in "".join(marked(alone))  # shown as text
    assert alone.evaluate("window.ran") is None
    alone.click("[aria-label='Remove docs/lamp.html']")
    wait_for(alone, "#documents li").to_have_count(1)


def test_a_place_is_a_row_where_there_are_rows(alone: Any, tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text("item,built\nkiln,1881\nmill,1790\n")
    alone.set_input_files("#file", prices)
    alone.locator("#level").fill("0")
    wait_for(alone, "#documents li").to_have_count(1)
    ask_again(alone, "When was the mill built?")
    assert "prices.csv, row " in alone.inner_text("article")


def test_a_long_text_is_marked_at_its_end(alone: Any, tmp_path: Path) -> None:
    """Beyond the limit of a passage: the server's index chooses what is read."""
    long = tmp_path / "long.txt"
    long.write_text("Nothing of note happened on that day.\n" * 4000 + PASSAGE)
    alone.set_input_files("#file", long)
    wait_for(alone, "#documents li").to_have_count(1)
    ask_again(alone, "Who lit the lamp?")
    assert "line 4,001" in alone.inner_text("article")
    wait_for(alone, "#text mark").to_be_in_viewport()


def test_questions_and_documents_survive_a_reload(alone: Any) -> None:
    ask(alone, PASSAGE, "When was it lit?")
    alone.reload()
    wait_for(alone, "#history li").to_contain_text("1881")
    assert alone.inner_text("#text") == PASSAGE
    assert not alone.is_checked("#readers input[value=layered]")
    alone.click("#history li button")
    wait_for(alone, "article").to_contain_text("1881")
    alone.click("#forget")
    wait_for(alone, "#history").to_be_hidden()
    alone.click("#clear")
    alone.reload()
    wait_for(alone, "#examples li").to_have_count(4)


def test_what_is_too_large_to_be_kept_is_said(alone: Any, tmp_path: Path) -> None:
    long = tmp_path / "long.txt"
    long.write_text("Nothing of note happened on that day.\n" * 55_000)
    ask(alone, PASSAGE, "When was it lit?")
    assert alone.is_hidden("#not-kept")
    alone.set_input_files("#file", long)
    wait_for(alone, "#not-kept").to_be_visible()


def test_on_a_small_screen_the_question_is_in_view(alone: Any, tmp_path: Path) -> None:
    alone.set_viewport_size({"width": 390, "height": 800})
    ask(alone, "The mill grinds corn.\n" * 200, "What does the mill grind?")
    alone.evaluate("scrollTo(0, 0)")
    wait_for(alone, "#question").to_be_in_viewport(ratio=1)
    wait_for(alone, "article .answer").to_be_in_viewport(ratio=1)
    alone.goto(alone.url.rstrip("/") + "/docs")
    wait_for(alone, "#paths section >> nth=0").to_be_visible()
    assert alone.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_api_is_described(page: Any, plain: str) -> None:
    page.goto(f"{plain}docs")
    wait_for(page, "section.panel").to_have_count(8)
    first = page.locator("section.panel").first
    first.locator("summary", has_text="Try it").click()
    first.get_by_role("button", name="Send").click()
    wait_for(page, "section.panel:first-child pre").to_contain_text('"candidates"')


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
