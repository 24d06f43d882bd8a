"""The size of a network."""

from torch import nn


def count_parameters(module: nn.Module) -> int:
    """Trainable parameters only: frozen word vectors do not count."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad)
