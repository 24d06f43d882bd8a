"""Span models of transformers and their tokenizers, from a folder or the hub.

Every window of the context is scored, and the answers are joined.

Scores are those of the removed pipeline: a product of two softmaxes over a window, added up
over the spans of one text.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError

from readlet.compat.answering import (
    MOST_OVERLAP,
    MOST_TOKENS,
    Answer,
    Options,
    Pairs,
    no_answer,
    ranked,
)
from readlet.errors import InputError, ReadletError, bad_input
from readlet.inference.decoding import log_sums, spans_in_order
from readlet.models.family import Floats
from readlet.models.pretrained.encoder import quiet
from readlet.text.pretrained import encoder_folder, load_tokenizer

_REMEDY = "give a folder that AutoModelForQuestionAnswering loads, or a Readlet reader"


def load_tokenizer_of(tokenizer: Any) -> Any:
    """A fast tokenizer, by folder or name, or the given one."""
    if isinstance(tokenizer, (str, Path)):
        tokenizer = load_tokenizer(str(tokenizer))
    if not getattr(tokenizer, "is_fast", False):
        remedy = "give a fast tokenizer"
        raise ReadletError(f"tokenizer: has no offsets, so answers cannot be located; {remedy}")
    if tokenizer.padding_side != "right":  # its model reads the context first
        raise ReadletError(
            "tokenizer: pads on the left; give a model that reads the question first"
        )
    return tokenizer


def load_span_model(name: str) -> Any:
    """The model in float32; an error if it has no trained span head."""
    from transformers import AutoModelForQuestionAnswering

    try:
        folder = encoder_folder(name)
    except InputError as error:  # its remedy would be an encoder, which has no span head
        raise bad_input(name, error.place, error.fault, _REMEDY) from None
    try:
        with quiet():
            model, report = AutoModelForQuestionAnswering.from_pretrained(
                folder, dtype=torch.float32, output_loading_info=True, trust_remote_code=False
            )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
        fault = f"no model for question answering can be loaded ({reason})"
        raise bad_input(name, "", fault, _REMEDY) from None
    if report["missing_keys"]:
        fault = f"its weights lack {min(report['missing_keys'])}: it was not trained to answer"
        raise bad_input(name, "", fault, "give a model fine-tuned for question answering")
    return model


_LONGEST_ANSWER = 15  # in tokens, by default
_CONTEXT = 1  # the second of the two texts


class Window(NamedTuple):
    """Question and window of the context, joined by the tokenizer."""

    inputs: dict[str, list[int]]  # of the model, by name
    encoding: Any  # from tokens to words and characters
    allowed: NDArray[np.bool_]  # (T,) the tokens of the context
    is_null: NDArray[np.bool_]  # (T,) the CLS token, the position of "no answer"


Scored = tuple[Window, Floats, Floats]  # and its scores of start and end, (T,) each


@dataclass
class SpanModelAnswering:
    """A model that scores every token as a start and as an end, and its tokenizer."""

    model: Any
    tokenizer: Any
    device: str
    at_once: int

    def __post_init__(self) -> None:
        if self.tokenizer.pad_token is None:  # any other token will do, since it is masked
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self.model.to(self.device).eval()

    def answers(self, asked: Pairs, options: Options) -> Iterator[list[Answer]]:
        windows = [self._windows(question, context, options) for question, context in asked]
        scored = self._scored([window for of_one in windows for window in of_one])
        for (_, context), of_one in zip(asked, windows, strict=True):
            yield self._joined(context, list(islice(scored, len(of_one))), options)

    def _windows(self, question: str, context: str, options: Options) -> list[Window]:
        longest = options.max_seq_len or min(self.tokenizer.model_max_length, MOST_TOKENS)
        overlap = options.doc_stride
        if overlap is None:
            overlap = min(longest // 2, MOST_OVERLAP)
        if overlap > longest:
            raise ReadletError(f"doc_stride: {overlap}, above max_seq_len: {longest}; lower it")
        try:
            encoded = self.tokenizer(
                question,
                context,
                truncation="only_second",
                max_length=longest,
                stride=overlap,
                return_overflowing_tokens=True,
                return_token_type_ids=True,
            )
        except BaseException as error:  # the Rust library panics, which is not an Exception
            if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
                raise
            fault = f"the question leaves no room for the context in {longest} tokens"
            remedy = "raise max_seq_len, lower doc_stride, or shorten the question"
            raise ReadletError(f"{fault} with an overlap of {overlap}; {remedy}") from None
        names = self.tokenizer.model_input_names
        windows = []
        for number, encoding in enumerate(encoded.encodings):
            sides = [side == _CONTEXT for side in encoding.sequence_ids]
            tokens = np.array(encoded["input_ids"][number])  # (T,)
            windows.append(
                Window(
                    {name: encoded[name][number] for name in names},
                    encoding,
                    np.array(sides, np.bool_),  # (T,)
                    tokens == self.tokenizer.cls_token_id,  # (T,)
                )
            )
        return windows

    def _scored(self, windows: list[Window]) -> Iterator[Scored]:
        for first in range(0, len(windows), self.at_once):
            batch = windows[first : first + self.at_once]
            given = [window.inputs for window in batch]
            inputs = self.tokenizer.pad(given, return_tensors="pt")  # (B, T) each
            with torch.inference_mode():
                output = self.model(**{name: v.to(self.device) for name, v in inputs.items()})
            starts, ends = (
                output[name].float().cpu().numpy()  # (B, T)
                for name in ("start_logits", "end_logits")
            )
            for window, start, end in zip(batch, starts, ends, strict=True):
                tokens = len(window.allowed)
                yield window, start[:tokens], end[:tokens]

    def _joined(self, context: str, windows: list[Scored], options: Options) -> list[Answer]:
        """The answers of all windows. Spans of one text, in any case, are one answer."""
        align = options.align_to_words is not False
        # More spans than answers, since several may become the same words.
        most = 2 * options.top_k + 10 if align else options.top_k
        found: dict[str, Answer] = {}
        impossible = math.inf
        for window, start, end in windows:
            counted = (window.allowed | window.is_null)[None]  # (1, T)
            start, end = (s - float(log_sums(s[None], counted)[0]) for s in (start, end))  # (T,)
            null = np.flatnonzero(window.is_null)[:1]  # (1,) or (0,)
            impossible = min(impossible, float(np.exp(start[null] + end[null]).sum()))
            longest = options.max_answer_len or _LONGEST_ANSWER
            spans = spans_in_order(start, end, window.allowed, longest)
            for score, first, last in islice(spans, most):
                begin, stop = self._characters(window.encoding, first, last, align)
                text = context[begin:stop]
                answer = found.setdefault(
                    text.lower(), Answer(score=0.0, start=begin, end=stop, answer=text)
                )
                answer["score"] += math.exp(score)
        answers = list(found.values())
        if options.handle_impossible_answer:
            answers.append(no_answer(impossible))
        return ranked(answers, options)

    def _characters(self, encoding: Any, first: int, last: int, align: bool) -> tuple[int, int]:
        """The characters of a span of tokens, of their whole words if they are aligned."""
        if align:
            words = encoding.token_to_word(first), encoding.token_to_word(last)
            if None not in words:
                begin = encoding.word_to_chars(words[0], _CONTEXT)
                stop = encoding.word_to_chars(words[1], _CONTEXT)
                return begin[0], stop[1]
        return encoding.offsets[first][0], encoding.offsets[last][1]
