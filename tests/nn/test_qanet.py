"""The blocks of QANet against plain loops; padding, gradients, half precision."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from readlet.nn.characters import CharacterConvolution
from readlet.nn.qanet import (
    CARRY_BIAS,
    ContextQueryAttention,
    EncoderBlock,
    Highway,
    PositionalEncoding,
    SelfAttention,
    SeparableConvolution,
    StochasticDepth,
    sinusoids,
    survival_at,
)


@pytest.mark.parametrize("width", [8, 7])
def test_position_values(width: int) -> None:
    table = sinusoids(600, width)
    assert table.shape == (600, width)
    assert table.dtype == torch.float32
    for p in (0, 1, 17, 599):
        for d in range(width):
            angle = p / 10000 ** ((d - d % 2) / width)
            expected = math.cos(angle) if d % 2 else math.sin(angle)
            assert table[p, d].item() == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_table_grows_for_longer_sequences(dtype: torch.dtype) -> None:
    module, x = PositionalEncoding(6, max_length=3).to(dtype), torch.randn(2, 8, 6, dtype=dtype)
    before = module(x[:, :3])
    output = module(x)
    assert output.dtype == dtype
    torch.testing.assert_close(output, x + sinusoids(8, 6).to(dtype))
    assert torch.equal(module(x[:, :3]), before)


Check = Callable[[nn.Module, Tensor], None]

IN, OUT, KERNEL = 4, 6, 5


def convolution_build() -> SeparableConvolution:
    return SeparableConvolution(IN, OUT, KERNEL)


def convolution_oracle(module: SeparableConvolution, tokens: np.ndarray) -> np.ndarray:
    """One unpadded sequence (L, IN): every product written out, nothing beyond either end."""
    depthwise = module.depthwise.weight.detach().numpy()[:, 0, 0]  # (IN, KERNEL)
    weight = module.pointwise.weight.detach().numpy()
    result = np.zeros((len(tokens), OUT))
    for i in range(len(tokens)):
        filtered = np.zeros(IN)
        for k in range(KERNEL):
            j = i + k - KERNEL // 2
            if 0 <= j < len(tokens):
                filtered += depthwise[:, k] * tokens[j]
        result[i] = np.maximum(weight @ filtered, 0)
    return result


def garbage_batch(x: Tensor) -> tuple[Tensor, Tensor]:
    """x (L, IN) as example 1 of 3, followed by large numbers in the padding."""
    length = len(x)
    batch = 100 * torch.randn(3, length + 4, IN)
    batch[1, :length] = x
    sizes = torch.tensor([length + 4, length, 0])
    return batch, torch.arange(length + 4) < sizes[:, None]


@pytest.mark.parametrize("length", [1, 3, 9])
def test_values_also_when_padded(length: int) -> None:
    module, x = convolution_build(), torch.randn(length, IN)
    expected = convolution_oracle(module, x.numpy())
    alone = module(x[None], torch.ones(1, length, dtype=torch.bool))[0]
    np.testing.assert_allclose(alone.detach().numpy(), expected, atol=1e-5)
    together = module(*garbage_batch(x))[1, :length]
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)


def test_padding_gets_no_gradient() -> None:
    module, x = convolution_build(), torch.randn(5, IN)
    batch, keep = garbage_batch(x)
    batch.requires_grad_()
    module(batch, keep).sum().backward()
    assert batch.grad is not None
    assert (batch.grad[~keep] == 0).all()
    assert (batch.grad[1, :5] != 0).any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_stays_finite(dtype: torch.dtype) -> None:
    module = convolution_build().to(dtype)
    batch, keep = garbage_batch(torch.randn(5, IN))
    batch[~keep] = torch.inf
    output = module(batch.to(dtype), keep)
    assert output.dtype == dtype
    assert torch.isfinite(output).all()


def test_the_compiled_form_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    module, x = convolution_build(), torch.randn(2, 9, IN, requires_grad=True)
    keep = torch.arange(9) < torch.tensor([[9], [4]])
    expected = module(x, keep)
    wanted = torch.autograd.grad(expected.square().sum(), [x, *module.parameters()])
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    output = module(x, keep)
    found = torch.autograd.grad(output.square().sum(), [x, *module.parameters()])
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(found, wanted)


ATTENTION_B, ATTENTION_L, ATTENTION_D, H, E = 3, 7, 6, 2, 4


def attention_build() -> SelfAttention:
    return SelfAttention(ATTENTION_D, H, E, dropout=0.1).eval()


def lengths(*sizes: int, width: int = ATTENTION_L) -> Tensor:
    return torch.arange(width) < torch.tensor(sizes)[:, None]  # (B, width)


def attention_oracle(module: SelfAttention, x: Tensor, keep: Tensor) -> np.ndarray:
    """One example, one head, one query at a time."""
    weight = module.qkv.weight.detach().double().numpy()  # (3HE, D)
    out_weight = module.output.weight.detach().double().numpy()
    q_weight, k_weight, v_weight = weight.reshape(3, H, E, ATTENTION_D)
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


def test_attention_values() -> None:
    module, x, keep = (
        attention_build(),
        torch.randn(ATTENTION_B, ATTENTION_L, ATTENTION_D),
        lengths(7, 4, 0),
    )
    keep[0, 2] = False  # a mask need not be a prefix
    got = module(x, keep).detach().numpy()
    np.testing.assert_allclose(got, attention_oracle(module, x, keep), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_an_example_with_nothing_to_keep_gives_zeros(dtype: torch.dtype) -> None:
    module = attention_build().to(dtype)
    x = torch.randn(2, ATTENTION_L, ATTENTION_D, dtype=dtype, requires_grad=True)
    output = module(x, lengths(5, 0))
    assert output.dtype == dtype
    assert (output[1] == 0).all()
    assert torch.isfinite(output).all()
    output.square().sum().backward()
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()
    assert (x.grad[1] == 0).all()
    assert all(torch.isfinite(p.grad).all() for p in module.parameters() if p.grad is not None)


def test_attention_padding_and_batch_composition_change_nothing() -> None:
    module, x = attention_build(), torch.randn(1, ATTENTION_L, ATTENTION_D)
    alone = module(x, lengths(ATTENTION_L))
    batch = 50 * torch.randn(4, ATTENTION_L + 6, ATTENTION_D)
    batch[2, :ATTENTION_L] = x[0]
    together = module(batch, lengths(3, 13, ATTENTION_L, 0, width=ATTENTION_L + 6))
    torch.testing.assert_close(together[2, :ATTENTION_L], alone[0], rtol=0, atol=1e-5)
    assert (together[2, ATTENTION_L:] == 0).all()


@pytest.mark.parametrize("norm_gamma", [None, E**0.5])
def test_compiled_it_is_one_program_for_all_lengths(norm_gamma: float | None) -> None:
    """torch traces twice, and both must agree on the memory layout of the result."""
    attention = SelfAttention(ATTENTION_D, H, E, dropout=0.0, norm_gamma=norm_gamma)
    compiled = torch.compile(attention, backend="aot_eager", fullgraph=True)
    for length in (ATTENTION_L, ATTENTION_L + 4):
        x, keep = torch.randn(ATTENTION_B, length, ATTENTION_D), lengths(length, 3, 0, width=length)
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


def test_each_example_keeps_or_drops_its_whole_update() -> None:
    module = StochasticDepth(0.5)
    residual, update = torch.randn(64, 3, 2), torch.randn(64, 3, 2)
    output = module(residual, update)
    kept = 0
    for b in range(64):
        if torch.equal(output[b], residual[b] + update[b]):  # kept, and not rescaled
            kept += 1
        else:
            assert torch.equal(output[b], residual[b])
    assert 0 < kept < 64


def test_every_call_draws_again() -> None:
    module, zero, one = StochasticDepth(0.5), torch.zeros(32, 1, 1), torch.ones(32, 1, 1)
    draws = {tuple(module(zero, one).flatten().tolist()) for _ in range(10)}
    assert len(draws) == 10


def test_training_agrees_with_evaluation_on_average() -> None:
    module, count = StochasticDepth(0.8), 20_000
    residual, update = torch.full((count, 1, 1), 2.0), torch.full((count, 1, 1), 3.0)
    mean = module(residual, update).mean().item()
    expected = 2.0 + 0.8 * 3.0
    deviation = 3.0 * (0.8 * 0.2 / count) ** 0.5
    assert abs(mean - expected) < 5 * deviation
    torch.testing.assert_close(module.eval()(residual, update), torch.full((count, 1, 1), expected))


def test_survival_falls_linearly_to_the_last() -> None:
    assert [survival_at(sublayer, 4, 0.8) for sublayer in (1, 2, 3, 4)] == pytest.approx(
        [0.95, 0.9, 0.85, 0.8]
    )


ENCODER_BLOCK_D, CONVOLUTIONS, TOTAL, FIRST, LAST = 6, 3, 10, 4, 0.8


def encoder_block_build(
    dropout: float = 0.1,
    first: int = FIRST,
    last: float = LAST,
    convolutions: int = CONVOLUTIONS,
    input_dropout: float = 0.0,
) -> EncoderBlock:
    return EncoderBlock(
        width=ENCODER_BLOCK_D,
        convolutions=convolutions,
        kernel=5,
        heads=2,
        head_width=4,
        feed_forward=8,
        dropout=dropout,
        input_dropout=input_dropout,
        first_sublayer=first,
        total_sublayers=TOTAL,
        last_survival=last,
    )


def mask(*sizes: int, width: int) -> Tensor:
    return torch.arange(width) < torch.tensor(sizes)[:, None]  # (B, width)


def convolutions_of(block: EncoderBlock) -> list[SeparableConvolution]:
    """In the order in which they are applied, however they are grouped."""
    return [m for m in block.modules() if isinstance(m, SeparableConvolution)]


def normalised(x: Tensor) -> Tensor:
    """LayerNorm by hand, without scale and shift."""
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()


def encoder_block_oracle(block: EncoderBlock, x: Tensor) -> Tensor:
    """One unpadded example (L, D) in evaluation, sublayer by sublayer, with survival by hand."""
    keep = torch.ones(1, len(x), dtype=torch.bool)
    convolutions = convolutions_of(block)
    first, _, second = block.rest.feed_forward
    x = x + sinusoids(len(x), ENCODER_BLOCK_D)
    for i in range(len(convolutions) + 2):
        y = normalised(x)
        if i < len(convolutions):
            update = convolutions[i](y[None], keep)[0]
        elif i == len(convolutions):
            update = block.rest.attention(y[None], keep)[0]
        else:
            update = second(F.relu(first(y)))
        x = x + (1 - (FIRST + i) / TOTAL * (1 - LAST)) * update
    return x


@pytest.mark.parametrize("convolutions", [1, 2, 3, 4])
def test_encoder_block_values(convolutions: int) -> None:
    block, x = (
        encoder_block_build(convolutions=convolutions).eval(),
        torch.randn(1, 7, ENCODER_BLOCK_D),
    )
    assert len(convolutions_of(block)) == convolutions
    got = block(x, mask(7, width=7))[0]
    torch.testing.assert_close(got, encoder_block_oracle(block, x[0]), rtol=0, atol=1e-5)


def test_encoder_block_padding_and_batch_composition_change_nothing() -> None:
    block, x = encoder_block_build().eval(), torch.randn(1, 7, ENCODER_BLOCK_D)
    alone = block(x, mask(7, width=7))
    batch = 50 * torch.randn(4, 12, ENCODER_BLOCK_D)
    batch[1, :7] = x[0]
    keep = mask(12, 7, 0, 3, width=12)
    together = block(batch, keep)
    torch.testing.assert_close(together[1, :7], alone[0], rtol=0, atol=1e-5)
    assert (together[~keep] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_an_empty_example_is_harmless(dtype: torch.dtype, every_parameter_learns: Check) -> None:
    block = encoder_block_build(dropout=0.0, last=1.0).to(dtype)
    output = block(torch.randn(2, 7, ENCODER_BLOCK_D, dtype=dtype), mask(7, 0, width=7))
    assert output.dtype == dtype
    assert (output[1] == 0).all()
    every_parameter_learns(block, output)


HIGHWAY_D, LAYERS = 5, 2


def highway_oracle(module: Highway, x: np.ndarray) -> np.ndarray:
    """One vector."""
    for layer in module.layers:
        weight, bias = (p.detach().numpy() for p in layer.parameters())
        transform = np.maximum(weight[:HIGHWAY_D] @ x + bias[:HIGHWAY_D], 0)
        gate = 1 / (1 + np.exp(-(weight[HIGHWAY_D:] @ x + bias[HIGHWAY_D:])))
        x = gate * transform + (1 - gate) * x
    return x


def test_highway_values() -> None:
    module, x = Highway(HIGHWAY_D, LAYERS, dropout=0.3).eval(), torch.randn(2, 3, HIGHWAY_D)
    got = module(x).detach().numpy()
    for b in range(2):
        for i in range(3):
            np.testing.assert_allclose(
                got[b, i], highway_oracle(module, x[b, i].numpy()), atol=1e-6
            )


def test_a_new_layer_mostly_passes_its_input_on() -> None:
    module = Highway(HIGHWAY_D, LAYERS, dropout=0.0)
    for layer in module.layers:
        bias = layer.get_parameter("bias")
        assert (bias[HIGHWAY_D:] == CARRY_BIAS).all()
        assert (bias[:HIGHWAY_D] != CARRY_BIAS).all()


TRILINEAR_D = 4


def softmax(values: np.ndarray) -> np.ndarray:
    return np.exp(values) / np.exp(values).sum()


def trilinear_oracle(module: ContextQueryAttention, c: np.ndarray, q: np.ndarray) -> np.ndarray:
    """One unpadded pair (Lc, D), (Lq, D), with w . [c; q; c * q] written as it is defined."""
    w = np.concatenate(
        [
            p.detach().numpy()
            for p in (module.context_weight, module.question_weight, module.product_weight)
        ]
    )
    s = np.array([[w @ np.concatenate([x, y, x * y]) for y in q] for x in c])  # (Lc, Lq)
    s1 = np.stack([softmax(row) for row in s])
    s2 = np.stack([softmax(column) for column in s.T], axis=1)
    a, b = s1 @ q, (s1 @ s2.T) @ c
    return np.concatenate([c, a, c * a, c * b], axis=1)


def test_values_and_padding() -> None:
    module = ContextQueryAttention(TRILINEAR_D, dropout=0.1).eval()
    for weight in module.parameters():
        torch.nn.init.normal_(weight)  # large enough for the softmaxes to be far from uniform
    context, question = torch.randn(1, 6, TRILINEAR_D), torch.randn(1, 3, TRILINEAR_D)
    expected = trilinear_oracle(module, context[0].numpy(), question[0].numpy())
    alone = module(context, question, mask(6, width=6), mask(3, width=3))
    np.testing.assert_allclose(alone[0].detach().numpy(), expected, atol=1e-5)

    contexts, questions = 20 * torch.randn(3, 9, TRILINEAR_D), 20 * torch.randn(3, 8, TRILINEAR_D)
    contexts[1, :6], questions[1, :3] = context[0], question[0]
    together = module(contexts, questions, mask(9, 6, 2, width=9), mask(8, 3, 0, width=8))
    torch.testing.assert_close(together[1, :6], alone[0], rtol=0, atol=1e-5)
    assert (together[1, 6:, TRILINEAR_D:] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("sizes", [(5, 0), (0, 3), (0, 0)])
def test_an_empty_side_gives_zeros(dtype: torch.dtype, sizes: tuple[int, int]) -> None:
    module = ContextQueryAttention(TRILINEAR_D, dropout=0.0).to(dtype)
    context = torch.randn(2, 5, TRILINEAR_D, dtype=dtype, requires_grad=True)
    question = torch.randn(2, 3, TRILINEAR_D, dtype=dtype, requires_grad=True)
    output = module(context, question, mask(5, sizes[0], width=5), mask(3, sizes[1], width=3))
    assert output.dtype == dtype
    assert torch.equal(output[1, :, :TRILINEAR_D], context[1])
    assert (output[1, :, TRILINEAR_D:] == 0).all()
    output.square().sum().backward()
    for tensor in (context, question, *module.parameters()):
        assert tensor.grad is not None
        assert torch.isfinite(tensor.grad).all()


def test_gradients() -> None:
    module = ContextQueryAttention(TRILINEAR_D, dropout=0.1).eval().double()
    names = [name for name, _ in module.named_parameters()]
    keeps = (mask(4, 2, width=4), mask(1, 3, width=3))

    def run(context: Tensor, question: Tensor, *weights: Tensor) -> Tensor:
        parameters = dict(zip(names, weights, strict=True))
        output: Tensor = torch.func.functional_call(module, parameters, (context, question, *keeps))
        return output

    inputs = [torch.randn(2, 4, TRILINEAR_D), torch.randn(2, 3, TRILINEAR_D), *module.parameters()]
    assert torch.autograd.gradcheck(
        run, tuple(tensor.detach().double().requires_grad_() for tensor in inputs)
    )


MIXED_PRECISION_B, MIXED_PRECISION_L, MIXED_PRECISION_D = 3, 7, 8
KEEP = (
    torch.arange(MIXED_PRECISION_L) < torch.tensor([7, 4, 0])[:, None]
)  # (B, L), the last example is empty


def block() -> EncoderBlock:
    return EncoderBlock(
        width=MIXED_PRECISION_D,
        convolutions=2,
        kernel=5,
        heads=2,
        head_width=8,
        feed_forward=MIXED_PRECISION_D,
        dropout=0.0,
        input_dropout=0.0,
        first_sublayer=1,
        total_sublayers=4,
        last_survival=1.0,
    )


@pytest.mark.parametrize(
    ("module", "inputs"),
    [
        (
            block,
            lambda: (torch.randn(MIXED_PRECISION_B, MIXED_PRECISION_L, MIXED_PRECISION_D), KEEP),
        ),
        (
            lambda: Highway(MIXED_PRECISION_D, 2, dropout=0.0),
            lambda: (torch.randn(MIXED_PRECISION_B, MIXED_PRECISION_L, MIXED_PRECISION_D),),
        ),
        (
            lambda: ContextQueryAttention(MIXED_PRECISION_D, dropout=0.0),
            lambda: (
                torch.randn(MIXED_PRECISION_B, MIXED_PRECISION_L, MIXED_PRECISION_D),
                torch.randn(MIXED_PRECISION_B, MIXED_PRECISION_L, MIXED_PRECISION_D),
                KEEP,
                KEEP,
            ),
        ),
        (
            lambda: CharacterConvolution(9, MIXED_PRECISION_D, MIXED_PRECISION_D, 5, dropout=0.0),
            lambda: (
                torch.randint(0, 9, (MIXED_PRECISION_B, MIXED_PRECISION_L, 6)),
                torch.zeros(MIXED_PRECISION_B, MIXED_PRECISION_L, dtype=torch.long),
            ),
        ),
    ],
    ids=["encoder block", "highway", "trilinear", "characters"],
)
def test_close_to_float32_with_finite_gradients(
    module: Callable[[], nn.Module],
    inputs: Callable[[], tuple[Tensor, ...]],
    every_parameter_learns: Callable[[nn.Module, Tensor], None],
) -> None:
    built, given = module(), inputs()
    exact = built(*given)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = built(*given)
    torch.testing.assert_close(mixed.float(), exact, rtol=0.05, atol=0.1)
    every_parameter_learns(built, mixed)


def test_highway_batch_composition_changes_nothing() -> None:
    module, x = Highway(HIGHWAY_D, LAYERS, dropout=0.3).eval(), torch.randn(1, 4, HIGHWAY_D)
    batch = 50 * torch.randn(3, 9, HIGHWAY_D)
    batch[1, :4] = x[0]
    torch.testing.assert_close(module(batch)[1, :4], module(x)[0], rtol=0, atol=1e-5)
