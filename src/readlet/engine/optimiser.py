"""Weight updates: learning rate, Adam with parameter groups, their average, mixed precision.

The rate is a function of the step, so that no scheduler state has to be saved.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.amp.grad_scaler import GradScaler

from readlet.recipe.recipe import Precision, Training


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
    """A group of parameters with the same learning rate and weight decay."""

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
    """All trainable parameters, in one group."""
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


class Average:
    """shadow = d * shadow + (1 - d) * weight, with d = min(decay, (1 + t) / (10 + t)).

    With the warm-up of the decay, the first steps are forgotten quickly. With a decay of 0 there is
    no shadow: the weights themselves are kept.
    """

    def __init__(self, parameters: dict[str, nn.Parameter], decay: float) -> None:
        self.decay = decay
        self._parameters: dict[str, Tensor] = {**parameters}
        averaged = parameters if decay else {}
        self.shadow = {name: p.detach().clone() for name, p in averaged.items()}

    def rate(self, step: int) -> float:
        """1 - d at this step: how far the average moves towards the weights."""
        return 1.0 - min(self.decay, (1 + step) / (10 + step))

    def weights(self) -> dict[str, Tensor]:
        """The weights that are kept."""
        return self.shadow if self.decay else self._parameters

    @torch.no_grad()
    def update(self, rate: Tensor) -> None:
        """shadow += rate * (weight - shadow); `rate` is a tensor, for capture in a CUDA graph."""
        if not self.decay:
            return
        shadow = list(self.shadow.values())
        difference = torch._foreach_sub(list(self._parameters.values()), shadow)
        torch._foreach_mul_(difference, rate)
        torch._foreach_add_(shadow, difference)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside the `with`, the model has the averaged weights; afterwards its own again."""
        if not self.decay:
            yield
            return
        own = [weight.detach().clone() for weight in self._parameters.values()]
        self._copy(list(self.shadow.values()))
        try:
            yield
        finally:
            self._copy(own)

    @torch.no_grad()
    def _copy(self, values: list[Tensor]) -> None:
        torch._foreach_copy_(list(self._parameters.values()), values)


_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class MixedPrecision:
    """Weights and optimiser stay in float32; products run in the chosen dtype."""

    def __init__(self, precision: Precision, device: torch.device) -> None:
        self._dtype = _DTYPES.get(precision)
        self._device = device.type
        # Small gradients underflow in float16: the loss is scaled up, the gradients back down.
        self.scaler = GradScaler(device.type, enabled=precision == "float16")

    def autocast(self) -> AbstractContextManager[None]:
        if self._dtype is None:
            return nullcontext()
        # No cache of cast weights: in a captured graph it would outlive its memory.
        return torch.autocast(self._device, self._dtype, cache_enabled=False)

    def backward(self, loss: Tensor) -> None:
        torch.autograd.backward(self.scaler.scale(loss))

    def clip(self, optimizer: torch.optim.Optimizer, norm: float) -> None:
        self.scaler.unscale_(optimizer)
        weights = [p for group in optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(weights, norm)

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """A step; if a gradient overflowed, the scaler skips it and lowers the scale."""
        self.scaler.step(optimizer)
        self.scaler.update()

    @property
    def is_scaled(self) -> bool:
        return self.scaler.is_enabled()

    def scale(self) -> float:
        """The factor of the loss. Synchronises with the device."""
        return float(self.scaler.get_scale())
