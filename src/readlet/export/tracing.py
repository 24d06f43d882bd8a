"""The network of a trained model, traced to an ONNX model with free batch size and lengths."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from readlet.errors import bad_input, extra_needed
from readlet.export.plain_networks import modernise, plain_qacnn, with_plain_attention
from readlet.models.classifier.scorer import ClassifierScorer
from readlet.models.encoder.scorer import EncoderScorer
from readlet.models.family import Scorer
from readlet.models.onnx.model import Inputs
from readlet.models.pretrained.inputs import SentenceInputs, SubwordInputs
from readlet.models.qacnn.onnx_inputs import WordInputs
from readlet.models.qacnn.scorer import QacnnScorer
from readlet.models.torch_scorer import SpanLogits
from readlet.text.arrays import Arrays
from readlet.text.tensors import SentenceBatch, SubwordBatch, WordBatch

_SPANS = ("start", "end", "null")
# Attention, layer norms and scatters are single operations from here on.
_OPSET = 17


class Network(NamedTuple):
    """A module whose arguments are the arrays of the inputs, in their order."""

    module: nn.Module
    inputs: Inputs
    outputs: tuple[str, ...]


def network_of(scorer: Scorer) -> Network | None:
    """None for a kind of model that cannot be exported."""
    module: nn.Module
    if isinstance(scorer, QacnnScorer):
        module = _OfArrays(_OverTables(plain_qacnn(scorer.module)), dict, WordInputs.names)
    elif isinstance(scorer, EncoderScorer):
        module = _OfArrays(with_plain_attention(scorer.module), SubwordBatch, SubwordInputs.names)
    elif isinstance(scorer, ClassifierScorer):
        module = _OfArrays(with_plain_attention(scorer.module), SentenceBatch, SentenceInputs.names)
        return Network(module, scorer.inputs(), ("scores",))
    else:
        return None
    return Network(module, scorer.inputs(), _SPANS if scorer.can_abstain else _SPANS[:-1])


class _OfArrays(nn.Module):
    """A network on the arrays of its inputs, in their order; `batch` makes them what it reads."""

    def __init__(self, network: nn.Module, batch: Callable[..., Any], names: Sequence[str]) -> None:
        super().__init__()
        self.network = network
        self.batch = batch
        self.names = names

    def forward(self, *arrays: Tensor) -> tuple[Tensor, ...]:
        given = dict(zip(self.names, arrays, strict=True))
        # These fields of a batch are for training.
        given |= dict.fromkeys(("rows", "labels", "weight"), torch.zeros(0))  # (0,)
        found = self.network(self.batch(**given))
        if not isinstance(found, SpanLogits):
            return (found,)  # (B, outputs)
        start, end, _, null = found  # (B, L) three times, (B, 2)
        return (start, end) if null is None else (start, end, null)


class _Tables(NamedTuple):
    """`FormTables` of tensors that are inputs, not buffers."""

    words: Tensor  # (F,)
    characters: Tensor  # (F, W)
    keys: Tensor  # (F,)
    languages: Tensor  # (F,)
    character_vectors: None = None  # the words of a batch are distinct


class _OverTables(nn.Module):
    """The network of words, whose form tables are inputs too."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, given: dict[str, Tensor]) -> SpanLogits:
        batch = dict(given)
        tables = _Tables(*map(batch.pop, ("words", "characters", "keys", "languages")))  # type: ignore[arg-type]
        found: SpanLogits = self.network(WordBatch(**batch), tables)
        return found


def require_onnx(name: str) -> None:
    """Raise an error if the library is missing, before any work."""
    with extra_needed("train", name):
        import onnx  # noqa: F401


def trace(
    name: str, module: nn.Module, example: Arrays, outputs: Sequence[str], path: Path
) -> None:
    """Write the ONNX model of the named model's network, which takes these arrays in their order.

    `example` is any batch of at least two rows: a single one would be traced as a constant.

    It uses the TorchScript tracer: for the small reader it takes seconds, torch.export minutes.
    """
    given = tuple(torch.from_numpy(array) for array in example.values())
    axes: dict[str, Any] = {
        name: {axis: f"{name}_{axis}" for axis in range(array.ndim)}
        for name, array in example.items()
    }
    # The axes of outputs follow from those of inputs.
    try:
        with warnings.catch_warnings(), torch.inference_mode(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")  # each `if` on a shape; scores are compared later
            torch.onnx.export(
                module.eval(),
                given,
                path,
                input_names=list(example),
                output_names=list(outputs),
                dynamic_axes=axes,
                opset_version=_OPSET,
                dynamo=False,
            )
    except torch.onnx.OnnxExporterError as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        fault = f"torch cannot export its network ({reason:.120})"
        raise bad_input(name, "", fault, "use it with torch") from None
    modernise(path)
    _simplify(path)


def _simplify(path: Path) -> None:
    """Fold constants and remove no-ops: this halves the operations and the time to load.

    The result has standard operations only.
    """
    import onnxruntime

    draft, options = path.with_name("simplified.onnx"), onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(draft)
    options.enable_mem_reuse = False  # as in models/onnx/model.py
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    draft.replace(path)
