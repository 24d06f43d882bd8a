"""No command destroys what it did not make: a walk over all commands and their outputs."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from readlet.cli import app
from readlet.data import write_examples
from readlet.engine.loop import TrainingLoop
from readlet.inference.classifier import Classifier
from readlet.inference.reader import Reader
from readlet.inference.trained_model import TrainedModel
from readlet.types import Example, Sentence, Span

Run = Callable[..., Any]
Build = Callable[..., Reader]

# Options and arguments that name no output. A new one belongs here, or into OUTPUTS below.
READ_ONLY = {
    "readlet": {"version", "debug"},
    "demo": set[str](),
    "ask": {
        *(
            "question",
            "passages",
            "interactive",
            "reader",
            "n_best",
            "read",
            "as_json",
            "threshold",
        ),
        *("always_answer", "language", "question_language", "device", "encoding"),
        "unanswerable_share",
    },
    "inspect": {"reader", "question", "passage", "overwrite", "as_json", "encoding", "device"},
    "evaluate": {
        *("targets", "predictions", "always_answer", "na_probs", "threshold", "against"),
        *("rules", "allow_missing", "as_json", "column", "encoding", "device", "overwrite"),
        *("unanswerable_share", "language", "question_language"),
    },
    "predict": {
        *("reader", "data", "n_best", "threshold", "always_answer", "column", "encoding"),
        *("device", "batch_size", "overwrite", "unanswerable_share", "language"),
        "question_language",
    },
    "augment": {
        *("files", "to", "source", "back", "fields", "preset", "keep", "share", "seed", "merge"),
        *("engine", "overwrite", "as_json", "column", "encoding"),
    },
    "classify": {
        *("classifier", "texts", "as_json", "column", "encoding", "device", "batch_size"),
        "overwrite",
    },
    "train": {"recipe", "changes", "column", "encoding", "resume", "fields", "kind"},
    "serve": {
        *("models", "host", "port", "api_key_file", "device", "max_body_mb", "max_passage"),
        *("max_question", "max_text", "max_questions", "max_queue", "max_seconds"),
        "batch_window_ms",
    },
    "slim": {"reader", "max_mb", "words", "int8", "dev", "notice", "device"},
    "export": {"reader", "onnx", "int8", "dev"},
    "data": set[str](),
    "data check": {"files", "as_json", "list_all", "column", "encoding", "overwrite"},
    "data show": {"file", "n", "identity", "column", "encoding"},
    "data convert": {"files", "as_json", "column", "encoding", "overwrite"},
    "data split": {"file", "parts", "seed", "as_json", "column", "encoding"},
    "data unanswerable": {
        *("files", "share", "seed", "as_json", "list_all", "column", "encoding"),
        "overwrite",
    },
    "experiment": set[str](),
    "experiment list": set[str](),
    "experiment run": {
        *("table", "data", "only", "seeds", "changes", "small", "dry_run", "keep_readers"),
    },
    "experiment report": {
        *("table", "out", "data", "only", "seeds", "changes", "small", "formats", "examples"),
    },
    "experiment search": {"table", "data", "changes", "small", "trials"},
    "translators": set[str](),
    "translators list": set[str](),
    "vectors": set[str](),
    "vectors align": {
        *("source", "target", "dictionary", "method", "max_words", "device", "overwrite"),
        "as_json",
    },
    "vectors check": {
        *("source", "target", "dictionary", "original", "max_words", "device", "as_json"),
    },
    "vectors merge": {"parts", "max_words", "overwrite", "as_json"},
    "vectors encode": {"encoder", "words", "width", "max_words", "device", "overwrite"},
}
# Caches are continued, not replaced: tests/cli/test_augment.py has their tests.
CONTINUED = {("augment", "cache")}


@dataclass(frozen=True)
class Output:
    """How an output is given. Words in capitals are names of the `World`; OUT is the output."""

    line: str
    inputs: tuple[str, ...]  # what the command reads: the output must be none of them
    is_folder: bool = False
    holds_others: bool = False  # a folder in which other files may lie
    runs_once: bool = False  # what is finished is not replaced
    suffix: str = ""


OUTPUTS = {
    ("inspect", "save"): Output(
        "inspect READER Who? NOTES --overwrite --save OUT",
        ("NOTES", "READER/config.json", "READER/README.md"),
        suffix=".svg",
    ),
    ("evaluate", "save"): Output(
        "evaluate READER DATA --against OTHER --na-probs PROBS --overwrite --save-predictions OUT",
        ("DATA", "OTHER", "PROBS", "READER/config.json", "READER/README.md"),
    ),
    ("evaluate", "plot"): Output(
        "evaluate READER DATA --against OTHER --na-probs PROBS --overwrite --plot OUT",
        ("DATA", "OTHER", "PROBS", "READER/config.json", "READER/README.md"),
        suffix=".svg",
    ),
    ("predict", "out"): Output(
        "predict READER DATA --overwrite --out OUT",
        ("DATA", "READER/config.json", "READER/metrics.json"),
        suffix=".jsonl",
    ),
    ("predict", "na_probs"): Output(
        "predict READER DATA --overwrite --out NEW --na-probs OUT",
        ("DATA", "READER/config.json", "READER/metrics.json"),
        suffix=".json",
    ),
    ("augment", "out"): Output(
        "augment DATA MORE --to es --cache CACHE --overwrite --out OUT",
        ("DATA", "MORE"),
        suffix=".jsonl",
    ),
    ("augment", "lost"): Output(
        "augment DATA MORE --to es --back --fields question --cache CACHE --out NEW --overwrite "
        "--lost OUT",
        ("DATA", "MORE"),
        suffix=".jsonl",
    ),
    ("augment", "report"): Output(
        "augment DATA --to es --cache CACHE --out NEW --overwrite --report OUT",
        (),
        is_folder=True,
        holds_others=True,
    ),
    ("classify", "out"): Output(
        "classify CLASSIFIER TEXTS --overwrite --out OUT",
        ("TEXTS", "CLASSIFIER/config.json", "CLASSIFIER/metrics.json"),
        suffix=".jsonl",
    ),
    ("train", "out"): Output(
        "train tiny --out OUT SMALL --set training.epochs=1 --set training.teacher=READER",
        ("READER",),
        is_folder=True,
        runs_once=True,
    ),
    ("export", "out"): Output(
        "export READER --onnx --out OUT --dev DATA",
        ("READER",),
        is_folder=True,
        runs_once=True,
    ),
    ("slim", "out"): Output(
        "slim READER --out OUT --words 2 --dev DATA --notice NOTES",
        ("READER",),
        is_folder=True,
        runs_once=True,
    ),
    ("data check", "fix"): Output(
        "data check DATA --overwrite --fix OUT", ("DATA",), suffix=".jsonl"
    ),
    ("data convert", "out"): Output(
        "data convert DATA MORE --overwrite --out OUT", ("DATA", "MORE"), suffix=".jsonl"
    ),
    ("data split", "out"): Output(
        "data split bundled:dev --out OUT", (), is_folder=True, holds_others=True, runs_once=True
    ),
    ("data unanswerable", "out"): Output(
        "data unanswerable DATA MORE --overwrite --out OUT",
        ("DATA", "MORE"),
        suffix=".jsonl",
    ),
    ("experiment run", "out"): Output(
        "experiment run TABLE --out OUT --set training.teacher=READER", ("READER",), is_folder=True
    ),
    ("experiment search", "out"): Output(
        "experiment search TABLE --out OUT --set training.teacher=READER",
        ("READER",),
        is_folder=True,
    ),
    ("experiment report", "to"): Output(
        "experiment report TABLE --out RUNS --format md,html,tex,json --to OUT",
        (),
        is_folder=True,
        holds_others=True,
    ),
    ("vectors align", "out"): Output(
        "vectors align VECTORS ENGLISH --dictionary PAIRS --overwrite --out OUT",
        ("VECTORS", "ENGLISH", "PAIRS"),
        suffix=".vec",
    ),
    ("vectors encode", "out"): Output(
        "vectors encode ENCODER --words VECTORS --width 2 --overwrite --out OUT",
        ("VECTORS",),
        suffix=".vec",
    ),
    ("vectors merge", "out"): Output(
        "vectors merge es=VECTORS en=ENGLISH --overwrite --out OUT",
        ("VECTORS", "ENGLISH"),
        suffix=".vec",
    ),
}
FILES = [key for key, output in OUTPUTS.items() if not output.is_folder]
FOLDERS = [key for key, output in OUTPUTS.items() if output.is_folder and not output.holds_others]


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    yield " ".join(words) or "readlet", command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*words, name))


def test_every_option_is_known_here() -> None:
    """A new option that writes cannot be forgotten: this fails until it is listed above."""
    found = dict(commands(typer.main.get_command(app)))
    given = {(n, p.name) for n, command in found.items() for p in command.params}
    known = {(name, param) for name, params in READ_ONLY.items() for param in params}
    completion = {("readlet", "install_completion"), ("readlet", "show_completion")}
    assert given - completion == known | OUTPUTS.keys() | CONTINUED
    assert found.keys() == READ_ONLY.keys()


class World:
    """Inputs of all kinds in one folder."""

    def __init__(self, folder: Path, small: list[str]) -> None:
        self.folder = folder
        self.names = {
            "DATA": folder / "data.jsonl",
            "MORE": folder / "more.jsonl",
            "OTHER": folder / "other.json",
            "PROBS": folder / "probs.json",
            "NOTES": folder / "notes.md",
            "TABLE": folder / "table.toml",
            "READER": folder / "reader",
            "CLASSIFIER": folder / "classifier",
            "TEXTS": folder / "texts.tsv",
            "NEW": folder / "new.csv",
            "CACHE": folder / "translations.sqlite",
            "RUNS": folder / "runs",
            "VECTORS": folder / "es.vec",
            "ENGLISH": folder / "en.vec",
            "PAIRS": folder / "pairs.tsv",
            "ENCODER": folder / "encoder",
        }
        self.small = [word for change in small for word in ("--set", change)]

    def write(self, random_reader: Build, classifier: Classifier, table: str) -> None:
        lamp = "The lamp at Cape Wick was lit by Ada Brook in 1881."
        oil = "Fishermen paid for the oil of the lamp at Cape Wick."
        texts = {"1": ("Who lit it?", lamp), "2": ("Who paid?", oil)}
        examples = [
            Example(key, q, c, is_impossible=True, title="Cape Wick")
            for key, (q, c) in texts.items()
        ]
        examples.append(Example("3", "Who?", lamp, (Span(33, "Ada Brook"),), title="Cape Wick"))
        write_examples(self["DATA"], examples)
        write_examples(self["MORE"], examples[:1])
        self["OTHER"].write_text('{"1": "", "2": "", "3": ""}')
        self["PROBS"].write_text('{"1": 0.5, "2": 0.5, "3": 0.5}')
        self["NOTES"].write_text("By Ada Brook.")
        self["TABLE"].write_text(table)
        random_reader(lamp).save(self["READER"])
        classifier.save(self["CLASSIFIER"])
        self["TEXTS"].write_text(f"text\tlabel\n{lamp}\told\n{oil}\tnew\n")
        self["VECTORS"].write_text("faro 1 2\nmar 3 1\n")
        self["ENGLISH"].write_text("lamp 1 2\nsea 1 3\n")
        self["PAIRS"].write_text("faro lamp\nmar sea\n")

    def __getitem__(self, name: str) -> Path:
        first, _, rest = name.partition("/")
        return self.names[first] / rest

    def words(self, output: Output, out: Path) -> list[str]:
        filled: list[str] = []
        for word in output.line.split():
            if word == "SMALL":
                filled += self.small
                continue
            before, equals, name = word.rpartition("=")
            path = out if name == "OUT" else self.names.get(name, name)
            filled.append(f"{before}{equals}{path}")
        return filled

    def state(self) -> dict[str, bytes | str]:
        """Every file with its bytes, every link with its target, every folder."""
        found: dict[str, bytes | str] = {}
        for path in sorted(self.folder.rglob("*")):
            if path.is_symlink():
                found[str(path)] = os.readlink(path)
            else:
                found[str(path)] = path.read_bytes() if path.is_file() else "a folder"
        return found


@pytest.fixture(scope="module")
def inputs(
    tmp_path_factory: pytest.TempPathFactory,
    random_reader: Build,
    trained_classifier: Callable[..., tuple[Path, Classifier]],
    few_questions: Path,
    small_table: str,
    tiny_encoder: Callable[..., Path],
) -> Path:
    """The folder that every world begins with."""
    table = small_table.replace("seeds = 2", "seeds = 1").replace("epochs = 2", "epochs = 1")
    table = table.replace('"no match" = { model.match_features = false }', "")
    ranges = '"training.learning_rate" = { low = 1e-3, high = 1e-2, log = true }'
    table += f"[search]\ntrials = 1\n[search.ranges]\n{ranges}\n"
    files = f'data.train = ["{few_questions}"]\ndata.dev = "{few_questions}"\ndata.max_context'
    table = table.replace("data.max_context", files)
    _, classifier = trained_classifier()
    folder = tmp_path_factory.mktemp("inputs")
    World(folder, []).write(random_reader, classifier, table)
    shutil.copytree(tiny_encoder("bert"), folder / "encoder")
    return folder


@pytest.fixture
def world(tmp_path: Path, inputs: Path, small_training: list[str], few_questions: Path) -> World:
    shutil.copytree(inputs, tmp_path / "world")
    files = [f'data.train=["{few_questions}"]', f"data.dev={few_questions}"]
    return World(tmp_path / "world", [*small_training, *files])


@pytest.fixture
def refused(
    readlet: Run, world: World, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Output, Path], str]:
    """Check that a command refuses its output in one line, changes nothing and does no work."""

    def worked(self: object, *_: Any, **__: Any) -> None:
        raise AssertionError("data were read, or a reader loaded, before the output was checked")

    def check(output: Output, out: Path) -> str:
        words, before = world.words(output, out), world.state()
        with monkeypatch.context() as trap:
            trap.setattr(Example, "__init__", worked)
            trap.setattr(Sentence, "__init__", worked)
            trap.setattr(TrainedModel, "__post_init__", worked)
            trap.setattr(TrainingLoop, "run", worked)
            done = readlet(*words)
        assert (done.code, done.out) == (2, ""), done.err
        (line,) = done.err.splitlines()
        assert world.state() == before
        return line

    return check


Refused = Callable[[Output, Path], str]


@pytest.mark.parametrize("link", ["itself", "by a missing folder", "symbolic link", "hard link"])
@pytest.mark.parametrize("key", FILES, ids=" ".join)
def test_no_file_is_written_over_an_input(
    world: World, refused: Refused, key: tuple[str, str], link: str
) -> None:
    output = OUTPUTS[key]
    assert output.inputs
    for number, name in enumerate(output.inputs):
        out = world.folder / f"{number}{output.suffix}"
        if link == "itself":
            out = world[name]
        elif link == "by a missing folder":
            out = world.folder / "missing" / ".." / world[name].relative_to(world.folder)
        elif link == "symbolic link":
            out.symlink_to(world[name])
        elif link == "hard link":
            out.hardlink_to(world[name])
        assert f"{out}: is also an input; give another file" in refused(output, out)


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("key", FOLDERS, ids=" ".join)
def test_no_folder_is_written_over_an_input(
    world: World, refused: Refused, key: tuple[str, str], link: bool
) -> None:
    output = OUTPUTS[key]
    assert output.inputs
    for number, name in enumerate(output.inputs):
        out = world[name]
        if link:
            out = world.folder / f"link-{number}"
            out.symlink_to(world[name])
        line = refused(output, out)
        assert line.startswith(f"readlet: {out}: ")
        assert "give another" in line


USERS = {
    "a page": {"README.md": "# My notes"},
    "notes": {"notes.json": '{"mine": 1}'},
    "data": {"data.json": '{"data": []}'},
    "a recipe for soup": {"recipe.json": '{"name": "soup", "data": "leek"}'},
    "a model of another program": {
        "config.json": '{"architectures": ["BertModel"], "model_type": "bert"}',
        "model.safetensors": "weights",
    },
    "checkpoints of another program": {"checkpoint-500/trainer_state.json": "{}"},
    "a hidden file": {".env": "SECRET=1"},
}


@pytest.mark.parametrize("files", USERS.values(), ids=USERS)
@pytest.mark.parametrize("key", FOLDERS, ids=" ".join)
def test_a_folder_with_files_of_the_user_is_refused(
    world: World, refused: Refused, key: tuple[str, str], files: dict[str, str]
) -> None:
    out = world.folder / "out"
    for name, text in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)
    line = refused(OUTPUTS[key], out)
    first = sorted(files)[0].partition("/")[0]
    assert line.startswith(f"readlet: {out}: holds {first}, which Readlet did not make; give an")
    assert line.endswith(", or move it away")


@pytest.mark.parametrize("key", FILES, ids=" ".join)
def test_an_existing_file_is_replaced_only_on_request(
    world: World, refused: Refused, key: tuple[str, str]
) -> None:
    output = OUTPUTS[key]
    out = world.folder / f"notes{output.suffix}"
    out.write_text("mine")
    careful = replace(output, line=output.line.replace("--overwrite ", ""))
    line = refused(careful, out)
    assert line == f"readlet: {out}: exists; add --overwrite to replace it, or give another"


@pytest.mark.parametrize("key", [k for k in FILES if " DATA" in OUTPUTS[k].line], ids=" ".join)
def test_a_folder_of_the_hub_is_an_input(
    world: World, refused: Refused, key: tuple[str, str]
) -> None:
    """hub:NAME may be a folder on this machine."""
    output = OUTPUTS[key]
    out = world.folder / "hub" / "deep" / f"data{output.suffix}"
    out.parent.mkdir(parents=True)
    out.write_text("mine")
    inside = replace(output, line=output.line.replace("DATA", f"hub:{world.folder / 'hub'}@train"))
    assert refused(inside, out).startswith(f"readlet: {out}: is also an input; ")


@pytest.mark.parametrize("name", ["quick.md", "quick.json", "quick-curves.svg"])
def test_only_reports_are_replaced_by_reports(world: World, refused: Refused, name: str) -> None:
    out = world.folder / "docs"
    out.mkdir()
    (out / name).write_text("my own page about the same table")
    line = refused(OUTPUTS["experiment report", "to"], out)
    assert f"{out / name}: was not made by this command; give another folder, or move it" in line


@pytest.mark.parametrize("key", OUTPUTS, ids=" ".join)
def test_places_that_cannot_be_written(
    world: World, refused: Refused, key: tuple[str, str]
) -> None:
    output = OUTPUTS[key]
    loop = world.folder / f"loop{output.suffix}"
    loop.symlink_to(loop)
    long = world.folder / ("x" * 300 + output.suffix)
    for out in (world["DATA"] / f"below{output.suffix}", loop, long):
        line = refused(output, out)
        assert "cannot be written (" in line
        assert "give another" in line


@pytest.mark.parametrize("key", OUTPUTS, ids=" ".join)
def test_a_read_only_place(
    world: World, refused: Refused, key: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write everywhere, so the answer of the system is replaced."""
    output, closed = OUTPUTS[key], world.folder / "closed"
    closed.mkdir()
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != closed and access(path, mode))
    line = refused(output, closed / f"new{output.suffix}")
    assert "read-only" in line or "Permission denied" in line


# The slower folders once: what a link leads to is found by one function for all commands.
SLOW = [("train", "out"), ("export", "out"), ("experiment run", "out")]
LINKS = [(key, exists) for key in OUTPUTS for exists in (True, False) if exists or key not in SLOW]


@pytest.mark.parametrize(
    ("key", "exists"),
    LINKS,
    ids=[f"{' '.join(key)}-to {'something' if exists else 'nothing'}" for key, exists in LINKS],
)
def test_a_link_is_followed_not_replaced(
    world: World,
    readlet: Run,
    key: tuple[str, str],
    exists: bool,
    request: pytest.FixtureRequest,
) -> None:
    if key[0] == "augment":
        request.getfixturevalue("apertium")  # or the test is skipped
    if key == ("experiment search", "out"):
        pytest.importorskip("optuna", reason="Optuna is not installed")
    output = OUTPUTS[key]
    far, link = world.folder / "far" / f"real{output.suffix}", world.folder / f"l{output.suffix}"
    far.parent.mkdir()
    if exists:
        far.mkdir() if output.is_folder else far.write_text("old")
    link.symlink_to(far)
    if key == ("experiment report", "to"):
        assert readlet("experiment", "run", world["TABLE"], "--out", world["RUNS"]).code == 0
    words = world.words(output, link)
    done = readlet(*words)
    assert done.code in (0, 1), done.err  # 1: examples were dropped
    assert link.is_symlink()
    assert any(far.iterdir()) if output.is_folder else far.read_text() not in ("", "old")
    assert [path.name for path in far.parent.iterdir()] == [far.name]
    if output.runs_once:
        assert " already" in readlet(*words).err
    else:  # its own files are replaced
        assert readlet(*words).code in (0, 1)
