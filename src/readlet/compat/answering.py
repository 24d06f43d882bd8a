"""The ways to call the pipeline: its questions, and whether it returns one answer or a list.

The options of a call, under their names in transformers' pipeline.

The protocol of answering models: questions and options in, ranked answers out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypedDict

from readlet.errors import ReadletError, warn_caller
from readlet.inference.inputs import Answerer, AnswerOptions, Asked, as_examples

_REMEDY = "give question= and context=: two texts, a list and a text, or two lists"
Pairs = list[tuple[str, str]]


def pairs_of(args: tuple[Any, ...], question: Any, context: Any) -> Pairs | Iterator[Any]:
    """(question, context) pairs; an iterator of them if the call gives one.

    Besides `question` and `context` the forms of version 4: two texts, and dicts or objects with
    `question_text` and `context_text`, one, several or a list.
    """
    if not args:
        return _checked(_zipped(question, context))
    if question is not None or context is not None:
        raise ReadletError(f"both questions by position and by name; {_REMEDY}")
    if len(args) == 2 and all(isinstance(text, str) for text in args):
        return _checked([(args[0], args[1])])
    given = args[0] if len(args) == 1 else list(args)
    if isinstance(given, Iterator):
        return (_checked([_asked(item)])[0] for item in given)
    return _checked([_asked(item) for item in (given if isinstance(given, list) else [given])])


def _zipped(question: Any, context: Any) -> list[Asked]:
    if isinstance(question, str) and isinstance(context, str):
        return [(question, context)]
    if isinstance(question, list) and isinstance(context, str):
        return [(one, context) for one in question]
    if isinstance(question, list) and isinstance(context, list):
        if len(question) != len(context):
            counts = f"{len(question)} questions and {len(context)} contexts"
            raise ReadletError(f"{counts}; give the same number of both")
        return list(zip(question, context, strict=True))
    kinds = f"question is a {type(question).__name__}, context a {type(context).__name__}"
    raise ReadletError(f"{kinds}; {_REMEDY}")


def _asked(item: Any) -> Asked:
    if hasattr(item, "question_text") and hasattr(item, "context_text"):  # as SquadExample has
        return item.question_text, item.context_text
    if not isinstance(item, Mapping):
        raise ReadletError(f"a {type(item).__name__} is not a question; {_REMEDY}")
    return item


def _checked(asked: list[Asked]) -> Pairs:
    pairs = [(example.question, example.context) for example in as_examples(asked)]
    for number, pair in enumerate(pairs, 1):
        for name, text in zip(("question", "context"), pair, strict=True):
            if not text:
                raise ReadletError(f"item {number}: its {name} is empty; give text")
    return pairs


MOST_TOKENS, MOST_OVERLAP = 384, 128  # of a window, unless the options say otherwise


@dataclass(frozen=True)
class Options:
    """None is the default of the model."""

    top_k: int = 1
    handle_impossible_answer: bool = False
    max_answer_len: int | None = None  # in tokens
    max_seq_len: int | None = None  # of question and window together
    doc_stride: int | None = None  # tokens that two windows share
    align_to_words: bool | None = None

    def __post_init__(self) -> None:
        for name in ("top_k", "max_answer_len"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise ReadletError(f"{name}: {value!r:.40}; give a number from 1")

    def changed(self, given: dict[str, Any]) -> "Options":
        """With the options of a call; None leaves an option unchanged.

        Old programs pass options of old versions: a warning says how they are treated.
        """
        known = [field.name for field in fields(self)]
        chosen = {}
        for name, value in given.items():
            new = _RENAMED.get(name, name)
            if new not in known and name not in _WITHOUT_EFFECT:
                raise ReadletError(f"{name}: no such option; give one of {', '.join(known)}")
            if value is None:
                continue
            if name in _WITHOUT_EFFECT:
                warn_caller(f"{name}: has no effect; {_WITHOUT_EFFECT[name]}")
                continue
            if new != name:
                warn_caller(f"{name}: is called {new} now")
            if new == name or new not in given:
                chosen[new] = value
        return replace(self, **chosen)


_RENAMED = {"topk": "top_k"}
# Other arguments of pipelines and their calls, from version 2 to 5.2, and a remedy.
_LOADED = "load model and tokenizer yourself and pass both"
_UNNEEDED = "leave it out"
_WITHOUT_EFFECT = dict.fromkeys(
    "config revision use_fast device_map dtype torch_dtype token use_auth_token trust_remote_code "
    "model_kwargs".split(),
    _LOADED,
) | dict.fromkeys(
    "framework feature_extractor image_processor processor modelcard num_workers batch_size "
    "binary_output args_parser pipeline_class max_question_len padding".split(),
    _UNNEEDED,
)
_OF_TOKENS = ("max_answer_len", "max_seq_len", "doc_stride", "align_to_words")


class Answer(TypedDict):
    """An answer as the pipeline returned it; one for "no answer" is empty, from 0 to 0."""

    score: float
    start: int
    end: int
    answer: str


class Answering(Protocol):
    at_once: int  # questions

    def answers(self, asked: Pairs, options: Options) -> Iterator[list[Answer]]:
        """For each question its answers, best first, at most `top_k`."""
        ...


def no_answer(score: float) -> Answer:
    return Answer(score=score, start=0, end=0, answer="")


def ranked(answers: list[Answer], options: Options) -> list[Answer]:
    return sorted(answers, key=lambda answer: -answer["score"])[: options.top_k]


class ReaderAnswering:
    """A Readlet reader, with its own windows and calibrated scores."""

    def __init__(self, reader: Answerer, at_once: int) -> None:
        self.reader = reader
        self.at_once = at_once

    def answers(self, asked: Pairs, options: Options) -> Iterator[list[Answer]]:
        for name in _OF_TOKENS:
            if getattr(options, name) is not None:
                fault = f"{name}: has no effect"
                warn_caller(f"{fault}; a Readlet reader has its own windows and answer length")
        impossible = options.handle_impossible_answer
        how = AnswerOptions(
            n_best=options.top_k,
            min_confidence="always",
            unanswerable_share=None if impossible else 0.0,
        )
        for prediction in self.reader.answer_batch(asked, how):
            found = [
                Answer(score=c.score, start=c.start, end=c.end, answer=c.text)
                for c in prediction.n_best
            ]
            yield ranked(found + [no_answer(prediction.no_answer)] * impossible, options)
