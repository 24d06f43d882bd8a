from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from readlet.nn.convolution import SeparableConvolution
from readlet.nn.encoder_block import EncoderBlock, sublayer_count
from readlet.nn.position import sinusoids
from readlet.nn.stochastic_depth import StochasticDepth

Check = Callable[[nn.Module, Tensor], None]

D, CONVOLUTIONS, TOTAL, FIRST, LAST = 6, 3, 10, 4, 0.8


def build(
    dropout: float = 0.1,
    first: int = FIRST,
    last: float = LAST,
    convolutions: int = CONVOLUTIONS,
    input_dropout: float = 0.0,
) -> EncoderBlock:
    return EncoderBlock(
        width=D,
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


def oracle(block: EncoderBlock, x: Tensor) -> Tensor:
    """One unpadded example (L, D) in evaluation, sublayer by sublayer, with survival by hand."""
    keep = torch.ones(1, len(x), dtype=torch.bool)
    convolutions = convolutions_of(block)
    first, _, second = block.rest.feed_forward
    x = x + sinusoids(len(x), D)
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
def test_values(convolutions: int) -> None:
    block, x = build(convolutions=convolutions).eval(), torch.randn(1, 7, D)
    assert len(convolutions_of(block)) == convolutions
    got = block(x, mask(7, width=7))[0]
    torch.testing.assert_close(got, oracle(block, x[0]), rtol=0, atol=1e-5)


def test_parameters_are_those_of_the_products() -> None:
    """The oracle's LayerNorms have neither scale nor shift: nor have the block's."""
    block = build()
    products = [*convolutions_of(block), block.rest.attention, block.rest.feed_forward]
    wanted = {id(parameter) for product in products for parameter in product.parameters()}
    assert {id(parameter) for parameter in block.parameters()} == wanted


def test_padding_and_batch_composition_change_nothing() -> None:
    block, x = build().eval(), torch.randn(1, 7, D)
    alone = block(x, mask(7, width=7))
    batch = 50 * torch.randn(4, 12, D)
    batch[1, :7] = x[0]
    keep = mask(12, 7, 0, 3, width=12)
    together = block(batch, keep)
    torch.testing.assert_close(together[1, :7], alone[0], rtol=0, atol=1e-5)
    assert (together[~keep] == 0).all()


def test_survival_counts_sublayers_across_the_stack() -> None:
    assert sublayer_count(CONVOLUTIONS) == 5
    got = [d.survival for d in build(first=6).modules() if isinstance(d, StochasticDepth)]
    assert got == pytest.approx([0.88, 0.86, 0.84, 0.82, 0.8])
    with pytest.raises(ValueError, match="sublayer 11"):
        build(first=7)


@pytest.mark.parametrize("convolutions", [1, 2, 3, 4])
def test_dropout_follows_every_second_convolution_attention_and_feed_forward(
    convolutions: int,
) -> None:
    block = build(dropout=1.0, last=1.0, convolutions=convolutions)
    x, keep = torch.randn(1, 7, D), mask(7, width=7)
    y = x + sinusoids(7, D)  # with everything dropped only convolutions 0 and 2 have an effect
    for convolution in convolutions_of(block)[::2]:
        y = y + convolution(normalised(y), keep)
    torch.testing.assert_close(block(x, keep), y)


def test_training_draws_per_example_and_evaluation_does_not() -> None:
    block, keep = build(dropout=0.0, last=0.1), mask(*[7] * 8, width=7)
    x = torch.randn(1, 7, D).expand(8, 7, D)
    output = block(x, keep)
    assert not torch.equal(output, block(x, keep))
    assert not all(torch.equal(output[0], row) for row in output)
    block.eval()
    assert torch.equal(block(x, keep), block(x, keep))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_an_empty_example_is_harmless(dtype: torch.dtype, every_parameter_learns: Check) -> None:
    block = build(dropout=0.0, last=1.0).to(dtype)
    output = block(torch.randn(2, 7, D, dtype=dtype), mask(7, 0, width=7))
    assert output.dtype == dtype
    assert (output[1] == 0).all()
    every_parameter_learns(block, output)


def test_input_dropout_leaves_nothing_to_read() -> None:
    block, keep = build(dropout=0.0, last=1.0, input_dropout=1.0), mask(7, width=7)
    x = torch.randn(1, 7, D)
    # Inputs are zero and there are no biases, so all updates are zero: only positions are added.
    torch.testing.assert_close(block.train()(x, keep), x + sinusoids(7, D))
    assert not torch.allclose(block.eval()(x, keep), x + sinusoids(7, D))
