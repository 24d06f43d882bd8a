"""Span models of transformers and their tokenizers, from a folder or the hub."""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from readlet.errors import InputError, ReadletError, bad_input
from readlet.models.pretrained.encoder import quiet
from readlet.text.pretrained import encoder_folder, load_tokenizer

_REMEDY = "give a folder that AutoModelForQuestionAnswering loads, or a reader of Readlet"


def load_tokenizer_of(tokenizer: Any) -> Any:
    """A fast tokenizer, by folder or name, or as it is given."""
    if isinstance(tokenizer, (str, Path)):
        return load_tokenizer(str(tokenizer))
    if not getattr(tokenizer, "is_fast", False):
        remedy = "give a fast tokenizer"
        raise ReadletError(f"tokenizer: has no offsets, so answers cannot be located; {remedy}")
    return tokenizer


def load_span_model(name: str) -> Any:
    """The model in float32; an error if it has no trained span head."""
    from transformers import AutoModelForQuestionAnswering

    try:
        folder = encoder_folder(name)
    except InputError as error:  # its remedy is an encoder, which has no span head
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
