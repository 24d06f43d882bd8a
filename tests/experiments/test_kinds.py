"""A kind defined only in this file: its traits take effect, and it shares a table with others."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from readlet.errors import ReadletError
from readlet.experiments.grid import expand, resolve_files
from readlet.experiments.runner import _programs
from readlet.experiments.spec import load_table
from readlet.models import kinds
from readlet.models.kinds import register_kind
from readlet.models.qacnn.recipe import QacnnRecipe
from readlet.recipe.recipe import Data, Model, Recipe, Training
from readlet.storage.sections import (
    AffectsCompilation,
    OnlyInTraining,
    PartOfNetwork,
    Section,
    SourceFile,
    SourceReader,
)
from readlet.training.warm_start import refuse_other_network

Write = Callable[..., str]


class EncoderModel(Model):
    kind: Literal["pooled"] = "pooled"
    """A pretrained encoder."""
    layers: int = 2
    """Layers of the encoder."""
    width: int = 64
    """Width; `qacnn` has a field of the same name."""
    weights: Annotated[str, SourceFile] = ""
    """File of the encoder's weights."""
    drop: Annotated[float, OnlyInTraining] = 0.1
    """Dropout."""
    mix: bool = True
    """Mix the layers."""


class Pooling(Section):
    experts: Annotated[tuple[str, ...], SourceReader] = ()
    """Readers whose scores are pooled."""
    places: Annotated[int, AffectsCompilation, PartOfNetwork] = 4
    """Size of a pool."""
    note: str = ""
    """A field without effect on the network."""


class EncoderTraining(Training):
    learning_rate: float = 3e-5
    """Peak learning rate."""
    batch_size: Annotated[int, AffectsCompilation] = 8
    """Questions per batch."""


class EncoderRecipe(Recipe):
    data: Data = Data()
    model: EncoderModel = EncoderModel()
    pooling: Pooling = Pooling()
    training: EncoderTraining = EncoderTraining()


@pytest.fixture(autouse=True)
def register_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_KINDS", dict(kinds._KINDS))
    register_kind("pooled", lambda: kinds.family_of("qacnn"), EncoderRecipe)


def encoder(**sections: dict[str, Any]) -> EncoderRecipe:
    return EncoderRecipe.model_validate(sections)


@pytest.fixture
def expert(random_reader: Callable[..., Any], tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "expert"
    random_reader("who wrote it").save(folder)
    return folder


def test_files_and_readers_are_looked_up(expert: Path, tmp_path: Path) -> None:
    (tmp_path / "data" / "weights.bin").write_text("weights")
    recipe = encoder(model={"weights": "weights.bin"}, pooling={"experts": ["expert"]})
    found = resolve_files(recipe, [tmp_path / "data"])
    assert found == encoder(
        model={"weights": str(tmp_path / "data" / "weights.bin")},
        pooling={"experts": [str(expert)]},
    )
    assert type(found) is EncoderRecipe


def test_compiled_programs_depend_on_the_model_and_on_marked_fields() -> None:
    default = _programs(encoder())
    for section, field, value in [
        *(("model", "layers", 3), ("model", "drop", 0.2), ("pooling", "places", 5)),
        *(("training", "batch_size", 9), ("training", "precision", "bfloat16")),
    ]:
        assert _programs(encoder(**{section: {field: value}})) != default
    for section, field, value in [
        *(("pooling", "note", "x"), ("training", "epochs", 9), ("data", "dev", "x")),
    ]:
        assert _programs(encoder(**{section: {field: value}})) == default
    assert _programs(QacnnRecipe()) != default


@pytest.mark.parametrize(
    ("start", "refused"),
    [
        ({"model": {"drop": 0.5}}, ""),
        ({"pooling": {"note": "x"}, "training": {"epochs": 9}}, ""),
        ({"model": {"layers": 3}}, "model.layers"),
        ({"pooling": {"places": 5}, "model": {"mix": False}}, "model.mix, pooling.places"),
    ],
)
def test_a_start_must_have_the_same_network(start: dict[str, Any], refused: str) -> None:
    recipe = encoder(training={"start": "old"})
    if not refused:
        refuse_other_network(encoder(**start), recipe)
        return
    with pytest.raises(ReadletError, match=f"old: training.start: .*{refused}"):
        refuse_other_network(encoder(**start), recipe)


WIDTHS = ('"width 12" = { model.width = 12 }', '"width 12" = { model.kind = "pooled" }')


def test_a_table_mixes_kinds(write_table: Write) -> None:
    grid = expand(load_table(write_table(WIDTHS)))
    made = grid.of_row("width 12")[1].recipe
    base = grid.of_row("baseline")[1].recipe
    assert (type(made), type(base)) == (EncoderRecipe, QacnnRecipe)
    # From the base and from [set]: the data and training sections.
    assert made.training.epochs == base.training.epochs == 2
    assert made.training.seed == base.training.seed == 1
    assert made.training.schedule == base.training.schedule == "cosine"
    assert made.data.train == base.data.train
    # The rest has the defaults of the kind, also for fields with the same name in the other kind.
    assert made.model == EncoderModel()
    assert base.model.width == 8
    assert len({run.key for run in grid.runs}) == len(grid.runs)
