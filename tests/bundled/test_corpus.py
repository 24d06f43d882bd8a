from collections import Counter

import pytest

from readlet.bundled import SPLITS, corpus
from readlet.errors import ReadletError
from readlet.formats import read_examples
from readlet.inspection.check import check
from readlet.types import Example


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Example]]:
    return {split: list(read_examples(corpus(split))) for split in SPLITS}


def test_size(splits: dict[str, list[Example]]) -> None:
    examples = [example for split in splits.values() for example in split]
    assert len({example.context for example in examples}) >= 24
    assert len(examples) >= 320
    assert len({example.id for example in examples}) == len(examples)


def test_a_quarter_has_no_answer(splits: dict[str, list[Example]]) -> None:
    for examples in splits.values():
        share = sum(example.is_impossible for example in examples) / len(examples)
        assert share == pytest.approx(0.25, abs=0.02)


def test_passages_never_cross_splits(splits: dict[str, list[Example]]) -> None:
    seen = Counter(
        context for examples in splits.values() for context in {e.context for e in examples}
    )
    assert set(seen.values()) == {1}


def test_languages_in_every_split(splits: dict[str, list[Example]]) -> None:
    for examples in splits.values():
        assert {example.language for example in examples} >= {"en", "es", "fr", "de"}


def test_offsets_are_exact(splits: dict[str, list[Example]]) -> None:
    for examples in splits.values():
        for example in examples:
            for answer in (*example.answers, *example.plausible_answers):
                assert example.context[answer.start : answer.end] == answer.text != ""


def test_several_golds_where_scores_are_made(splits: dict[str, list[Example]]) -> None:
    for split in ("dev", "test"):
        golds = [len(example.answers) for example in splits[split] if example.answers]
        assert sum(count > 1 for count in golds) > len(golds) / 2


def test_nothing_is_wrong() -> None:
    report = check([str(corpus(split)) for split in SPLITS], {})
    assert [f for file in report.files for f in file.findings if f.fault.is_wrong] == []
    assert all(file.questions > 0 for file in report.files)


def test_unknown_split() -> None:
    with pytest.raises(ReadletError, match="no split 'validation'"):
        corpus("validation")
