"""Parameters: how many there are, and how BERT draws new ones."""

from torch import nn

BERT_DEVIATION = 0.02
"""The standard deviation with which BERT's parameters are drawn."""


def count_parameters(module: nn.Module) -> int:
    """Trainable parameters only: frozen word vectors do not count."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad)
