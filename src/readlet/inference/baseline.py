"""The lexical baseline: no training, no model, a lower bound to compare readers with.

The best sentence has the largest overlap with the words of the question, weighted by idf. The
answer is the run of its other content words that is nearest to the shared ones;
numbers answer "when" and "how many", capitalised words "who" and "where".
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Unpack
from unicodedata import normalize

from readlet.errors import ReadletError
from readlet.evaluation.evaluation import question_type
from readlet.inference.inputs import (
    DEFAULTS,
    Answerer,
    AnswerOptions,
    Asked,
    OptionKeywords,
    as_examples,
)
from readlet.text.languages import LANGUAGES_OF_WORD
from readlet.text.passages import sentence_span
from readlet.text.words import SENTENCE_ENDS, word_spans
from readlet.types import Candidate, Prediction

# If no sentence has this share of the question's weight, the baseline predicts "no answer".
# Low on purpose: a higher threshold gains points only by abstaining on nearly every question.
MIN_COVERAGE = 0.2

_SHORT = 0.5  # added for a run of at most four words: answers are short
_FITS = 2.0  # added for a run of words that fit the type of the question
_KINDS: dict[str, Callable[[str], bool]] = {
    "when": lambda word: word[0].isdigit(),
    "how many": lambda word: word[0].isdigit(),
    "who": lambda word: word[0].isupper(),
    "where": lambda word: word[0].isupper(),
}
# Longer sentences are cut: the time for a sentence grows faster than its length.
_MAX_SENTENCE = 500


@dataclass(frozen=True, slots=True)
class _Passage:
    """The words of a context in NFC, their stems, and the sentences."""

    text: str
    spans: Sequence[tuple[int, int]]
    words: Sequence[str]
    stems: Sequence[str]
    sentences: Sequence[range]


class LexicalBaseline(Answerer):
    """Answers like a reader, by counting words. It caches the last passage."""

    name = "baseline"
    takes_unanswerable_share = False

    def __init__(self) -> None:
        self._last: _Passage | None = None

    def answer_batch(
        self,
        asked: Iterable[Asked],
        options: AnswerOptions = DEFAULTS,
        **given: Unpack[OptionKeywords],
    ) -> Iterator[Prediction]:
        """Predictions in order, one at a time: any number of questions fits in memory.

        It treats all languages alike.
        """
        options = options.changed(**given)
        if options.unanswerable_share:
            fault = "the baseline has no calibrated probabilities"
            raise ReadletError(f"unanswerable-share: {fault}; leave it out")
        for example in as_examples(asked):
            if self._last is None or self._last.text != example.context:
                self._last = _read(example.context)
            candidates, coverage = _answers(example.question, self._last, options.n_best)
            no_answer = 0.0 if options.unanswerable_share == 0 and candidates else 1.0 - coverage
            # Its scores are not probabilities: the coverage decides.
            least = MIN_COVERAGE if options.min_confidence == "balanced" else options.level
            yield Prediction.choose(candidates, no_answer, 0.0).at_threshold(1.0 - least)


def _read(context: str) -> _Passage:
    spans = word_spans(context)
    words = [normalize("NFC", context[start:end]) for start, end in spans]
    sentences, first = [], 0
    for index, word in enumerate(words, 1):
        if word in SENTENCE_ENDS or index in (len(words), first + _MAX_SENTENCE):
            sentences.append(range(first, index))
            first = index
    return _Passage(context, spans, words, [_stem(word) for word in words], sentences)


def _stem(word: str) -> str:
    """The first six letters: "invented" and "inventor" have the same stem."""
    return word.casefold()[:6]


def _answers(question: str, passage: _Passage, n_best: int) -> tuple[tuple[Candidate, ...], float]:
    """The best answers, and the share of the question's weight that the best sentence has."""
    question, kind = normalize("NFC", question), question_type(question)
    asked = _weights(question, passage)
    total = sum(asked.values())
    found: list[tuple[float, range]] = []
    coverage = 0.0
    for sentence in passage.sentences:
        matched = {passage.stems[i] for i in sentence} & asked.keys()
        # In the order of the question: a sum must not depend on the order of a set.
        overlap = sum(weight for stem, weight in asked.items() if stem in matched)
        coverage = max(coverage, overlap / total if total else 0.0)
        shared = [(i, asked[passage.stems[i]]) for i in sentence if passage.stems[i] in asked]
        runs = [
            (_SHORT * (len(run) <= 4), run)
            for run in _runs(sentence, passage, asked, lambda _: True)
        ]
        if kind in _KINDS:
            runs += [(_FITS, run) for run in _runs(sentence, passage, asked, _KINDS[kind])]
        found += [(overlap + prior + _nearness(run, shared), run) for prior, run in runs]
    return _n_best(found, passage, n_best), coverage


def _weights(question: str, passage: _Passage) -> dict[str, float]:
    """The idf of the question's content words, with the passage's sentences as documents."""
    in_sentences = Counter(
        stem for sentence in passage.sentences for stem in {passage.stems[i] for i in sentence}
    )
    count = len(passage.sentences)
    # A dict, not a set: it keeps the order of the question, in every process.
    words = dict.fromkeys(question[start:end].casefold() for start, end in word_spans(question))
    return {
        _stem(word): math.log1p(count / in_sentences.get(_stem(word), 0.5))
        for word in words
        if word not in LANGUAGES_OF_WORD and word[0].isalnum()
    }


def _runs(
    sentence: range, passage: _Passage, asked: dict[str, float], fitting: Callable[[str], bool]
) -> Iterator[range]:
    """Runs of content words that fit and are not in the question; one other word may join two."""

    def is_content(i: int) -> bool:
        word = passage.words[i]
        is_new = word[0].isalnum() and passage.stems[i] not in asked
        return is_new and word.casefold() not in LANGUAGES_OF_WORD and fitting(word)

    chosen = [i for i in sentence if is_content(i)]
    while chosen:
        count = 1
        while count < len(chosen) and _are_joined(chosen[count - 1], chosen[count], passage):
            count += 1
        yield range(chosen[0], chosen[count - 1] + 1)
        chosen = chosen[count:]


def _are_joined(one: int, other: int, passage: _Passage) -> bool:
    """Neighbours, or with one word between them: University *of* Paris."""
    between = passage.words[one + 1 : other]
    return other - one <= 2 and all(word.casefold() in LANGUAGES_OF_WORD for word in between)


def _nearness(span: range, shared: Sequence[tuple[int, float]]) -> float:
    """The weights of shared words (index, weight), each divided by its distance to the span."""
    return sum(
        weight / (1 + min(abs(i - span.start), abs(i - span.stop + 1))) for i, weight in shared
    )


def _n_best(
    found: list[tuple[float, range]], passage: _Passage, count: int
) -> tuple[Candidate, ...]:
    """The best candidates without duplicates; their scores sum to 1."""
    found.sort(key=lambda item: (-item[0], item[1].start, len(item[1])))
    best: dict[tuple[int, int], float] = {}
    for score, span in found:
        place = passage.spans[span.start][0], passage.spans[span.stop - 1][1]
        if place not in best:
            best[place] = score
        if len(best) == count:
            break
    # Relative to the best: exp of a long question's score would overflow.
    top = next(iter(best.values()), 0.0)
    powers = {place: math.exp(score - top) for place, score in best.items()}
    total = sum(powers.values())
    return tuple(
        Candidate(
            passage.text[start:end],
            start,
            end,
            power / total,
            passage.text[slice(*sentence_span(passage.text, start, end))],
        )
        for (start, end), power in powers.items()
    )
