"""Retrieval by CSLS (Conneau et al. 2018): cosines, corrected for words that are near to all.

The score is 2 cos(x, y) - r(x) - r(y), with r the mean cosine to the ten nearest neighbours in the
other language. r(y) of every y takes as many products as there are pairs of words. But r(y) over
some of the sources is a lower bound of r(y), so it gives an upper bound of the score: r(y) over all
is computed only where that bound could still place y among the best. The result is the same.
"""

import torch
from torch import Tensor

from readlet.crosslingual.neighbours import density, nearest

_SOME = 10_000  # sources, the frequent ones, that give the bounds
_LISTED = 128  # targets with the highest bounds, per query, at first


def csls(
    queries: Tensor, sources: Tensor, targets: Tensor, k: int, *, device: str = "cpu"
) -> tuple[Tensor, Tensor]:
    """The k best targets of each query: scores and rows, (Q, k) each, the best first.

    `queries` are of unit length, some of the `sources` as a rule, all in the space of the targets.
    """
    k = min(k, len(targets))
    dense = density(targets, sources[:_SOME], device=device, label="bounds")  # (N,)
    exact = torch.full((len(targets),), len(sources) <= _SOME)  # (N,)
    scores = queries.new_empty(len(queries), k)  # (Q, k)
    rows = torch.empty(len(queries), k, dtype=torch.long)  # (Q, k)
    pending = torch.arange(len(queries))  # (Q,)
    listed = _LISTED
    while len(pending):
        listed = min(listed, len(targets))
        bounds, columns = nearest(
            queries[pending], targets, listed, penalty=dense, device=device, label="retrieval"
        )  # (P, listed) each
        doubled = bounds + dense[columns]  # (P, listed): 2 cos
        # First the likeliest ones: what they reach rules out most of the others.
        likely = columns[:, : 2 * k]  # (P, 2k)
        for wanted in (likely, None):
            if wanted is None:
                floor = _exact_scores(doubled, columns, dense, exact).topk(k).values[:, -1:]
                wanted = columns[bounds > floor]  # (some,)
            fresh = torch.unique(wanted)
            fresh = fresh[~exact[fresh]]  # (F,)
            dense[fresh] = density(targets[fresh], sources, device=device, label="densities")
            exact[fresh] = True
        best = _exact_scores(doubled, columns, dense, exact).topk(k)
        # Nothing outside of the list can be better than the last bound inside.
        done = (best.values[:, -1] >= bounds[:, -1]) | (listed == len(targets))  # (P,)
        scores[pending[done]] = best.values[done]
        rows[pending[done]] = columns[done].gather(1, best.indices[done])
        pending = pending[~done]
        listed *= 4
    return scores - density(queries, targets, device=device)[:, None], rows


def _exact_scores(doubled: Tensor, columns: Tensor, dense: Tensor, exact: Tensor) -> Tensor:
    """2 cos - r where r is known, else minus infinity: (P, listed)."""
    return (doubled - dense[columns]).masked_fill(~exact[columns], -torch.inf)
