"""Layer mixes against formulas written in NumPy, with all states stacked: (B, T, N, H)."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from readlet.nn.layer_mix import LayerMix, make_layer_mix

MIXES = ("last", "scalar", "scalar-softmax", "dot", "weighted", "encoder")
B, T, N, H = 3, 7, 4, 12
Array = np.ndarray


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def gelu(x: Array) -> Array:
    erf = np.vectorize(math.erf)
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


def layer_norm(x: Array, weight: Array, bias: Array) -> Array:
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * weight + bias


# Each oracle: parameters, h (B, T, N, H), side -> T (B, T, H), weights of the layers (B, T, N).


def last(p: dict[str, Array], h: Array, side: int) -> tuple[Array, Array]:
    weights = np.zeros(h.shape[:3])  # (B, T, N)
    weights[:, :, -1] = 1
    return h[:, :, -1], weights


def scalar(p: dict[str, Array], h: Array, side: int) -> tuple[Array, Array]:
    w = p["gamma"][side] * p["layer_weight"].reshape(N, -1)[:, side]  # (N,)
    return (w[:, None] * h).sum(2), np.broadcast_to(w, h.shape[:3])


def scalar_softmax(p: dict[str, Array], h: Array, side: int) -> tuple[Array, Array]:
    w = p["gamma"][side] * softmax(p["layer_weight"].reshape(N, -1)[:, side], 0)  # (N,)
    return (w[:, None] * h).sum(2), np.broadcast_to(w, h.shape[:3])


def dot(p: dict[str, Array], h: Array, side: int) -> tuple[Array, Array]:
    w = softmax(h @ p["query"][side], 2)  # (B, T, N)
    return (w[..., None] * h).sum(2), w


def weighted(p: dict[str, Array], h: Array, side: int) -> tuple[Array, Array]:
    transformed = np.einsum("hk,btnk->btnh", p["matrix"][side], h)  # (B, T, N, H): W h
    w = softmax(transformed @ p["query"][side], 2)  # (B, T, N)
    return (w[..., None] * h).sum(2), w


def encoder(p: dict[str, Array], h: Array, side: int, heads: int = 1) -> tuple[Array, Array]:
    """A post-norm transformer block; the query is that of the span head."""
    own = ("start.", "end.")[side] if len(p["query"]) == 2 else "block."
    named = {k.removeprefix(own): v for k, v in p.items() if k.startswith(own)}

    def linear(name: str, x: Array) -> Array:
        return x @ named[f"{name}.weight"].T + named.get(f"{name}.bias", 0)

    q = p["query"][side]  # (H,)
    query, keys, values = linear("to_query", q), linear("to_key", h), linear("to_value", h)
    size = h.shape[-1] // heads
    mixed, weights = [], []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        w = softmax(keys[..., part] @ query[part] / np.sqrt(size), 2)  # (B, T, N)
        mixed.append((w[..., None] * values[..., part]).sum(2))  # (B, T, size)
        weights.append(w)
    x = q + linear("out", np.concatenate(mixed, -1))  # (B, T, H)
    x = layer_norm(x, named["norm.weight"], named["norm.bias"])
    inner = gelu(linear("feed_forward.0", x))  # (B, T, 4 H)
    x = x + linear("feed_forward.2", inner)
    x = layer_norm(x, named["last_norm.weight"], named["last_norm.bias"])
    return x, np.mean(weights, axis=0)


ORACLES: dict[str, Callable[..., tuple[Array, Array]]] = {
    "last": last,
    "scalar": scalar,
    "scalar-softmax": scalar_softmax,
    "dot": dot,
    "weighted": weighted,
    "encoder": encoder,
}


def random_mix(name: str, width: int = H, sides: int = 2) -> LayerMix:
    """With other parameters than at first: some of those are zero or equal."""
    mix = make_layer_mix(name, width, N, sides)
    with torch.no_grad():
        for parameter in mix.parameters():
            parameter += torch.randn_like(parameter) * 0.4
    return mix


def states_of(width: int = H) -> list[Tensor]:
    return [torch.randn(B, T, width) for _ in range(N)]  # (B, T, H) each


@pytest.mark.parametrize(("name", "width"), [*((m, H) for m in MIXES), ("encoder", 128)])
def test_scores_and_weights_are_those_of_the_paper(name: str, width: int) -> None:
    mix, states = random_mix(name, width), states_of(width)
    p = {k: v.detach().double().numpy() for k, v in mix.named_parameters()}
    h = torch.stack(states, dim=2).double().numpy()  # (B, T, N, H)
    more = {"heads": 2} if width == 128 else {}
    found = mix(states).detach().numpy()  # (B, T, 2)
    weights = torch.broadcast_to(mix.weights(states), (B, T, N, 2)).detach().numpy()
    assert found.shape == (B, T, 2)
    for side in range(2):
        mixed, expected = ORACLES[name](p, h, side, **more)
        np.testing.assert_allclose(found[..., side], mixed @ p["query"][side], atol=2e-4)
        np.testing.assert_allclose(weights[..., side], expected, atol=1e-5)


@pytest.mark.parametrize("name", ["dot", "weighted", "encoder"])
def test_weights_of_attention_sum_to_one(name: str) -> None:
    mix, states = random_mix(name), states_of()
    weights = mix.weights(states)  # (B, T, N, 2)
    torch.testing.assert_close(weights.sum(dim=2), torch.ones(B, T, 2))
    assert (weights > 0).all()


def test_softmax_weights_sum_to_gamma() -> None:
    mix = random_mix("scalar-softmax")
    torch.testing.assert_close(mix.weights(states_of()).sum(dim=0), mix.gamma)


def test_at_first_they_are_means_or_the_plain_head() -> None:
    """Equal weights for `scalar`, and `weighted` is `dot`."""
    states = states_of()
    for name in ("scalar", "scalar-softmax"):
        weights = make_layer_mix(name, H, N).weights(states)
        torch.testing.assert_close(weights, torch.full((N, 2), 1 / N))
    dotted, with_matrix = make_layer_mix("dot", H, N), make_layer_mix("weighted", H, N)
    with_matrix.load_state_dict(dotted.state_dict(), strict=False)
    torch.testing.assert_close(with_matrix(states), dotted(states))


@pytest.mark.parametrize("name", MIXES)
def test_start_and_end_are_separate(name: str) -> None:
    mix, states = random_mix(name), states_of()
    mix(states)[..., 0].sum().backward()
    for parameter_name, parameter in mix.named_parameters():
        of_end = {"end": True, "start": False}.get(parameter_name.split(".")[0])
        if of_end is None:
            gradient = parameter.grad.movedim(-1, 0) if len(parameter) == N else parameter.grad
            assert gradient[0].abs().sum() > 0, parameter_name
            assert gradient[1].abs().sum() == 0, parameter_name
        else:
            assert (parameter.grad.abs().sum() == 0) == of_end, parameter_name


@pytest.mark.parametrize("name", MIXES)
def test_every_parameter_and_state_gets_a_gradient(
    every_parameter_learns: Callable[[nn.Module, Tensor], None], name: str
) -> None:
    mix = random_mix(name)
    states = [state.requires_grad_() for state in states_of()]
    every_parameter_learns(mix, mix(states))
    read = states if mix.reads_all_layers else states[-1:]
    assert mix.reads_all_layers == (name != "last")
    for state in read:
        assert state.grad is not None
        assert state.grad.abs().sum() > 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", MIXES)
def test_half_precision(name: str, dtype: torch.dtype) -> None:
    mix = random_mix(name)
    states = [state.to(dtype).requires_grad_() for state in states_of()]
    with torch.autocast("cpu", dtype):
        found = mix(states)  # (B, T, 2)
        weights = mix.weights(states)
    assert found.dtype == torch.float32
    expected = mix([state.float() for state in states])
    torch.testing.assert_close(found, expected, atol=0.2, rtol=0.05)
    assert torch.isfinite(weights).all()
    found.square().sum().backward()
    for tensor in (*mix.parameters(), states[-1]):
        assert torch.isfinite(tensor.grad).all()


@pytest.mark.parametrize(("name", "width"), [*((m, H) for m in MIXES), ("encoder", 128)])
def test_with_one_side_the_states_are_mixed(name: str, width: int) -> None:
    mix, states = random_mix(name, width, sides=1), states_of(width)
    p = {k: v.detach().double().numpy() for k, v in mix.named_parameters()}
    h = torch.stack(states, dim=2).double().numpy()  # (B, T, N, H)
    mixed, weights = ORACLES[name](p, h, 0, **({"heads": 2} if width == 128 else {}))
    np.testing.assert_allclose(mix.mixed(states).detach().numpy(), mixed, atol=2e-5)
    found = torch.broadcast_to(mix.weights(states), (B, T, N, 1)).detach().numpy()
    np.testing.assert_allclose(found[..., 0], weights, atol=1e-5)


@pytest.mark.parametrize("name", MIXES)
def test_mixed_states_reach_every_parameter_and_layer(
    every_parameter_learns: Callable[[nn.Module, Tensor], None], name: str
) -> None:
    """From the first step on; so `last` has no parameters, and `scalar` no query."""
    mix = make_layer_mix(name, H, N, sides=1)
    states = [state.requires_grad_() for state in states_of()]
    every_parameter_learns(mix, mix.mixed(states))
    for state in states if mix.reads_all_layers else states[-1:]:
        assert state.grad.abs().sum() > 0
    assert (mix.mixed(states) is states[-1]) == (name == "last")
