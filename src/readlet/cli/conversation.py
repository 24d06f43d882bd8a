"""`readlet ask -i`: questions one after another about the same passage or documents."""

import sys
from collections.abc import Iterator
from contextlib import suppress

from readlet.cli.answer_view import show_question
from readlet.cli.asking import Answered, Asked
from readlet.cli.console import console, on_stderr, print_json
from readlet.errors import bad_input
from readlet.terminal import forget_interrupt, say

_PROMPT = "? "
_HELP = (
    "Type a question. /more shows other candidates, /passage the text, /help this line. "
    "Ctrl-C cancels, Ctrl-D ends."
)


def converse(asked: Asked, shown: int | None, *, as_json: bool) -> None:
    """Answer questions until the input ends: from the terminal, or one on each line."""
    with on_stderr(as_json):
        _converse(asked, shown, as_json=as_json)


def _converse(asked: Asked, shown: int | None, *, as_json: bool) -> None:
    in_terminal = sys.stdin.isatty()
    if in_terminal:
        with suppress(ImportError):  # not on every system
            import readline  # noqa: F401  gives `input` line editing and history
        console.print(_HELP, style="dim")
    last: Answered | None = None
    for line in _typed() if in_terminal else _lines():
        try:
            if line.startswith("/"):
                _command(line, asked, last, as_json=as_json)
                continue
            last = asked.answer(line, shown)
            if as_json:
                print_json(last.as_json(shown))
            else:
                if not in_terminal:  # where the user has just typed it
                    show_question(line)
                last.show_briefly()
                console.print()
            sys.stdout.flush()  # a program may wait for each answer
        except KeyboardInterrupt:
            if not in_terminal:
                raise
            forget_interrupt()
            console.print("cancelled", style="dim")


def _command(line: str, asked: Asked, last: Answered | None, *, as_json: bool) -> None:
    match line.split()[0]:
        case "/help":
            console.print(_HELP, style="dim")
        case "/passage":
            (last or asked).show_passage()
        case "/more" if last is not None and as_json:
            print_json(last.as_json(sys.maxsize))  # all that there are
            sys.stdout.flush()
        case "/more" if last is not None:
            last.show_more()
        case "/more":
            say("readlet: /more: there is no answer yet; ask a question first")
        case unknown:
            say(f"readlet: {unknown}: no such command; /help lists them")


def _typed() -> Iterator[str]:
    """What the user types, until Ctrl-D."""
    prompt = _PROMPT if sys.stdout.isatty() else ""  # a file gets the answers only
    while True:
        try:
            if not prompt:
                print(_PROMPT, end="", file=sys.stderr, flush=True)
            line = input(prompt).strip()
        except EOFError:
            console.print()
            return
        except KeyboardInterrupt:
            forget_interrupt()
            console.print()
            continue
        if line:
            yield line


def _lines() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        try:
            line = sys.stdin.readline()
        except UnicodeDecodeError as error:
            fault = f"not {error.encoding.upper()} text"
            place, remedy = f"line {number}", "give the questions as UTF-8"
            raise bad_input("standard input", place, fault, remedy) from None
        if not line:
            return
        if line.strip():
            yield line.strip()
