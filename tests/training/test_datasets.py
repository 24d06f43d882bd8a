"""How labelled texts are divided: by a digest of the text, class by class."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.errors import ReadletError
from readlet.training.datasets import MAX_HELD_OUT, LabelledTexts
from readlet.training.training_data import RecentData, prepare, read_split
from readlet.types import Sentence

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


def test_many_texts_are_better_used_in_training() -> None:
    many = [Sentence(str(n), f"Text {n}.", "ab"[n % 2]) for n in range(9000)]
    assert len(TEXTS.held_out(many, 0.4, 0)) == MAX_HELD_OUT


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


def test_mrpc_has_a_fixed_dev_part(real_data: Path, classifier_recipe: Callable[..., Any]) -> None:
    path = real_data / "glue" / "MRPC" / "train.tsv"
    changes = [f"data.train={path}", "data.calibration=", "data.dev=", "data.held_out=0.1"]
    split = read_split(classifier_recipe("pairs", *changes))
    assert (len(split.train), len(split.held_out)) == (3669, 407)
    shares = [sum(s.label == "1" for s in p) / len(p) for p in (split.train, split.held_out)]
    assert shares[0] == pytest.approx(shares[1], abs=0.01)


def test_one_text_is_too_few(classifier_recipe: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "one.tsv"
    path.write_text("text\tlabel\nA lamp.\told\n")
    recipe = classifier_recipe("single", f"data.train={path}", "data.calibration=")
    with pytest.raises(ReadletError, match="a single text; give at least two, as one is held out"):
        read_split(recipe)


@pytest.mark.parametrize("part", ["dev", "calibration", "replay"])
def test_pairs_and_single_texts_do_not_mix(
    classifier_recipe: Callable[..., Any], labelled_files: Callable[..., Path], part: str
) -> None:
    """They would be read with the special tokens of the other kind."""
    recipe = classifier_recipe("single", f"data.{part}={labelled_files('pairs')}")
    with pytest.raises(ReadletError, match="has pairs of texts, but the classifier reads single"):
        read_split(recipe)
    recipe = classifier_recipe("pairs", f"data.{part}={labelled_files('single')}")
    with pytest.raises(ReadletError, match=r"row '.*': has single texts, but the classifier reads"):
        read_split(recipe)
