"""One question about many documents: what is found, from where, and in which order."""

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.errors import ReadletError
from readlet.inference.baseline import LexicalBaseline
from readlet.inference.calibration import DocumentOdds
from readlet.inference.document_text import DocumentText, Part
from readlet.inference.documents import Documents, Found
from readlet.inference.inputs import (
    ALL_ANSWERABLE,
    DEFAULTS,
    MAX_PASSAGES,
    AnswerOptions,
    as_examples,
)
from readlet.inference.reader import Reader
from readlet.inference.retrieval import BM25, MAX_WORDS, pieces
from readlet.text.words import words
from readlet.types import Candidate, Prediction

KILN = "The old kiln stands in Hollow Lane. Ada Brook built it in 1881."
BELL = "The bell was cast by Ines Calder in Ghent. It hangs in the old mill."
RIO = "El puente viejo une las dos orillas del río. Lo construyó Eva Ruiz en 1904."
FILLER = "Nobody came by that day, and nothing was written down. "


def bm25(texts: list[str], question: str) -> list[float]:
    """The formula, term by term."""

    def terms(text: str) -> list[str]:
        return [word.lower()[:6] for word in words(text) if word[0].isalnum()]

    counted = [Counter(terms(text)) for text in texts]
    lengths = [sum(counts.values()) for counts in counted]
    mean = max(sum(lengths) / len(lengths), 1)
    scores = []
    for counts, length in zip(counted, lengths, strict=True):
        score = 0.0
        for term in set(terms(question)):
            n = sum(term in other for other in counted)
            idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            f = counts[term]
            score += idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * length / mean)) if f else 0.0
        scores.append(score)
    return scores


@given(
    st.lists(
        st.lists(st.sampled_from("kiln kilns Kiln old , río 東 1881 inventor invented".split()))
    ),
    st.lists(st.sampled_from("old kiln inventing ? río 東 nobody".split()), max_size=5),
)
def test_scores_are_those_of_the_formula(texts: list[list[str]], question: list[str]) -> None:
    joined = [" ".join(text) for text in texts]
    expected = bm25(joined, " ".join(question)) if texts else []
    got = BM25([words(text) for text in joined]).scores(words(" ".join(question)))
    assert np.allclose(got, expected, rtol=1e-12, atol=1e-12)


@given(st.text(alphabet="ab. \n\t。!東", max_size=3000))
def test_pieces_hold_every_word_once(document: str) -> None:
    cut = pieces(document)
    assert [word for piece in cut for word in piece.words] == words(document)
    for piece in cut:
        assert words(document[piece.start : piece.end]) == piece.words
        assert 0 < len(piece.words) <= MAX_WORDS
    assert all(len(piece.words) >= MAX_WORDS // 2 for piece in cut[:-1])


def test_documents_are_cut_between_paragraphs_then_sentences() -> None:
    sentence = "word " * 29 + "end."
    paragraph = " ".join([sentence] * 4)  # 124 words
    assert [document.count("word") for document in cut_texts(f"{paragraph}\n\n{paragraph}")] == [
        116,
        116,
    ]
    assert all(text.endswith("end.") for text in cut_texts(" ".join([sentence] * 30)))
    wrapped = sentence.replace("word word ", "word\nword ")  # hard line breaks inside sentences
    assert all(text.endswith("end.") for text in cut_texts(" ".join([wrapped] * 30)))
    assert cut_texts(KILN) == [KILN]


def test_rows_of_a_table_are_cut_apart() -> None:
    rows = [Part(f"Oil, row {number}", f"Item: {number}; Price: {number + 9}") for number in (1, 2)]
    long = Part("“End, row 3”", FILLER * 30)
    document = DocumentText.of([Part("", "For all."), *rows, long])
    first, *cut, end, rest = pieces(document.text, document.row_cuts)
    assert document.text[first.start : first.end] == "For all."
    assert [document.text[one.start : one.end] for one in cut] == [row.text for row in rows]
    assert long.text.startswith(document.text[end.start : end.end])
    assert document.place(rest.start) == long.label


def cut_texts(document: str) -> list[str]:
    return [document[piece.start : piece.end] for piece in pieces(document)]


@pytest.fixture(scope="module")
def reader(random_reader: Callable[..., Any]) -> Reader:
    made: Reader = random_reader(KILN, BELL, RIO, FILLER, null=True)
    return made


@pytest.mark.parametrize("passages", [[BELL, KILN, RIO], {"bell": BELL, "kiln": KILN, "río": RIO}])
def test_each_prediction_names_its_passage(reader: Reader, passages: Any) -> None:
    found = reader.answer_any("Who built the kiln?", passages)
    keys = list(passages) if isinstance(passages, dict) else [0, 1, 2]
    assert sorted(one.passage for one in found) == sorted(keys)
    for one in found:
        alone = reader.answer("Who built the kiln?", passages[one.passage])
        given = [(c.text, c.start, c.end) for c in one.prediction.n_best]
        assert given == [(c.text, c.start, c.end) for c in alone.n_best]


@pytest.mark.parametrize("always", [False, True])
def test_all_answers_and_none_share_one_probability(reader: Reader, always: bool) -> None:
    options = ALL_ANSWERABLE if always else DEFAULTS
    found = reader.answer_any("Who built the old kiln?", [KILN, BELL, RIO], options)
    none = {one.prediction.no_answer for one in found}
    assert len(none) == 1
    shown = sum(c.score for one in found for c in one.prediction.n_best)
    assert 0 < shown + none.pop() <= 1 + 1e-9
    if always:
        assert not any(one.prediction.abstained for one in found)
        assert found[0].prediction.no_answer == 0


def test_a_sure_answer_of_an_irrelevant_document_counts_for_nothing() -> None:
    kiln, other = answer_any(Scripted(), "Which kiln?", ["kiln 0.3", "0.999999"])
    assert (kiln.passage, other.passage) == (0, 1)
    assert kiln.prediction.score > other.prediction.score == 0
    (alone,) = answer_any(Scripted(), "Which kiln?", ["0.999999"])
    assert alone.prediction.abstained
    assert (alone.prediction.score, alone.prediction.no_answer) == (0, 1)


def test_relevance_counts_the_words_that_no_document_has() -> None:
    """The most relevant document is not relevant for that."""
    passages = ["kiln 0.9", "bell 0.9"]
    asked, other = (
        answer_any(Scripted(), question, passages)[0].prediction
        for question in ("Which kiln?", "Which kiln broke whose coffee machine yesterday?")
    )
    assert not asked.abstained
    assert other.no_answer > asked.no_answer
    assert other.abstained


def test_evidence_and_relevance_raise_an_answer() -> None:
    def score(*passages: str) -> float:
        found = answer_any(Scripted(), "Which kiln is old?", list(passages))
        return next(one.prediction.score for one in found if one.passage == 0)

    assert score("kiln old 0.9", "bell 0.9") > score("kiln old 0.7", "bell 0.9")
    assert score("kiln old 0.9", "kiln 0.9") > score("kiln 0.9", "kiln old 0.9")


def test_the_share_of_questions_without_an_answer_moves_the_odds_of_none() -> None:
    def none(share: float | None) -> float:
        found = answer_any(Scripted(), "Which kiln?", ["kiln 0.8"], unanswerable_share=share)
        return found[0].prediction.no_answer

    fitted = Scripted.document_odds.unanswerable_share
    assert none(None) == pytest.approx(none(fitted))
    odds = [p / (1 - p) for p in (none(0.5), none(0.8))]
    assert odds[1] / odds[0] == pytest.approx(4)


def test_the_answer_and_its_offsets_are_those_of_the_whole_document() -> None:
    long = "\n" + FILLER * 300 + f"\n\n{KILN}\n\n" + FILLER * 300
    found = answer_any(LexicalBaseline(), "Who built the kiln?", {"bell": BELL, "long": long})
    assert (found[0].passage, found[0].prediction.text) == ("long", "Ada Brook")
    for one in found:
        text = {"bell": BELL, "long": long}[one.passage]  # type: ignore[index]
        prediction = one.prediction
        assert text[prediction.start : prediction.end] == prediction.text
        assert prediction.n_best
        for candidate in prediction.n_best:
            assert text[candidate.start : candidate.end] == candidate.text


def answer_any(reader: Any, question: str, passages: Any, **options: Any) -> list[Found]:
    """`Reader.answer_any` for other readers."""
    most = options.pop("max_passages", MAX_PASSAGES)
    return Documents(passages).answer(reader, question, AnswerOptions(**options), max_passages=most)


class Scripted:
    """Answers with the number in the passage, as its score."""

    name = "scripted"
    takes_unanswerable_share = True
    document_odds = DocumentOdds(relevance=1.0, evidence=1.0, bias=0.0)

    def __init__(self) -> None:
        self.read: list[str] = []

    def answer_batch(self, pairs: Any, *_: Any, **__: Any) -> Any:
        for example in as_examples(pairs):
            context = example.context
            self.read.append(context)
            place = re.search(r"0\.\d+", context)
            if place is None:
                yield REFUSAL
                continue
            score = float(place[0])
            best = Candidate(place[0], *place.span(), score)
            if score < 0.5:
                yield Prediction("", 0, 0, score, 1 - score, True, (best,))
            else:
                yield Prediction(*place_of(best), score, 1 - score, False, (best,))


def place_of(best: Candidate) -> tuple[str, int, int]:
    return best.text, best.start, best.end


REFUSAL = Prediction.choose((), 1.0, 0.0)


def test_best_first_and_nothing_where_none_is_likely_enough() -> None:
    passages = ["kiln 0.4", "nothing", "kiln 0.9", "0.6", "kiln kiln 0.4", "kiln 0.1"]
    found = answer_any(Scripted(), "Kiln?", passages)
    assert [one.passage for one in found] == [2, 4, 0, 5, 1, 3]  # 4 is more relevant than 0
    assert not any(one.prediction.abstained for one in found if one.best)
    assert found[0].relevance > found[-1].relevance == 0
    found = answer_any(Scripted(), "Which kiln?", ["kiln 0.2", "kiln 0.1"])
    assert all(one.prediction.abstained for one in found)
    assert found[0].best is not None


def test_only_the_most_relevant_pieces_are_read() -> None:
    passages = [f"kiln number {i} 0.{5 + i % 4}" if i % 7 == 0 else FILLER for i in range(70)]
    scripted = Scripted()
    found = answer_any(scripted, "Which kiln?", passages, max_passages=4)
    assert scripted.read == [passages[i] for i in (0, 7, 14, 21)]
    assert len(found) == 4


def test_an_answer_is_listed_once_for_each_document() -> None:
    twice = f"A lamp 0.8 {FILLER * 60}" * 2
    found = answer_any(Scripted(), "Which lamp?", [twice, "lamp 0.8"])
    assert sorted((one.passage, one.best.text) for one in found if one.best) == [
        (0, "0.8"),
        (1, "0.8"),
    ]


def test_documents_are_indexed_once_for_several_questions(reader: Reader) -> None:
    documents = Documents({"kiln": KILN, "bell": BELL})
    assert (len(documents), documents.pieces, documents["bell"]) == (2, 2, BELL)
    for question in ("Who built the kiln?", "Who cast the bell?"):
        assert reader.answer_any(question, documents) == reader.answer_any(
            question, {"kiln": KILN, "bell": BELL}
        )


@pytest.mark.parametrize("passages", [[], {}, [""], [" \n", ""]])
def test_nothing_to_read(reader: Reader, passages: Any) -> None:
    assert reader.answer_any("Who?", passages) == []


def test_a_question_without_words_is_refused(reader: Reader) -> None:
    (found,) = reader.answer_any(" ", [KILN])
    assert found.prediction.abstained


@pytest.mark.parametrize(
    ("passages", "message"),
    [(KILN, "passages: "), ([KILN, None], "passage 1: "), ({"a": 3}, "passage 'a': ")],
)
def test_bad_passages(reader: Reader, passages: Any, message: str) -> None:
    with pytest.raises(ReadletError, match=message):
        reader.answer_any("Who?", passages)
