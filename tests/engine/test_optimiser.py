"""Learning rates against independently written formulas; groups of parameters, their decay."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from readlet.engine.optimiser import grouped, learning_rate, make_optimizer, one_group
from readlet.models.encoder.recipe import EncoderTraining
from readlet.models.qacnn.recipe import QacnnRecipe
from readlet.recipe.recipe import Training
from readlet.training.train import build_scorer, train_reader
from readlet.training.training_data import prepare

KINDS = (
    *("bert", "albert", "minilm-like", "electra", "roberta"),
    *("deberta-v2", "distilbert", "xlm-roberta"),
)
TOTAL = 400


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


def rates(total: int = TOTAL, **settings: object) -> list[float]:
    """The rate of every step, the first at index 1."""
    chosen = Training.model_validate(settings)
    return [math.nan, *(learning_rate(chosen, step, total) for step in range(1, total + 1))]


def test_log_warm_up_of_the_paper() -> None:
    found = rates(total=3000)
    for step in range(1, 3001):
        assert found[step] == pytest.approx(min(1e-3, 1e-3 * math.log(step + 1) / math.log(1000)))
    assert found[998] < found[999] == found[3000] == 1e-3  # full after 1000 steps, counted from 0


def test_linear() -> None:
    found = rates(schedule="linear", warmup_steps=100, learning_rate=0.5)
    for step in range(1, 101):
        assert found[step] == pytest.approx(0.5 * step / 100)
    for step in range(100, TOTAL + 1):
        assert found[step] == pytest.approx(0.5 * (TOTAL - step) / 300, abs=1e-12)


def test_cosine_with_hard_restarts() -> None:
    """In the half-angle form of (1 + cos) / 2."""
    found = rates(schedule="cosine", warmup_steps=100, restarts=2, learning_rate=0.5)
    for step in range(100, TOTAL):
        within = (step - 100) % 100  # three cycles of 100 steps
        assert found[step] == pytest.approx(
            0.5 * math.cos(math.pi / 2 * within / 100) ** 2, abs=1e-12
        )
    assert found[199] < 0.001 < found[200] == 0.5  # a hard restart
    assert found[299] < 0.001 < found[300] == 0.5


def test_constant() -> None:
    found = rates(schedule="constant", warmup_steps=4, learning_rate=0.5)
    assert found[1:6] == [0.125, 0.25, 0.375, 0.5, 0.5]
    assert set(found[5:]) == {0.5}


@pytest.mark.parametrize("schedule", ["constant", "log"])
def test_final_decay(schedule: str) -> None:
    settings = {"schedule": schedule, "warmup_steps": 4, "learning_rate": 0.5}
    flat, found = rates(**settings), rates(**settings, final_decay=0.25)
    assert found[1:301] == flat[1:301]
    for step in range(300, TOTAL + 1):
        assert found[step] == pytest.approx(0.5 * (TOTAL - step) / 100)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_decaying_schedules_ignore_the_final_decay(schedule: str) -> None:
    with pytest.raises(ValueError, match="final_decay needs a schedule"):
        rates(schedule=schedule, final_decay=0.1)


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine", "log"])
@pytest.mark.parametrize("warmup", [1, 10, 100])
def test_no_jump_at_the_end_of_the_warm_up(schedule: str, warmup: int) -> None:
    found = rates(schedule=schedule, warmup_steps=warmup, learning_rate=1.0)
    assert found[warmup] == pytest.approx(1.0, abs=0.37 if schedule == "log" else 1e-12)
    assert found[warmup + 1] == pytest.approx(1.0, abs=1 / (TOTAL - warmup) + 1e-12)
    assert max(found[1:]) <= 1.0


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
@pytest.mark.parametrize("restarts", [0, 3])
@pytest.mark.parametrize("warmup", [0, 7])
def test_zero_at_the_end(schedule: str, restarts: int, warmup: int) -> None:
    found = rates(schedule=schedule, restarts=restarts, warmup_steps=warmup)
    assert found[TOTAL] == pytest.approx(0.0, abs=1e-15)
    assert min(found[1:-1]) > 0


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine", "log"])
def test_warm_up_longer_than_the_training(schedule: str) -> None:
    found = rates(total=10, schedule=schedule, warmup_steps=50)
    assert found[1:] == sorted(found[1:])
    assert 0 < found[1] < found[10] < 1e-3
