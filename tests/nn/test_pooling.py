"""Poolers against plain loops in NumPy, over the tokens of one sentence without any padding."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from readlet.nn.pooling import POOLERS, ClsPooler, JoinedPooler, Pooler, make_pooler

H = 6
LENGTHS = (9, 1, 4, 5, 0, 2)
Array = np.ndarray
Weights = dict[str, Array]


# Each oracle: x (tokens, H), parameters -> (H,).


def dense(p: Weights, x: Array) -> Array:
    return np.tanh(np.array([row @ x for row in p["dense.weight"]]) + p["dense.bias"])


def token_of_largest_norm(x: Array) -> Array:
    best, length = x[0], -1.0
    for token in x:
        norm = sum(float(number) ** 2 for number in token) ** 0.5
        if norm > length:
            best, length = token, norm
    return best


def largest_of_each_feature(x: Array) -> Array:
    return np.array([max(feature) for feature in x.T])


def mean(x: Array) -> Array:
    return np.array([sum(feature) / len(feature) for feature in x.T])


def total(x: Array) -> Array:
    return np.array([sum(feature) for feature in x.T])


def weighted_average(numbers: Array) -> float:
    """With the softmax of the numbers as weights."""
    e = np.exp(numbers - numbers.max())
    return float((e / e.sum()) @ numbers)


def mswap(x: Array, p: Weights) -> Array:
    first, out = x[0], np.zeros(len(x[0]))
    for i in range(0, len(first), 2):
        e = np.exp(first[i : i + 2])
        out[i : i + 2] = np.maximum(e / e.sum() * first[i : i + 2], 0)
    return out


def swap(x: Array, p: Weights) -> Array:
    windows = [x[i : i + 4] for i in range(0, len(x), 4)]
    return mean(np.array([[weighted_average(f) for f in window.T] for window in windows]))


def shares(feature: Array) -> tuple[Array, Array]:
    """Activations of a feature and the probability of each token."""
    a = np.array([max(number, 0.0) for number in feature])
    return a, a / a.sum() if a.sum() > 0 else a


def stochastic(x: Array, p: Weights) -> Array:
    return np.array([sum(q * b for b, q in zip(*shares(f), strict=True)) for f in x.T])


def attention(x: Array, p: Weights) -> Array:
    scores = np.array([token @ p["query"] for token in x])
    e = np.exp(scores - scores.max())
    return total(np.array([w * token for w, token in zip(e / e.sum(), x, strict=True)]))


def meanmax(first: Callable[[Array], Array], second: Callable[[Array], Array]) -> Callable:
    return lambda x, p: dense(p, np.concatenate([first(x), second(x)]))


ORACLES: dict[str, Callable[[Array, Weights], Array]] = {
    "cls": lambda x, p: dense(p, x[0]),
    "meanmax": meanmax(total, token_of_largest_norm),
    "meanmax-mean": meanmax(mean, token_of_largest_norm),
    "meanmax-elementwise": meanmax(total, largest_of_each_feature),
    "meanmax-mean-elementwise": meanmax(mean, largest_of_each_feature),
    "mswap": mswap,
    "swap": swap,
    "stochastic": stochastic,
    "mean": lambda x, p: mean(x),
    "max": lambda x, p: largest_of_each_feature(x),
    "attention": attention,
}


def pooler_of(*names: str) -> Pooler:
    """In evaluation, with other parameters than at first: some of those are zero."""
    pooler = make_pooler(names, H)
    with torch.no_grad():
        for parameter in pooler.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return pooler.eval()


def sentences() -> list[Tensor]:
    return [torch.randn(length, H) for length in LENGTHS]  # (tokens, H) each


def padded(
    rows: list[Tensor], width: int = 9, *, left: bool = False, fill: float = float("nan")
) -> tuple[Tensor, Tensor]:
    """States (B, T, H) with `fill` in the padding, and their mask (B, T)."""
    states = torch.full((len(rows), width, H), fill)  # (B, T, H)
    keep = torch.zeros(len(rows), width, dtype=torch.bool)  # (B, T)
    for number, row in enumerate(rows):
        start = width - len(row) if left else 0
        states[number, start : start + len(row)] = row
        keep[number, start : start + len(row)] = True
    return states, keep


@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
@pytest.mark.parametrize("name", POOLERS)
def test_results_are_those_of_plain_loops(name: str, left: bool) -> None:
    """For each length, one token and none included; the padding is NaN."""
    pooler, rows = pooler_of(name), sentences()
    p = {k: v.detach().double().numpy() for k, v in pooler.named_parameters()}
    found = pooler(*padded(rows, left=left))  # (B, H)
    assert found.shape == (len(rows), pooler.out_width)
    for row, vector in zip(rows, found, strict=True):
        x = row.double().numpy()  # (tokens, H)
        expected = ORACLES[name](x, p) if len(x) else np.zeros(pooler.out_width)
        np.testing.assert_allclose(vector.detach().numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("fill", [0.0, 1e4, float("inf"), float("nan")])
def test_padding_and_other_rows_change_nothing(fill: float) -> None:
    """Padding of other values, more of it, on the other side; or one sentence at a time."""
    pooler, rows = pooler_of(*POOLERS), sentences()  # all results side by side
    expected = pooler(*padded(rows))  # (B, 11 H)
    for left in (False, True):
        found = pooler(*padded(rows, width=23, left=left, fill=fill))
        torch.testing.assert_close(found, expected)
    for row, vector in zip(rows, expected, strict=True):
        alone = pooler(*padded([row], width=max(len(row), 1), fill=fill))
        torch.testing.assert_close(alone[0], vector)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", POOLERS)
def test_every_parameter_and_every_token_read_gets_a_gradient(
    every_parameter_learns: Callable[[nn.Module, Tensor], None], name: str, training: bool
) -> None:
    """From the first step on, with NaN in the padding and a row without tokens in the batch."""
    pooler = make_pooler([name], H).train(training)
    states, keep = padded([row.abs() for row in sentences()])  # positive: each passes a ReLU
    states.requires_grad_()
    every_parameter_learns(pooler, pooler(states, keep))
    assert torch.isfinite(states.grad).all()
    read = states.grad.abs().sum(dim=-1) > 0  # (B, T)
    if name == "max" or (name == "stochastic" and training):
        assert not (read & ~keep).any()
        assert torch.equal(read.any(dim=1), keep.any(dim=1))
    else:
        first_only = torch.arange(keep.shape[1]) == 0  # (T,)
        assert torch.equal(read, keep & first_only if name in ("cls", "mswap") else keep)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("size", [1.0, 3e4], ids=["usual", "near the limit of float16"])
@pytest.mark.parametrize("how", ["autocast", "half weights"])
def test_half_precision(dtype: torch.dtype, size: float, how: str) -> None:
    """Sums of nine states of 3e4 exceed float16, and so do squares: nothing may overflow."""
    pooler = pooler_of(*POOLERS)
    rows = [(size * row).clamp(-6e4, 6e4).to(dtype) for row in sentences()]
    states, keep = padded([row.float() for row in rows])
    expected = pooler(states, keep)  # (B, 11 H)
    low = states.to(dtype).requires_grad_()
    if how == "autocast":
        with torch.autocast("cpu", dtype):
            found = pooler(low, keep)
        torch.testing.assert_close(found, expected)
    else:
        found = pooler.to(dtype)(low, keep)
        if size == 1.0:
            torch.testing.assert_close(found, expected, atol=0.05, rtol=0.05)
    assert found.dtype == torch.float32
    assert torch.isfinite(found).all()
    found.sum().backward()
    for tensor in (*pooler.parameters(), low):
        assert torch.isfinite(tensor.grad).all()


@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
def test_stochastic_draws_tokens_by_their_share(left: bool) -> None:
    """Chi-square of 20,000 draws for each feature; a token without activation is never drawn."""
    draws, tokens = 20_000, 5
    x = torch.rand(tokens, H) + 0.2 * torch.arange(tokens).unsqueeze(1)  # (tokens, H), distinct
    x[0, 0] = x[2, 0] = x[4, 1] = -1.0
    x[:, 5] = -torch.rand(tokens)
    states, keep = padded([x], width=7, left=left)
    pooler = make_pooler(["stochastic"], H).train()
    torch.manual_seed(3)
    found = pooler(states.expand(draws, -1, -1), keep.expand(draws, -1)).numpy()  # (draws, H)
    assert (found[:, 5] == 0).all()
    for feature in range(5):
        a, p = shares(x[:, feature].numpy())
        counts = np.array([(found[:, feature] == b).sum() if b > 0 else 0 for b in a])
        assert counts.sum() == draws
        drawn = p > 0
        expected = p[drawn] * draws
        statistic = ((counts[drawn] - expected) ** 2 / expected).sum()
        assert statistic < 18.5  # 4 degrees of freedom: exceeded once in 1,000 times


def test_stochastic_is_seeded_and_its_mean_is_what_evaluation_gives() -> None:
    pooler, rows = make_pooler(["stochastic"], H), sentences()
    once = []
    for width, left in ((9, False), (9, False), (16, True)):
        torch.manual_seed(7)
        once.append(pooler(*padded(rows, width=width, left=left)))
    assert torch.equal(once[0], once[1])
    assert torch.equal(once[0], once[2]), "padding changed what was drawn"
    assert not torch.equal(once[0], pooler(*padded(rows)))
    states, keep = padded(rows[:1])
    many = pooler(states.expand(20_000, -1, -1), keep.expand(20_000, -1)).mean(dim=0)  # (H,)
    torch.testing.assert_close(many, pooler.eval()(states, keep)[0], atol=0.03, rtol=0.0)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", POOLERS)
def test_one_program_without_a_break_for_every_pooler(name: str, training: bool) -> None:
    torch.compiler.reset()
    pooler = pooler_of(name).train(training)
    compiled = torch.compile(pooler, fullgraph=True, backend="eager")
    given = padded(sentences())
    results = []
    for module in (pooler, compiled):
        torch.manual_seed(1)
        results.append(module(*given))
    torch.testing.assert_close(*results, rtol=0.0, atol=0.0)


def test_several_names_are_joined_in_their_order() -> None:
    pooler, given = pooler_of("max", "cls", "stochastic"), padded(sentences())
    assert isinstance(pooler, JoinedPooler)
    found = pooler(*given)  # (B, 3 H)
    assert found.shape[1] == pooler.out_width == 3 * H
    expected = [part(*given) for part in pooler.parts]
    torch.testing.assert_close(found, torch.cat(expected, dim=-1))
    assert [type(part) for part in pooler.parts] == [
        type(make_pooler([name], H)) for name in ("max", "cls", "stochastic")
    ]


def test_the_pooler_of_bert_fits_into_cls() -> None:
    transformers = pytest.importorskip("transformers")
    from transformers.models.bert.modeling_bert import BertPooler

    theirs = BertPooler(transformers.BertConfig(hidden_size=H))
    ours = make_pooler(["mean", "cls"], H).parts[1]
    assert isinstance(ours, ClsPooler)
    ours.load_state_dict(theirs.state_dict())
    states, keep = torch.randn(3, 5, H), torch.ones(3, 5, dtype=torch.bool)
    torch.testing.assert_close(ours(states, keep), theirs(states))
