"""Figures of the house: modules, lines, and what one `ask` and one `train` pass through.

    python benchmarks/house.py             # counts; the limits are those of docs/design.md
    python benchmarks/house.py --list      # and the modules by name
    python benchmarks/house.py --installs  # and megabytes and seconds of both installs
    python benchmarks/house.py --against OTHER/bin/python [--python LIGHT/bin/python]
                                           # and the processor time of a cold `ask`, as a ratio

A module is counted without `__init__.py`. "Imported" modules are loaded by a command, "entered"
ones run a function of theirs. The exit code is 1 if a limit is passed.
"""

import argparse
import ast
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "readlet"
LIMITS = {
    "modules": 190,
    "lines of source": 33_000,
    "lines of tests": 30_000,
    "ask: modules entered": 30,
    "ask: modules imported": 60,
    "train: modules entered": 55,
    "light install, MB": 260,
}
# What runs while a module is imported, such as the body of a class, is no function of a walk.
_PROBE = """
import importlib.util, inspect, json, os, runpy, sys, threading
package = os.path.dirname(importlib.util.find_spec("readlet").origin)
entered, report = {}, sys.argv.pop(1)  # in the order of entering
def look(frame, event, _):
    code = frame.f_code
    if event != "call" or code.co_filename in entered or not code.co_filename.startswith(package):
        return
    if code.co_flags & inspect.CO_OPTIMIZED and not is_importing(frame):
        entered[code.co_filename] = None
def is_importing(frame):
    while frame.f_code.co_name != "<module>":
        if (frame := frame.f_back) is None:  # of another thread
            return False
    return frame.f_globals["__name__"] != "__main__"
threading.setprofile(look)
sys.setprofile(look)
os._exit = sys.exit
try:
    runpy.run_module("readlet", run_name="__main__", alter_sys=True)
except SystemExit as stop:
    status = stop.code
sys.setprofile(None)
imported = [m.__file__ for m in list(sys.modules.values())
            if (getattr(m, "__file__", None) or "").startswith(package)]
def named(paths):
    return [os.path.relpath(name, package) for name in paths]
with open(report, "w") as file:
    walk = {"entered": named(entered), "imported": named(sorted(imported)), "status": status}
    json.dump(walk, file)
"""


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


def lines(paths: list[Path]) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def importers() -> dict[str, set[str]]:
    """For each module, those that import it."""
    known = {
        ".".join(("readlet", *p.relative_to(PACKAGE).with_suffix("").parts)) for p in modules()
    }
    found: dict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        here = ".".join(("readlet", *path.relative_to(PACKAGE).with_suffix("").parts))
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
            elif isinstance(node, ast.Import):
                names = [name.name for name in node.names]
            for name in known.intersection(names) - {here}:
                found[name].add(here)
    return found


def walk(*arguments: str) -> dict[str, list[str]]:
    """The modules that a command imports and, in this order, enters, by their paths."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, str(report), *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if not report.exists():
            raise SystemExit(done.stderr)
        found = json.loads(report.read_text("utf-8"))
    if found["status"]:
        raise SystemExit(f"readlet {' '.join(arguments)}:\n{done.stderr}")
    return {
        kind: [name for name in found[kind] if not name.endswith("__init__.py")]
        for kind in ("entered", "imported")
    }


def megabytes(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 1e6


def install(wheel: Path, extra: str) -> tuple[float, float]:
    """Megabytes and seconds of an install in a new environment, modules not compiled."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        before, start = megabytes(Path(folder)), time.perf_counter()
        wanted = f"{wheel}[{extra}]" if extra else str(wheel)
        pip = [f"{folder}/bin/python", "-m", "pip", "install", "--quiet", "--no-compile"]
        subprocess.run(
            [*pip, "-c", str(ROOT / "constraints.txt"), wanted],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        return megabytes(Path(folder)) - before, time.perf_counter() - start


def installs() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
        build += ["--no-build-isolation", "--wheel-dir", folder, str(ROOT)]
        subprocess.run(build, check=True)
        wheel = next(Path(folder).glob("*.whl"))
        found = {"wheel, MB": wheel.stat().st_size / 1e6}
        for name, extra in (("light", ""), ("train", "train")):
            found[f"{name} install, MB"], found[f"{name} install, seconds"] = install(wheel, extra)
    return found


def processor_time(python: str, passage: Path) -> float:
    """Seconds, of user and system, of a cold `ask` with one thread."""
    command = [python, "-m", "readlet", "ask", "When was the kettle patented?", str(passage)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run(command, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio(python: str, other: str, passage: Path) -> None:
    """Both in turn, once more than is counted: the first run writes what Python compiles."""
    times = [[processor_time(one, passage) for one in (python, other)] for _ in range(11)][1:]
    for how in (min, statistics.median):
        ours, theirs = map(how, zip(*times, strict=True))
        name = f"cold ask, {how.__name__}"
        print(f"{name:<28}{ours / theirs:>10.2f}   {ours:.3f} s instead of {theirs:.3f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="name the modules")
    parser.add_argument("--installs", action="store_true", help="measure both installs")
    parser.add_argument("--against", metavar="PYTHON", help="of another environment")
    parser.add_argument("--python", default=sys.executable, help="of the one compared with it")
    given = parser.parse_args()
    paths, users = modules(), importers()
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in paths}
    single = [name for name, by in users.items() if len(by) == 1]
    figures: dict[str, float] = {
        "modules": len(paths),
        "lines of source": lines(sorted(PACKAGE.rglob("*.py"))),
        "lines of tests": lines(sorted((ROOT / "tests").rglob("*.py"))),
        "modules with one importer": len(single),
        "modules under 60 lines": sum(size < 60 for size in sizes.values()),
        "modules over 400 lines": sum(size > 400 for size in sizes.values()),
    }
    with tempfile.TemporaryDirectory() as folder:
        passage = Path(folder) / "passage.txt"
        passage.write_text("The kettle was patented in 1891.")
        if given.against:
            ratio(given.python, given.against, passage)
        walks = {"ask": walk("ask", "When was the kettle patented?", str(passage))}
        small = [f"--set=training.{field}" for field in ("epochs=1", "evaluate_every=1")]
        walks["train"] = walk("train", "tiny", "--out", f"{folder}/run", *small)
    for command, found in walks.items():
        for kind, names in found.items():
            figures[f"{command}: modules {kind}"] = len(names)
    if given.installs:
        figures |= installs()
    wrong = False
    for name, value in figures.items():
        limit = LIMITS.get(name)
        passed = limit is not None and value > limit
        wrong |= passed
        note = "" if limit is None else f"   at most {limit:,}{': PASSED' if passed else ''}"
        print(f"{name:<28}{value:>10,.0f}{note}")
    if given.list:
        print("\nwith one importer:", *sorted(single), sep="\n  ")
        print(
            "\nunder 60 lines:",
            *(p.relative_to(PACKAGE) for p in paths if sizes[p] < 60),
            sep="\n  ",
        )
        print(
            "\nover 400 lines:",
            *(p.relative_to(PACKAGE) for p in paths if sizes[p] > 400),
            sep="\n  ",
        )
        for command, found in walks.items():
            for kind, names in found.items():
                print(f"\n{command}, {kind}:", *names, sep="\n  ")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
