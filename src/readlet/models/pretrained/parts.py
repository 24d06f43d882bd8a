"""Shared by readers and classifiers on pretrained encoders: files, learning rates, model card."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer
from torch import nn

from readlet.engine.optimiser import ParameterGroup, grouped
from readlet.models.config import Attention, StoredAs, norm_gamma
from readlet.models.encoder.recipe import FineTuning
from readlet.models.onnx.model import SCALE, WEIGHTS
from readlet.models.pretrained.encoder import PretrainedEncoder, check_shapes, shapes_of
from readlet.models.pretrained.inputs import (
    CONFIG,
    TokenizerOfNetwork,
    load_tokenizer,
    save_tokenizer,
)
from readlet.models.pretrained.norm_attention import use_norm_attention
from readlet.models.torch_scorer import in_half_precision
from readlet.storage.stored_files import (
    damage_of,
    detached,
    in_precision,
    load_tensors,
    require_finite,
    save_tensors,
)
from readlet.text.subwords import Layout

_NETWORK = "encoder.network."  # the names of its weights begin with it
_LARGEST = 127  # of eight bits
_DIGITS = 16  # of a scale, so that reading and writing a row is lossless


class StoredParts(NamedTuple):
    """The stored parts of a pretrained encoder with its head."""

    tokenizer: Tokenizer
    layout: Layout
    config: dict[str, Any]  # of the network
    weights: dict[str, torch.Tensor]
    more: dict[str, Any]  # of encoder.json


def save_parts(
    folder: Path, module: nn.Module, encoder: TokenizerOfNetwork, stored: StoredAs, **more: Any
) -> list[str]:
    """Write weights, tokenizer and configuration; return the names of the files."""
    save_tensors(folder / WEIGHTS, _on_disk(dict(module.state_dict()), stored))
    return [WEIGHTS, *save_tokenizer(folder, encoder, **more)]


def _on_disk(weights: dict[str, torch.Tensor], stored: StoredAs) -> dict[str, torch.Tensor]:
    if stored == "int8":
        return to_int8(detached(weights))
    return in_precision(torch.float16 if stored == "float16" else torch.float32, detached(weights))


def slim_weights(module: nn.Module, stored: StoredAs) -> dict[str, torch.Tensor]:
    """Its weights, rounded as they are on disk."""
    weights = dict(module.state_dict())
    half = in_half_precision(weights)  # rejects values that are too large
    return from_int8(to_int8(detached(weights))) if stored == "int8" else half


STORED_FACTS: dict[StoredAs, list[str]] = {
    "float32": [],
    "float16": ["- weights stored in half precision"],
    "int8": ["- weights stored in eight bits, and in half precision what is not a matrix"],
}


def load_parts(folder: Path) -> StoredParts:
    """Read them; `damage_of` reports damaged files."""
    tokenizer, layout, config, more = load_tokenizer(folder)
    with damage_of(folder / CONFIG):
        shapes = shapes_of(config)
    with damage_of(folder / WEIGHTS):
        weights = from_int8(load_tensors(folder / WEIGHTS))
        require_finite(weights)
        check_shapes(shapes, _of_network(weights))
    return StoredParts(tokenizer, layout, config, weights, more)


def layer_groups(
    module: nn.Module,
    encoder: PretrainedEncoder,
    head: Iterable[nn.Parameter],
    settings: FineTuning,
) -> list[ParameterGroup]:
    """The rate falls by a factor from each layer to the one below."""
    blocks = encoder.blocks
    depth = {id(parameter): len(blocks) + 1 for parameter in head}
    for number, block in enumerate(blocks, start=1):
        depth |= {id(p): number for p in block.parameters()}
    top = len(blocks) + 1

    def factor(parameter: nn.Parameter) -> float:
        # Anything outside layers and head is below them: the embeddings.
        return float(settings.layer_decay ** (top - depth.get(id(parameter), 0)))

    return grouped(module, settings.weight_decay, factor)


def encoder_fact(name: str, encoder: TokenizerOfNetwork, network: PretrainedEncoder) -> str:
    """The encoder in a line of the model card."""
    kind = f"{encoder.config.get('model_type')}, {network.layers} layers"
    subwords = encoder.tokenizer.get_vocab_size()
    return f"encoder {Path(name).name} ({kind} of width {network.width}, {subwords:,} subwords)"


def with_attention(attention: Attention, network: PretrainedEncoder) -> PretrainedEncoder:
    if attention.softmax == "norm":
        config = network.network.config
        of_head = network.width // int(getattr(config, "num_attention_heads", 1))
        use_norm_attention(network.network, norm_gamma(attention, of_head))
    return network


def _of_network(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(_NETWORK): weight
        for name, weight in weights.items()
        if name.startswith(_NETWORK)
    }


def to_int8(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Matrices in eight bits with a scale for each row, all else in half precision.

    A quarter of the size on disk; the model computes in float32.
    """
    matrices = {name for name, tensor in weights.items() if _is_matrix(tensor)}
    others = {name: tensor for name, tensor in weights.items() if name not in matrices}
    stored = in_precision(torch.float16, others)
    for name in matrices:
        matrix = weights[name].float()  # (R, C)
        scale = _scale_of(matrix)  # (R,)
        stored[name] = (matrix / _divisor(scale)).round().to(torch.int8)  # (R, C)
        stored[name + SCALE] = scale
    return stored


@torch.no_grad()
def round_at_random(module: nn.Module) -> None:
    """Put all matrices on the grid of eight bits, each weight up or down, unbiased.

    Fine-tuning moves most weights by less than half a step. Those of a start in eight bits stand on
    the grid: the nearest point would be where they began, and nothing would have been learned.
    """
    generator = torch.Generator().manual_seed(0)
    for weight in module.parameters():
        if _is_matrix(weight):
            divisor = _divisor(_scale_of(weight.float()))  # (R, 1)
            drawn = torch.rand(weight.shape, generator=generator).to(weight.device)  # (R, C)
            weight.copy_(torch.floor(weight / divisor + drawn) * divisor)


def _scale_of(matrix: torch.Tensor) -> torch.Tensor:
    return _rounded_up(matrix.abs().amax(dim=1) / _LARGEST)  # (R,)


def _divisor(scale: torch.Tensor) -> torch.Tensor:
    return torch.where(scale > 0, scale, 1.0)[:, None]  # (R, 1), a row may be zero


def from_int8(stored: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights in float32; tensors that are not in eight bits are returned unchanged."""
    scales = {name for name in stored if name.endswith(SCALE)}
    found = {name: tensor for name, tensor in stored.items() if name not in scales}
    for name in scales:
        matrix = name.removesuffix(SCALE)
        found[matrix] = stored[matrix].float() * stored[name][:, None]  # (R, C)
    return found


def _is_matrix(tensor: torch.Tensor) -> bool:
    return tensor.ndim == 2 and tensor.is_floating_point()


def _rounded_up(scale: torch.Tensor) -> torch.Tensor:
    """To 16 binary digits: 127 times such a number, and that divided by 127, are exact."""
    mantissa, exponent = torch.frexp(scale)
    return torch.ldexp(torch.ceil(torch.ldexp(mantissa, torch.tensor(_DIGITS))), exponent - _DIGITS)
