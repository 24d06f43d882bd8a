"""RCSLS (Joulin et al. 2018): the map is trained for the very score that retrieval uses.

The loss over translation pairs is the mean of -2 x'W'y + r(Wx) + r(y), with r the mean of the ten
largest products with words of the other language. W starts orthogonal and may become any map.
"""

from typing import NamedTuple

from torch import Tensor

from readlet.crosslingual.neighbours import NEIGHBOURS, nearest
from readlet.progress import track

STEPS = 10
RATE = 4.0
COMPARED = 20_000
"""Frequent words of each language among which neighbours are sought while W is trained."""


class Loss(NamedTuple):
    value: float
    gradient: Tensor  # (D', D)


def rcsls_loss(
    w: Tensor, x: Tensor, y: Tensor, sources: Tensor, targets: Tensor, *, device: str = "cpu"
) -> Loss:
    """Loss and gradient at W, (D', D), for the pairs (x, y), (n, D) and (n, D').

    A neighbourhood is fixed for the gradient, so it is that of a bilinear form.
    """
    n, mapped = len(x), x @ w.T  # (n, D')
    _, near_x = nearest(mapped, targets, NEIGHBOURS, device=device)  # (n, k)
    _, near_y = nearest(y, sources @ w.T, NEIGHBOURS, device=device)  # (n, k)
    mean_target = targets[near_x].mean(dim=1)  # (n, D')
    mean_source = sources[near_y].mean(dim=1)  # (n, D)
    pull = mean_target - 2 * y  # (n, D')
    value = ((mapped * pull).sum() + (y * (mean_source @ w.T)).sum()) / n
    gradient = (pull.T @ x + y.T @ mean_source) / n  # (D', D)
    return Loss(float(value), gradient)


def rcsls(
    start: Tensor, x: Tensor, y: Tensor, sources: Tensor, targets: Tensor, *, device: str = "cpu"
) -> Tensor:
    """W after gradient descent from `start`, (D', D); a step that does not help is halved."""
    sources, targets = sources[:COMPARED], targets[:COMPARED]  # (M, D), (M', D')
    w, rate = start, RATE
    loss = rcsls_loss(w, x, y, sources, targets, device=device)
    for _ in track(range(STEPS), STEPS, "rcsls"):
        trial = w - rate * loss.gradient  # (D', D)
        after = rcsls_loss(trial, x, y, sources, targets, device=device)
        if after.value < loss.value:
            w, loss = trial, after
        else:
            rate /= 2
    return w
