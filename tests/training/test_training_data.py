"""The data of a recipe: what is trained on, held out, rejected, and noted."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read_examples, write_examples
from readlet.errors import ReadletError
from readlet.models.recipe_files import load_recipe
from readlet.training.train import train_reader
from readlet.training.training_data import (
    MAX_HELD_OUT,
    LabelledTexts,
    Questions,
    RecentData,
    part_of,
    prepare,
    read_split,
)
from readlet.types import Example, Sentence, Span

Write = Callable[[list[Example]], Path]
PARTS = [0, 2, 1, 0, 2]  # of five texts; a change would make trained folds useless


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('data.train=["missing.json"]', "missing.json: data.train: no such file; check the recipe"),
        (
            'data.train=["bundled:train", "gone.json"]',
            "gone.json: data.train: no such file; check",
        ),
        ('data.train=["bundled:all"]', "no split 'all' in the bundled corpus; use one of"),
        ("data.dev=missing.json", "missing.json: data.dev: no such file; check the recipe"),
        ('words.vectors=["no.vec"]', "no.vec: words.vectors: no such file; check the recipe"),
    ],
)
def test_missing_files_are_reported_before_work_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, message: str
) -> None:
    def work(*args: object) -> None:
        raise AssertionError("work has started")

    monkeypatch.setattr("readlet.training.training_data.read_questions", work)
    monkeypatch.setattr("readlet.training.train.make_accelerator", work)
    with pytest.raises(ReadletError) as caught:
        train_reader(load_recipe("tiny", [change]), tmp_path / "run", resume=False)
    assert str(caught.value).startswith(message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("share", [0.05, 0.3, 0.49])
@pytest.mark.parametrize("seed", [0, 1])
def test_held_out_contexts_are_never_trained_on(
    short_corpus: Path, small_training: list[str], share: float, seed: int
) -> None:
    changes = [f"data.held_out={share}", f"training.seed={seed}"]
    data = prepare(load_recipe("tiny", [*small_training, *changes]))
    everything = list(read_examples(short_corpus))
    held_out = {example.context for example in data.held_out.examples}
    contexts = {example.context for example in everything}
    assert len(held_out) == max(1, round(share * len(contexts)))
    held_out_ids = {example.id for example in data.held_out.examples}
    assert held_out_ids == {e.id for e in everything if e.context in held_out}
    # One row for each of the other questions, and their contexts are the other contexts: a
    # context has a row of its own in the table of texts, and the same length in words.
    rows = data.train.rows
    assert len(rows) == len(everything) - len(held_out_ids)
    assert len(set(rows.row_window[:, 0].tolist())) == len(contexts - held_out)
    trained = [e for e in everything if e.context not in held_out]
    assert data.train.examples == trained
    for row, example in enumerate(trained):
        assert rows.places(row)[-1, 1] == len(example.context.rstrip())


def test_a_share_of_the_contexts_is_trained_on(
    short_corpus: Path, small_training: list[str]
) -> None:
    few, more, every = (
        prepare(load_recipe("tiny", [*small_training, f"data.share={share}"]))
        for share in (0.2, 0.5, 1.0)
    )
    contexts = [{e.context for e in data.train.examples} for data in (few, more, every)]
    assert contexts[0] < contexts[1] < contexts[2]
    assert [len(c) for c in contexts[:2]] == [round(x * len(contexts[2])) for x in (0.2, 0.5)]
    questions = [e for e in read_examples(short_corpus) if e.context in contexts[0]]
    assert few.train.examples == questions
    assert len(few.train.rows) == len(questions)
    # Nothing else changes, except the vocabulary.
    assert few.held_out.examples == every.held_out.examples
    assert len({few.key, more.key, every.key}) == 3


def test_a_part_of_the_contexts_is_not_trained_on(
    short_corpus: Path, small_training: list[str]
) -> None:
    contexts = {example.context for example in read_examples(short_corpus)}
    left_out: list[set[str]] = []
    keys = {prepare(load_recipe("tiny", small_training)).key}
    for fold in range(3):
        chosen = ["data.folds=3", f"data.fold={fold}"]
        data = prepare(load_recipe("tiny", [*small_training, *chosen]))
        train, held_out = ({e.context for e in p.examples} for p in (data.train, data.held_out))
        assert not train & held_out
        left_out.append(contexts - train - held_out)
        assert left_out[-1] == {c for c in contexts if part_of(c, 3) == fold}
        keys.add(data.key)
    assert len(keys) == 4
    assert all(left_out)
    assert sum(map(len, left_out)) == len(set.union(*left_out)) == len(contexts)


def test_parts_do_not_depend_on_the_process_or_version() -> None:
    assert [part_of(text, 4) for text in ("", "a", "Zürich", "\ud800", "the mill")] == PARTS


def test_a_part_with_all_contexts(tmp_path: Path, small_training: list[str]) -> None:
    path = tmp_path / "one.json"
    write_examples(path, [Example("1", "Who?", "Ada is here.", (Span(0, "Ada"),))])
    fold = part_of("Ada is here.", 2)
    chosen = [f'data.train=["{path}"]', "data.folds=2", f"data.fold={fold}"]
    with pytest.raises(ReadletError, match=r"data\.fold: all training contexts are in this part"):
        prepare(load_recipe("tiny", [*small_training, *chosen]))


def test_calibration_on_a_file_of_its_own(
    short_corpus: Path, small_training: list[str], tmp_path: Path
) -> None:
    examples = list(read_examples(short_corpus))
    write_examples(tmp_path / "train.json", examples[:40])
    write_examples(tmp_path / "calibration.json", examples[40:80])
    recipe = load_recipe(
        "tiny",
        [
            *small_training,
            f'data.train=["{tmp_path / "train.json"}"]',
            f"data.calibration={tmp_path / 'calibration.json'}",
            "data.dev=",
        ],
    )
    made = prepare(recipe)
    assert [e.id for e in made.held_out.examples] == [e.id for e in examples[40:80]]
    assert set(made.train.rows.row_example.tolist()) == set(range(40))
    write_examples(tmp_path / "calibration.json", [])
    with pytest.raises(ReadletError, match=r"data\.calibration: no question"):
        prepare(recipe)


@pytest.fixture
def written(tmp_path: Path) -> Write:
    def write(examples: list[Example]) -> Path:
        write_examples(tmp_path / "given.json", examples)
        return tmp_path / "given.json"

    return write


def test_too_little_to_train_on(
    tmp_path: Path, written: Write, sound: list[Example], small_training: list[str]
) -> None:
    def refused(path: Path, *changes: str) -> str:
        recipe = load_recipe("tiny", [*small_training, f'data.train=["{path}"]', *changes])
        with pytest.raises(ReadletError) as caught:
            train_reader(recipe, tmp_path / "run", resume=False)
        return str(caught.value)

    assert refused(written([])) == "data.train: no questions in these files; name others"
    assert refused(written(sound[:2])) == (
        "data.train: a single context; give at least two, as one is held out"
    )
    without = [Example(str(i), "Why?", f"It is {i}.", is_impossible=True) for i in range(4)]
    assert refused(written(without), "model.null_answer=false") == (
        "data.train: no training examples; name other files"
    )


def test_notes_list_every_changed_or_skipped_example(
    tmp_path: Path,
    short_corpus: Path,
    small_training: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing is dropped silently."""
    cut = [
        Example(f"cut-{i}", "What is it?", f"A lighthouse {i} stands.", (Span(7, "house"),))
        for i in range(3)
    ]
    long = [
        Example(f"long-{i}", "Where? " * 30, f"{'word ' * 90}end {i}.", (Span(450, "end"),))
        for i in range(3)
    ]
    write_examples(tmp_path / "odd.json", [*cut, *long])
    changes = [
        f'data.train=["{short_corpus}", "{tmp_path / "odd.json"}"]',
        *(f"data.{part}={tmp_path / 'odd.json'}" for part in ("dev", "calibration")),
        *("training.epochs=1", "training.batch_size=64"),
    ]
    recipe = load_recipe("tiny", [*small_training, *changes])
    train_reader(recipe, tmp_path / "run", resume=False)
    notes: dict[str, Any] = json.loads((tmp_path / "run" / "notes.json").read_text())
    cut_ids, long_ids = [e.id for e in cut], [e.id for e in long]
    assert notes == {
        "answer cuts a word: taken with the whole word": cut_ids,
        "long question: only its beginning is read": long_ids,
        "long context: read in windows": long_ids,
        "dev: long question: only its beginning is read": long_ids,
        "calibration: long question: only its beginning is read": long_ids,
    }
    err = capsys.readouterr().err
    assert "calibration not fitted: fewer than 30 answerable questions; add questions to" in err
    for what, ids in notes.items():
        assert f"{len(ids)} × {what}" in err


def test_held_out_contexts_are_whole_and_always_the_same() -> None:
    examples = [Example(f"{i}-{j}", "?", f"context {i}") for i in range(40) for j in range(3)]
    held_out = Questions().held_out(examples, 0.1, 3)
    assert len(held_out) == 4
    assert held_out <= {example.context for example in examples}
    assert Questions().held_out(examples[::-1], 0.1, 3) == held_out
    assert Questions().held_out(examples, 0.1, 4) != held_out
    assert len(Questions().held_out(examples[:3], 0.1, 3)) == 1  # at least one
    many = [Example(f"{i}-{j}", "?", f"context {i}") for i in range(100) for j in range(50)]
    assert len(Questions().held_out(many, 0.45, 0)) == MAX_HELD_OUT // 50  # no more are needed


def test_columns_and_encoding_of_a_recipe(tmp_path: Path, small_training: list[str]) -> None:
    """They apply to files with named columns; SQuAD JSON and the bundled corpus are read as is."""
    rows = "".join(f"Wer {n}?;Köln {n} am Rhein;Köln\n" for n in range(20))
    path = tmp_path / "mine.csv"
    path.write_bytes(("frage;absatz;answer\n" + rows).encode("cp1252"))
    changes = [*small_training, f"data.train={path}", "data.dev=bundled:dev"]
    columns = "data.columns=['question=frage', 'context=absatz']"
    recipe = load_recipe("tiny", [*changes, columns, "data.encoding=cp1252"])
    data = prepare(recipe)
    assert {example.context[:4] for example in data.train.examples} == {"Köln"}
    assert [example.id for example in data.dev.examples] == [
        example.id for example in read_examples("bundled:dev")
    ]
    # Other columns of the same file are other data: neither cache nor kept data may return them.
    swapped = "data.columns=['question=absatz', 'context=frage', 'answer=absatz']"
    path.write_bytes(("frage;absatz;answer\n" + "Köln?;Köln?;\n" + rows).encode("cp1252"))
    first = prepare(load_recipe("tiny", [*changes, columns, "data.encoding=cp1252"]))
    with pytest.raises(ReadletError, match="not in context"):
        prepare(load_recipe("tiny", [*changes, swapped, "data.encoding=cp1252"]))
    latin = prepare(load_recipe("tiny", [*changes, columns, "data.encoding=latin-1"]))
    assert latin.key != first.key


def test_held_out_words_stay_unknown(tmp_path: Path, small_training: list[str]) -> None:
    """The vocabulary is also made from the training contexts only."""
    names = [f"Zaf{chr(97 + i)}" for i in range(6)]
    examples = [
        Example(name, f"Who is {name}?", f"{name} is here. {name}!", (Span(0, name),))
        for name in names
    ]
    path = tmp_path / "names.json"
    write_examples(path, examples)
    changes = [f'data.train=["{path}"]', "data.dev=", "data.held_out=0.4", "words.min_count=1"]
    data = prepare(load_recipe("tiny", [*small_training, *changes]))
    held_out = {example.id for example in data.held_out.examples}
    assert len(held_out) == 2
    known = {word for word in data.encoder.vocabulary.trainable if word.lower().startswith("zaf")}
    assert {word.lower() for word in known} == {n.lower() for n in names if n not in held_out}


def test_kept_data_is_that_of_the_seed(short_corpus: Path, small_training: list[str]) -> None:
    """Later seeds must not get the split of the first."""
    zero, one, rate = (
        load_recipe("tiny", [*small_training, change])
        for change in ("training.seed=0", "training.seed=1", "training.learning_rate=0.002")
    )
    recent = RecentData()
    kept = recent.add(zero, prepare(zero))
    assert recent.find(one) is None
    other = recent.add(one, prepare(one))
    assert other.held_out.examples != kept.held_out.examples
    assert recent.find(one) is other
    assert recent.find(zero) is recent.find(rate) is kept  # a rate changes no data


TEXTS = LabelledTexts("classes")
SENTENCES = [Sentence(str(n), f"Text {n}.", "rare" if n % 10 == 0 else "common") for n in range(90)]


def test_held_out_texts_do_not_depend_on_seed_or_order() -> None:
    chosen = TEXTS.held_out(SENTENCES, 0.2, 0)
    assert chosen == TEXTS.held_out(SENTENCES[::-1], 0.2, 7)
    labels = Counter(s.label for s in SENTENCES if s.text in chosen)
    assert labels == {"common": 16, "rare": 2}  # a fifth of each class
    assert TEXTS.held_out(SENTENCES, 0.1, 0) < chosen  # a larger share includes a smaller one


def test_every_class_is_trained_on() -> None:
    single = [*SENTENCES, Sentence("x", "Alone.", "single")]
    assert "Alone." not in TEXTS.held_out(single, 0.49, 0)
    assert "Alone." in TEXTS.shared(single, 0.01, 0)
    assert len(TEXTS.held_out(SENTENCES[:4], 0.05, 0)) == 1  # at least one


def test_a_text_with_two_labels_and_a_pair_stay_in_one_part() -> None:
    assert TEXTS.group(Sentence("1", "a", "x")) == TEXTS.group(Sentence("2", "a", "y"))
    pair, other = Sentence("1", "a", "x", "b"), Sentence("1", "a", "x", "c")
    assert TEXTS.group(pair) != TEXTS.group(other)


def test_shares_are_nested_and_depend_on_the_seed() -> None:
    half, fifth = (TEXTS.shared(SENTENCES, share, 3) for share in (0.5, 0.2))
    assert fifth < half
    assert half != TEXTS.shared(SENTENCES, 0.5, 4)


def test_seeds_share_their_data(classifier_recipe: Callable[..., Any]) -> None:
    """Without a calibration file, too: a grid of many seeds encodes its texts once."""
    recent = RecentData()
    changes = ("data.calibration=", "data.dev=", "data.held_out=0.2")
    first = classifier_recipe("pairs", *changes)
    data = recent.add(first, prepare(first))
    assert recent.find(classifier_recipe("pairs", *changes, "training.seed=5")) is data
    assert recent.find(classifier_recipe("pairs", *changes, "data.share=0.5")) is None
    assert data.dev is data.held_out
    assert len(data.dev.rows) == 8
    assert not {s.text for s in data.dev.examples} & {s.text for s in data.train.examples}


@pytest.mark.parametrize("part", ["dev", "calibration", "replay"])
def test_pairs_and_single_texts_do_not_mix(
    classifier_recipe: Callable[..., Any], labelled_files: Callable[..., Path], part: str
) -> None:
    """They would be read with the special tokens of the other kind."""
    recipe = classifier_recipe("single", f"data.{part}={labelled_files('pairs')}")
    with pytest.raises(ReadletError, match="has pairs of texts"):
        read_split(recipe)
    recipe = classifier_recipe("pairs", f"data.{part}={labelled_files('single')}")
    with pytest.raises(ReadletError, match=r"row '.*': has single texts"):
        read_split(recipe)
