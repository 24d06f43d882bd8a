"""Fixtures: tiny readers, encoders and classifiers, trained once or not at all; recipes."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _same_start() -> None:
    # `torch.manual_seed` would keep a traceback for each kind of device that is not in use.
    torch.default_generator.manual_seed(7)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(7)
    torch.set_num_threads(1)  # a script under test may have chosen more


@pytest.fixture(scope="session")
def random_reader() -> Callable[..., Any]:
    """Builds tiny untrained readers with the vocabulary of the given texts."""
    from readlet.inference.calibration import Calibration
    from readlet.inference.reader import Reader
    from readlet.models.qacnn.recipe import QacnnRecipe
    from readlet.models.qacnn.scorer import QacnnFamily
    from readlet.text.word_features import WordEncoder, build_vocabulary, frozen_table
    from readlet.text.words import words

    def build(*texts: str, null: bool = False, seed: int = 0, **data: Any) -> Reader:
        recipe = QacnnRecipe.model_validate(
            {
                "name": "tiny-random",
                "data": {"max_context": 24, "overlap": 8, "max_question": 12, **data},
                "model": {
                    "width": 8,
                    "character_width": 4,
                    "character_filters": 4,
                    "blocks": 1,
                    "convolutions": 1,
                    "embedding_convolutions": 1,
                    "heads": 2,
                    "head_width": 4,
                    "feed_forward": 8,
                },
            }
        )
        counts = Counter(("", word) for text in texts for word in words(text))
        torch.manual_seed(seed)
        listed = sorted(word for _, word in counts)[::2]  # every second word has a vector
        vectors = torch.randn(len(listed), 6).numpy()  # (words, 6)
        known = build_vocabulary(
            counts, listed, trainable_words=99, min_count=1, min_character_count=1, max_characters=8
        )
        encoder = WordEncoder(known, frozen_table(known, vectors, 6), recipe.data.windows)
        scorer = QacnnFamily().build(recipe, encoder, can_abstain=null)
        scorer.module.eval()
        with torch.no_grad():  # otherwise the scores of an untrained model are nearly equal
            scorer.module.start.weight *= 4
            scorer.module.end.weight *= 4
        return Reader(scorer, recipe.model_dump(mode="json"), Calibration())

    return build


@pytest.fixture(scope="session")
def random_encoder_reader(tiny_encoder: Callable[..., Path]) -> Callable[..., Any]:
    """Builds untrained readers on the tiny encoder."""
    from readlet.inference.calibration import Calibration
    from readlet.inference.reader import Reader
    from readlet.models.encoder.recipe import EncoderRecipe
    from readlet.models.encoder.scorer import EncoderFamily

    def build(mix: str = "dot", *, seed: int = 0) -> Reader:
        recipe = EncoderRecipe.model_validate(
            {
                "name": "tiny-encoder",
                "data": {"max_context": 40, "overlap": 8, "max_question": 60},
                "model": {"encoder": str(tiny_encoder()), "mix": mix},
            }
        )
        torch.manual_seed(seed)
        family = EncoderFamily()
        scorer = family.build(recipe, family.fit_encoder(recipe, []), can_abstain=True)
        scorer.module.eval()
        return Reader(scorer, recipe.model_dump(mode="json"), Calibration())

    return build


@pytest.fixture
def bundle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """Replace the bundled reader by this one, or remove it."""

    def put(reader: Any = None) -> Path:
        folder = tmp_path / "inside the package"
        if reader is not None:
            reader.save(folder)
        monkeypatch.setattr("readlet.bundled._READER", folder)
        return folder

    return put


@pytest.fixture(scope="session")
def small_training(short_corpus: Path) -> list[str]:
    """Changes to the recipe `tiny`: a very small model, with all kinds of dropout enabled."""
    return [
        f'data.train=["{short_corpus}"]',
        f"data.dev={short_corpus}",
        *("data.max_context=80", "data.overlap=20", "data.max_question=24", "words.width=16"),
        *("model.width=16", "model.character_width=4", "model.character_filters=8"),
        *("model.blocks=1", "model.heads=2", "model.head_width=8", "model.feed_forward=16"),
        *("model.embedding_convolutions=1", "model.convolutions=1"),
        *("model.dropout=0.1", "model.character_dropout=0.05", "model.last_survival=0.8"),
    ]


@pytest.fixture(scope="session")
def small_table() -> str:
    """A table file for a network that trains in seconds: three rows, two seeds."""
    return """
name = "quick"
title = "Two widths"
recipe = "tiny"
seeds = 2

[set]
data.max_context = 100
data.overlap = 20
model.width = 8
model.heads = 1
model.head_width = 8
model.feed_forward = 8
model.character_width = 4
model.character_filters = 4
model.null_answer = false
words.width = 8
training.epochs = 2
training.batch_size = 64
training.warmup_steps = 2
training.log_every = 1
training.checkpoint_every = 2

[axes.width]
"width 8" = {}
"width 12" = { model.width = 12 }

[axes.match]
"match" = {}
"no match" = { model.match_features = false }

[paper."width 12"]
f1 = 12.5
"""


@pytest.fixture(scope="session")
def encoder_texts() -> list[str]:
    """Texts on which tokenizers are trained."""
    from readlet.bundled import corpus
    from readlet.data import read_examples

    return [example.context for example in read_examples(corpus("train"))][:60]


@pytest.fixture(scope="session")
def tiny_encoder(
    encoder_folders: Any, encoder_texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """The folder of a tiny encoder of a kind with its tokenizer; each is written once."""
    folders: dict[str, Path] = {}

    def make(kind: str = "bert") -> Path:
        if kind not in folders:
            folder = tmp_path_factory.mktemp("encoder") / kind
            folders[kind] = encoder_folders.write_encoder(kind, folder, encoder_texts)
        return folders[kind]

    return make


@pytest.fixture(scope="session")
def long_encoder(
    encoder_folders: Any, encoder_texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of a tiny encoder with positions for the windows of the shipped recipes."""
    folder = tmp_path_factory.mktemp("encoder") / "long"
    made: Path = encoder_folders.write_encoder(
        "bert", folder, encoder_texts, max_position_embeddings=512
    )
    return made


@pytest.fixture(scope="session")
def encoder_recipe(tiny_encoder: Callable[..., Path], few_questions: Path) -> Callable[..., Any]:
    """A recipe that trains a tiny encoder on a handful of questions, in two seconds."""
    from readlet.models.recipe_files import load_recipe

    def make(kind: str = "bert", *changes: str) -> Any:
        chosen = [
            f"model.encoder={tiny_encoder(kind)}",
            *(f"data.{part}={few_questions}" for part in ("train", "dev", "calibration")),
            *("data.max_context=60", "data.overlap=20", "data.max_question=50"),
            *("training.epochs=2", "training.batch_size=8", "training.learning_rate=0.01"),
            *("training.warmup_steps=2", "training.log_every=2", "training.checkpoint_every=3"),
            *("training.evaluate_every=2",),
        ]
        return load_recipe("encoder", [*chosen, *changes])

    return make


@pytest.fixture(scope="session")
def encoder_reader(
    encoder_recipe: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[Path, Any]]:
    """The run folder and the reader of such a recipe; each is trained once."""
    from readlet.training.train import train_reader

    made: dict[tuple[str, ...], tuple[Path, Any]] = {}

    def make(kind: str = "bert", *changes: str) -> tuple[Path, Any]:
        if (kind, *changes) not in made:
            folder = tmp_path_factory.mktemp("run") / kind
            reader = train_reader(encoder_recipe(kind, *changes), folder, resume=False)
            made[kind, *changes] = (folder, reader)
        return made[kind, *changes]

    return make


@pytest.fixture(scope="session")
def classifier_recipe(
    tiny_encoder: Callable[..., Path], labelled_files: Callable[..., Path]
) -> Callable[..., Any]:
    """A recipe that trains a tiny classifier on forty texts, in two seconds."""
    from readlet.models.recipe_files import load_recipe

    def make(what: str = "single", *changes: str, kind: str = "bert") -> Any:
        path = labelled_files(what)
        chosen = [
            f"model.encoder={tiny_encoder(kind)}",
            *(f"data.{part}={path}" for part in ("train", "dev", "calibration")),
            *("data.max_length=48", "data.metrics=[]", "training.epochs=8"),
            *("training.batch_size=8", "training.learning_rate=0.005", "training.log_every=2"),
            *("training.warmup_steps=2", "training.checkpoint_every=3"),
            "training.evaluate_every=4",
            *(("data.labels=numbers",) if what == "numbers" else ()),
        ]
        return load_recipe("sst2", [*chosen, *changes])

    return make


@pytest.fixture(scope="session")
def trained_classifier(
    classifier_recipe: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[Path, Any]]:
    """The run folder and the classifier of such a recipe; each is trained once."""
    from readlet.training.train import train_reader

    made: dict[tuple[str, ...], tuple[Path, Any]] = {}

    def make(what: str = "single", *changes: str) -> tuple[Path, Any]:
        if (what, *changes) not in made:
            folder = tmp_path_factory.mktemp("run") / what
            recipe = classifier_recipe(what, *changes)
            made[what, *changes] = (folder, train_reader(recipe, folder, resume=False))
        return made[what, *changes]

    return make


@pytest.fixture(scope="session")
def random_classifier(
    tiny_encoder: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of a tiny classifier with every pooler and random weights."""
    from readlet.data.datasets import read_labelled
    from readlet.inference.calibration import ClassCalibration
    from readlet.inference.classifier import Classifier
    from readlet.models.classifier.recipe import ClassifierRecipe
    from readlet.models.classifier.scorer import ClassifierFamily
    from readlet.nn.pooling import POOLERS

    recipe = ClassifierRecipe.model_validate(
        {
            "name": "tiny-classifier",
            "data": {"train": ["bundled:reviews-train"], "max_length": 48},
            "model": {"encoder": str(tiny_encoder()), "pooler": POOLERS, "mix": "weighted"},
        }
    )
    torch.manual_seed(3)
    family = ClassifierFamily()
    encoder = family.fit_encoder(recipe, read_labelled("bundled:reviews-train"))
    folder = tmp_path_factory.mktemp("classifier")
    Classifier(
        family.build(recipe, encoder), recipe.model_dump(mode="json"), ClassCalibration()
    ).save(folder)
    return folder
