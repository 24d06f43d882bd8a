"""The learning rate as a function of the step, so that no scheduler state has to be saved.

The optimiser: Adam with groups of parameters that have their own rate and weight decay.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import nn

from readlet.recipe.recipe import Training


def learning_rate(settings: Training, step: int, total: int) -> float:
    """The rate for step `step`, counted from 1, of `total`."""
    return settings.learning_rate * _factor(settings, step, total)


def _factor(settings: Training, step: int, total: int) -> float:
    warmup = settings.warmup_steps
    falling = settings.final_decay * total
    end = min(1.0, (total - step) / falling) if falling else 1.0  # below 1 near the end
    if settings.schedule == "log":
        # QANet: lr = min(1, ln(step + 1) / ln(warmup)), then constant.
        return end * min(1.0, math.log(step + 1) / math.log(max(warmup, 3)))
    if step <= warmup:
        return end * step / max(warmup, 1)
    done = (step - warmup) / max(total - warmup, 1)  # 0 after the warm-up, 1 at the end
    if settings.schedule == "linear":
        return max(0.0, 1.0 - done)
    if settings.schedule == "cosine":
        cycle = (done * (settings.restarts + 1)) % 1.0 if done < 1.0 else 1.0
        return 0.5 * (1.0 + math.cos(math.pi * cycle))
    return end


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
