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


def test_of_many_classes_the_largest_are_shown() -> None:
    balance = class_balance(rows(*(str(n) for n in range(12)), "11", "11", "5"))
    shown = balance.summary()
    assert shown.startswith("12 classes in 15 rows: 11 3 (20.0%), 5 2 (13.3%), 0 1 (6.7%)")
    assert shown.endswith(" and 2 more")


def test_balanced_classes_need_no_warning() -> None:
    assert class_balance(rows(*["a"] * 9, *["b"] * 2)).warnings() == []


def test_warnings() -> None:
    lines = class_balance(rows(*["a"] * 38, "b", "B")).warnings()
    assert lines == [
        "imbalanced classes: 38 rows of 'a', 1 of 'B'; always predicting 'a' gives an accuracy of "
        "95.0%",
        "2 × class with one row: 'B', 'b'; add rows of it",
        "labels that differ only in case: 'B', 'b'; they are different classes",
    ]


def test_a_scale_has_no_classes() -> None:
    balance = class_balance(rows("1", "2.5", "4", "n/a", "2.5"))
    assert balance.is_scale
    assert balance.summary() == "numbers from 1 to 4 in 4 rows, mean 2.5"
    assert balance.warnings() == []
    assert not class_balance(rows("1", "2", "3")).is_scale  # they may be classes
    assert not class_balance(rows("2.5", "a", "b", "c")).is_scale


def test_one_class_is_an_error() -> None:
    require_classes("a.csv", class_balance(rows("x", "y")))
    with pytest.raises(ReadletError, match=r"a.csv: only one class: all labels are 'x'; add rows"):
        require_classes("a.csv", class_balance(rows("x", "x", None)))
    with pytest.raises(ReadletError, match="no row has a label"):
        require_classes("a.csv", class_balance(rows(None)))
    assert class_balance([]).shares == {}
