import pytest
import torch

from readlet.nn.stochastic_depth import StochasticDepth, survival_at


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


def test_evaluation_is_deterministic_and_leaves_the_generator_alone() -> None:
    module, residual, update = (
        StochasticDepth(0.5).eval(),
        torch.randn(4, 3, 2),
        torch.randn(4, 3, 2),
    )
    state = torch.get_rng_state()
    assert torch.equal(module(residual, update), module(residual, update))
    assert torch.equal(torch.get_rng_state(), state)


def test_certain_survival_is_a_sum() -> None:
    module, residual, update = StochasticDepth(1.0), torch.randn(256, 3, 2), torch.randn(256, 3, 2)
    assert torch.equal(module(residual, update), residual + update)
    assert torch.equal(module.eval()(residual, update), residual + update)


def test_a_dropped_update_gets_no_gradient_even_when_it_is_infinite() -> None:
    module = StochasticDepth(0.5)
    update = torch.full((64, 1, 1), torch.inf, requires_grad=True)
    output = module(torch.zeros(64, 1, 1), update)
    output.sum().backward()
    assert update.grad is not None
    assert torch.equal(update.grad, torch.isinf(output).float())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_dtype_is_kept(dtype: torch.dtype) -> None:
    module, x = StochasticDepth(0.5), torch.randn(4, 3, 2, dtype=dtype)
    assert module(x, x).dtype == dtype
    assert module.eval()(x, x).dtype == dtype


def test_survival_falls_linearly_to_the_last() -> None:
    assert [survival_at(sublayer, 4, 0.8) for sublayer in (1, 2, 3, 4)] == pytest.approx(
        [0.95, 0.9, 0.85, 0.8]
    )


@pytest.mark.parametrize("sublayer", [0, 5])
def test_sublayers_outside_the_stack_are_rejected(sublayer: int) -> None:
    with pytest.raises(ValueError, match="1 to 4"):
        survival_at(sublayer, 4, 0.8)


@pytest.mark.parametrize("survival", [0.0, -0.1, 1.1])
def test_impossible_survival_is_rejected(survival: float) -> None:
    with pytest.raises(ValueError, match="survival"):
        StochasticDepth(survival)
