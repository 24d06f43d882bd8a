"""The optimiser: Adam with groups of parameters that have their own rate and weight decay."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import nn

from readlet.recipe.recipe import Training


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that are updated alike."""

    parameters: list[nn.Parameter]
    rate: float = 1.0  # factor of the learning rate
    decay: float = 0.0  # decoupled weight decay (AdamW)


def grouped(
    module: nn.Module, decay: float, rate: Callable[[nn.Parameter], float]
) -> list[ParameterGroup]:
    """Groups of equal rate and decay. Only matrices decay: biases and norms have one dimension."""
    found: dict[tuple[float, float], list[nn.Parameter]] = {}
    for parameter in module.parameters():
        if parameter.requires_grad:
            key = (rate(parameter), decay if parameter.dim() > 1 else 0.0)
            found.setdefault(key, []).append(parameter)
    return [ParameterGroup(listed, *key) for key, listed in found.items()]


def one_group(parameters: Iterable[nn.Parameter]) -> list[ParameterGroup]:
    """All trainable parameters, updated alike."""
    return [ParameterGroup([p for p in parameters if p.requires_grad])]


def make_optimizer(groups: list[ParameterGroup], settings: Training) -> torch.optim.Adam:
    """Adam with the paper's L2 term as weight decay: the same gradient, without a loss term.

    If a group has decoupled decay it is AdamW, and there is no L2 term.
    """
    on_gpu = groups[0].parameters[0].is_cuda
    is_decoupled = any(group.decay for group in groups)
    listed = [
        {
            "params": group.parameters,
            # A tensor for each group, so that a captured step reads the current rate.
            "lr": torch.tensor(settings.learning_rate, device=group.parameters[0].device),
            "weight_decay": group.decay if is_decoupled else settings.l2,
        }
        for group in groups
    ]
    kind = torch.optim.AdamW if is_decoupled else torch.optim.Adam
    return kind(
        listed,
        fused=on_gpu,
        capturable=on_gpu,
        betas=(settings.beta1, settings.beta2),
        eps=settings.epsilon,
    )
