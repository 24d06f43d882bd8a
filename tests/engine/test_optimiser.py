"""Groups of parameters: which decay, and how fast each layer learns."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from readlet.engine.optimiser import grouped, make_optimizer, one_group
from readlet.models.encoder.recipe import EncoderTraining
from readlet.models.qacnn.recipe import QacnnRecipe
from readlet.training.train import build_scorer
from readlet.training.training_data import prepare

KINDS = (
    *("bert", "albert", "minilm-like", "electra", "roberta"),
    *("deberta-v2", "distilbert", "xlm-roberta"),
)


@pytest.fixture
def scorer(encoder_recipe: Callable[..., Any]) -> Callable[..., Any]:
    def build(kind: str, *changes: str) -> Any:
        recipe = encoder_recipe(kind, *changes)
        return build_scorer(recipe, prepare(recipe))

    return build


def settings(**changes: Any) -> EncoderTraining:
    return EncoderTraining.model_validate(changes)


@pytest.mark.parametrize("kind", KINDS)
def test_groups_have_each_parameter_once(scorer: Callable[..., Any], kind: str) -> None:
    made = scorer(kind, "model.mix=weighted")
    groups = made.groups(settings(layer_decay=0.8, weight_decay=0.01))
    listed = [id(p) for group in groups for p in group.parameters]
    assert sorted(listed) == sorted(id(p) for p in made.module.parameters())
    for group in groups:
        for parameter in group.parameters:
            assert group.decay == (0.01 if parameter.dim() > 1 else 0.0)


@pytest.mark.parametrize(
    ("kind", "layers"), [("minilm-like", 3), ("distilbert", 2), ("deberta-v2", 2), ("albert", 1)]
)
def test_rates_fall_from_layer_to_layer(scorer: Callable[..., Any], kind: str, layers: int) -> None:
    """The layers of ALBERT share their weights: to the optimiser they are one."""
    made = scorer(kind)
    assert len(made.module.encoder.blocks) == layers
    rates = {
        id(p): group.rate
        for group in made.groups(settings(layer_decay=0.5))
        for p in group.parameters
    }
    assert rates[id(made.module.mix.query)] == 1.0
    for number, block in enumerate(made.module.encoder.blocks):
        found = {rates[id(p)] for p in block.parameters()}
        assert found == {0.5 ** (layers - number)}
    words = made.module.encoder.network.get_input_embeddings().weight
    assert rates[id(words)] == min(rates.values()) == 0.5 ** (layers + 1)


def test_without_layer_decay_all_rates_are_equal(scorer: Callable[..., Any]) -> None:
    groups = scorer("bert").groups(settings())
    assert {group.rate for group in groups} == {1.0}
    assert {group.decay for group in groups} == {0.0, 0.01}
    assert len(groups) == 2


def test_frozen_parameters_are_in_no_group() -> None:
    module = nn.Linear(3, 3)
    module.bias.requires_grad_(False)
    assert [g.parameters for g in grouped(module, 0.1, lambda _: 1.0)] == [[module.weight]]
    assert [g.parameters for g in one_group(module.parameters())] == [[module.weight]]


def test_decay_is_decoupled_and_spares_biases() -> None:
    """A step of AdamW without a gradient: only the decay changes a weight."""
    module = nn.Linear(4, 4)
    before = {name: p.detach().clone() for name, p in module.named_parameters()}
    chosen = settings(learning_rate=0.1, weight_decay=0.5, l2=3.0)
    optimizer = make_optimizer(grouped(module, 0.5, lambda _: 1.0), chosen)
    assert isinstance(optimizer, torch.optim.AdamW)
    for parameter in module.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    torch.testing.assert_close(module.weight.detach(), before["weight"] * (1 - 0.1 * 0.5))
    torch.testing.assert_close(module.bias.detach(), before["bias"])


def test_without_decay_it_is_adam_with_the_l2_term() -> None:
    module = nn.Linear(4, 4)
    chosen = QacnnRecipe().training
    optimizer = make_optimizer(one_group(module.parameters()), chosen)
    assert type(optimizer) is torch.optim.Adam
    (group,) = optimizer.param_groups
    assert (group["weight_decay"], group["eps"]) == (chosen.l2, chosen.epsilon)
    assert group["betas"] == (chosen.beta1, chosen.beta2)


def test_each_group_reads_its_rate_from_its_own_tensor() -> None:
    """A captured step replays with the numbers that the tensors hold then."""
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    rates = {id(p): 0.5 for p in module[0].parameters()}
    groups = grouped(module, 0.01, lambda p: rates.get(id(p), 1.0))
    optimizer = make_optimizer(groups, settings())
    tensors = [group["lr"] for group in optimizer.param_groups]
    assert len(groups) == len({id(t) for t in tensors}) == 4
    assert all(isinstance(t, torch.Tensor) and t.dim() == 0 for t in tensors)
    assert [group.rate for group in groups] == [0.5, 0.5, 1.0, 1.0]


def test_layers_move_at_their_own_rates(encoder_recipe: Callable[..., Any], tmp_path: Any) -> None:
    """Through training: with a strong decay the embeddings hardly change, the head does."""
    from readlet.training.train import train_reader

    changes = ("training.layer_decay=0.001", "training.epochs=1", "training.weight_decay=0")
    recipe = encoder_recipe("bert", *changes)
    before = build_scorer(recipe, prepare(recipe)).module.state_dict()
    after = train_reader(recipe, tmp_path / "run", resume=False).scorer.module.state_dict()
    moved = {name: float((after[name] - weight).abs().max()) for name, weight in before.items()}
    words = "encoder.network.embeddings.word_embeddings.weight"
    upper, lower = (f"encoder.network.encoder.layer.{i}.output.dense.weight" for i in (1, 0))
    assert moved["mix.query"] > 100 * moved[upper] > 0
    assert moved[upper] > 100 * moved[lower]
    assert moved[words] < 1e-6
