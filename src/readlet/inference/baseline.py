"""The lexical baseline: no training, no model, a lower bound to compare readers with.

The best sentence has the largest overlap with the words of the question, weighted by idf. The
answer is the span of that sentence that fits the type of the question (a date for "when") and is
nearest to the shared words.
"""

import math
import re
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
from readlet.text.languages import FUNCTION_WORDS
from readlet.text.words import SENTENCE_ENDS, word_spans
from readlet.types import Candidate, Prediction

# If no sentence has this share of the question's weight, the baseline predicts "no answer".
# Low on purpose: a higher threshold gains points only by abstaining on nearly every question.
MIN_COVERAGE = 0.2

_FUNCTION = frozenset().union(*FUNCTION_WORDS.values()) | frozenset(
    "a an i do does did has have had been will would can could its their he she they we you or but "
    "not also into than then there these those when who how what why where".split()
)
_MONTHS = frozenset(
    "january february march april may june july august september october november december "
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre "
    "januar februar märz juni juli oktober dezember".split()
)
_NUMBERS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty "
    "sixty seventy eighty ninety hundred thousand million billion half dozen "
    "dos tres cuatro cinco seis siete ocho nueve diez deux trois quatre cinq sept huit neuf dix "
    "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf mil cent mille tausend".split()
)
_REASON = frozenset(
    "because since to so due owing porque para debido parce pour car weil da um".split()
)
_MANNER = frozenset("by with through using mediante con par avec en durch mit indem".split())
_PLACE = frozenset("in at from near to into around on en desde à dans de bei aus nach".split())
_JOINS_NAMES = frozenset("of de la von der du del and &".split())
# "What year" means when, "which city" means where.
_ASKED_KIND = {
    "when": "year date century month day decade año siglo année siècle jahr jahrhundert",
    "where": "city country town place continent region ciudad país ville pays stadt land ort",
    "who": "person scientist man woman king queen inventor engineer author",
    "how many": "number percentage percent share height length distance age",
}
# Longer sentences are cut: the time for a sentence grows faster than its length.
_MAX_SENTENCE = 500
_YEAR = re.compile(r"1\d{3}s?|20\d\ds?")


@dataclass(frozen=True, slots=True)
class _Passage:
    """The words of a context in NFC, their stems, and the sentences."""

    text: str
    spans: Sequence[tuple[int, int]]
    words: Sequence[str]
    stems: Sequence[str]
    sentences: Sequence[range]


class LexicalBaseline(Answerer):
    """Answers like any reader, by counting words. It caches the last passage."""

    name = "baseline"
    no_answer_threshold = 1.0 - MIN_COVERAGE
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

        It reads all languages alike.
        """
        options = options.changed(**given)
        if options.unanswerable_share is not None:
            fault = "the baseline has no calibrated probabilities"
            raise ReadletError(f"unanswerable-share: {fault}; leave it out, or set the threshold")
        for example in as_examples(asked):
            if self._last is None or self._last.text != example.context:
                self._last = _read(example.context)
            candidates, coverage = _answers(example.question, self._last, options.n_best)
            no_answer = 0.0 if options.always_answer and candidates else 1.0 - coverage
            own = self.no_answer_threshold
            limit = own if options.threshold is None else options.threshold
            yield Prediction.choose(candidates, no_answer, limit)


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
    question = normalize("NFC", question)
    asked = _weights(question, passage)
    kind = _kind(question)
    total = sum(asked.values())
    found: list[tuple[float, range]] = []
    coverage = 0.0
    for sentence in passage.sentences:
        matched = {passage.stems[i] for i in sentence} & asked.keys()
        # In the order of the question: a sum must not depend on the order of a set.
        overlap = sum(weight for stem, weight in asked.items() if stem in matched)
        coverage = max(coverage, overlap / total if total else 0.0)
        shared = [(i, asked[passage.stems[i]]) for i in sentence if passage.stems[i] in asked]
        for span, prior in _candidates(kind, sentence, passage, asked):
            found.append((overlap + prior + _nearness(span, shared), span))
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
        if word not in _FUNCTION and word[0].isalnum()
    }


def _kind(question: str) -> str:
    kind = question_type(question)
    if kind in ("what", "which"):
        first = question.casefold().split()[:4]
        for asked, nouns in _ASKED_KIND.items():
            if any(word.strip("¿?,") in nouns.split() for word in first):
                return asked
    return kind


def _candidates(
    kind: str, sentence: range, passage: _Passage, asked: dict[str, float]
) -> Iterator[tuple[range, float]]:
    """Spans of a sentence that could answer this type of question, each with a prior."""
    words = passage.words
    if kind in ("why", "how"):
        markers = _REASON if kind == "why" else _MANNER
        for i in sentence:
            if words[i].casefold() in markers:
                piece = _clause(i + 1, sentence, words)
                if len(piece) > 1:
                    yield piece, 1.5
    tests: dict[str, Callable[[str], bool]] = {
        "when": lambda word: bool(_YEAR.fullmatch(word)) or word.casefold() in _MONTHS,
        "how many": lambda word: word[0].isdigit() or word.casefold() in _NUMBERS,
        "who": lambda word: word[0].isupper(),
        "where": lambda word: word[0].isupper(),
    }
    test = tests.get(kind)
    if test is not None:
        for run in _runs(sentence, words, test, asked):
            before = words[run.start - 1].casefold() if run.start > sentence.start else ""
            opens = run.start == sentence.start and len(run) == 1  # always capitalised there
            yield run, 2.0 - opens + (kind == "where" and before in _PLACE)
    for run in _runs(sentence, words, lambda word: word.casefold() not in _FUNCTION, asked):
        yield run, 0.5 * (len(run) <= 4)


def _runs(
    sentence: range, words: Sequence[str], test: Callable[[str], bool], asked: dict[str, float]
) -> Iterator[range]:
    """Maximal runs of matching words that are not in the question."""
    first = None
    for i in (*sentence, sentence.stop):
        fits = (
            i < sentence.stop
            and words[i][0].isalnum()
            and _stem(words[i]) not in asked
            and (test(words[i]) or (first is not None and _joins(i, sentence, words, test)))
        )
        if fits and first is None:
            first = i
        elif not fits and first is not None:
            yield range(first, i)
            first = None


def _joins(i: int, sentence: range, words: Sequence[str], test: Callable[[str], bool]) -> bool:
    """A function word inside a name: University *of* Paris."""
    return words[i] in _JOINS_NAMES and i + 1 < sentence.stop and test(words[i + 1])


def _clause(first: int, sentence: range, words: Sequence[str]) -> range:
    stop = first
    while stop < sentence.stop and words[stop] not in ",;:.!?()" and stop - first < 12:
        stop += 1
    return range(first, stop)


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
        Candidate(passage.text[start:end], start, end, power / total)
        for (start, end), power in powers.items()
    )
