from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from readlet.nn.attention import SelfAttention

Check = Callable[[nn.Module, Tensor], None]

B, L, D, H, E = 3, 7, 6, 2, 4


def build() -> SelfAttention:
    return SelfAttention(D, H, E, dropout=0.1).eval()


def lengths(*sizes: int, width: int = L) -> Tensor:
    return torch.arange(width) < torch.tensor(sizes)[:, None]  # (B, width)


def oracle(module: SelfAttention, x: Tensor, keep: Tensor) -> np.ndarray:
    """One example, one head, one query at a time."""
    weight = module.qkv.weight.detach().double().numpy()  # (3HE, D)
    out_weight = module.output.weight.detach().double().numpy()
    q_weight, k_weight, v_weight = weight.reshape(3, H, E, D)
    result = np.zeros(x.shape)
    for b in range(x.shape[0]):
        tokens = x[b].double().numpy()
        kept = np.flatnonzero(keep[b].numpy())
        for i in kept:
            heads = []
            for h in range(H):
                query = q_weight[h] @ tokens[i]
                raw = np.array([query @ (k_weight[h] @ tokens[j]) for j in kept]) / np.sqrt(E)
                weights = np.exp(raw) / np.exp(raw).sum()
                heads.append(
                    sum(w * (v_weight[h] @ tokens[j]) for w, j in zip(weights, kept, strict=True))
                )
            result[b, i] = out_weight @ np.concatenate(heads)
    return result


def test_values() -> None:
    module, x, keep = build(), torch.randn(B, L, D), lengths(7, 4, 0)
    keep[0, 2] = False  # a mask need not be a prefix
    got = module(x, keep).detach().numpy()
    np.testing.assert_allclose(got, oracle(module, x, keep), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_an_example_with_nothing_to_keep_gives_zeros(dtype: torch.dtype) -> None:
    module = build().to(dtype)
    x = torch.randn(2, L, D, dtype=dtype, requires_grad=True)
    output = module(x, lengths(5, 0))
    assert output.dtype == dtype
    assert (output[1] == 0).all()
    assert torch.isfinite(output).all()
    output.square().sum().backward()
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()
    assert (x.grad[1] == 0).all()
    assert all(torch.isfinite(p.grad).all() for p in module.parameters() if p.grad is not None)


def test_no_backend_gets_a_row_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    # Backends differ on such a row; the one in use here may tolerate it.
    masks: list[Tensor] = []
    fused = F.scaled_dot_product_attention

    def spy(*tensors: Tensor, attn_mask: Tensor, dropout_p: float) -> Tensor:
        masks.append(attn_mask)
        return fused(*tensors, attn_mask=attn_mask, dropout_p=dropout_p)

    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    build()(torch.randn(3, L, D), lengths(L, 2, 0))
    (mask,) = masks
    assert mask.shape == (3, 1, 1, L)
    assert mask.any(dim=-1).all()
    assert mask[1].sum() == 2


def test_padding_and_batch_composition_change_nothing() -> None:
    module, x = build(), torch.randn(1, L, D)
    alone = module(x, lengths(L))
    batch = 50 * torch.randn(4, L + 6, D)
    batch[2, :L] = x[0]
    together = module(batch, lengths(3, 13, L, 0, width=L + 6))
    torch.testing.assert_close(together[2, :L], alone[0], rtol=0, atol=1e-5)
    assert (together[2, L:] == 0).all()


def test_dropout_applies_in_training_only() -> None:
    module, x, keep = build(), torch.randn(2, L, D), lengths(7, 5)
    assert torch.equal(module(x, keep), module(x, keep))
    module.train()
    assert not torch.equal(module(x, keep), module(x, keep))


def test_every_parameter_gets_a_gradient(every_parameter_learns: Check) -> None:
    module = build()
    every_parameter_learns(module, module(torch.randn(B, L, D), lengths(7, 4, 1)))


@pytest.mark.parametrize("norm_gamma", [None, E**0.5])
def test_compiled_it_is_one_program_for_all_lengths(norm_gamma: float | None) -> None:
    """torch traces twice, and both must agree on the memory layout of the result."""
    attention = SelfAttention(D, H, E, dropout=0.0, norm_gamma=norm_gamma)
    compiled = torch.compile(attention, backend="aot_eager", fullgraph=True)
    for length in (L, L + 4):
        x, keep = torch.randn(B, length, D), lengths(length, 3, 0, width=length)
        torch._dynamo.mark_dynamic(x, 1)
        torch._dynamo.mark_dynamic(keep, 1)
        grads = []
        for program in (compiled, attention):
            attention.zero_grad()
            result = program(x, keep)  # (B, L, D)
            result.square().sum().backward()
            assert attention.qkv.weight.grad is not None
            grads += [result.detach(), attention.qkv.weight.grad.clone()]
        torch.testing.assert_close(grads[:2], grads[2:])
    torch._dynamo.reset()
