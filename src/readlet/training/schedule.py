"""The learning rate as a function of the step, so that no scheduler state has to be saved."""

import math

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
