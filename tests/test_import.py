import re
import subprocess
import sys
import tomllib
from pathlib import Path

HEAVY = "torch transformers matplotlib datasets pyarrow fastapi onnxruntime ctranslate2".split()


def test_import_stays_light() -> None:
    program = f"import sys, readlet; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_commands_that_need_no_tensors_load_none() -> None:
    program = (
        "import sys; from readlet.cli import main\n"
        "sys.argv = ['readlet', 'evaluate', 'baseline', 'bundled:test', '--json']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_requirement_is_used() -> None:
    """What nothing imports is not asked for: parts come with the code that uses them."""
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]

    def imported(*folders: str) -> set[str]:
        paths = [path for folder in folders for path in (root / folder).rglob("*.py")]
        text = "\n".join(path.read_text("utf-8") for path in paths)
        return set(re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE))

    def modules(requirements: list[str]) -> set[str]:
        names = {re.split(r"[<>=;\[ ]", requirement)[0] for requirement in requirements}
        return {{"scikit-learn": "sklearn"}.get(name, name) for name in names}

    assert modules(project["dependencies"]) <= imported("src")
    extras = project["optional-dependencies"]
    for extra in extras.keys() - {"dev"}:
        assert modules(extras[extra]) <= imported("src", "benchmarks", "examples"), extra
