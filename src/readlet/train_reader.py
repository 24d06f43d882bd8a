"""From a recipe to a reader's folder: what `readlet train` calls."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from readlet.calibrating import calibrate, held_out_contexts
from readlet.calibration import Calibration
from readlet.encoding.batches import Batches, FormTables, shapes
from readlet.encoding.cache import Stored, cache_key, cached
from readlet.encoding.features import Features, Windows, count_words, encode
from readlet.encoding.vectors import concatenate_vectors
from readlet.encoding.vocabulary import Vocabulary, build_vocabulary, frozen_table
from readlet.errors import ReadletError, bad_input
from readlet.files import atomic_text
from readlet.formats import read_examples, source_path
from readlet.formats.hub import PREFIX as HUB
from readlet.metrics.squad import rules_of, score_questions, summary
from readlet.models.qacnn import QACNN, SpanLoss
from readlet.predicting import Predictor
from readlet.reader import Reader
from readlet.recipe import Recipe
from readlet.training.checkpoint import find_checkpoint
from readlet.training.loop import Scores, TrainingLoop, is_main_process, make_accelerator
from readlet.types import Example


@dataclass(frozen=True)
class Corpus:
    """Examples in their three parts, encoded."""

    key: str  # digest of all that the training features depend on
    vocabulary: Vocabulary
    frozen: torch.Tensor  # (words, width)
    train: Features
    has_impossible: bool  # some training question has no answer; windows without it do not count
    held_out_examples: Sequence[Example]
    held_out: Features
    dev_examples: Sequence[Example]
    dev: Features


def train_reader(recipe: Recipe, folder: Path, *, resume: bool) -> Reader:
    """Train, calibrate on the held-out questions, score on dev, and save the reader."""
    _data_files(recipe)
    _claim_folder(recipe, folder, resume=resume)
    accelerator = make_accelerator()
    with accelerator.main_process_first():  # the others find what it has cached
        corpus = prepare(recipe)
    _same_data(corpus, folder, resume=resume)
    if accelerator.is_main_process:
        _tell_notes(corpus, folder)
    null = recipe.model.null_answer and corpus.has_impossible
    model = build_model(recipe, corpus)
    if accelerator.device.type == "cuda":
        model.compile_blocks()
    settings = recipe.training
    listed = shapes(recipe.data.max_context, recipe.data.max_question, null=null)
    batches = Batches(
        corpus.train,
        listed,
        settings.batch_size * accelerator.num_processes,
        null=null,
        seed=settings.seed,
    )
    module = SpanLoss(model, FormTables(corpus.train), settings.label_smoothing)
    size = 256 if accelerator.device.type == "cuda" else 32
    predictor = Predictor(model, recipe.data, null, Calibration(), batch_size=size)

    def evaluate() -> Scores:
        return score(predictor, corpus.dev_examples, corpus.dev)

    loop = TrainingLoop(module, batches, settings, folder, evaluate, accelerator)
    if resume:
        loop.resume()
    outcome = loop.run()
    fitted = calibrate(predictor, corpus.held_out_examples, corpus.held_out)
    final = replace(predictor, calibration=fitted)
    metrics: dict[str, Any] = {
        "dev_source": recipe.data.dev or "the held-out questions",
        "dev": score(final, corpus.dev_examples, corpus.dev),
        "steps": outcome.steps,
        "rollbacks": outcome.rollbacks,
    }
    reader = Reader(model.cpu(), corpus.vocabulary, recipe, fitted, null, metrics)
    if accelerator.is_main_process:
        reader.save(folder)
    accelerator.wait_for_everyone()
    return reader


def prepare(recipe: Recipe) -> Corpus:
    """Read and encode all data of a recipe; the slow parts come from the cache the second time."""
    windows = Windows(recipe.data.max_context, recipe.data.overlap, recipe.data.max_question)
    sources, dev_path, vectors = _data_files(recipe)
    examples = [example for source in sources for example in read_examples(source)]
    if not examples:
        raise ReadletError("data.train: no question in these files; name others")
    aside = held_out_contexts(examples, recipe.data.held_out, recipe.training.seed)
    train = [e for e in examples if e.context not in aside]
    held_out = [e for e in examples if e.context in aside]
    if not train:
        raise ReadletError("data.train: a single context; give at least two, one is held out")
    chosen = {"words": recipe.words.model_dump(), "held_out": sorted(aside)}
    vocabulary_key = cache_key([*sources, *vectors], chosen)
    arrays, meta = cached(vocabulary_key, lambda: _vocabulary(recipe, train, vectors))
    vocabulary = Vocabulary.from_json(meta)

    def encoded(part: str, listed: Sequence[Example], paths: list[Path]) -> Features:
        settings = {"vocabulary": vocabulary_key, "part": part, "windows": vars(windows)}
        stored = cached(
            cache_key(paths, settings), lambda: _store(encode(listed, vocabulary, windows))
        )
        return Features(**stored[0], notes=stored[1])

    held_out_features = encoded("held-out", held_out, sources)
    dev_examples, dev = held_out, held_out_features
    if dev_path:
        dev_examples = list(read_examples(dev_path))
        if not dev_examples:
            raise bad_input(dev_path, "data.dev", "no question in this file", "name another")
        dev = encoded("dev", dev_examples, [dev_path])
    return Corpus(
        key=vocabulary_key,
        vocabulary=vocabulary,
        frozen=torch.from_numpy(np.array(arrays["frozen"])),
        train=encoded("train", train, sources),
        has_impossible=any(not example.answers for example in train),
        held_out_examples=held_out,
        held_out=held_out_features,
        dev_examples=dev_examples,
        dev=dev,
    )


def build_model(recipe: Recipe, corpus: Corpus) -> QACNN:
    torch.manual_seed(recipe.training.seed)
    known = corpus.vocabulary
    return QACNN(recipe.model, corpus.frozen, known.trainable_rows, known.character_count)


def score(predictor: Predictor, examples: Sequence[Example], features: Features) -> Scores:
    """Official exact match and F1; 2.0 rules if any question is impossible."""
    said = predictor.predict(examples, features)
    answers = {e.id: p.text for e, p in zip(examples, said, strict=True)}
    return summary(score_questions(examples, answers, rules_of(examples)))


def _data_files(recipe: Recipe) -> tuple[list[Path], Path | None, list[Path]]:
    """Training files, dev file and word vectors: all of them there, before any is read."""
    sources = [source_path(source) for source in recipe.data.train]
    dev = source_path(recipe.data.dev) if recipe.data.dev else None
    vectors = [Path(path) for path in recipe.words.vectors]
    for source in (*recipe.data.train, recipe.data.dev):
        if source.startswith(HUB):
            remedy = f"write it out first: readlet data check {source} --fix train.jsonl"
            raise bad_input(source, "", "training reads files", remedy)
    named = {"data.train": sources, "data.dev": [dev] if dev else [], "words.vectors": vectors}
    for field, paths in named.items():
        for path in paths:
            if not path.is_file():
                raise bad_input(path, field, "no such file", "check the recipe")
    return sources, dev, vectors


def _vocabulary(recipe: Recipe, train: Sequence[Example], vectors: list[Path]) -> Stored:
    settings = recipe.words
    words: list[str] = []
    matrix = None
    if vectors:
        words, matrix = concatenate_vectors(vectors, settings.max_words)
    known = build_vocabulary(
        count_words(train),
        words,
        trainable_words=settings.trainable_words,
        min_count=settings.min_count,
        min_character_count=settings.min_character_count,
        max_characters=settings.max_characters,
    )
    width = settings.width if matrix is None else matrix.shape[1]
    return {"frozen": frozen_table(known, matrix, width)}, known.to_json()


def _store(features: Features) -> Stored:
    return features.arrays(), features.notes


def _claim_folder(recipe: Recipe, folder: Path, *, resume: bool) -> None:
    """A run has a folder of its own, and goes on only with the recipe that it began with."""
    stored = folder / "recipe.json"
    if resume:
        if not stored.is_file():
            raise bad_input(folder, "", "no run to resume", "leave --resume out")
        before = _read_stored(stored)
        changed = _differences(before, json.loads(recipe.model_dump_json()))
        if changed:
            fault = f"the run began with another {', '.join(changed)}"
            raise bad_input(folder, "", fault, "resume with the same recipe and --set")
        return
    if find_checkpoint(folder) or (folder / "config.json").exists():
        remedy = "go on with --resume, or give another --out"
        raise bad_input(folder, "", "holds a run already", remedy)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "log.jsonl").unlink(missing_ok=True)
    except OSError as error:
        fault = f"cannot be a folder ({error.strerror})"
        raise bad_input(folder, "", fault, "give another --out") from None
    with atomic_text(stored) as stream:
        stream.write(recipe.model_dump_json(indent=1))


def _read_stored(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise bad_input(path, "", f"is damaged ({error})", "train anew in another --out") from None
    return values if isinstance(values, dict) else {}


def _same_data(corpus: Corpus, folder: Path, *, resume: bool) -> None:
    """A run goes on only with the data that it began with: another order would be another run."""
    stored = folder / "data.json"
    if resume and stored.is_file():
        if _read_stored(stored) != {"key": corpus.key}:
            fault = "the training data or word vectors have changed since the run began"
            raise bad_input(folder, "", fault, "bring the old ones back, or give another --out")
    elif is_main_process():
        with atomic_text(stored) as stream:
            json.dump({"key": corpus.key}, stream)


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [
        f"{section}.{field}"
        for section in ("data", "words", "model", "training")
        for field in now[section]
        if before.get(section, {}).get(field) != now[section][field]
    ]


def _tell_notes(corpus: Corpus, folder: Path) -> None:
    """Law 7: what was not taken as it stands is counted on the screen and listed in a file."""
    with atomic_text(folder / "notes.json") as stream:
        json.dump(corpus.train.notes, stream, ensure_ascii=False, indent=1)
    for what, ids in corpus.train.notes.items():
        print(f"{len(ids):,} × {what}", file=sys.stderr)
