"""The `readlet` command. Each file here parses arguments and calls one function."""

import errno
import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from readlet import __version__
from readlet.cli import (
    ask,
    augment,
    classify,
    data,
    demo,
    evaluate,
    experiment,
    export,
    inspect,
    predict,
    serve,
    slim,
    train,
    translators,
    vectors,
)
from readlet.cli.streams import copy_of_output, discard_output, is_unread, prepare_streams
from readlet.errors import ReadletError, disk_fault, is_out_of_memory, memory_fault
from readlet.terminal import INTERRUPTED, harmless, one_line, say, was_interrupted

_GRACE = 10.0  # seconds; the launcher stops all processes as soon as one of them has failed


class _Ended(BaseException):
    """How the command ended, if typer would report that in its own way."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Commands(TyperGroup):
    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _harmless_message():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        try:
            with _harmless_message():
                return super().invoke(ctx)
        except (KeyboardInterrupt, OSError) as error:
            raise _Ended(error) from error


@contextmanager
def _harmless_message() -> Iterator[None]:
    """Typer prints its errors about options itself."""
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str):
            error.message = harmless(message)  # type: ignore[attr-defined]
        raise


app = typer.Typer(
    name="readlet",
    cls=_Commands,
    help="Train, compare, calibrate and slim small reading-comprehension models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(name="demo")(demo.demo)
app.command(name="ask")(ask.ask)
app.command(name="inspect")(inspect.inspect)
app.command(name="evaluate")(evaluate.evaluate_command)
app.command(name="predict")(predict.predict)
app.command(name="augment")(augment.augment)
app.command(name="classify")(classify.classify)
app.command(name="train")(train.train)
app.command(name="serve")(serve.serve)
app.command(name="slim")(slim.slim)
app.command(name="export")(export.export)
app.add_typer(data.app, name="data")
app.add_typer(experiment.app, name="experiment")
app.add_typer(translators.app, name="translators")
app.add_typer(vectors.app, name="vectors")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Print the version."
    ),
    debug: bool = typer.Option(False, "--debug", help="Show the full traceback of an error."),
) -> None:
    pass


def main() -> None:
    """Run the command. Invalid input is reported as one line on stderr, with exit code 2."""
    prepare_streams()
    try:
        _run()
    except SystemExit as ending:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            _end_now(ending.code)
        raise


def _end_now(code: str | int | None) -> None:
    """One of several processes ends here: threads of the process group may abort a slower exit."""
    sys.stdout.flush()
    sys.stderr.flush()
    if code and os.environ.get("LOCAL_RANK", "0") != "0":
        time.sleep(_GRACE)  # the main process reports its own error first
    os._exit(code if isinstance(code, int) else int(code is not None))


def _run() -> None:
    debug = "--debug" in sys.argv
    if debug:  # allowed anywhere, not only before the subcommand
        sys.argv = [word for word in sys.argv if word != "--debug"]
    warnings.showwarning = lambda message, *_, **__: say(f"readlet: {message}")
    output = copy_of_output()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # while an error can still be reported
    except SystemExit as ending:
        if ending.code == 1 and is_unread(output):  # typer calls a closed pipe an error
            _end_unread()
        if ending.code == INTERRUPTED:  # while typer was reading the options
            say("readlet: interrupted")
        raise
    except _Ended as ended:
        _report(ended.error, debug=debug)
    except (Exception, KeyboardInterrupt) as error:
        _report(error, debug=debug)


def _report(error: BaseException, *, debug: bool) -> None:
    """One line for everything that a user can mend; the traceback of an error in the program."""
    if isinstance(error, KeyboardInterrupt) or was_interrupted():
        how = str(error) if isinstance(error, KeyboardInterrupt) else ""
        say(f"readlet: {one_line(how) or 'interrupted'}")
        sys.exit(INTERRUPTED)
    if isinstance(error, BrokenPipeError):  # `readlet ... | head` is not an error
        _end_unread()
    fault = _fault(error)
    if debug or not fault:
        raise error
    if isinstance(error, OSError):  # standard output may be on a full disk
        discard_output()
    rank = os.environ.get("LOCAL_RANK", "0")
    who = "readlet" if rank == "0" else f"readlet, process {rank}"  # a single process may fail
    say(f"{who}: {one_line(fault)}")
    sys.exit(2)


def _fault(error: BaseException) -> str:
    """The message for a user; empty if it is an error in the program."""
    if is_out_of_memory(error):
        return f"{memory_fault(error)}; free some, or give less text at once"
    if isinstance(error, ReadletError):
        return str(error)
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC and error.filename is None:  # all files are named
            error.filename = "standard output"
        return disk_fault(error)
    if isinstance(error, ValueError) and "null byte" in str(error):
        return "a file name contains a NUL character; check the names"
    return ""


def _end_unread() -> None:
    discard_output()
    sys.exit(0)
