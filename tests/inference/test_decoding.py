"""Decoding: exact, without duplicates; the windows of a passage are joined."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from readlet.inference.calibration import Calibration
from readlet.inference.decoding import Predictor, best_spans, log_sums, spans_in_order
from readlet.inference.inputs import ALL_ANSWERABLE, AnswerOptions
from readlet.inference.reader import Reader
from readlet.models.family import SpanScores
from readlet.text.rows import Ints, Rows, Windows
from readlet.text.tensors import FormTables, WordBatch
from readlet.text.word_features import NULL_FORM, PADDING_FORM, Features, Vocabulary, WordEncoder
from readlet.text.words import word_spans
from readlet.types import Example

Span = tuple[float, int, int]


def all_spans(
    start: list[float], end: list[float], allowed: list[bool], max_places: int
) -> list[Span]:
    """Every allowed span in order: by score, then first, then length."""
    spans = [
        (float(np.float32(start[i]) + np.float32(end[j])), i, j)
        for i in range(len(start))
        for j in range(i, len(end))
        if j - i < max_places and allowed[i] and allowed[j]
    ]
    return sorted(spans, key=lambda span: (-span[0], span[1], span[2]))


def found(start: list[float], end: list[float], allowed: list[bool], max_places: int) -> list[Span]:
    arrays = np.array(start, np.float32), np.array(end, np.float32), np.array(allowed, np.bool_)
    return [tuple(span) for span in spans_in_order(*arrays, max_places)]


@given(st.data())
def test_equals_brute_force_with_its_ties(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 12))
    # Few different values give many ties; the others none.
    number = data.draw(
        st.sampled_from([st.sampled_from([-1.0, 0.0, 2.0]), st.floats(-1e4, 1e4, width=32)])
    )
    start, end = (data.draw(st.lists(number, min_size=length, max_size=length)) for _ in "se")
    allowed = data.draw(st.lists(st.booleans(), min_size=length, max_size=length))
    max_places = data.draw(st.integers(1, 12))
    wanted = all_spans(start, end, allowed, max_places)
    assert found(start, end, allowed, max_places) == wanted
    # Padding has no influence, whatever its scores.
    padding = data.draw(st.lists(number, max_size=9))
    no = [False] * len(padding)
    assert found([*start, *padding], [*end, *padding], [*allowed, *no], max_places) == wanted


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_equals_brute_force_on_longer_rows(seed: int, max_places: int) -> None:
    generator = np.random.default_rng(seed)
    start, end = generator.normal(size=(2, 60)).astype(np.float32).tolist()
    allowed = (generator.random(60) < 0.8).tolist()
    assert found(start, end, allowed, max_places) == all_spans(start, end, allowed, max_places)


def test_equal_scores_go_to_the_earliest_then_to_the_shortest() -> None:
    spans = found([0.0] * 50, [0.0] * 50, [True] * 50, 4)
    assert [span[1:] for span in spans[:6]] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2)]
    assert len(spans) == 4 * 50 - 6


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", ["start", "end"])
def test_scores_that_are_not_finite_end_the_search(bad: float, side: str) -> None:
    """NaN is no score, and minus infinity masks; all other spans are still found, in order."""
    start, end = [1.0, 0.0, 2.0], [0.0, 3.0, 1.0]
    (start if side == "start" else end)[1] = bad
    spans = found(start, end, [True, True, True], 3)
    assert len(spans) == len(set(spans))
    clean = [span for span in spans if np.isfinite(span[0])]
    place = 1 if side == "start" else 2
    others = [span for span in all_spans(start, end, [True] * 3, 3) if span[place] != 1]
    assert clean == sorted(others, key=lambda span: (-span[0], span[1], span[2]))
    assert all(span[place] == 1 and bad == np.inf for span in spans if span not in clean)


SEPARATORS = {" ": 0, " | ": 1, "\n": 1, "\t": 1, "  ": 1, "\n\n": 1}  # whether a part ends there


@dataclass
class Pieces:
    """A text by its words, each in pieces, as a subword tokenizer sees it."""

    text: str
    places: list[tuple[int, int]]
    word: list[int]  # of each place
    part: list[int]

    def spans(self, start: list[float], end: list[float], longest: int) -> list[Span]:
        """Every span of whole words in one part, best first: by brute force."""
        count = len(self.places)
        spans = [
            (float(np.float32(start[i]) + np.float32(end[j])), i, j)
            for i in range(count)
            for j in range(i, min(i + longest, count))
            if (not i or self.word[i - 1] != self.word[i])
            and (j == count - 1 or self.word[j + 1] != self.word[j])
            and self.part[i] == self.part[j]
        ]
        return sorted(spans, key=lambda span: (-span[0], span[1], span[2]))


@st.composite
def pieces(draw: st.DrawFn) -> Pieces:
    found = Pieces("", [], [], [])
    parts = 0
    for number, word in enumerate(draw(st.lists(st.sampled_from("a bc bcd 12 12,5 éa".split())))):
        if number:
            separator = draw(st.sampled_from([*SEPARATORS]))
            parts += SEPARATORS[separator]
            found.text += separator
        cuts = [0, *sorted(draw(st.sets(st.integers(1, len(word))))), len(word)]
        for first, last in pairwise(cuts):
            if first < last:
                at = len(found.text)
                found.places.append((at + first, at + last))
                found.word.append(number)
                found.part.append(parts)
        found.text += word
    return found


def apart(spans: list[Span]) -> list[Span]:
    """Of spans in order, those that overlap none before."""
    chosen: list[Span] = []
    for span in spans:
        if all(span[2] < other[1] or other[2] < span[1] for other in chosen):
            chosen.append(span)
    return chosen


@given(st.data())
def test_candidates_equal_brute_force(data: st.DataObject) -> None:
    """Whole words of one part of the passage, that do not overlap; each text once."""
    given_pieces = data.draw(pieces())
    count = len(given_pieces.places)
    number = data.draw(
        st.sampled_from([st.sampled_from([-1.0, 0.0, 2.0]), st.floats(-1e4, 1e4, width=32)])
    )
    start, end = (data.draw(st.lists(number, min_size=count, max_size=count)) for _ in "se")
    longest, n = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    wanted: dict[str, tuple[float, int, int]] = {}
    spans = given_pieces.spans(start, end, longest)
    for score, i, j in apart(spans):
        at, to = given_pieces.places[i][0], given_pieces.places[j][1]
        wanted.setdefault(given_pieces.text[at:to], (score, at, to))
    padding = data.draw(st.lists(number, max_size=4))
    made = best_spans(
        np.array([*start, *padding], np.float32),
        np.array([*end, *padding], np.float32),
        np.array([True] * count + [False] * len(padding), np.bool_),
        np.array(given_pieces.places, np.int32).reshape(-1, 2),
        given_pieces.text,
        max_places=longest,
        n=n,
    )
    if spans:
        assert [tuple(span) for span in made] == list(wanted.values())[:n]
    else:  # a word that is longer than all answers
        assert bool(made) == bool(count)


Build = Callable[..., Reader]

WORDS = [f"w{number}" for number in range(60)]
LONG = " ".join(WORDS)  # four windows of 24 words
KNOWN = Vocabulary(tuple(WORDS), (), "w0123456789", 4)
MAX_ANSWER = 5
ENCODER = WordEncoder(KNOWN, np.zeros((KNOWN.trainable_rows, 2), np.float32), Windows(24, 8, 12))


@dataclass
class Pointer:
    """A scorer without a model, and without torch: the score of a place is that of its word."""

    start: dict[str, float]
    end: dict[str, float]
    null: float | None = None
    encoder: WordEncoder = ENCODER
    max_answer: int = MAX_ANSWER

    @property
    def can_abstain(self) -> bool:
        return self.null is not None

    def scores(self, rows: Rows, batch_size: int) -> Iterator[tuple[Ints, SpanScores]]:
        assert isinstance(rows, Features)
        for begin in range(0, len(rows), batch_size):
            numbers = np.arange(begin, min(begin + batch_size, len(rows)), dtype=np.int32)[::-1]
            longest = int(rows.row_window[numbers, 1].max()) + 3  # some padding
            start, end = np.full((2, len(numbers), longest), 99.0, np.float32)
            allowed = np.zeros((len(numbers), longest), np.bool_)
            for i, row in enumerate(numbers):
                first, count = rows.row_window[row]
                words = rows.form_words[rows.forms[first : first + count]]
                start[i, :count] = [self.start.get(_word(number), 0.0) for number in words]
                end[i, :count] = [self.end.get(_word(number), 0.0) for number in words]
                allowed[i, :count] = True
            null = None
            if self.null is not None:
                null = np.full((len(numbers), 2), self.null / 2, np.float32)
            yield numbers, SpanScores(start, end, allowed, null)


def _word(number: int) -> str:
    return WORDS[number - 3] if number >= 3 else ""


def predictor_of(scorer: Any, **options: Any) -> Predictor:
    return Predictor(scorer, **{"calibration": Calibration(), "batch_size": 3} | options)


def encoded(*examples: Example) -> Features:
    return ENCODER.encode(examples)


def ask(predictor: Predictor, context: str, question: str = "w1 ?") -> Any:
    example = Example("1", question, context)
    return predictor.predict([example], encoded(example))[0]


@pytest.mark.parametrize("place", [0, 15, 16, 23, 24, 30, 47, 48, 55, 56, 59])
@pytest.mark.parametrize("null", [None, 0.0])
def test_an_answer_in_any_window_is_found(place: int, null: float | None) -> None:
    word = WORDS[place]
    prediction = ask(predictor_of(Pointer({word: 9.0}, {word: 9.0}, null)), LONG)
    start = LONG.index(word + " ") if place < 59 else LONG.rindex(word)
    assert (prediction.text, prediction.start, prediction.end) == (word, start, start + len(word))


def windows_alone(reader: Reader, features: Features, row: int) -> tuple[list[float], list[float]]:
    """Scores of a row by itself, "no answer" first: a batch of one without padding, by hand."""
    first, length = features.row_window[row].tolist()
    context = features.forms[first : first + length]
    first, length = features.row_question[row].tolist()
    question = features.forms[first : first + length]
    null = [NULL_FORM] if reader.scorer.can_abstain else []
    texts = [*null, *context.tolist(), *question.tolist()]
    # Every word is a form of its own, repeated or not: sharing of forms is not tested here.
    places = torch.arange(1, len(texts) + 1)
    batch = WordBatch(
        rows=torch.tensor([row]),
        forms=torch.tensor([PADDING_FORM, *texts]),
        context=places[None, : len(texts) - len(question)],
        question=places[None, len(texts) - len(question) :],
        labels=torch.zeros(1, 2, dtype=torch.long),
        weight=torch.ones(1),
    )
    with torch.inference_mode():
        scores = reader.scorer.module(batch, FormTables(features))
    no_start, no_end = [[], []] if scores.null is None else scores.null.T.tolist()
    return [*no_start, *scores.start[0].tolist()], [*no_end, *scores.end[0].tolist()]


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_long_passage_equals_a_search_over_all_its_windows(
    random_reader: Build, null: bool, temperature: float, seed: int
) -> None:
    reader = random_reader(LONG, null=null, seed=seed, max_answer=MAX_ANSWER)
    example = Example("1", "w3 w9 w40 ?", LONG)
    features = reader.scorer.encoder.encode([example])
    assert len(features) == 4
    spans: list[Span] = []  # of each window, those that overlap none of it before
    words: list[tuple[list[float], list[float]]] = []
    nulls: list[tuple[float, float]] = []
    for row in range(len(features)):
        start, end = windows_alone(reader, features, row)
        words.append((start[int(null) :], end[int(null) :]))
        if null:
            nulls.append((start[0], end[0]))
        shift = int(features.row_window[row, 0]) - null
        here = [
            (start[i] + end[j], i + shift, j + shift)
            for i in range(int(null), len(start))
            for j in range(i, min(i + MAX_ANSWER, len(end)))
        ]
        spans += apart(sorted(here, key=lambda span: -span[0]))[:5]
    ranked = apart(sorted(spans, key=lambda span: -span[0]))[:5]

    def weight(*scores: float) -> float:
        return math.exp(sum(scores) / temperature)

    total = sum(weight(s, e) for starts, ends in words for s in starts for e in ends)
    calibration = Calibration(
        temperature=temperature,
        no_answer_slope=0.7,
        no_answer_bias=-0.4,
    )
    predictor = Predictor(
        reader.scorer, calibration, options=AnswerOptions(min_confidence="always")
    )
    (prediction,) = predictor.predict([example], features)
    places = word_spans(LONG)
    assert [(c.start, c.end) for c in prediction.n_best] == [
        (places[first][0], places[last][1]) for _, first, last in ranked
    ]
    no_answer = 0.0
    if null:  # of one window only: most windows have no answer
        odds = math.exp(0.7 * (min(map(sum, nulls)) - ranked[0][0]) - 0.4)
        no_answer = odds / (1 + odds)
    assert prediction.no_answer == pytest.approx(no_answer, rel=1e-3)
    assert [c.score for c in prediction.n_best] == pytest.approx(
        [(1 - no_answer) * weight(score) / total for score, _, _ in ranked], rel=1e-3
    )
    assert prediction.score == prediction.n_best[0].score
    assert (prediction.text, prediction.start, prediction.end) == (
        prediction.n_best[0].text,
        prediction.n_best[0].start,
        prediction.n_best[0].end,
    )


def test_no_answer_only_if_every_window_has_none() -> None:
    refusing = Pointer({"w59": 4.0}, {"w59": 4.0}, null=6.0)
    # The last window prefers its answer by 8 to 6, the others prefer nothing by 6 to 0.
    prediction = ask(predictor_of(refusing), LONG)
    assert prediction.text == "w59"
    assert prediction.no_answer == pytest.approx(1 / (1 + math.exp(2)), rel=1e-5)
    prediction = ask(predictor_of(refusing), " ".join(WORDS[:24]))
    assert prediction.abstained
    assert (prediction.text, prediction.start, prediction.end) == ("", 0, 0)
    assert prediction.no_answer == pytest.approx(1 / (1 + math.exp(-6)), rel=1e-5)
    assert prediction.confidence == prediction.no_answer
    # The score is that of the answer it would have given.
    assert prediction.score == prediction.n_best[0].score < 1 - prediction.no_answer
    # A reader without a place for "no answer" always answers.
    assert not ask(predictor_of(replace(refusing, null=None)), " ".join(WORDS[:24])).abstained


@pytest.mark.parametrize(("level", "answers"), [(0.0, True), (0.15, True), (0.2, False)])
def test_the_level_decides(level: float, answers: bool) -> None:
    """Of the probability that the answer is right, or that there is none, it has 0.18 here."""
    model = Pointer({"w5": 5.0}, {"w5": 5.0}, null=11.5)  # sigmoid(11.5 - 10) = 0.818
    options = AnswerOptions(min_confidence=level)
    prediction = ask(replace(predictor_of(model), options=options), "w4 w5 w6")
    assert prediction.abstained != answers
    assert prediction.no_answer == pytest.approx(0.8176, abs=1e-4)
    assert prediction.score == pytest.approx(0.18, abs=5e-3)
    assert prediction.certainty == ("unsure" if answers else "sure")


def test_that_all_have_an_answer_is_taken_for_granted() -> None:
    model = Pointer({"w5": 0.5}, {"w5": 0.5}, null=9.0)
    doubtful, certain = (
        ask(replace(predictor_of(model), options=options), "w4 w5 w6")
        for options in (AnswerOptions(min_confidence="always"), ALL_ANSWERABLE)
    )
    assert not doubtful.abstained
    assert doubtful.no_answer > 0.99
    assert certain.no_answer == 0.0
    assert certain.text == doubtful.text == "w5"
    scores = [candidate.score for candidate in certain.n_best]
    assert scores == pytest.approx(
        [c.score / (1 - doubtful.no_answer) for c in doubtful.n_best], rel=1e-6
    )


def test_a_temperature_changes_confidence_and_not_the_answer() -> None:
    model = Pointer({"w5": 3.0, "w6": 2.0}, {"w7": 3.0, "w6": 1.0})
    prediction = [
        ask(predictor_of(model, calibration=Calibration(temperature=t)), LONG)
        for t in (0.5, 1.0, 4.0)
    ]
    assert len({tuple((c.start, c.end) for c in p.n_best) for p in prediction}) == 1
    assert prediction[0].score > prediction[1].score > prediction[2].score


def test_predictions_come_in_the_order_of_the_examples() -> None:
    """Batches are sorted by length; answers are not."""
    lengths = [3, 59, 1, 30, 24, 25, 2, 60, 10]
    examples = [
        Example(str(i), "w1 ?", " ".join(WORDS[:length])) for i, length in enumerate(lengths)
    ]
    scores = {word: float(number) for number, word in enumerate(WORDS)}
    model = Pointer(scores, scores)
    for size in (1, 2, 64):
        predictor = replace(predictor_of(model), batch_size=size)
        prediction = predictor.predict(examples, encoded(*examples))
        assert [p.text for p in prediction] == [WORDS[length - 1] for length in lengths]
    assert predictor_of(model).predict([], encoded()) == []


@pytest.mark.parametrize("null", [None, 0.0])
@pytest.mark.parametrize(
    ("question", "context"), [("w1 ?", ""), ("w1 ?", " \n"), ("", "w1 w2"), ("  ", "w1"), ("", "")]
)
def test_an_empty_question_or_passage_is_refused(
    question: str, context: str, null: float | None
) -> None:
    prediction = ask(predictor_of(Pointer({"w1": 5.0}, {"w1": 5.0}, null)), context, question)
    assert (prediction.text, prediction.start, prediction.end, prediction.no_answer) == (
        "",
        0,
        0,
        1.0,
    )


def test_prediction_leaves_no_gradients_and_no_dropout(random_reader: Build) -> None:
    reader = random_reader(LONG)
    reader.scorer.module.train()
    predictor = Predictor(reader.scorer, Calibration())
    example = Example("1", "w3 ?", LONG)
    rows = reader.scorer.encoder.encode([example])
    assert predictor.predict([example], rows) == predictor.predict([example], rows)
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()


@pytest.mark.parametrize("n", [1, 5, 12])
def test_n_best_is_full_even_if_a_text_repeats(n: int) -> None:
    """One word occurs twenty times in a window, and scores best."""
    context = " ".join(["w1"] * 20 + WORDS[2:5])
    scorer = Pointer({"w1": 9.0}, {"w1": 9.0}, max_answer=1)
    prediction = ask(predictor_of(scorer, options=AnswerOptions(n_best=n)), context)
    assert [c.text for c in prediction.n_best] == ["w1", "w2", "w3", "w4"][:n]


def test_equal_answers_of_several_windows_go_to_the_earliest() -> None:
    """Whatever the order of the windows."""
    same = dict.fromkeys(WORDS, 1.0)
    prediction = ask(predictor_of(Pointer(same, same), options=AnswerOptions(n_best=3)), LONG)
    assert [c.text for c in prediction.n_best] == ["w0", "w1", "w2"]


def test_log_sums_over_allowed_places_only() -> None:
    scores = np.array([[1.0, 2.0, 99.0], [500.0, -500.0, 0.0], [1.0, 1.0, 1.0]], np.float32)
    allowed = np.array([[True, True, False], [True, True, True], [False] * 3])
    found = log_sums(scores, allowed)
    assert found[:2] == pytest.approx([math.log(math.e + math.e**2), 500.0])
    assert found[2] == -math.inf


def test_candidates_have_letters_or_digits() -> None:
    context = "Yes . - 5 % ; ( a ) ?!"
    places = np.array(word_spans(context), np.int32)  # (P, 2)
    same, allowed = np.zeros(len(places), np.float32), np.ones(len(places), np.bool_)
    spans = best_spans(same, same, allowed, places, context, max_places=3, n=99)
    texts = [context[span.start : span.end] for span in spans]
    assert len(texts) >= 3
    assert all(re.search(r"\w", text) for text in texts)
