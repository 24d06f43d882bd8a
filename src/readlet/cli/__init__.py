"""The `readlet` command. Each file here parses arguments and calls one function."""

import io
import os
import sys
import time
import warnings

import typer

from readlet import __version__
from readlet.cli import ask, data, demo, evaluate, experiment, predict, slim, train
from readlet.errors import ReadletError, disk_fault

_GRACE = 10.0  # seconds; the launcher stops all processes as soon as one of them has failed

app = typer.Typer(
    name="readlet",
    help="Train, compare, calibrate and slim small reading-comprehension models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(name="demo")(demo.demo)
app.command(name="ask")(ask.ask)
app.command(name="evaluate")(evaluate.evaluate_command)
app.command(name="predict")(predict.predict)
app.command(name="train")(train.train)
app.command(name="slim")(slim.slim)
app.add_typer(data.app, name="data")
app.add_typer(experiment.app, name="experiment")


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
    warnings.showwarning = lambda message, *_, **__: print(f"readlet: {message}", file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape what the terminal cannot encode
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # while an error can still be reported
    except ReadletError as error:
        if debug:
            raise
        rank = os.environ.get("LOCAL_RANK", "0")
        who = "readlet" if rank == "0" else f"readlet, process {rank}"  # a single process may fail
        print(f"{who}: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("readlet: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # `readlet ... | head` is not an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:  # for example, standard output goes to a full disk
        if debug:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"readlet: {disk_fault(error)}", file=sys.stderr)
        sys.exit(2)
