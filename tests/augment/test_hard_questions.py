"""Hard questions: the lowest no-answer probabilities are kept, and doubtful candidates are not."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.augment.altered_questions import (
    MIX,
    NAME,
    NEGATION,
    NUMBER,
    OPPOSITE,
    alter_often,
    alter_questions,
)
from readlet.augment.hard_questions import (
    ALL_WORDS,
    OTHER_ANSWER,
    RIGHT_ANSWER,
    Judged,
    agree,
    doubt,
    hardest,
    make_hard,
)
from readlet.augment.unanswerable_questions import (
    OTHER_PARAGRAPH,
    Unanswerable,
    make_unanswerable,
    pair_up,
)
from readlet.errors import ReadletError
from readlet.metrics.squad import normalise
from readlet.types import Candidate, Example, Prediction, Span

Ask = Callable[[Example], tuple[str, float]]


def prediction(text: str, no_answer: float, threshold: float = 0.5) -> Prediction:
    candidates = (Candidate(text, 0, len(text), 1.0),) if text else ()
    return Prediction.choose(candidates, no_answer, threshold)


class StubReader:
    """Predicts by a function of the question, and records what it was asked."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.asked: list[Example] = []

    def __call__(self, examples: Sequence[Example], label: str) -> Iterator[Prediction]:
        self.asked += examples
        return (prediction(*self.ask(example)) for example in examples)


def number_of(example: Example) -> float:
    """A number between 0 and 1 that depends on nothing but the question and its paragraph."""
    text = f"{example.question}\0{example.context}".encode()
    return int.from_bytes(blake2b(text, digest_size=4).digest()) / 2**32


def unsure(example: Example) -> tuple[str, float]:
    return "nothing", number_of(example)


WHO = ("Ada Brook", "Tom Hale", "Eva Lind", "Kay Moss", "Ben Yates", "Una Frost")
WHERE = ("Wick", "Oslo", "Bern", "Kiel", "Lund", "Nice")


def lamps() -> list[Example]:
    """Questions for every kind of alteration, about six paragraphs of one article."""
    examples = []
    for number, (who, where) in enumerate(zip(WHO, WHERE, strict=True)):
        year = 1881 + 13 * number
        context = f"The first lamp was lit by {who} in {where} and it was the year {year}."
        questions = (
            "Who lit the first lamp?",
            f"Who lit a lamp in {where}?",
            f"Who lit a lamp in {year}?",
            f"What was lit by {who}?",
            "Who was tall?",
        )
        for place, question in enumerate(questions):
            gold = Span(context.index("lamp"), "lamp") if "lit by" in question else None
            answer = gold or Span(context.index(who), who)
            identity = f"{where}-{place}"
            examples.append(Example(identity, question, context, (answer,), title="Lamps"))
    return examples


def hard(
    reader: StubReader, share: float = 0.3, altered: float = 0.5, pool: int = 4, seed: int = 0
) -> Unanswerable:
    return make_hard(lamps(), share, seed, altered, judge=reader, pool=pool)


def test_the_hardest_are_kept() -> None:
    reader = StubReader(unsure)
    made = hard(reader, share=0.2, altered=0)
    assert len(made.added) == made.wanted == 8
    originals = [e.id.partition("-elsewhere")[0] for e in made.added]
    assert len(set(originals)) == 8
    lowest: dict[str, float] = {}
    for example in reader.asked:
        if doubt(Judged(example, original(example), OTHER_PARAGRAPH, prediction(*unsure(example)))):
            continue
        key = original(example).id
        lowest[key] = min(lowest.get(key, 1.0), number_of(example))
    assert sorted(map(number_of, made.added)) == sorted(lowest.values())[:8]
    assert made.hardness is not None
    assert made.hardness.candidates == len(reader.asked) == 4 * 8


def original(new: Example) -> Example:
    (found,) = (e for e in lamps() if new.id.startswith((f"{e.id}-elsewhere", f"{e.id}-altered")))
    return found


@pytest.mark.parametrize("altered", [0.0, 0.25, 0.5, 1.0])
def test_share_and_balance(altered: float) -> None:
    made = hard(StubReader(lambda e: ("", 1.0)), altered=altered)
    assert len(made.added) == made.wanted == 13
    assert len(made.changed.added) == round(13 * altered)
    assert len({e.id for e in made.added} | {e.id for e in lamps()}) == 13 + len(lamps())
    assert all(e.is_impossible and not e.answers for e in made.added)


def test_one_method_fills_in_for_the_other() -> None:
    lone = [e for e in lamps() if "Wick" in e.context]  # one paragraph: nothing can be paired
    reader = StubReader(unsure)
    made = make_hard(lone, 0.3, 0, 0.5, judge=reader, pool=4)
    assert (len(made.changed.added), len(made.paired.added), made.wanted) == (2, 0, 2)
    german = [replace(e, language="de") for e in lamps()]  # nothing can be altered
    made = make_hard(german, 0.3, 0, 1.0, judge=reader, pool=4)
    assert (len(made.changed.added), len(made.paired.added), made.wanted) == (0, 13, 13)


def test_more_than_one_of_each_question_if_needed() -> None:
    made = hard(StubReader(lambda e: ("", 1.0)), share=0.8, altered=0)
    assert made.wanted == 120
    counts = Counter(original(e).id for e in made.added)
    assert max(counts.values()) > 1
    plain = make_unanswerable(lamps(), 0.8, 0, 0)
    assert len(made.added) > len(plain.added) > 0
    places = {(e.question, e.context) for e in [*made.added, *lamps()]}
    assert len(places) == len(made.added) + len(lamps())


@given(seed=st.integers(0, 5), pool=st.integers(2, 6), shuffle=st.randoms(use_true_random=False))
def test_same_result_in_any_order(seed: int, pool: int, shuffle: Random) -> None:
    first = make_hard(lamps(), 0.4, seed, judge=StubReader(unsure), pool=pool)
    shuffled = lamps()
    shuffle.shuffle(shuffled)
    assert make_hard(shuffled, 0.4, seed, judge=StubReader(unsure), pool=pool) == first


def test_kinds_keep_their_proportions() -> None:
    """The reader finds the negations easiest to answer, but they do not displace the others."""
    kinds = [NAME, NUMBER, OPPOSITE, NEGATION]
    judged = [
        Judged(replace(lamps()[0], id=f"{kind}-{n}"), replace(lamps()[0], id=f"{kind}{n}"), kind, p)
        for kind, no_answer in zip(kinds, (0.9, 0.7, 0.5, 0.1), strict=True)
        for n in range(100)
        for p in [prediction("lamp", no_answer + n / 1000)]
    ]
    quota = {kind: round(100 * part) for kind, part in MIX.items()}
    assert Counter(each.kind for each in hardest(judged, 100, quota)) == quota
    # Where a kind falls short, the hardest of the others fill in.
    few = [each for each in judged if each.kind != NUMBER]
    assert Counter(each.kind for each in hardest(few, 100, quota)) == {
        **{NAME: 50, OPPOSITE: 25},
        NEGATION: 25,
    }


def test_ties_go_by_id() -> None:
    judged = [
        Judged(replace(e, id=f"{e.id}-altered"), e, NAME, prediction("lamp", 0.5)) for e in lamps()
    ]
    kept = hardest(reversed(judged), 3, {NAME: 3})
    assert [each.new.id for each in kept] == sorted(each.new.id for each in judged)[:3]


GOLD = Example("1", "Who lit the lamp?", "Ada Brook lit it.", (Span(0, "Ada Brook"),))


@pytest.mark.parametrize(
    ("kind", "question", "text", "no_answer", "reason"),
    [
        (OTHER_PARAGRAPH, "Who lit the lamp?", "Tom Hale", 0.1, ""),
        (OTHER_PARAGRAPH, "Who lit the lamp?", "the Brook", 0.1, RIGHT_ANSWER),
        (OTHER_PARAGRAPH, "Who lit the lamp?", "ada-brook", 0.9, RIGHT_ANSWER),
        (OTHER_PARAGRAPH, "Who sat with the keepers?", "Tom Hale", 0.1, ALL_WORDS),
        (OTHER_PARAGRAPH, "Who sat with the keepers?", "Tom Hale", 0.9, ""),
        *((kind, "Who?", text, 0.1, "") for kind in (NAME, NUMBER) for text in ("Hale", "Brook")),
        *((kind, "Who?", "Ada Brook", 0.1, "") for kind in (OPPOSITE, NEGATION)),
        *((kind, "Who?", "Tom Hale", 0.1, OTHER_ANSWER) for kind in (OPPOSITE, NEGATION)),
        *((kind, "Who?", "Tom Hale", 0.9, "") for kind in (OPPOSITE, NEGATION)),
        *((kind, "Who?", "", 1.0, "") for kind in (OPPOSITE, OTHER_PARAGRAPH)),
    ],
)
def test_reasons_for_doubt(
    kind: str, question: str, text: str, no_answer: float, reason: str
) -> None:
    new = replace(GOLD, question=question, context="A keeper sat with Tom Hale.", answers=())
    assert doubt(Judged(new, GOLD, kind, prediction(text, no_answer))) == reason


def test_doubtful_candidates_are_dropped_and_counted() -> None:
    right = {e.question: e.answers[0].text for e in lamps()}
    reader = StubReader(lambda e: (right.get(e.question, "lamp"), 0.1))
    made = hard(reader, altered=0)
    assert made.added == []
    assert made.hardness is not None
    doubtful = made.hardness.doubtful
    assert sum(map(len, doubtful.values())) == made.hardness.candidates == len(reader.asked) > 0
    assert len(doubtful[RIGHT_ANSWER]) > 0


answers = st.lists(
    st.sampled_from(["the", "A", "Ada", "U.S.", "US", "1,000", "1000", "lamp", "-", '"oil"']),
    max_size=4,
).map(" ".join)


@given(one=answers, two=answers)
def test_agreement_includes_exact_match(one: str, two: str) -> None:
    if normalise(one) == normalise(two) != "":
        assert agree(one, two)
    assert agree(one, two) == agree(two, one)


def test_no_agreement_by_a_shared_word() -> None:
    assert not agree("20 million", "14 million")
    assert not agree("University of Oslo", "University of Kent")
    assert not agree("", "Ada")
    assert not agree("the", "the lamp")


@pytest.mark.parametrize("each", [2, 3, 7])
def test_pairs_of_a_pool(each: int) -> None:
    made = pair_up(lamps(), 1000, 0, each=each)
    counts = Counter(original.id for original in made.originals)
    assert max(counts.values()) == min(each, 5)
    assert len({(e.question, e.context) for e in made.added}) == len(made.added)
    assert len({e.id for e in made.added}) == len(made.added)
    first = pair_up(lamps(), 1000, 0)
    assert {e.id for e in first.added} <= {e.id for e in made.added}
    for new, old in zip(made.added, made.originals, strict=True):
        assert all(answer.text not in new.context for answer in old.answers)
        assert new.question == old.question


def test_alterations_of_a_pool() -> None:
    once = alter_questions(lamps(), 1000, 0)
    often = alter_often(lamps(), 1000, 0, variants=4)
    assert len(often.added) > len(once.added)
    assert max(Counter(e.id for e in often.originals).values()) > 1
    assert len({(e.question, e.context) for e in often.added}) == len(often.added)
    assert len({e.id for e in often.added}) == len(often.added)
    assert sum(map(len, often.kinds.values())) == len(often.added)
    assert often.left == {
        reason: sorted_as(often.left[reason], ids) for reason, ids in once.left.items()
    }
    few = alter_often(lamps(), 10, 0, variants=4)
    assert len(few.added) == 10


def sorted_as(ids: list[str], others: list[str]) -> list[str]:
    assert sorted(ids) == sorted(others)
    return ids


@pytest.mark.parametrize(("share", "altered"), [(0.0, 0.5), (1.0, 0.5), (0.3, -1.0), (0.3, 2.0)])
def test_bad_fractions(share: float, altered: float) -> None:
    reader = StubReader(unsure)
    with pytest.raises(ReadletError, match="give a fraction"):
        hard(reader, share, altered)
    assert reader.asked == []
