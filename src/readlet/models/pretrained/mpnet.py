"""MPNet with fused attention, which transformers does not have for it.

MPNet adds a learned bias for each distance of two tokens to the attention scores. It is the same
in all layers: it is joined with the padding mask once, and torch's fused attention takes both. So
layers can be compiled, and a training step can be captured as a CUDA graph, as with BERT.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder, MPNetModel, MPNetSelfAttention

from readlet.nn.softmax import masked_bias

# All except cuDNN's, which has no gradient of the bias.
_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


def use_fused_attention(network: Any) -> None:
    """Change this network in place, if it is an MPNet; its weights keep their names."""
    if not isinstance(network, MPNetModel):
        return
    network.encoder.__class__ = FusedEncoder
    for layer in network.encoder.layer:
        layer.attention.attn.__class__ = FusedAttention
    # With this name transformers makes boolean masks; "eager" ones are copied from the CPU.
    network.config._attn_implementation = "sdpa"


class FusedEncoder(MPNetEncoder):  # type: ignore[misc]  # transformers' models have no types
    def forward(
        self,
        hidden_states: Tensor,  # (B, T, D)
        attention_mask: Tensor | None = None,  # bool, broadcast to (B, 1, T, T)
        output_hidden_states: bool = False,
        **_: Any,
    ) -> Any:
        position = torch.arange(hidden_states.shape[1], device=hidden_states.device)  # (T,)
        bucket = self.relative_position_bucket(position - position.unsqueeze(1))  # (T, T)
        bias = self.relative_attention_bias(bucket).permute(2, 0, 1).unsqueeze(0)  # (1, H, T, T)
        device = hidden_states.device.type
        if torch.is_autocast_enabled(device):  # once, not in every layer
            bias = bias.to(torch.get_autocast_dtype(device))
        if attention_mask is not None:
            bias = masked_bias(bias, attention_mask)  # (B, H, T, T)
        bias = bias.expand(len(hidden_states), -1, -1, -1).contiguous()  # (B, H, T, T)
        states = [hidden_states]
        with sdpa_kernel(_KERNELS):
            for layer in self.layer:
                states.append(layer(states[-1], None, bias)[0])  # (B, T, D)
        listed = tuple(states) if output_hidden_states else None
        output: Any = BaseModelOutput
        return output(last_hidden_state=states[-1], hidden_states=listed)


class FusedAttention(MPNetSelfAttention):  # type: ignore[misc]
    def forward(
        self,
        hidden_states: Tensor,  # (B, T, D)
        attention_mask: Tensor | None = None,  # None: it is in the bias
        position_bias: Tensor | None = None,  # (B, H, T, T)
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
