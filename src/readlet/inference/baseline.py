"""The lexical baseline: no training, no model, a lower bound to compare readers with.

The best sentence has the largest overlap with the words of the question, weighted by idf. The
answer is the run of its other content words that is nearest to the shared ones;
numbers answer "when" and "how many", capitalised words "who" and "where".
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Unpack
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


class _Passage(NamedTuple):
    spans: Sequence[tuple[int, int]]
    words: Sequence[str]  # in NFC
    stems: Sequence[str]
    sentences: Sequence[range]


class LexicalBaseline(Answerer):
    """Answers like a reader, by counting words."""

    name = "baseline"
    takes_unanswerable_share = False

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
        # Its scores are not probabilities: the coverage decides.
        least = MIN_COVERAGE if options.min_confidence == "balanced" else options.level
        for example in as_examples(asked):
            runs, coverage = _ranked(example.question, _read(example.context))
            candidates = _candidates(runs, example.context, options.n_best)
            no_answer = 0.0 if options.unanswerable_share == 0 and candidates else 1.0 - coverage
            yield Prediction.choose(candidates, no_answer, 0.0).at_threshold(1.0 - least)


def _read(context: str) -> _Passage:
    spans = word_spans(context)
    words = [normalize("NFC", context[start:end]) for start, end in spans]
    sentences, first = [], 0
    for index, word in enumerate(words, 1):
        if word in SENTENCE_ENDS or index in (len(words), first + _MAX_SENTENCE):
            sentences.append(range(first, index))
            first = index
    return _Passage(spans, words, [_stem(word) for word in words], sentences)


def _stem(word: str) -> str:
    """The first six letters: "invented" and "inventor" have the same stem."""
    return word.casefold()[:6]


def _ranked(question: str, passage: _Passage) -> tuple[list[tuple[float, int, int]], float]:
    """Runs of words, best first: score, start and end in characters.

    And the share of the question's weight that the best sentence has.
    """
    question = normalize("NFC", question)
    fits = _KINDS.get(question_type(question))
    weights = _weights(question, passage)
    total = sum(weights.values())
    found: list[tuple[float, range]] = []
    coverage = 0.0
    for sentence in passage.sentences:
        matched = {passage.stems[i] for i in sentence}
        # In the order of the question: a sum must not depend on the order of a set.
        overlap = sum(weight for stem, weight in weights.items() if stem in matched)
        coverage = max(coverage, overlap / total if total else 0.0)
        shared = [(i, weights[passage.stems[i]]) for i in sentence if passage.stems[i] in weights]
        new = [i for i in sentence if _is_content(passage.words[i])]
        new = [i for i in new if passage.stems[i] not in weights]
        runs = [(_SHORT * (len(run) <= 4), run) for run in _runs(new, passage)]
        if fits is not None:
            fitting = [i for i in new if fits(passage.words[i])]
            runs += [(_FITS, run) for run in _runs(fitting, passage)]
        found += [(overlap + prior + _nearness(run, shared), run) for prior, run in runs]
    found.sort(key=lambda item: (-item[0], item[1].start, len(item[1])))
    places = passage.spans
    return [(score, places[run[0]][0], places[run[-1]][1]) for score, run in found], coverage


def _is_content(word: str) -> bool:
    return word[0].isalnum() and word.casefold() not in LANGUAGES_OF_WORD


def _weights(question: str, passage: _Passage) -> dict[str, float]:
    """The idf of the question's content words, with the passage's sentences as documents."""
    in_sentences = Counter(
        stem for sentence in passage.sentences for stem in {passage.stems[i] for i in sentence}
    )
    count = len(passage.sentences)
    # In the order of the question, in every process.
    words = dict.fromkeys(question[start:end].casefold() for start, end in word_spans(question))
    return {
        _stem(word): math.log1p(count / in_sentences.get(_stem(word), 0.5))
        for word in words
        if _is_content(word)
    }


def _runs(chosen: Sequence[int], passage: _Passage) -> Iterator[range]:
    """Runs of these words; a word without content may stand inside: University *of* Paris."""
    run: list[int] = []
    for i in chosen:
        inside = [word.casefold() for word in passage.words[run[-1] + 1 : i]] if run else []
        if run and (len(inside) > 1 or any(word not in LANGUAGES_OF_WORD for word in inside)):
            yield range(run[0], run[-1] + 1)
            run = []
        run.append(i)
    if run:
        yield range(run[0], run[-1] + 1)


def _nearness(run: range, shared: Sequence[tuple[int, float]]) -> float:
    """The weights of shared words (index, weight), each divided by its distance to the run."""
    return sum(weight / (1 + min(abs(i - run[0]), abs(i - run[-1]))) for i, weight in shared)


def _candidates(
    ranked: Iterable[tuple[float, int, int]], context: str, count: int
) -> tuple[Candidate, ...]:
    """The best candidates without duplicates; their scores sum to 1."""
    best: dict[tuple[int, int], float] = {}
    for score, start, end in ranked:
        best.setdefault((start, end), score)
        if len(best) == count:
            break
    # Relative to the best: exp of a long question's score would overflow.
    top = max(best.values(), default=0.0)
    powers = {place: math.exp(score - top) for place, score in best.items()}
    total = sum(powers.values())
    return tuple(
        Candidate(
            context[start:end],
            start,
            end,
            power / total,
            context[slice(*sentence_span(context, start, end))],
        )
        for (start, end), power in powers.items()
    )
