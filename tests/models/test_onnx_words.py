"""What an ONNX model reads of words."""

from collections.abc import Callable

import numpy as np

from readlet.inference.reader import Reader
from readlet.models.qacnn.onnx_inputs import WordInputs
from readlet.models.recipe_files import load_recipe
from readlet.types import Example


def test_forms_have_no_padding(random_reader: Callable[..., Reader]) -> None:
    """It would be read letter by letter."""
    context = "The keeper lit the lamp, and the lamp was seen from the cape."
    encoder = random_reader(context, null=True).scorer.encoder
    rows = encoder.encode([Example("", "Who lit the lamp?", context)] * 3)
    batches = WordInputs(encoder, load_recipe("qacnn").config(null_answer=True)).batches(rows, 3)
    numbers = np.arange(3, dtype=np.int32)
    arrays = batches.make(batches.least_shape(numbers), numbers, filled=False)
    used = np.unique(np.concatenate([arrays["context"], arrays["question"]], axis=1))
    assert len(arrays["forms"]) == used.max() + 1
    assert len(set(arrays["forms"].tolist())) == len(arrays["forms"])
