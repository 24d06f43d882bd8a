"""Every block of the README and of the guides runs, in order, as a user would run it."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from readlet import __version__ as readlet_version
from readlet import read_examples, write_examples

# The same commands on fewer questions and seeds: the test must be fast.
SMALLER = {
    "convert bundled:train --out mine.csv": "convert some.jsonl --out mine.csv",
    "convert bundled:test --out questions.csv": "convert some.jsonl --out questions.csv",
    "train tiny": "train tiny --set data.share=0.1",
    "train sst2": "train sst2 --set data.share=0.1",
    "train finetune": "train finetune --set training.epochs=1 --set data.share=0.1 "
    "--set training.batch_size=4 --set data.max_context=80 --set data.overlap=16",
    "convert bundled:kinds-dev": "convert some.jsonl",
    "bundled bundled:test": "bundled few.jsonl",
    "evaluate bundled:test": "evaluate few.jsonl",
}
ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
# What each page leaves behind.
PAGES: dict[str, list[str]] = {
    "README.md": ["predictions.json", "runs/mine/config.json"],
    "docs/index.md": [],
    "docs/asking.md": ["answers.csv", "answers.json"],
    "docs/classifiers.md": ["runs/reviews/config.json", "labelled.csv"],
    "docs/data.md": ["repaired.jsonl", "parts/train.csv"],
    "docs/labelling.md": ["tasks.doccano.jsonl", "export.json", "next.labelstudio.json"],
    "docs/training.md": ["runs/tiny/config.json"],
    "docs/tutorial.md": ["runs/garden/config.json", "answers.csv"],
    "docs/your-data.md": ["clean.csv", "runs/mine/config.json", "predictions.csv"],
}


def in_bash(script: str) -> str:
    """The standard output of a script of the page."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stderr}"
    return done.stdout


def words_of(line: str) -> list[str]:
    """The words that the shell passes to `readlet`."""
    return in_bash(f'readlet() {{ printf "%s\\0" "$@"; }}\n{line}').split("\0")[:-1]


def run_shell(script: str, readlet: Callable[..., Any]) -> None:
    """Single commands run in this process, which saves seconds; all else runs as it is."""
    if "<<" in script or " &\n" in script:
        in_bash(script)
        return
    for line in script.replace("\\\n", "").splitlines():
        if line.startswith("readlet ") and "|" not in line:
            done = readlet(*words_of(line))
            assert done.code == 0, f"{line}\n{done.err}"
        else:
            in_bash(line)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs(
    tmp_path: Path, readlet: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    blocks = re.findall(
        r"^```(bash|python)\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert blocks
    monkeypatch.chdir(tmp_path)
    write_examples(Path("few.jsonl"), list(read_examples("bundled:test"))[:12])
    write_examples(Path("some.jsonl"), list(read_examples("bundled:dev"))[::3])
    for language, text in blocks:
        if language == "python":
            exec(text, {})
            continue
        for given, smaller in SMALLER.items():
            text = text.replace(given, smaller)
        run_shell(text, readlet)
    assert [name for name in PAGES[page] if not Path(name).exists()] == []


# What the bundled reader should answer where a page asks it; "": it should abstain.
ANSWERS = {
    "README.md": {
        "When was the kettle patented?": "1891",
        "How much did the kettle cost?": "",
        "Who built the old kiln?": "Ada Brook",
    },
    "docs/index.md": {"When was the kettle patented?": "1891"},
    "docs/asking.md": {
        "When was the kettle patented?": "1891",
        "Who built the old kiln?": "Ada Brook",
    },
    "docs/tutorial.md": {
        "What did the repair of the pump cost?": "310 pounds",
        "When may hosepipes be used?": "before 9 in the morning",  # and after 7 in the evening
        "How much is a key to the gate?": "6 pounds",
        "Who is the treasurer?": "",
    },
}
_ASKS = re.compile(r'^(?:.* \| )?readlet ask "([^"]+)".*', re.MULTILINE)


@pytest.mark.parametrize("page", ANSWERS)
def test_the_examples_are_answered_rightly(
    tmp_path: Path, readlet: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """Each `readlet ask` of the page, after the lines before it that write its documents."""
    text = (ROOT / page).read_text("utf-8")
    scripts = re.findall(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    found: dict[str, str] = {}
    for script in (one for one in scripts if re.search(r"readlet ask|<<|^echo", one, re.MULTILINE)):
        writing = re.sub(r"^(.*\| )?readlet .*\n", "", script, flags=re.MULTILINE)
        if "&\n" not in writing:
            in_bash(writing)
        for line in _ASKS.finditer(script):
            if line[0].startswith("echo"):
                found[line[1]] = json.loads(in_bash(f"{line[0]} --json"))["text"] or ""
                continue
            words = [word for word in words_of(line[0]) if word != "--json"]
            if "--reader" not in words:
                found[line[1]] = json.loads(readlet(*words, "--json").out)["text"] or ""
    assert found == ANSWERS[page]


_CALLS = re.compile(r"\breadlet ((?:data |experiment |vectors )?[a-z]+)((?: [^\n`|#;]*)?)")


def test_options_in_the_docs_exist(readlet: Callable[..., Any]) -> None:
    """Also in commands that no test runs, since they take hours or need other files."""
    wrong, helps = [], dict[str, str]()
    for page in (README, *ROOT.glob("docs/**/*.md")):
        text = page.read_text("utf-8").replace("\\\n", " ")
        for command, rest in _CALLS.findall(text):
            if options := set(re.findall(r"(?<!\S)--[a-z][a-z-]+", rest)):
                if command not in helps:
                    helps[command] = readlet(*command.split(), "--help").out
                known = set(re.findall(r"--[a-z][a-z-]+", helps[command]))
                wrong += [(page.name, command, option) for option in sorted(options - known)]
    assert len(helps) > 10
    assert wrong == []


def test_the_two_commands_come_first() -> None:
    lines = README.read_text("utf-8").splitlines()
    commands = [line.split()[1] for line in lines if line.startswith("    make ")]
    assert commands == ["demo", "test"]


def test_the_source_archive_has_what_the_commands_need() -> None:
    """And nothing of the integrations, which are packages of their own."""
    sdist = pytest.importorskip("hatchling.builders.sdist")
    files = sdist.SdistBuilder(str(ROOT)).recurse_included_files()
    found = {file.distribution_path for file in files}
    needed = {"Makefile", "constraints.txt", "README.md", "CONTRIBUTING.md", "docs/design.md"}
    assert needed | {".ci/smoke", "hatch_build.py"} <= found
    assert not any(path.startswith("integrations") for path in found)


def test_links_of_the_readme_lead_somewhere_on_the_package_index() -> None:
    metadata = pytest.importorskip("hatchling.metadata.core")
    plugins = pytest.importorskip("hatchling.plugin.manager").PluginManager()
    readme = metadata.ProjectMetadata(str(ROOT), plugins).core.readme
    links = re.findall(r"\]\(([^)]+)\)", readme)
    assert len(links) == README.read_text("utf-8").count("](")
    assert [link for link in links if not link.startswith("https://")] == []


def test_links_and_pictures_exist() -> None:
    """Those with a relative path, in every page."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    links = [
        (page.name, link)
        for page in pages
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
        if not link.startswith("http") and not (page.parent / link).exists()
    ]
    assert len(pages) > 5
    assert links == []


def test_every_page_is_on_the_site() -> None:
    """If not: name it in a toctree. `make docs` builds the site."""
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs).with_suffix("")): page for page in docs.rglob("*.md")}
    entries = [
        str(Path(name).parent / line[line.find("<") + 1 :].rstrip(">"))
        for name, page in pages.items()
        for block in re.findall(
            r"^```\{toctree\}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
        )
        for line in block.splitlines()
        if line and not line.startswith(":")
    ]
    listed = {page for page in pages for entry in entries if fnmatch(page, entry)}
    hidden = {"index", *(page for page in pages if page.endswith("-notes"))}
    assert set(pages) - listed - hidden == set()


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited is not None
    assert project["version"] == readlet_version == cited[1]
    for path in ROOT.glob("integrations/*/pyproject.toml"):  # published with the same tag
        assert tomllib.loads(path.read_text("utf-8"))["project"]["version"] == readlet_version
    assert f"\n## {readlet_version} " in (ROOT / "CHANGELOG.md").read_text("utf-8")
