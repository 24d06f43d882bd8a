"""From a recipe to a reader's folder."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from readlet.data import read_examples, write_examples
from readlet.engine.loop import TrainingLoop
from readlet.errors import FailedTrainingError, ReadletError
from readlet.inference.calibration import Calibration
from readlet.inference.fit_calibration import MIN_QUESTIONS
from readlet.inference.reader import Reader
from readlet.inference.saving import own_files
from readlet.models.qacnn.recipe import QacnnRecipe
from readlet.models.recipe_files import load_recipe, recipe_of
from readlet.storage.files import locked_folder
from readlet.training.train import train_reader
from readlet.training.training_data import Questions
from readlet.training.warm_start import load_start
from readlet.types import Example

FILES = [
    *("README.md", "calibration.json", "config.json", "data.json", "log.jsonl", "metrics.json"),
    *("model.safetensors", "notes.json", "recipe.json", "vocabulary.json"),
]
QUESTIONS = 48
SHARE = 0.2


@pytest.fixture(scope="session")
def learned(
    short_corpus: Path, small_training: list[str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Reader, list[Example]]:
    """A reader that was trained until it had memorised its questions."""
    folder = tmp_path_factory.mktemp("learned")
    examples = list(read_examples(short_corpus))[:QUESTIONS]
    held_out = Questions().held_out(examples, SHARE, 0)
    seen = [example for example in examples if example.context not in held_out]
    write_examples(folder / "train.json", examples)
    write_examples(folder / "seen.json", seen)
    changes = [
        *small_training,
        f'data.train=["{folder / "train.json"}"]',
        f"data.dev={folder / 'seen.json'}",
        f"data.held_out={SHARE}",
        *("model.width=32", "model.character_filters=16", "model.character_width=8"),
        *("model.heads=4", "model.feed_forward=32", "words.width=32"),
        *("model.dropout=0", "model.character_dropout=0", "model.last_survival=1"),
        *("words.min_count=1", "words.min_character_count=1"),
        *("training.epochs=50", "training.evaluate_every=25", "training.learning_rate=0.01"),
        *("training.batch_size=64", "training.ema=0.9"),
    ]
    recipe = load_recipe("tiny", changes)
    return folder / "run", train_reader(recipe, folder / "run", resume=False), seen


def test_memorises_its_questions(learned: tuple[Path, Reader, list[Example]]) -> None:
    folder, _, seen = learned
    assert len(seen) > 30
    assert {e.is_impossible for e in seen} == {True, False}
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    scores = [line for line in lines if "exact" in line]
    assert (scores[-1]["exact"], scores[-1]["f1"]) == (100.0, 100.0)
    assert scores[-1]["total"] == len(seen)
    losses = [line["loss"] for line in lines if "loss" in line]
    assert losses[-1] < 0.05 < 3 < losses[0]


def test_folder_is_complete(learned: tuple[Path, Reader, list[Example]]) -> None:
    folder, reader, _ = learned
    names = sorted(path.name for path in folder.iterdir())
    assert [name for name in names if not name.startswith("checkpoint-")] == FILES
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics == reader.metrics
    assert metrics["dev_source"].endswith("seen.json")
    assert metrics["rollbacks"] == 0
    assert (
        metrics["steps"] == json.loads((folder / "log.jsonl").read_text().splitlines()[-1])["step"]
    )
    assert QacnnRecipe.model_validate_json((folder / "recipe.json").read_text()) == recipe_of(
        reader.recipe
    )


def test_loaded_reader_answers_as_the_trained_one(
    learned: tuple[Path, Reader, list[Example]],
) -> None:
    folder, reader, seen = learned
    loaded = Reader.load(folder)
    state, other = reader.scorer.module.state_dict(), loaded.scorer.module.state_dict()
    assert set(state) == set(other)
    assert all(torch.equal(tensor, other[name]) for name, tensor in state.items())
    assert (loaded.recipe, loaded.metrics) == (reader.recipe, reader.metrics)
    assert loaded.scorer.can_abstain
    assert loaded.languages == reader.languages
    assert set(reader.languages) == {e.language for e in seen}
    pairs = [(example.question, example.context) for example in seen[:8]]
    predictions = list(loaded.answer_batch(pairs))
    assert predictions == list(reader.answer_batch(pairs))
    for prediction, (_, context) in zip(predictions, pairs, strict=True):
        assert context[prediction.start : prediction.end] == prediction.text


def test_a_handful_of_held_out_questions_fits_nothing(
    learned: tuple[Path, Reader, list[Example]],
) -> None:
    folder, reader, seen = learned
    assert 5 < QUESTIONS - len(seen) < MIN_QUESTIONS
    assert reader.calibration == Calibration()  # too few of them to fit anything
    assert "Not fitted" in (folder / "README.md").read_text()


@pytest.mark.parametrize(
    "changes",
    [["training.seed=1"], ["model.width=16", "data.max_answer=7"], ["words.min_count=3"]],
)
def test_changed_recipe_is_named(
    learned: tuple[Path, Reader, list[Example]], changes: list[str]
) -> None:
    folder, reader, _ = learned
    values = recipe_of(reader.recipe).model_dump()
    for change in changes:
        path, _, value = change.partition("=")
        section, _, field = path.partition(".")
        values[section][field] = int(value)
    with pytest.raises(ReadletError) as caught:
        train_reader(QacnnRecipe.model_validate(values), folder, resume=True)
    line = str(caught.value)
    assert line.startswith(f"{folder}: the run was started with another ")
    for change in changes:
        assert change.partition("=")[0] in line
    assert "training.epochs" not in line
    assert line.endswith("; resume with the same recipe and --set")


def test_finished_run_resumed_gives_the_same_reader(
    learned: tuple[Path, Reader, list[Example]],
) -> None:
    folder, reader, _ = learned
    names = ("model.safetensors", "calibration.json", "metrics.json", "log.jsonl", "config.json")
    before = {name: (folder / name).read_bytes() for name in names}
    train_reader(recipe_of(reader.recipe), folder, resume=True)
    assert {name: (folder / name).read_bytes() for name in names} == before


def test_changed_data_is_noticed(
    learned: tuple[Path, Reader, list[Example]], tmp_path: Path
) -> None:
    folder, reader, seen = learned
    other = tmp_path / "run"
    shutil.copytree(folder, other)
    for name in own_files(other):  # it is not finished
        (other / name).unlink(missing_ok=True)
    train = Path(recipe_of(reader.recipe).data.train[0])
    before = train.read_bytes()
    write_examples(train, seen[:-1])
    try:
        with pytest.raises(
            ReadletError, match="the training data, the encoder, the word vectors or the code"
        ):
            train_reader(recipe_of(reader.recipe), other, resume=True)
    finally:
        train.write_bytes(before)


@pytest.mark.parametrize("resume", [True, False])
def test_two_processes_do_not_train_in_one_folder(
    learned: tuple[Path, Reader, list[Example]], tmp_path: Path, resume: bool
) -> None:
    folder, reader, _ = learned
    other = tmp_path / "run"
    other.mkdir()
    shutil.copy(folder / "recipe.json", other)
    with locked_folder(other), pytest.raises(ReadletError) as caught:
        train_reader(recipe_of(reader.recipe), other, resume=resume)
    assert str(caught.value) == (
        f"{other}: another process is training here; wait for it, or give another --out"
    )


@pytest.mark.parametrize(
    ("error", "place"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"), "GPU"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "machine"),
        (MemoryError("Unable to allocate 7.28 TiB for an array"), "machine"),
    ],
)
def test_full_memory_is_reported_in_one_line(
    small_training: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    place: str,
) -> None:
    def full(self: object) -> None:
        raise error

    monkeypatch.setattr(TrainingLoop, "run", full)
    with pytest.raises(FailedTrainingError) as caught:
        train_reader(load_recipe("tiny", small_training), tmp_path / "run", resume=False)
    assert str(caught.value) == f"the {place}'s memory is full; lower training.batch_size"


def test_training_starts_from_another_reader(
    learned: tuple[Path, Reader, list[Example]], tmp_path: Path
) -> None:
    folder, reader, _ = learned
    questions = folder.parent / "seen.json"
    before = json.loads((folder / "recipe.json").read_text())
    values = before | {
        "data": before["data"] | {"train": [str(questions)], "calibration": str(questions)},
        "training": before["training"]
        | {"start": str(folder), "epochs": 1, "learning_rate": 1e-9, "ema": 0.0},
    }
    again = train_reader(QacnnRecipe.model_validate(values), tmp_path / "more", resume=False)
    # A step that changes almost nothing: it has what the first reader learned.
    assert again.scorer.encoder.vocabulary == reader.scorer.encoder.vocabulary
    assert again.metrics["dev"]["exact"] == 100.0
    for name, weight in reader.scorer.module.state_dict().items():
        torch.testing.assert_close(
            again.scorer.module.state_dict()[name], weight, rtol=0, atol=1e-5
        )


def test_a_share_of_the_start_is_kept(
    learned: tuple[Path, Reader, list[Example]], tmp_path: Path
) -> None:
    folder, reader, _ = learned
    values = json.loads((folder / "recipe.json").read_text())
    values["training"] |= {"start": str(folder), "epochs": 1}

    def weights(share: float) -> dict[str, torch.Tensor]:
        values["training"]["start_share"] = share
        run = tmp_path / str(share)
        made = train_reader(QacnnRecipe.model_validate(values), run, resume=False)
        return dict(made.scorer.module.named_parameters())

    moved, mixed = weights(0.0), weights(0.25)
    before = dict(reader.scorer.module.named_parameters())
    assert any(not torch.equal(moved[name], before[name]) for name in before)
    for name, weight in mixed.items():
        torch.testing.assert_close(weight, 0.75 * moved[name] + 0.25 * before[name])


def test_words_and_licence_come_from_the_start(
    learned: tuple[Path, Reader, list[Example]], tmp_path: Path
) -> None:
    _, reader, _ = learned
    replace(reader, notice="Under a licence.").save(tmp_path / "licensed")
    values = recipe_of(reader.recipe).model_dump()
    values["training"] |= {"start": str(tmp_path / "licensed"), "epochs": 1}
    values["words"]["width"] += 1  # without effect: the words are those of the start
    more = train_reader(QacnnRecipe.model_validate(values), tmp_path / "more", resume=False)
    notice = Reader.load(tmp_path / "more").notice
    assert notice.startswith(f"Fine-tuned from {tmp_path / 'licensed'}.")
    assert notice.endswith("\n\nUnder a licence.")
    assert recipe_of(more.recipe).words == recipe_of(reader.recipe).words


def test_a_start_with_another_network_is_rejected(
    learned: tuple[Path, Reader, list[Example]], tmp_path: Path
) -> None:
    folder, _, _ = learned
    values = json.loads((folder / "recipe.json").read_text())
    values["training"]["start"] = str(folder)
    values["model"]["width"] = 64
    with pytest.raises(ReadletError, match=r"training\.start: .* another model\.width"):
        train_reader(QacnnRecipe.model_validate(values), tmp_path / "more", resume=False)
    assert not (tmp_path / "more").exists()


def test_what_a_recipe_leaves_open_is_the_network_of_its_start(
    learned: tuple[Path, Reader, list[Example]],
) -> None:
    folder, reader, _ = learned
    start, recipe = load_start(load_recipe("finetune-qacnn", [f"training.start={folder}"]))
    assert start is not None
    before = recipe_of(reader.recipe).model
    assert (recipe.model.width, recipe.model.blocks) == (before.width, before.blocks) == (32, 1)
    assert (
        recipe.model.dropout != recipe_of(reader.recipe).model.dropout
    )  # of training, not of the network
    assert recipe.training.learning_rate != recipe_of(reader.recipe).training.learning_rate


def test_impossible_questions_that_are_not_trained_on_are_counted(
    small_training: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = load_recipe("tiny", [*small_training, "training.epochs=1", "model.null_answer=false"])
    train_reader(recipe, tmp_path / "run", resume=False)
    notes = json.loads((tmp_path / "run" / "notes.json").read_text())
    left_out = notes["question without an answer: left out, as model.null_answer is false"]
    known = {e.id: e for source in recipe.data.train for e in read_examples(source)}
    assert left_out
    assert not any(known[identity].answers for identity in left_out)
    assert f"{len(left_out)} × question without an answer" in capsys.readouterr().err
