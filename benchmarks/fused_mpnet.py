"""Fused attention for MPNet in transformers, which has none: its steps become CUDA graphs.

    python benchmarks/fused_mpnet.py

Compares states and gradients with those of transformers, and on a GPU trains a few captured steps.
MPNet adds a learned bias for each distance of two tokens to the scores. It is the same in all
layers, so it is joined with the mask once and given to `scaled_dot_product_attention`.
"""

import sys
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.mpnet import modeling_mpnet as mpnet


def use_fused_attention() -> None:
    """From now on, for every MPNet that this process builds."""
    of_model: Any = mpnet.MPNetPreTrainedModel
    of_model._supports_sdpa = True  # "eager" masks are copied from the CPU, which no graph can do
    mpnet.MPNetEncoder.forward = _encode  # type: ignore[method-assign]
    mpnet.MPNetSelfAttention.forward = _attend  # type: ignore[method-assign]
    torch.backends.cuda.enable_cudnn_sdp(False)  # it has no gradient of the bias


def _encode(
    self: Any,
    hidden_states: Tensor,  # (B, T, D)
    attention_mask: Tensor | None = None,  # bool, broadcast to (B, 1, T, T)
    output_hidden_states: bool = False,
    **_: Any,
) -> BaseModelOutput:
    bias = self.compute_position_bias(hidden_states[:1])  # (1, H, T, T)
    if attention_mask is not None:
        lowest = torch.finfo(torch.bfloat16).min  # not -inf: a row without tokens is not NaN
        bias = torch.where(attention_mask, bias, lowest)  # (B, H, T, T)
    bias = bias.expand(len(hidden_states), -1, -1, -1)  # (B, H, T, T)
    kind = hidden_states.device.type
    if torch.is_autocast_enabled(kind):  # once, not in every layer
        bias = bias.to(torch.get_autocast_dtype(kind))
    bias = bias.contiguous()
    states = [hidden_states]
    for layer in self.layer:
        states.append(layer(states[-1], None, bias)[0])  # (B, T, D)
    listed = tuple(states) if output_hidden_states else None
    return BaseModelOutput(last_hidden_state=states[-1], hidden_states=listed)


def _attend(
    self: Any,
    hidden_states: Tensor,  # (B, T, D)
    attention_mask: Tensor | None = None,
    position_bias: Tensor | None = None,  # (B, H, T, T), with the mask
    **_: Any,
) -> tuple[Tensor]:
    shape = (*hidden_states.shape[:2], self.num_attention_heads, self.attention_head_size)
    query, key, value = (
        part(hidden_states).view(shape).transpose(1, 2) for part in (self.q, self.k, self.v)
    )  # (B, H, T, E) each
    rate = self.dropout.p if self.training else 0.0
    bias = None if position_bias is None else position_bias.to(query.dtype)
    mixed = F.scaled_dot_product_attention(query, key, value, bias, rate)  # (B, H, T, E)
    return (self.o(mixed.transpose(1, 2).reshape(hidden_states.shape)),)


def _states(network: Any, keep: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """The states of tokens that are kept, and the gradient of the bias."""
    network.zero_grad()
    last = network(input_ids=tokens, attention_mask=keep.long()).last_hidden_state  # (B, T, D)
    kept = last[keep]  # (tokens, D)
    torch.autograd.backward(kept[:, :8].exp().sum())
    return kept.detach(), network.encoder.relative_attention_bias.weight.grad.clone()


def made() -> Any:
    """A small configuration; a network writes its kind of attention into it."""
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128}
    return mpnet.MPNetConfig(num_hidden_layers=3, vocab_size=120, pad_token_id=1, **sizes)


def difference(device: str) -> float:
    """The largest relative difference of states and gradients to those of transformers."""
    torch.manual_seed(0)
    tokens = torch.randint(5, 100, (3, 96), device=device)  # (B, T)
    keep = torch.arange(96, device=device) < torch.tensor([[96], [40], [7]], device=device)
    plain = mpnet.MPNetModel(made()).to(device).eval()
    wanted = _states(plain, keep, tokens)
    use_fused_attention()
    fused = mpnet.MPNetModel(made()).to(device).eval()
    fused.load_state_dict(plain.state_dict())
    found = _states(fused, keep, tokens)
    return max(
        float((a - b).norm() / b.norm().clamp(min=1e-12))
        for a, b in zip(found, wanted, strict=True)
    )


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    largest = difference(device)
    print(f"{device}: largest relative difference {largest:.1e}")
    if not largest < 1e-3:
        sys.exit("fused_mpnet: differs from transformers")


if __name__ == "__main__":
    main()
