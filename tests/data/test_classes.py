"""The balance of classes: what is printed before training."""

import pytest

from readlet.errors import ReadletError
from readlet.text.labels import class_balance, require_classes
from readlet.types import Sentence


def rows(*labels: str | None) -> list[Sentence]:
    return [Sentence(str(n), f"text {n}", label) for n, label in enumerate(labels, 1)]


def test_counts_and_shares() -> None:
    balance = class_balance(rows("pos", "neg", None, "pos", "pos"))
    assert balance.counts == {"neg": 1, "pos": 3}
    assert list(balance.counts) == ["neg", "pos"]
    assert balance.shares == {"neg": 0.25, "pos": 0.75}
    assert (balance.total, balance.unlabelled) == (4, 1)
    assert (balance.largest, balance.smallest, balance.single) == ("pos", "neg", ["neg"])
    assert balance.summary() == "2 classes in 4 rows: neg 1 (25.0%), pos 3 (75.0%)"
    assert balance.as_json() == {
        "labels": {"neg": 1, "pos": 3},
        "label_shares": {"neg": 0.25, "pos": 0.75},
        "unlabelled": 1,
    }


def test_warnings() -> None:
    assert class_balance(rows(*["a"] * 9, *["b"] * 2)).warnings() == []
    imbalanced, single, similar = class_balance(rows(*["a"] * 38, "b", "B")).warnings()
    assert "95.0%" in imbalanced
    assert "'B', 'b'" in single
    assert "'B', 'b'" in similar


def test_a_scale_has_no_classes() -> None:
    balance = class_balance(rows("1", "2.5", "4", "n/a", "2.5"))
    assert balance.is_scale
    assert balance.summary() == "numbers from 1 to 4 in 4 rows, mean 2.5"
    assert balance.warnings() == []
    assert not class_balance(rows("1", "2", "3")).is_scale  # they may be classes
    assert not class_balance(rows("2.5", "a", "b", "c")).is_scale


def test_one_class_is_an_error() -> None:
    require_classes("a.csv", class_balance(rows("x", "y")))
    with pytest.raises(ReadletError, match=r"a\.csv: .*'x'"):
        require_classes("a.csv", class_balance(rows("x", "x", None)))
    with pytest.raises(ReadletError, match="no row has a label"):
        require_classes("a.csv", class_balance(rows(None)))
    assert class_balance([]).shares == {}
