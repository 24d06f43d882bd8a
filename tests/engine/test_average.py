"""The averaged weights against a plain loop over Python floats."""

from contextlib import suppress

import pytest
import torch
from torch import nn

from readlet.engine.optimiser import Average


def weights_of(model: nn.Module) -> dict[str, nn.Parameter]:
    return dict(model.named_parameters())


def train_a_little(model: nn.Module, average: Average, steps: int) -> list[list[float]]:
    """Random steps of the weights, each followed by an update; returns all values."""
    visited = []
    for step in range(1, steps + 1):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += torch.randn_like(parameter)
        average.update(torch.tensor(average.rate(step)))
        visited.append(torch.cat([p.detach().flatten() for p in model.parameters()]).tolist())
    return visited


@pytest.mark.parametrize("decay", [0.5, 0.9, 0.9999])
def test_against_a_plain_loop(decay: float) -> None:
    model = nn.Linear(3, 2)
    average = Average(weights_of(model), decay)
    expected = torch.cat([p.detach().flatten() for p in model.parameters()]).tolist()
    for step, values in enumerate(train_a_little(model, average, 40), 1):
        kept = min(decay, (1 + step) / (10 + step))
        expected = [kept * e + (1 - kept) * v for e, v in zip(expected, values, strict=True)]
    found = torch.cat([s.flatten() for s in average.shadow.values()])
    torch.testing.assert_close(found, torch.tensor(expected), rtol=1e-5, atol=1e-6)
    assert not torch.equal(average.shadow["weight"], model.weight)


def test_applied_and_restored_to_the_bit() -> None:
    model = nn.Linear(4, 4)
    average = Average(weights_of(model), 0.9)
    train_a_little(model, average, 5)
    own = {name: p.detach().clone() for name, p in model.named_parameters()}
    with suppress(KeyboardInterrupt), average.applied():
        for name, parameter in model.named_parameters():
            assert torch.equal(parameter, average.shadow[name])
            assert not torch.equal(parameter, own[name])
        raise KeyboardInterrupt
    assert all(torch.equal(p, own[name]) for name, p in model.named_parameters())
