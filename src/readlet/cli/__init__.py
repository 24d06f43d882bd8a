"""The `readlet` command. Each file here parses arguments and calls one function."""

import errno
import io
import os
import re
import sys
import time
import warnings
from importlib import import_module
from typing import Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup, TyperOption

from readlet import __version__
from readlet.console import INTERRUPTED, one_line, say, silence, was_interrupted
from readlet.errors import (
    MissingLibraryError,
    ReadletError,
    disk_fault,
    is_out_of_memory,
    memory_fault,
    missing_library,
)

_GRACE = 10.0  # seconds; the launcher stops all processes as soon as one of them has failed
_OF_TRAINING = ("torch", "transformers", "accelerate", "scipy")
# In the order of `readlet --help`. A module is imported when its command is used.
_MODULES = {
    "ask": "ask",
    "demo": "demo",
    "index": "index",
    "predict": "predict",
    "evaluate": "evaluate",
    "serve": "serve",
    "inspect": "inspect",
    "data": "data",
    "augment": "augment",
    "train": "train",
    "classify": "classify",
    "experiment": "experiment",
    "slim": "slim",
    "export": "export",
    "push": "push",
    "vectors": "vectors",
}


class _Ended(BaseException):
    """The outcome of a command, which typer would otherwise report in its own way."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


# Noise in typer's help: ranges, which errors report; defaults that only name an absence;
# and brackets inside brackets.
_NOISE = re.compile(
    r"(?<=default: )\(|\)(?=\]|;)|; [x<>=\d.]+(?=\])"
    r"|  \[(default: (no-[\w-]+|False)|[x<>=\d.]+)\]"
)
_TYPES = {"int": "N", "int range": "N", "float": "X", "str": "TEXT"}


class _Command(TyperCommand):
    """A command whose help is readable at 80 columns."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        given = [p for p in self.get_params(ctx) if not isinstance(p, TyperOption)]
        return [*(param.metavar or str(param.name).upper() for param in given), "[OPTIONS]"]

    def get_short_help_str(self, limit: int = 0) -> str:
        return super().get_short_help_str(200)  # a whole sentence, on as many lines as it needs

    def format_options(self, ctx: Any, formatter: Any) -> None:
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            if record := param.get_help_record(ctx):
                name, about = record[0], _NOISE.sub("", record[1])
                if isinstance(param, TyperOption):
                    rows["Options"].append((_option(name), about))
                else:
                    about = about.removesuffix("  [required]")
                    rows["Arguments"].append((param.metavar or str(param.name).upper(), about))
        for title, found in rows.items():
            if found:
                with formatter.section(title):
                    formatter.write_dl(found)


def _option(name: str) -> str:
    """`--limit <int range>` is `--limit N`, and `--list / --no-list` is `--list`."""
    switch, _, kind = name.partition(" / --no-")[0].partition(" <")
    kind = kind.removesuffix(">")
    shown = kind if "|" in kind else _TYPES.get(kind, kind.upper())  # choices are shown literally
    return f"{switch} {shown}".strip()


class _Commands(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = dict.fromkeys(_MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in _MODULES and self.commands[cmd_name] is None:
            module = import_module(f"{__name__}.{_MODULES[cmd_name]}")
            found = getattr(module, cmd_name, None) or module.app
            one = typer.Typer(rich_markup_mode=None)
            if isinstance(found, typer.Typer):
                for command in found.registered_commands:
                    command.cls = _Command
                one.add_typer(found, name=cmd_name)
            else:
                one.command(name=cmd_name, cls=_Command)(found)
            self.commands |= typer.main.get_group(one).commands
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, OSError) as error:
            raise _Ended(error) from error


app = typer.Typer(
    name="readlet",
    cls=_Commands,
    help="Ask your documents; train, evaluate and serve small reading-comprehension models.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal cannot encode is escaped
            stream.reconfigure(errors="backslashreplace")
    code = _run()
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        _end_now(code)
    sys.exit(code)


def _end_now(code: int) -> None:
    """Exit one of several processes: threads of the process group may abort a slower exit."""
    sys.stdout.flush()
    sys.stderr.flush()
    if code and os.environ.get("LOCAL_RANK", "0") != "0":
        time.sleep(_GRACE)  # the main process reports its own error first
    os._exit(code)


def _run() -> int:
    debug = "--debug" in sys.argv
    if debug:  # allowed anywhere, not only before the subcommand
        sys.argv = [word for word in sys.argv if word != "--debug"]
    warnings.showwarning = lambda message, *_, **__: say(f"readlet: {message}")
    try:
        try:
            code = typer.main.get_command(app)(prog_name="readlet", standalone_mode=False) or 0
        finally:
            sys.stdout.flush()  # while an error can still be reported
        if code != INTERRUPTED:
            return int(code)
        error: BaseException = KeyboardInterrupt()  # before the command was invoked
    except _Ended as ended:
        error = ended.error
    except (Exception, KeyboardInterrupt) as other:
        error = other
    return _reported(error, debug=debug)


def _reported(error: BaseException, *, debug: bool) -> int:
    """The exit code, after one line for errors that the user can fix; others are raised."""
    if isinstance(error, KeyboardInterrupt) or was_interrupted():
        how = str(error) if isinstance(error, KeyboardInterrupt) else ""
        say(f"readlet: {one_line(how) or 'interrupted'}")
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):  # `readlet ... | head` is not an error
        silence(sys.stdout)
        return 0
    fault = _fault(error)
    if debug or fault is None:
        raise error
    if isinstance(error, OSError):  # standard output may be on a full disk
        silence(sys.stdout)
    rank = os.environ.get("LOCAL_RANK", "0")
    who = "readlet" if rank == "0" else f"readlet, process {rank}"  # a single process may fail
    if fault:
        say(f"{who}: {one_line(fault)}")
    return 2


def _fault(error: BaseException) -> str | None:
    """The message for the user; None if it is a bug."""
    if is_out_of_memory(error):
        return f"{memory_fault(error)}; free some, or give less text at once"
    if isinstance(error, ModuleNotFoundError) and error.name in _OF_TRAINING:
        error = missing_library("train", error.name)
    if isinstance(error, MissingLibraryError):
        return str(error.of(sys.argv[1]))
    if isinstance(error, ReadletError):
        return str(error)
    if isinstance(error, typer.TyperException):  # without a message, after it has printed the help
        message, context = error.format_message(), getattr(error, "ctx", None)
        if message.startswith("Usage: "):  # the help, where a subcommand is missing
            say(message)
            return ""
        message = message.rstrip(".")
        return f"{message}; see {context.command_path} --help" if message and context else message
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC and error.filename is None:  # all files are named
            error.filename = "standard output"
        return disk_fault(error)
    if isinstance(error, ValueError) and "null byte" in str(error):
        return "a file name contains a NUL character; check the names"
    return None
