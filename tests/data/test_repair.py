from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, SearchStrategy

from readlet.data import read_examples, write_examples
from readlet.data.check import check_items
from readlet.data.repair import Changes, repair, repair_file
from readlet.types import Example, Span

LANE = Span(15, "Hollow Lane")
GOOD = Example("g", "Where is the kiln?", "The kiln is in Hollow Lane.", (LANE,))


def with_answers(*answers: Span) -> Example:
    return replace(GOOD, answers=answers)


def repaired(*examples: Example) -> tuple[list[Example], Changes]:
    changes = Changes()
    return [new for _, new in repair(examples, changes)], changes


@given(data=st.data())
def test_repaired_data_has_no_faults(
    data: DataObject, example_lists: SearchStrategy[list[Example]]
) -> None:
    written, _ = repaired(*data.draw(example_lists))
    assume(written)  # a file without any question is a fault of its own
    assert [f for f in check_items("repaired", written, {}).findings if f.fault.is_wrong] == []


@given(data=st.data())
def test_second_repair_changes_nothing(
    data: DataObject, example_lists: SearchStrategy[list[Example]]
) -> None:
    once, _ = repaired(*data.draw(example_lists))
    twice, changes = repaired(*once)
    assert twice == once
    assert (dict(changes.changed), dict(changes.dropped)) == ({}, {})


@given(data=st.data())
def test_nothing_is_dropped_or_changed_silently(
    data: DataObject, example_lists: SearchStrategy[list[Example]]
) -> None:
    """Example by example: written once or dropped once, and every difference listed."""
    examples = data.draw(example_lists)
    taken: list[Example] = []

    def feed() -> Iterator[Example]:
        for example in examples:
            taken.append(example)
            yield example

    changes = Changes()
    # Repair works one by one: what comes out was made of what went in last.
    pairs = [(len(taken) - 1, written) for _, written in repair(feed(), changes)]
    kept = [index for index, _ in pairs]
    assert len(set(kept)) == len(kept) == changes.written

    dropped = Counter(identity for ids in changes.dropped.values() for identity in ids)
    absent = [example for index, example in enumerate(examples) if index not in set(kept)]
    assert dropped == Counter(example.id for example in absent)

    listed = Counter(identity for ids in changes.changed.values() for identity in ids)
    differing = Counter(examples[index].id for index, new in pairs if new != examples[index])
    assert differing <= listed
    # And no change is claimed of an example that is as it was.
    assert set(listed) <= set(differing) | set(dropped)


@pytest.mark.parametrize(
    ("example", "expected", "reason"),
    [
        (with_answers(Span(3, "Hollow Lane")), GOOD, "answer moved to the nearest place"),
        (with_answers(Span(14, " Hollow Lane")), GOOD, "space around answer removed"),
        (with_answers(LANE, Span(3, "Mill")), GOOD, "answer not in context removed"),
        (with_answers(LANE, Span(8, " ")), GOOD, "empty answer removed"),
        (
            replace(GOOD, is_impossible=True),
            replace(GOOD, is_impossible=True, answers=(), plausible_answers=GOOD.answers),
            "answers of an impossible question now plausible answers",
        ),
        (
            replace(GOOD, question="\ufeffWhere is\x07 the kiln?"),
            GOOD,
            "control characters removed",
        ),
        (
            replace(GOOD, context="Zoe\u0301 fires it.", answers=(Span(0, "Zoé"),)),
            replace(GOOD, context="Zoe\u0301 fires it.", answers=(Span(0, "Zoe\u0301"),)),
            "answer spelled as in the context",
        ),
    ],
)
def test_repairs(example: Example, expected: Example, reason: str) -> None:
    written, changes = repaired(example)
    assert written == [expected]
    assert dict(changes.changed) == {reason: ["g"]}
    assert not changes.dropped


@pytest.mark.parametrize("answer", ["“Hollow\u00a0Lane”", "‘Hollow Lane’", " 'Hollow  Lane' "])
def test_typography_of_an_answer_is_that_of_the_context(answer: str) -> None:
    """Quotes and spaces are typed in another way than they stand there; the words are the same."""
    context = {"“": 'In "Hollow Lane".', "‘": "In 'Hollow Lane'.", " ": "In ’Hollow \u00a0Lane‘."}
    asked = replace(GOOD, context=context[answer[0]], answers=(Span(-1, answer),))
    (written,), changes = repaired(asked)
    assert written.answers == (Span(3, asked.context[3:-1]),)
    assert "answer spelled as in the context" in changes.changed


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        (replace(GOOD, question=" \x07"), "empty question"),
        (replace(GOOD, context="\ufeff\n"), "empty context"),
        (replace(GOOD, answers=()), "no answer and not marked impossible"),
        (replace(GOOD, answers=(Span(0, "Mill"),)), "none of its answers is in the context"),
    ],
)
def test_dropped_examples(example: Example, reason: str) -> None:
    written, changes = repaired(example)
    assert written == []
    assert dict(changes.dropped) == {reason: ["g"]}


def test_offsets_follow_removed_characters() -> None:
    """Answers move left by the characters removed before them, not inside or after them."""
    context = "\ufeffThe\x00 kiln \x07is in Hol\ufffdlow Lane\x1b."
    golds = ["kiln", "Hol\ufffdlow", "Lane", "\x07is", "Lane\x1b."]
    spans = tuple(Span(context.index(gold), gold) for gold in golds)
    (written,), changes = repaired(replace(GOOD, context=context, answers=spans))
    assert written.context == "The kiln is in Hollow Lane."
    assert [answer.text for answer in written.answers] == ["kiln", "Hollow", "Lane", "is", "Lane."]
    assert [answer.start for answer in written.answers] == [4, 15, 22, 9, 22]
    assert dict(changes.changed) == {"control characters removed": ["g"]}


@pytest.mark.parametrize("space", "\x0b\x0c\x1c\x1d\x1e\x1f\x85")
def test_control_character_between_words_becomes_a_space(space: str) -> None:
    parted = replace(
        GOOD,
        question=f"Where is{space}the kiln?",
        context=f"The kiln{space}is in Hollow{space}Lane.",
        answers=(Span(15, f"Hollow{space}Lane"),),
    )
    written, changes = repaired(parted)
    assert written == [GOOD]
    assert dict(changes.changed) == {"control characters removed": ["g"]}


@pytest.mark.parametrize(
    ("context", "answer", "expected"),
    [
        ("Apple was founded by Jobs. He ate an apple.", Span(0, "apple"), Span(0, "Apple")),
        ("Zoe\u0301 met ZOÉ, zoé.", Span(0, "zoé"), Span(0, "Zoe\u0301")),
        ("An apple. Apple was founded by Jobs.", Span(11, "apple"), Span(3, "apple")),
        ("A bell.", Span(70, "Bell"), Span(2, "bell")),
    ],
)
def test_the_place_at_the_offset_comes_first(context: str, answer: Span, expected: Span) -> None:
    """In another case it is the answer too; an equal text elsewhere is another thing."""
    asked = replace(GOOD, context=context, answers=(answer,))
    (written,), changes = repaired(asked)
    assert written.answers == (expected,)
    is_moved = answer.start != expected.start
    assert ("answer moved to the nearest place" in changes.changed) == is_moved
    (finding,) = (f for f in check_items("asked", [asked], {}).findings if f.fault.is_wrong)
    assert f"is at {expected.start}" in finding.detail


def test_duplicate_ids() -> None:
    other = replace(GOOD, question="Which lane?")
    taken = replace(GOOD, id="g-2", question="Is g-2 free?")
    written, changes = repaired(GOOD, taken, GOOD, other)
    assert [example.id for example in written] == ["g", "g-2", "g-3"]
    assert written[2] == replace(other, id="g-3")
    assert dict(changes.dropped) == {"exact copy of an earlier example": ["g"]}
    assert dict(changes.changed) == {"duplicate id renamed": ["g"]}


def test_repair_of_a_file_onto_itself(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    write_examples(path, [replace(GOOD, answers=(Span(0, "kiln"),)), replace(GOOD, id="h")])
    changes = repair_file(str(path), path)
    assert changes.written == 2
    assert [example.answers[0].start for example in read_examples(path)] == [4, 15]
