import re
from collections import Counter

import pytest

from readlet.bundled import KINDS, SPLITS, corpus
from readlet.data import read_examples
from readlet.data.check import check
from readlet.errors import ReadletError
from readlet.types import Example

_KINDS = set("table list note legal technical news review long science dialogue".split())


def _kind(title: str) -> str:
    return title.partition(": ")[0]


def _topic(title: str) -> str:
    return title.rpartition(": ")[2].casefold()


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Example]]:
    return {split: list(read_examples(corpus(split))) for split in SPLITS}


@pytest.fixture(scope="module")
def kinds() -> dict[str, list[Example]]:
    return {split: list(read_examples(corpus(split))) for split in KINDS}


def test_size(splits: dict[str, list[Example]]) -> None:
    examples = [example for split in splits.values() for example in split]
    assert len({example.context for example in examples}) >= 24
    assert len(examples) >= 320
    assert len({example.id for example in examples}) == len(examples)


def test_a_quarter_has_no_answer(splits: dict[str, list[Example]]) -> None:
    for examples in splits.values():
        share = sum(example.is_impossible for example in examples) / len(examples)
        assert share == pytest.approx(0.25, abs=0.02)


def test_passages_never_cross_splits(
    splits: dict[str, list[Example]], kinds: dict[str, list[Example]]
) -> None:
    files = [*splits.values(), *kinds.values()]
    contexts = Counter(context for file in files for context in {e.context for e in file})
    topics = Counter(topic for file in files for topic in {_topic(e.title) for e in file})
    ids = Counter(example.id for file in files for example in file)
    assert set(contexts.values()) == set(topics.values()) == set(ids.values()) == {1}


def test_languages_in_every_split(splits: dict[str, list[Example]]) -> None:
    for examples in splits.values():
        assert {example.language for example in examples} >= {"en", "es", "fr", "de"}


def test_offsets_are_exact(
    splits: dict[str, list[Example]], kinds: dict[str, list[Example]]
) -> None:
    for examples in (*splits.values(), *kinds.values()):
        for example in examples:
            for answer in (*example.answers, *example.plausible_answers):
                assert example.context[answer.start : answer.end] == answer.text != ""


def test_several_golds_where_scores_are_made(splits: dict[str, list[Example]]) -> None:
    for split in ("dev", "test"):
        golds = [len(example.answers) for example in splits[split] if example.answers]
        assert sum(count > 1 for count in golds) > len(golds) / 2


def test_nothing_is_wrong() -> None:
    report = check([str(corpus(split)) for split in (*SPLITS, *KINDS)])
    assert [f for file in report.files for f in file.findings if f.fault.is_wrong] == []
    assert all(file.questions > 0 for file in report.files)


def test_size_of_kinds(kinds: dict[str, list[Example]]) -> None:
    assert {e.language for examples in kinds.values() for e in examples} == {"en"}
    for split, passages, questions in (("kinds-train", 110, 1000), ("kinds-dev", 30, 300)):
        assert len({example.context for example in kinds[split]}) >= passages
        assert len(kinds[split]) >= questions


def test_every_kind_has_its_share(kinds: dict[str, list[Example]]) -> None:
    for examples in (kinds["kinds-train"], kinds["kinds-dev"]):
        passages = Counter(_kind(title) for title in {e.title for e in examples})
        shares = [passages[kind] for kind in _KINDS]
        assert min(shares) > sum(shares) / len(_KINDS) * 0.8


def test_a_third_of_each_kind_has_no_answer(kinds: dict[str, list[Example]]) -> None:
    for examples in (kinds["kinds-train"], kinds["kinds-dev"]):
        for kind in _KINDS:
            flags = [e.is_impossible for e in examples if _kind(e.title) == kind]
            assert sum(flags) / len(flags) == pytest.approx(1 / 3, abs=0.04)


def test_half_of_the_near_misses_have_no_answer(kinds: dict[str, list[Example]]) -> None:
    """Each names its kind at the end of its id, and looks answerable: a wrong span is given."""
    examples = [e for file in kinds.values() for e in file if _kind(e.title) not in _KINDS]
    unanswerable = [example for example in examples if example.is_impossible]
    assert len(unanswerable) / len(examples) == pytest.approx(1 / 2, abs=0.05)
    for example in unanswerable:
        assert re.search(r"-\d\d-[a-z-]+$", example.id)
        assert example.plausible_answers
    assert all(re.search(r"-\d\d$", e.id) for e in examples if not e.is_impossible)


def test_kinds_have_answers_and_refusals_in_each_passage(kinds: dict[str, list[Example]]) -> None:
    for examples in kinds.values():
        seen = {(example.context, example.is_impossible) for example in examples}
        assert len(seen) == 2 * len({example.context for example in examples})


def test_unknown_split() -> None:
    with pytest.raises(ReadletError, match="no split 'validation'"):
        corpus("validation")
