import math

import pytest
import torch

from readlet.nn.position import PositionalEncoding, sinusoids


@pytest.mark.parametrize("width", [8, 7])
def test_values(width: int) -> None:
    table = sinusoids(600, width)
    assert table.shape == (600, width)
    assert table.dtype == torch.float32
    for p in (0, 1, 17, 599):
        for d in range(width):
            angle = p / 10000 ** ((d - d % 2) / width)
            expected = math.cos(angle) if d % 2 else math.sin(angle)
            assert table[p, d].item() == pytest.approx(expected, abs=1e-7)


def test_it_is_added_to_every_example() -> None:
    module, x = PositionalEncoding(6, max_length=10), torch.randn(2, 4, 6)
    torch.testing.assert_close(module(x), x + sinusoids(4, 6))


def test_batch_composition_changes_nothing() -> None:
    module, x = PositionalEncoding(6, max_length=10), torch.randn(1, 4, 6)
    batch = torch.randn(3, 9, 6)
    batch[2, :4] = x[0]
    assert torch.equal(module(batch)[2, :4], module(x)[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_table_grows_for_longer_sequences(dtype: torch.dtype) -> None:
    module, x = PositionalEncoding(6, max_length=3).to(dtype), torch.randn(2, 8, 6, dtype=dtype)
    before = module(x[:, :3])
    output = module(x)
    assert output.dtype == dtype
    torch.testing.assert_close(output, x + sinusoids(8, 6).to(dtype))
    assert torch.equal(module(x[:, :3]), before)


def test_a_table_grown_at_inference_can_be_used_in_training() -> None:
    module = PositionalEncoding(6, max_length=3)
    with torch.inference_mode():
        module(torch.randn(1, 8, 6))
    assert not module.table.is_inference()
    x = torch.randn(1, 8, 6, requires_grad=True)
    module(x).sum().backward()
    assert x.grad is not None


def test_nothing_is_saved() -> None:
    assert PositionalEncoding(6, max_length=3).state_dict() == {}
