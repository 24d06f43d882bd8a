"""Under autocast some operations return bfloat16, others float32: both must work together."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from readlet.nn.characters import CharacterConvolution
from readlet.nn.encoder_block import EncoderBlock
from readlet.nn.highway import Highway
from readlet.nn.trilinear import ContextQueryAttention

B, L, D = 3, 7, 8
KEEP = torch.arange(L) < torch.tensor([7, 4, 0])[:, None]  # (B, L), the last example is empty


def block() -> EncoderBlock:
    return EncoderBlock(
        width=D,
        convolutions=2,
        kernel=5,
        heads=2,
        head_width=8,
        feed_forward=D,
        dropout=0.0,
        input_dropout=0.0,
        first_sublayer=1,
        total_sublayers=4,
        last_survival=1.0,
    )


@pytest.mark.parametrize(
    ("module", "inputs"),
    [
        (block, lambda: (torch.randn(B, L, D), KEEP)),
        (lambda: Highway(D, 2, dropout=0.0), lambda: (torch.randn(B, L, D),)),
        (
            lambda: ContextQueryAttention(D, dropout=0.0),
            lambda: (torch.randn(B, L, D), torch.randn(B, L, D), KEEP, KEEP),
        ),
        (
            lambda: CharacterConvolution(9, D, D, 5, dropout=0.0),
            lambda: (torch.randint(0, 9, (B, L, 6)), torch.zeros(B, L, dtype=torch.long)),
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
