"""`pipeline("question-answering")`, which transformers had until 5.2: its arguments and results."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readlet.compat.answering import Options, ReaderAnswering, pairs_of
from readlet.errors import ReadletError, extra_needed, warn_caller
from readlet.inference.trained_model import AUTO, BASELINE, BUNDLED, chosen_device
from readlet.storage.stored_files import read_json

if TYPE_CHECKING:
    from readlet.compat.answering import Answer, Answering

__all__ = ["pipeline"]
TASK = "question-answering"


class QuestionAnsweringPipeline:
    """Answers questions; made by `pipeline`."""

    task = TASK

    def __init__(self, answering: "Answering", options: Options) -> None:
        self._answering = answering
        self._options = options

    def __call__(
        self, *asked: Any, question: Any = None, context: Any = None, **options: Any
    ) -> "Answer | list[Any] | Iterator[Any]":
        """Answers to one question or several.

        `question` and `context` are texts, a list of questions and a text, or two lists. Options:
        `top_k`, `max_answer_len`, `handle_impossible_answer`, `doc_stride`, `max_seq_len`,
        `align_to_words`. Those of older versions are accepted with a warning that says how they are
        treated.

        The result for a question is a dict with `score`, `start`, `end` and `answer`, or a list
        of them unless there is exactly one. Several questions give a list of results, an iterator
        of questions an iterator of results.
        """
        for name in ("data", "X"):  # as in version 2
            asked += (options.pop(name),) if name in options else ()
        chosen = self._options.changed(options)
        pairs = pairs_of(asked, question, context)
        results = self._results(iter(pairs), chosen)
        if not isinstance(pairs, list):
            return results
        found = list(results)
        return found[0] if len(found) == 1 else found

    def _results(self, pairs: Iterator[Any], options: Options) -> Iterator[Any]:
        while some := list(islice(pairs, self._answering.at_once)):
            for answers in self._answering.answers(some, options):
                yield answers[0] if len(answers) == 1 else answers


def pipeline(
    task: str | None = TASK,
    model: Any = None,
    tokenizer: Any = None,
    *,
    device: Any = None,
    batch_size: int = 8,
    **options: Any,
) -> QuestionAnsweringPipeline:
    """The question-answering pipeline of transformers 5.2, with its arguments and results.

    `model` is a folder or a name on the hub of a model with a span head, such a model itself (then
    with its `tokenizer`), or a reader of Readlet; by default the bundled one. `device` is a name,
    a `torch.device` or a number: -1 is the CPU. `options` are defaults for the calls.

    >>> from readlet.compat import pipeline
    >>> qa = pipeline("question-answering")
    >>> qa(question="Who came?", context="Ada Brook came.")["answer"]
    'Ada Brook'
    """
    from readlet.inference.reader import load_reader

    if task not in (None, TASK):
        remedy = f'give "{TASK}"; for other tasks use transformers.pipeline'
        raise ReadletError(f"task {task!r:.60}: not in readlet.compat; {remedy}")
    if type(batch_size) is not int or batch_size < 1:
        raise ReadletError(f"batch_size: {batch_size!r:.40}; give a number from 1")
    chosen = Options().changed(options)
    name = BUNDLED if model is None else model
    if isinstance(name, (str, Path)) and _is_reader(name):
        if tokenizer is not None:
            warn_caller("tokenizer: has no effect; a Readlet reader has its own")
        reader = load_reader(str(name), device=_device(device))
        answering: Answering = ReaderAnswering(reader, batch_size)
    else:
        answering = _span_model(name, tokenizer, _device(device), batch_size)
    return QuestionAnsweringPipeline(answering, chosen)


def _device(device: Any) -> str:
    if device is None:
        return AUTO
    if isinstance(device, int):
        return "cpu" if device < 0 else f"cuda:{device}"
    return str(device)


def _is_reader(name: str | Path) -> bool:
    """Whether this is a Readlet reader: a config.json of transformers has a `model_type`."""
    if name in (BUNDLED, BASELINE):
        return True
    config = Path(name).expanduser() / "config.json"
    return config.is_file() and "model_type" not in read_json(config)


def _span_model(model: Any, tokenizer: Any, device: str, batch_size: int) -> "Answering":
    with extra_needed("train", "a model of transformers"):
        from readlet.compat.span_models import (
            SpanModelAnswering,
            load_span_model,
            load_tokenizer_of,
        )

    if isinstance(model, (str, Path)):
        tokenizer = model if tokenizer is None else tokenizer
        model = load_span_model(str(model))
    if tokenizer is None:
        raise ReadletError("tokenizer: not given; a loaded model needs its tokenizer")
    used = load_tokenizer_of(tokenizer)
    return SpanModelAnswering(model, used, chosen_device(device), batch_size)
