"""A new kind of model is one file: trained, resumed, saved, evaluated, compared, and a teacher."""

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from readlet.data import read_examples, write_examples
from readlet.errors import ReadletError
from readlet.inference.reader import Reader
from readlet.models import kinds
from readlet.models.family import Family
from readlet.models.kinds import register_kind, trainable_family
from readlet.models.recipe_files import load_recipe, parse_recipe
from readlet.training.distillation import ask_teachers, probabilities, scores_of
from readlet.training.train import train, train_reader
from readlet.training.training_data import RecentData, prepare
from readlet.types import Example

FAMILY = Path(__file__).with_name("small_family.py")


@pytest.fixture(scope="module", autouse=True)
def pieces() -> Any:
    """The module of the small family, imported once: the import registers it."""
    name = "small_family"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, FAMILY)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="module")
def recipe_file(short_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    def write(**training: Any) -> str:
        lines = {"epochs": 30, "batch_size": 16, "learning_rate": 0.01, "warmup_steps": 10}
        lines |= {"ema": 0.9, "evaluate_every": 15, "log_every": 5, "checkpoint_every": 20}
        path = tmp_path_factory.mktemp("recipe") / "pieces.toml"
        path.write_text(
            'name = "pieces"\n[model]\nkind = "pieces"\n[data]\n'
            f'train = ["{short_corpus}"]\n'
            f'dev = "{short_corpus}"\ncalibration = "{short_corpus}"\n'
            "max_context = 60\noverlap = 20\nmax_question = 24\n[training]\n"
            + "".join(f"{key} = {json.dumps(v)}\n" for key, v in (lines | training).items())
        )
        return str(path)

    return write


@pytest.fixture(scope="module")
def trained(
    recipe_file: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Reader]:
    folder = tmp_path_factory.mktemp("trained") / "pieces"
    return folder, train_reader(load_recipe(recipe_file()), folder, resume=False)


def test_it_is_one_small_file() -> None:
    assert len(FAMILY.read_text().splitlines()) < 150


def test_it_learns_and_is_calibrated(trained: tuple[Path, Reader]) -> None:
    _, reader = trained
    assert reader.metrics["dev"]["f1"] > 45  # of questions that it has mostly seen
    assert reader.scorer.can_abstain
    assert reader.calibration.questions > 100
    assert reader.calibration.no_answer_slope != 1.0


def test_saved_and_loaded_it_gives_the_same_to_the_bit(
    trained: tuple[Path, Reader], short_corpus: Path
) -> None:
    folder, reader = trained
    pairs = [(e.question, e.context) for e in read_examples(short_corpus)][:40]
    loaded = Reader.load(folder)
    predictions = list(loaded.answer_batch(pairs))
    assert predictions == list(reader.answer_batch(pairs))
    for prediction, (_, context) in zip(predictions, pairs, strict=True):
        assert context[prediction.start : prediction.end] == prediction.text
        assert len(prediction.n_best) == 5
    config = json.loads((folder / "config.json").read_text())
    assert (config["architecture"], config["files"]) == ("pieces", ["model.safetensors"])
    card = (folder / "README.md").read_text()
    assert "kind `pieces`" in card
    assert "model.buckets" in card
    assert "words.vectors" not in card


def test_stopped_and_resumed_it_has_the_same_weights(
    trained: tuple[Path, Reader],
    recipe_file: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To the bit."""
    from readlet.engine.loop import TrainingLoop

    _, reader = trained
    advance, steps = TrainingLoop.advance, []

    def stopping(loop: TrainingLoop) -> Any:
        if len(steps) == 33:
            raise KeyboardInterrupt
        steps.append(1)
        return advance(loop)

    monkeypatch.setattr(TrainingLoop, "advance", stopping)
    recipe = load_recipe(recipe_file())
    with pytest.raises(KeyboardInterrupt):
        train_reader(recipe, tmp_path / "run", resume=False)
    monkeypatch.undo()
    resumed = train_reader(recipe, tmp_path / "run", resume=True)
    for name, weight in reader.scorer.module.state_dict().items():
        assert torch.equal(weight, resumed.scorer.module.state_dict()[name]), name


def test_every_command_accepts_it(
    trained: tuple[Path, Reader], readlet: Callable[..., Any], short_corpus: Path, tmp_path: Path
) -> None:
    folder, reader = trained
    done = readlet("evaluate", folder, short_corpus, "--json")
    assert done.code == 0, done.err
    assert done.json()["f1"] == pytest.approx(reader.metrics["dev"]["f1"])
    (tmp_path / "text.txt").write_text("The kettle was patented in 1891.")
    asked = readlet("ask", "When?", tmp_path / "text.txt", "--reader", folder, "--json")
    assert asked.code == 0, asked.err
    slim = readlet("slim", folder, "--out", tmp_path / "slim")
    assert slim.code == 2
    assert "this reader of kind 'pieces' cannot be slimmed; give one of" in slim.err


def test_it_is_compared_with_another_kind_in_a_table(
    readlet: Callable[..., Any], recipe_file: Callable[..., str], tmp_path: Path
) -> None:
    quick = "model.kind = 'qacnn', model.width = 8, model.heads = 1, model.head_width = 8"
    small = "model.feed_forward = 8, model.character_filters = 4, words.width = 8"
    few = "model.blocks = 1, model.convolutions = 1, model.embedding_convolutions = 1"
    table = tmp_path / "kinds.toml"
    table.write_text(
        'name = "kinds"\ntitle = "Two kinds"\nseeds = 1\n'
        f'recipe = "{recipe_file(epochs=2, evaluate_every=1)}"\n'
        f'[axes.kind]\n"pieces" = {{}}\n"words" = {{ {quick}, {small}, {few} }}\n'
    )
    runs, report = tmp_path / "runs", tmp_path / "report"
    done = readlet("experiment", "run", table, "--out", runs)
    assert done.code == 0, done.err
    done = readlet("experiment", "report", table, "--out", runs, "--to", report, "--format", "json")
    assert done.code == 0, done.err
    (path,) = report.glob("*.json")
    rows = {row["name"]: row for row in json.loads(path.read_text())["rows"]}
    assert rows.keys() == {"pieces", "words"}
    assert all(row["cells"]["f1"]["mean"] > 0 for row in rows.values())
    assert rows["pieces"]["parameters"] != rows["words"]["parameters"]


def test_it_learns_from_another_kind(
    recipe_file: Callable[..., str], small_training: list[str], short_corpus: Path, tmp_path: Path
) -> None:
    """With the teacher's probabilities as the only target, a student learns its predictions."""
    changes = [*small_training, "training.epochs=2", "training.batch_size=16"]
    teacher = train_reader(load_recipe("tiny", changes), tmp_path / "words", resume=False)
    plain, taught = (
        train_reader(load_recipe(recipe_file(epochs=3, **more)), tmp_path / name, resume=False)
        for name, more in (
            ("plain", {}),
            ("taught", {"teacher": str(tmp_path / "words"), "teacher_share": 0.99}),
        )
    )
    examples = [e for e in read_examples(short_corpus) if e.answers][:60]
    of_teacher, of_taught, of_plain = (
        _probabilities_of_gold(reader, examples) for reader in (teacher, taught, plain)
    )
    assert np.abs(of_taught - of_teacher).mean() < np.abs(of_plain - of_teacher).mean()


def _probabilities_of_gold(reader: Reader, examples: list[Example]) -> Any:
    """A reader's probability that each answer begins at the start of the gold answer."""
    found = []
    for number, scores in scores_of(reader, dict(enumerate(examples))):
        gold = examples[number].answers[0]
        places = np.array([[0, gold.start], [gold.start, gold.end], [gold.end, 10**6]], np.int32)
        targets = probabilities(scores, places)
        assert targets is not None
        found.append(float(targets.start[1]))
    return np.array(found)


def test_it_teaches_another_kind(
    trained: tuple[Path, Reader], small_training: list[str], short_corpus: Path, tmp_path: Path
) -> None:
    folder, teacher = trained
    recipe = load_recipe("tiny", [*small_training, "training.epochs=1", "training.batch_size=32"])
    data = prepare(recipe)
    taught = ask_teachers([teacher], data.train.examples, data.train.rows, 0.5)
    assert float(taught.length.sum()) == sum(
        len(data.train.rows.places(row))
        for row in np.flatnonzero(data.train.rows.row_label[:, 0] >= 0)
    )
    for row in np.flatnonzero(data.train.rows.row_label[:, 0] >= 0):
        first, length = int(taught.first[row]), int(taught.length[row])
        start, end = taught.start[first : first + length], taught.end[first : first + length]
        assert float(start.sum()) == pytest.approx(1, abs=0.01)
        assert float(end.sum()) == pytest.approx(1, abs=0.01)
    learned = [
        train_reader(
            load_recipe("tiny", [*small_training, "training.epochs=1", *more]),
            tmp_path / str(number),
            resume=False,
        )
        for number, more in enumerate(([], [f"training.teacher={folder}"]))
    ]
    one, two = (reader.scorer.module.state_dict() for reader in learned)
    assert any(not torch.equal(weight, two[name]) for name, weight in one.items())


def test_runs_share_data_only_if_their_encoder_is_the_same(
    recipe_file: Callable[..., str], tmp_path: Path
) -> None:
    recent = RecentData()
    for buckets in (64, 512):
        recipe = load_recipe(recipe_file(epochs=1), [f"model.buckets={buckets}"])
        trained = train(recipe, tmp_path / str(buckets), resume=False, recent=recent)
        assert trained.model.scorer.encoder.buckets == buckets


@pytest.mark.parametrize("first_refuses", [False, True])
def test_a_start_may_learn_to_refuse_and_does_not_forget_it(
    recipe_file: Callable[..., str], short_corpus: Path, tmp_path: Path, first_refuses: bool
) -> None:
    """Its parameters for that may be new; all others are those of the start."""
    answerable = tmp_path / "answerable.json"
    write_examples(answerable, [e for e in read_examples(short_corpus) if e.answers])
    files = [str(answerable), str(short_corpus)]
    first, second = files[::-1] if first_refuses else files

    def made(name: str, data: str, *changes: str) -> Reader:
        chosen = [f'data.train=["{data}"]', *changes]
        recipe = load_recipe(recipe_file(epochs=1), chosen)
        return train_reader(recipe, tmp_path / name, resume=False)

    start = made("first", first)
    assert start.scorer.can_abstain == first_refuses
    changes = ["training.learning_rate=1e-9", "training.start_share=0.5", "training.ema=0"]
    after = made("second", second, f"training.start={tmp_path / 'first'}", *changes)
    assert after.scorer.can_abstain
    known = start.scorer.module.state_dict()
    for name, weight in after.scorer.module.state_dict().items():
        if name in known:
            torch.testing.assert_close(weight, known[name], atol=1e-6, rtol=0)


def test_a_family_for_answers_only(trained: tuple[Path, Reader], tmp_path: Path) -> None:
    """An exported reader names another family in its config.json, and keeps its recipe."""
    folder = shutil.copytree(trained[0], tmp_path / "exported")
    config = json.loads((folder / "config.json").read_text())

    class Exported(Family):
        def load(self, folder: Path, config: dict[str, Any]) -> Any:
            return trainable_family("pieces").load(folder, config)

    if "exported" not in kinds._KINDS:
        register_kind("exported", Exported)
    (folder / "config.json").write_text(json.dumps(config | {"architecture": "exported"}))
    pair = ("Who?", "Ada lit the lamp.")
    assert Reader.load(folder).answer(*pair) == trained[1].answer(*pair)
    with pytest.raises(ReadletError, match="'exported': cannot be trained"):
        trainable_family("exported")
    (folder / "config.json").write_text(json.dumps(config | {"architecture": "gone"}))
    with pytest.raises(ReadletError, match=r"config\.json: unknown kind of model 'gone'"):
        Reader.load(folder)
    config["settings"].pop("null_answer")
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ReadletError, match=r"config\.json: is damaged"):
        Reader.load(folder)


def test_fields_of_another_kind_are_rejected() -> None:
    for values in ({"words": {"width": 9}}, {"model": {"heads": 2}}, {"attention": {}}):
        values = {"model": {"kind": "pieces"} | values.pop("model", {})} | values
        with pytest.raises(ReadletError, match="no such"):
            parse_recipe(values, "mine.toml")
