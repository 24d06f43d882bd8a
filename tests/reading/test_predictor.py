"""From scores to answers: windows are joined as if the passage had been read at once."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from readlet.encoding.batches import Batch, FormTables
from readlet.encoding.features import NULL_FORM, PADDING_FORM, Features, encode
from readlet.encoding.vocabulary import NULL, Vocabulary
from readlet.encoding.windows import Windows
from readlet.encoding.words import word_spans
from readlet.models.qacnn import SpanScores
from readlet.reading.calibration import Calibration
from readlet.reading.predictor import Predictor
from readlet.reading.reader import Reader
from readlet.recipe.recipe import Data
from readlet.types import Example

Build = Callable[..., Reader]

WORDS = [f"w{number}" for number in range(60)]
LONG = " ".join(WORDS)  # four windows of 24 words
KNOWN = Vocabulary(tuple(WORDS), (), "w0123456789", 4)
DATA = Data(max_context=24, overlap=8, max_question=12, max_answer=5)


class Pointer(nn.Module):
    """Instead of a model: the score of a place is that of its word, whatever stands around it."""

    def __init__(self, start: dict[str, float], end: dict[str, float], null: float = 0.0) -> None:
        super().__init__()
        self.nothing = nn.Parameter(torch.zeros(1))  # tells the device
        self.start, self.end = (self._table(scores, null) for scores in (start, end))

    def read_characters(self, tables: FormTables) -> None:
        """It looks at words only."""

    def forward(self, batch: Batch, tables: FormTables) -> SpanScores:
        words = tables.words[batch.forms[batch.context]]  # (B, L)
        return SpanScores(self.start[words], self.end[words], batch.context != 0)

    def _table(self, scores: dict[str, float], null: float) -> Tensor:
        table = torch.zeros(KNOWN.trainable_rows)
        table[NULL] = null / 2
        for word, score in scores.items():
            table[KNOWN.word_number(word)] = score
        return table


def predictor_of(model: nn.Module, null: bool = False, **options: Any) -> Predictor:
    values: dict[str, Any] = {"calibration": Calibration(), "batch_size": 3} | options
    return Predictor(model, DATA, null, **values)


def encoded(*examples: Example) -> Features:
    return encode(examples, KNOWN, Windows(DATA.max_context, DATA.overlap, DATA.max_question))


def ask(predictor: Predictor, context: str, question: str = "w1 ?") -> Any:
    example = Example("1", question, context)
    return predictor.predict([example], encoded(example))[0]


@pytest.mark.parametrize("place", [0, 15, 16, 23, 24, 30, 47, 48, 55, 56, 59])
@pytest.mark.parametrize("null", [False, True])
def test_an_answer_in_any_window_is_found(place: int, null: bool) -> None:
    word = WORDS[place]
    said = ask(predictor_of(Pointer({word: 9.0}, {word: 9.0}), null), LONG)
    start = LONG.index(word + " ") if place < 59 else LONG.rindex(word)
    assert (said.text, said.start, said.end) == (word, start, start + len(word))


def test_an_answer_of_several_words_in_the_overlap() -> None:
    said = ask(predictor_of(Pointer({"w20": 9.0}, {"w23": 9.0})), LONG)
    assert said.text == "w20 w21 w22 w23"
    # Six words are one too many: another answer has to do.
    assert len(ask(predictor_of(Pointer({"w20": 9.0}, {"w25": 9.0})), LONG).text.split()) <= 5


def windows_alone(reader: Reader, features: Features, row: int) -> tuple[list[float], list[float]]:
    """Scores of a row by itself: a batch of one without padding, made by hand."""
    first, length = features.row_window[row].tolist()
    context = features.forms[features.text(features.row_context[row])][first : first + length]
    question = features.forms[features.text(features.row_question[row])]
    null = [NULL_FORM] if reader.null else []
    texts = [*null, *context.tolist(), *question.tolist()]
    # Every word is a form of its own, repeated or not: what shares them has no part in this.
    places = torch.arange(1, len(texts) + 1)
    batch = Batch(
        rows=torch.tensor([row]),
        forms=torch.tensor([PADDING_FORM, *texts]),
        context=places[None, : len(texts) - len(question)],
        question=places[None, len(texts) - len(question) :],
        labels=torch.zeros(1, 2, dtype=torch.long),
        weight=torch.ones(1),
    )
    with torch.inference_mode():
        scores = reader.model(batch, FormTables(features))
    return scores.start[0].tolist(), scores.end[0].tolist()


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_long_passage_equals_a_search_over_all_its_windows(
    random_reader: Build, null: bool, temperature: float, seed: int
) -> None:
    reader = random_reader(LONG, null=null, seed=seed)
    example = Example("1", "w3 w9 w40 ?", LONG)
    features = encode([example], reader.vocabulary, Windows(24, 8, 12))
    assert len(features) == 4
    spans: dict[tuple[int, int], float] = {}
    words: list[tuple[list[float], list[float]]] = []
    nulls: list[tuple[float, float]] = []
    for row in range(len(features)):
        start, end = windows_alone(reader, features, row)
        words.append((start[int(null) :], end[int(null) :]))
        if null:
            nulls.append((start[0], end[0]))
        shift = int(features.row_window[row, 0]) - null
        for i in range(int(null), len(start)):
            for j in range(i, min(i + DATA.max_answer, len(end))):
                place = (i + shift, j + shift)
                spans[place] = max(spans.get(place, -math.inf), start[i] + end[j])
    ranked = sorted(spans, key=lambda place: -spans[place])[:5]

    def weight(*scores: float) -> float:
        return math.exp(sum(scores) / temperature)

    total = sum(weight(s, e) for starts, ends in words for s in starts for e in ends)
    if null:  # that of one window: "not here" is true of most
        no_start, no_end = min(nulls, key=sum)
        total += weight(no_start, no_end)
        total += sum(weight(s, no_end) for starts, _ in words for s in starts)
        total += sum(weight(no_start, e) for _, ends in words for e in ends)
    calibration = Calibration(
        temperature=temperature,
        no_answer_slope=0.7,
        no_answer_bias=-0.4,
        no_answer_threshold=1.0,
    )
    predictor = Predictor(reader.model, DATA, null, calibration)
    (said,) = predictor.predict([example], features)
    places = word_spans(LONG)
    assert [(c.start, c.end) for c in said.n_best] == [
        (places[first][0], places[last][1]) for first, last in ranked
    ]
    assert [c.score for c in said.n_best] == pytest.approx(
        [math.exp(spans[place] / temperature) / total for place in ranked], rel=1e-3
    )
    assert (said.text, said.start, said.end) == (
        said.n_best[0].text,
        said.n_best[0].start,
        said.n_best[0].end,
    )
    if null:
        odds = math.exp(0.7 * (min(map(sum, nulls)) - spans[ranked[0]]) - 0.4)
        assert said.no_answer == pytest.approx(odds / (1 + odds), rel=1e-3)
    else:
        assert said.no_answer == 0


@settings(max_examples=40)
@given(st.lists(st.sampled_from(WORDS[:4]), min_size=1, max_size=60), st.integers(1, 8))
def test_n_best_has_no_duplicates_and_is_sorted(listed: list[str], n: int) -> None:
    scores = {word: float(number) for number, word in enumerate(WORDS[:4])}
    context = " ".join(listed)
    said = ask(predictor_of(Pointer(scores, scores), n_best=n), context)
    texts = [candidate.text for candidate in said.n_best]
    assert len(set(texts)) == len(texts) <= n
    assert texts
    given_scores = [candidate.score for candidate in said.n_best]
    assert given_scores == sorted(given_scores, reverse=True)
    assert sum(given_scores) <= 1 + 1e-6
    for candidate in said.n_best:
        assert context[candidate.start : candidate.end] == candidate.text
    assert said.text == texts[0]
    # The best of all: the highest first word and the highest last word within five words.
    best = max(
        scores[listed[i]] + scores[listed[j]]
        for i in range(len(listed))
        for j in range(i, min(i + 5, len(listed)))
    )
    words = said.text.split()
    assert scores[words[0]] + scores[words[-1]] == best


def test_as_many_answers_as_asked_for_where_there_are_enough() -> None:
    for n in (1, 3, 10):
        said = ask(predictor_of(Pointer({"w7": 1.0}, {"w8": 2.0}), n_best=n), LONG)
        assert len(said.n_best) == n
    assert len(ask(predictor_of(Pointer({}, {}), n_best=10), "w1 w2").n_best) == 3


def test_no_answer_only_if_every_window_says_so() -> None:
    refusing = Pointer({"w59": 4.0}, {"w59": 4.0}, null=6.0)
    # The last window prefers its answer by 8 to 6, the others prefer nothing by 6 to 0.
    said = ask(predictor_of(refusing, null=True), LONG)
    assert said.text == "w59"
    assert said.no_answer == pytest.approx(1 / (1 + math.exp(2)), rel=1e-5)
    said = ask(predictor_of(refusing, null=True), " ".join(WORDS[:24]))
    assert not said.is_answer
    assert (said.text, said.start, said.end) == ("", 0, 0)
    assert said.score == said.no_answer == pytest.approx(1 / (1 + math.exp(-6)), rel=1e-5)
    assert said.n_best  # what it would have said
    # A reader without a place for "no answer" always answers.
    assert ask(predictor_of(refusing, null=False), " ".join(WORDS[:24])).is_answer


@pytest.mark.parametrize(("threshold", "answers"), [(0.7, False), (0.74, True), (1.0, True)])
def test_the_threshold_decides(threshold: float, answers: bool) -> None:
    model = Pointer({"w5": 0.5}, {"w5": 0.5}, null=2.0)  # sigmoid(2 - 1) = 0.731
    calibration = Calibration(no_answer_threshold=threshold)
    said = ask(predictor_of(model, null=True, calibration=calibration), "w4 w5 w6")
    assert said.is_answer == answers
    assert said.no_answer == pytest.approx(0.7311, abs=1e-4)


def test_a_temperature_changes_confidence_and_not_the_answer() -> None:
    model = Pointer({"w5": 3.0, "w6": 2.0}, {"w7": 3.0, "w6": 1.0})
    said = [
        ask(predictor_of(model, calibration=Calibration(temperature=t)), LONG)
        for t in (0.5, 1.0, 4.0)
    ]
    assert len({tuple((c.start, c.end) for c in p.n_best) for p in said}) == 1
    assert said[0].score > said[1].score > said[2].score


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
        said = predictor.predict(examples, encoded(*examples))
        assert [p.text for p in said] == [WORDS[length - 1] for length in lengths]
    assert predictor_of(model).predict([], encoded()) == []


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize(
    ("question", "context"), [("w1 ?", ""), ("w1 ?", " \n"), ("", "w1 w2"), ("  ", "w1"), ("", "")]
)
def test_nothing_to_read_or_to_ask_is_refused(question: str, context: str, null: bool) -> None:
    said = ask(predictor_of(Pointer({"w1": 5.0}, {"w1": 5.0}), null), context, question)
    assert (said.text, said.start, said.end, said.no_answer) == ("", 0, 0, 1.0)


def test_prediction_leaves_no_gradients_and_no_dropout(random_reader: Build) -> None:
    reader = random_reader(LONG)
    reader.model.train()
    predictor = Predictor(reader.model, DATA, False, Calibration())
    example = Example("1", "w3 ?", LONG)
    features = encode([example], reader.vocabulary, Windows(24, 8, 12))
    assert predictor.predict([example], features) == predictor.predict([example], features)
    assert not next(predictor.scores(features))[1].start.requires_grad
