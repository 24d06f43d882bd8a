"""Labels: classes, values, and the balance that is printed before training."""

import pytest

from readlet.errors import InputError, ReadletError
from readlet.text.labels import (
    class_balance,
    class_names,
    class_numbers,
    label_values,
    number_in,
    require_classes,
)
from readlet.types import Sentence


def rows(*labels: str | None) -> list[Sentence]:
    return [Sentence(str(n), f"text {n}", label) for n, label in enumerate(labels, 1)]


def test_classes_are_in_order() -> None:
    """Numbers by size, not by alphabet, before words."""
    assert class_names(rows("10", "9", "-1", "2.5", "9", None)) == ("-1", "2.5", "9", "10")
    assert class_names(rows("pos", "neg", "Neg")) == ("Neg", "neg", "pos")
    assert class_names(rows("b", "2", "a", "10")) == ("2", "10", "a", "b")
    assert class_names(rows("1", "01")) == ("01", "1")  # the same number, but two labels


def test_numbers_of_classes() -> None:
    assert class_numbers("dev.csv", rows("neg", "pos", "neg"), ("neg", "pos")) == [0, 1, 0]


def test_a_label_that_was_never_trained() -> None:
    for labels, place in ((("neg", "so so"), "row '2'"), ((None,), "row '1'")):
        with pytest.raises(InputError) as caught:
            class_numbers("dev.csv", rows(*labels), ("neg", "pos"))
        assert (caught.value.source, caught.value.place) == ("dev.csv", place)


def test_values() -> None:
    assert label_values("dev.csv", rows("1", "-2.5", "+.5", "1e-3")) == [1.0, -2.5, 0.5, 0.001]


@pytest.mark.parametrize("label", ["high", "2,5", "nan", "inf", "1e999", "1_000", "", "3 of 5"])
def test_a_value_that_is_no_number(label: str) -> None:
    assert number_in(label) is None
    with pytest.raises(InputError) as caught:
        label_values("dev.csv", rows("1", label))
    assert (caught.value.source, caught.value.place) == ("dev.csv", "row '2'")


def test_counts_and_shares() -> None:
    balance = class_balance(rows("pos", "neg", None, "pos", "pos"))
    assert balance.counts == {"neg": 1, "pos": 3}
    assert list(balance.counts) == ["neg", "pos"]
    assert balance.total == 4
    assert (balance.largest, balance.single) == ("pos", ["neg"])
    assert balance.summary() == "2 classes in 4 rows: neg 1 (25.0%), pos 3 (75.0%)"
    assert balance.shares == {"neg": 0.25, "pos": 0.75}


def test_warnings_of_a_balance() -> None:
    assert class_balance(rows(*["a"] * 9, *["b"] * 2)).warnings() == []
    imbalanced, single = class_balance(rows(*["a"] * 38, "b", "B")).warnings()
    assert "95.0%" in imbalanced
    assert "'B', 'b'" in single


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
