"""MPNet with fused attention against MPNet as transformers computes it."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers.models.mpnet.modeling_mpnet import MPNetConfig, MPNetModel

from readlet.models.pretrained.encoder import PretrainedEncoder
from readlet.models.pretrained.mpnet import FusedEncoder

_LENGTH = 48


def _plain() -> Any:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
    return MPNetModel(MPNetConfig(num_hidden_layers=3, vocab_size=120, **sizes)).eval()


def _inputs() -> tuple[Tensor, Tensor]:
    tokens = torch.randint(5, 100, (3, _LENGTH))  # (B, T)
    keep = torch.arange(_LENGTH) < torch.tensor([[_LENGTH], [20], [3]])  # (B, T)
    return tokens, keep


def _gradients(network: Any) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in network.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("masked", [True, False])
def test_states_and_gradients_are_those_of_transformers(masked: bool) -> None:
    plain, network = _plain(), _plain()
    fused = PretrainedEncoder(network)
    assert isinstance(network.encoder, FusedEncoder)
    assert fused.can_be_captured
    tokens, keep = _inputs()
    keep = keep if masked else torch.ones_like(keep)
    wanted = plain(tokens, keep.long(), output_hidden_states=True).hidden_states[1:]
    found = fused(tokens, torch.zeros_like(tokens), keep, all_layers=True)
    for mine, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine[keep], theirs[keep], rtol=1e-5, atol=1e-5)
    for states in (found, wanted):
        torch.autograd.backward(sum(state[keep][:, :8].exp().sum() for state in states))
    mine, theirs = _gradients(network), _gradients(plain)
    mine.pop("pooler.dense.weight", None)
    assert mine.keys() == theirs.keys()
    for name, gradient in theirs.items():
        torch.testing.assert_close(mine[name], gradient, rtol=1e-4, atol=1e-5)


def test_weights_of_transformers_fit() -> None:
    plain, network = _plain(), _plain()
    PretrainedEncoder(network)
    without_pooler = {n: w for n, w in plain.state_dict().items() if "pooler" not in n}
    network.load_state_dict(without_pooler)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_row_of_padding_only_is_not_nan(dtype: torch.dtype) -> None:
    fused = PretrainedEncoder(_plain())
    tokens, keep = _inputs()
    keep[1] = False
    with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
        states = fused(tokens, torch.zeros_like(tokens), keep, all_layers=False)[0]
    assert torch.isfinite(states).all()
