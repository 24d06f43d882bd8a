"""Shared fixtures: random seeds, data in memory and in files, and ways to run `readlet`."""

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from readlet.formats.fields import located
from readlet.types import Example, Span

# Shared machines may be slow: no deadline, since tests of speed measure it themselves, and fewer
# examples than the usual hundred, since there are some seventy property tests.
settings.register_profile("patient", deadline=None, max_examples=40)
settings.load_profile("patient")

# Some virtual machines advertise AMX but kill a process that uses it, as bfloat16 matrix products
# do. oneDNN reads this limit at its first product, after all conftests are loaded.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# Tests run in parallel processes: more threads would only slow them down.
os.environ.setdefault("OMP_NUM_THREADS", "1")
torch.set_num_threads(1)

# Output is wrapped for this width, whatever terminal the tests are started from.
os.environ["COLUMNS"] = "80"

# Without a GPU, Triton kernels are interpreted; Triton reads this when it is imported.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Tests compare results bitwise, which is only reliable on the CPU.
os.environ.setdefault("ACCELERATE_USE_CPU", "true")


@pytest.fixture(autouse=True)
def _same_start() -> None:
    torch.manual_seed(7)
    torch.set_num_threads(1)  # a script under test may have chosen more


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of public datasets next to the repository; most machines do not have it."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the public datasets are not next to this repository")
    return folder


@dataclass(frozen=True)
class Outcome:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def readlet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Run `readlet WORDS...` in this process, through the entry point of the command."""
    from readlet.cli import main

    def run(*words: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["readlet", *map(str, words)])
        capsys.readouterr()  # discard earlier output
        with pytest.raises(SystemExit) as ending:
            main()
        printed = capsys.readouterr()
        return Outcome(int(ending.value.code or 0), printed.out, printed.err)

    return run


@pytest.fixture(scope="session")
def readlet_process() -> Callable[..., Outcome]:
    """Run `readlet WORDS...` in its own process: slower, but exactly what a user gets."""

    def run(*words: object, **options: Any) -> Outcome:
        command = [sys.executable, "-m", "readlet", *map(str, words)]
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", check=False, **options
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def sound() -> list[Example]:
    """A few valid examples: with titles, languages, several golds, and no answer."""
    lamp = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil."
    puente = "El puente viejo une las dos orillas del río. Se abrió en 1904."
    return [
        Example(
            "lamp-1",
            "Who lit the lamp?",
            lamp,
            (Span(33, "Ada Brook"), Span(33, "Ada Brook in 1881")),
            title="Cape Wick",
            language="en",
        ),
        Example(
            "lamp-2",
            "Who sold the oil?",
            lamp,
            is_impossible=True,
            plausible_answers=(Span(52, "Fishermen"),),
            title="Cape Wick",
            language="en",
        ),
        Example("puente-1", "¿Cuándo se abrió?", puente, (Span(57, "1904"),), language="es"),
    ]


@st.composite
def _texts(draw: DrawFn) -> str:
    """Text that is hard to parse: quotes, unusual line ends, invisible characters."""
    invisible = ["\x00", "\x1f", "\x85", "\u2028", "\ufeff", "\ufffd", "\r", "\n", "\t", " "]
    visible = ['"', "\\", '"data": [', "NaN", ",", "e\u0301", "👩🏽\u200d🚀", "🇫🇷", "水", "don't"]
    odd = st.sampled_from([*invisible, *visible])
    return "".join(draw(st.lists(odd | st.text(max_size=4), max_size=6)))


@st.composite
def _spans(draw: DrawFn, context: str) -> Span:
    """A span of the context; or a shifted, foreign or empty one."""
    start = draw(st.integers(0, len(context)))
    end = draw(st.integers(start, len(context)))
    kind = draw(st.sampled_from(["right", "right", "right", "shifted", "foreign"]))
    if kind == "right":
        return Span(start, context[start:end])
    text = context[start:end] if kind == "shifted" else draw(_texts())
    # An answer without offset is placed if it occurs once.
    return located(draw(st.integers(-9, 40)), text, context)


@st.composite
def _example_lists(draw: DrawFn) -> list[Example]:
    contexts = draw(st.lists(_texts(), min_size=1, max_size=3))
    titles = draw(st.lists(st.just("") | _texts(), min_size=1, max_size=2))
    examples: list[Example] = []
    for _ in range(draw(st.integers(0, 6))):
        if examples and draw(st.integers(0, 5)) == 0:
            examples.append(draw(st.sampled_from(examples)))  # an exact copy
            continue
        context = draw(st.sampled_from(contexts))
        is_labelled = draw(st.integers(0, 5)) > 0
        examples.append(
            Example(
                id=draw(st.sampled_from(["", "a", "a-2", "b"]) | _texts()),
                question=draw(_texts()),
                context=context,
                answers=tuple(draw(st.lists(_spans(context), max_size=3 * is_labelled))),
                is_impossible=is_labelled and draw(st.booleans()),
                plausible_answers=tuple(draw(st.lists(_spans(context), max_size=2))),
                title=draw(st.sampled_from(titles)),
                language=draw(st.sampled_from(["", "en", "pt-BR"])),
                question_language=draw(st.sampled_from(["", "", "es"])),
                is_labelled=is_labelled,
            )
        )
    return examples


@pytest.fixture(scope="session")
def example_lists() -> SearchStrategy[list[Example]]:
    """Arbitrary lists of examples, valid or not: repeated ids and contexts, misplaced answers."""
    return _example_lists()


@pytest.fixture(scope="session")
def squad_text() -> Callable[..., str]:
    """The text of a SQuAD file with one article of one paragraph."""

    def text(context: str, questions: Sequence[dict[str, Any]], **top: Any) -> str:
        paragraph = {"context": context, "qas": list(questions)}
        return json.dumps({"data": [{"title": "", "paragraphs": [paragraph]}], **top})

    return text


@pytest.fixture(scope="session")
def random_reader() -> Callable[..., Any]:
    """Builds tiny untrained readers with the vocabulary of the given texts."""
    from readlet.encoding.vocabulary import build_vocabulary, frozen_table
    from readlet.encoding.word_encoder import WordEncoder
    from readlet.encoding.words import words
    from readlet.families.qacnn import QacnnFamily
    from readlet.reading.calibration import Calibration
    from readlet.reading.reader import Reader
    from readlet.recipe.qacnn import QacnnRecipe

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
        scorer = QacnnFamily().build(recipe, encoder, can_refuse=null)
        scorer.module.eval()
        with torch.no_grad():  # otherwise the scores of an untrained model are nearly equal
            scorer.module.start.weight *= 4
            scorer.module.end.weight *= 4
        return Reader(scorer, recipe, Calibration())

    return build


@pytest.fixture(scope="session")
def random_encoder_reader(tiny_encoder: Callable[..., Path]) -> Callable[..., Any]:
    """Builds untrained readers on the tiny encoder."""
    from readlet.families.encoder import EncoderFamily
    from readlet.reading.calibration import Calibration
    from readlet.reading.reader import Reader
    from readlet.recipe.encoder import EncoderRecipe

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
        scorer = family.build(recipe, family.fit_encoder(recipe, []), can_refuse=True)
        scorer.module.eval()
        return Reader(scorer, recipe, Calibration())

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


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the tests, and processes that they start, away from the user's cache."""
    os.environ["READLET_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def short_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bundled questions about the beginnings of their passages: training takes seconds."""
    from readlet.bundled import corpus
    from readlet.formats import read_examples, write_examples

    kept = []
    for example in read_examples(corpus("train")):
        beginning = " ".join(example.context.split(" ")[:50])
        answers = tuple(span for span in example.answers if span.end <= len(beginning))
        if len(answers) == len(example.answers):
            kept.append(replace(example, context=beginning, answers=answers, plausible_answers=()))
    path = tmp_path_factory.mktemp("short") / "train.json"
    write_examples(path, kept)
    return path


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


def _module_beside(name: str) -> Any:
    path = Path(__file__).with_name(name)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def encoder_folders() -> Any:
    """The module that writes tiny encoders of transformers."""
    return _module_beside("encoder_folders.py")


@pytest.fixture(scope="session")
def forked() -> Any:
    """The module that starts processes of `readlet` with torch imported."""
    return _module_beside("forked.py")


@pytest.fixture(scope="session")
def translation_models() -> Any:
    """The module that writes small CTranslate2 models: they swap the case of every letter."""
    return _module_beside("translation_models.py")


@pytest.fixture(scope="session")
def argos_package(
    translation_models: Any, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], Path]:
    """An `.argosmodel` file of a pair; each is written once."""
    files: dict[tuple[str, str], Path] = {}

    def make(source: str, target: str) -> Path:
        if (source, target) not in files:
            folder = tmp_path_factory.mktemp("argos")
            files[source, target] = translation_models.write_argos(folder, source, target)
        return files[source, target]

    return make


@pytest.fixture(scope="session")
def apertium() -> Any:
    """Apertium with English, Spanish and French."""
    from readlet.translation.apertium import Apertium
    from readlet.translation.types import LanguagePair

    engine = Apertium()
    if not {LanguagePair("en", "es"), LanguagePair("es", "fr")} <= set(engine.pairs()):
        pytest.skip("Apertium is not installed with apertium-eng-spa and apertium-fr-es")
    return engine


@pytest.fixture(scope="session")
def encoder_texts() -> list[str]:
    """Texts on which tokenizers are trained."""
    from readlet.bundled import corpus
    from readlet.formats import read_examples

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
def few_questions(short_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A handful of questions, some of them impossible."""
    from readlet.formats import read_examples, write_examples

    examples = list(read_examples(short_corpus))
    answerable = [example for example in examples if example.answers][:9]
    path = tmp_path_factory.mktemp("few") / "questions.json"
    write_examples(path, answerable + [e for e in examples if not e.answers][:4])
    return path


@pytest.fixture(scope="session")
def encoder_recipe(tiny_encoder: Callable[..., Path], few_questions: Path) -> Callable[..., Any]:
    """A recipe that trains a tiny encoder on a handful of questions, in two seconds."""
    from readlet.recipe.recipe_files import load_recipe

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
    from readlet.fitting.train import train_reader

    made: dict[tuple[str, ...], tuple[Path, Any]] = {}

    def make(kind: str = "bert", *changes: str) -> tuple[Path, Any]:
        if (kind, *changes) not in made:
            folder = tmp_path_factory.mktemp("run") / kind
            reader = train_reader(encoder_recipe(kind, *changes), folder, resume=False)
            made[kind, *changes] = (folder, reader)
        return made[kind, *changes]

    return make


@pytest.fixture(scope="session")
def labelled_files(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Files of forty labelled texts: `single`, `pairs`, or `numbers` as labels."""
    folder = tmp_path_factory.mktemp("labelled")
    nouns = ("lamp", "bridge", "kettle", "harbour", "garden")

    def write(what: str = "single") -> Path:
        path = folder / f"{what}.tsv"
        lines = ["text\tsecond\tlabel" if what == "pairs" else "text\tlabel"]
        for n in range(40):
            noun, word = nouns[n % 5], ("old", "new")[n // 5 % 2]
            text = f"The {word} {noun} number {n} was {'lit' if n % 3 else 'built'} in 18{n:02d}."
            if what == "pairs":
                other = noun if n % 2 else nouns[(n + 1) % 5]
                lines.append(f"{text}\tIt is about the {other}.\t{'no yes'.split()[n % 2]}")
            else:
                lines.append(f"{text}\t{n / 8 if what == 'numbers' else word}")
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


@pytest.fixture(scope="session")
def classifier_recipe(
    tiny_encoder: Callable[..., Path], labelled_files: Callable[..., Path]
) -> Callable[..., Any]:
    """A recipe that trains a tiny classifier on forty texts, in two seconds."""
    from readlet.recipe.recipe_files import load_recipe

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
    from readlet.fitting.train import train_reader

    made: dict[tuple[str, ...], tuple[Path, Any]] = {}

    def make(what: str = "single", *changes: str) -> tuple[Path, Any]:
        if (what, *changes) not in made:
            folder = tmp_path_factory.mktemp("run") / what
            recipe = classifier_recipe(what, *changes)
            made[what, *changes] = (folder, train_reader(recipe, folder, resume=False))
        return made[what, *changes]

    return make
