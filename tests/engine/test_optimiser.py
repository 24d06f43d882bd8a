"""Learning rates against independently written formulas; groups of parameters, their decay."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from readlet.engine.checkpoint import TrainingState
from readlet.engine.loop import TrainingLoop
from readlet.engine.optimiser import (
    Average,
    MixedPrecision,
    grouped,
    learning_rate,
    make_optimizer,
    one_group,
)
from readlet.models.encoder.recipe import EncoderTraining
from readlet.models.qacnn.recipe import QacnnRecipe
from readlet.recipe.recipe import Training
from readlet.training.train import objective_of, train_reader
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
        return objective_of(recipe, None).build(prepare(recipe))

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


def test_layers_move_at_their_own_rates(encoder_recipe: Callable[..., Any], tmp_path: Any) -> None:
    """Through training: with a strong decay the embeddings hardly change, the head does."""
    changes = ("training.layer_decay=0.001", "training.epochs=1", "training.weight_decay=0")
    recipe = encoder_recipe("bert", *changes)
    before = objective_of(recipe, None).build(prepare(recipe)).module.state_dict()
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


@pytest.mark.parametrize("schedule", ["constant", "log"])
def test_final_decay(schedule: str) -> None:
    settings = {"schedule": schedule, "warmup_steps": 4, "learning_rate": 0.5}
    flat, found = rates(**settings), rates(**settings, final_decay=0.25)
    assert found[1:301] == flat[1:301]
    for step in range(300, TOTAL + 1):
        assert found[step] == pytest.approx(0.5 * (TOTAL - step) / 100)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
@pytest.mark.parametrize("restarts", [0, 3])
@pytest.mark.parametrize("warmup", [0, 7])
def test_zero_at_the_end(schedule: str, restarts: int, warmup: int) -> None:
    found = rates(schedule=schedule, restarts=restarts, warmup_steps=warmup)
    assert found[TOTAL] == pytest.approx(0.0, abs=1e-15)
    assert min(found[1:-1]) > 0


MakeLoop = Callable[..., TrainingLoop]
CPU = torch.device("cpu")


def losses(make_loop: MakeLoop, folder: Path, precision: str) -> list[float]:
    settings = ["training.learning_rate=0.003", "training.warmup_steps=3", "model.dropout=0"]
    settings += ["model.character_dropout=0", "model.last_survival=1", "training.batch_size=16"]
    loop = make_loop(folder, *settings, "training.epochs=3", f"training.precision={precision}")
    found = [float(loop.advance()[0]) for _ in range(loop.total_steps)]
    assert all(p.dtype == torch.float32 for p in loop.module.parameters())
    assert all(bool(torch.isfinite(p).all()) for p in loop.module.parameters())
    return found


@pytest.fixture(scope="module")
def exact(make_loop: MakeLoop, tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    return losses(make_loop, tmp_path_factory.mktemp("float32"), "float32")


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_converges_as_float32_does(
    make_loop: MakeLoop, tmp_path: Path, exact: list[float], precision: str
) -> None:
    short = losses(make_loop, tmp_path, precision)
    assert short != exact  # it did run in another precision
    last = len(exact) // 3  # steps of the last epoch

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    assert mean(exact[-last:]) < 0.7 * mean(exact[:last])
    assert mean(short[-last:]) == pytest.approx(mean(exact[-last:]), rel=0.1)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_products_run_in_the_chosen_dtype(name: str) -> None:
    precision = MixedPrecision(name, CPU)  # type: ignore[arg-type]
    with precision.autocast():
        assert nn.Linear(2, 2)(torch.ones(1, 2)).dtype == getattr(torch, name)
    assert precision.is_scaled == (name == "float16")


def take_step(
    precision: MixedPrecision, weight: nn.Parameter, optimizer: torch.optim.Optimizer, factor: float
) -> None:
    optimizer.zero_grad()
    precision.backward((weight * factor).sum())
    precision.clip(optimizer, 1e9)
    precision.step(optimizer)


def test_an_overflowing_step_is_skipped_and_the_scale_lowered() -> None:
    precision = MixedPrecision("float16", CPU)
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scale = precision.scaler.get_scale()
    take_step(precision, weight, optimizer, 1e38)  # times the scale: overflows float32
    assert torch.equal(weight, torch.ones(3))
    assert precision.scaler.get_scale() == scale / 2
    take_step(precision, weight, optimizer, 1.0)
    torch.testing.assert_close(weight.detach(), torch.full((3,), 0.5))
    assert precision.scaler.get_scale() == scale / 2


def test_gradients_are_clipped_after_unscaling() -> None:
    """Clipping scaled gradients would make every step tiny."""
    precision = MixedPrecision("float16", CPU)
    weight = nn.Parameter(torch.zeros(4))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    precision.backward((weight * 3.0).sum())  # norm 6
    precision.clip(optimizer, 1.5)
    precision.step(optimizer)
    torch.testing.assert_close(weight.detach(), torch.full((4,), -0.75))


def scaled_state(weight: nn.Parameter) -> tuple[MixedPrecision, torch.optim.Adam, TrainingState]:
    precision = MixedPrecision("float16", CPU)
    optimizer = torch.optim.Adam([weight])
    named = {"weight": weight}
    state = TrainingState(named, optimizer, Average(named, 0.9).shadow, precision.scaler)
    return precision, optimizer, state


def test_the_state_includes_the_scale() -> None:
    weight = nn.Parameter(torch.ones(3))
    precision, optimizer, state = scaled_state(weight)
    for factor in (1e38, 1e38, 1.0, 1.0, 1.0):
        take_step(precision, weight, optimizer, factor)
    stored = state.tensors()
    assert float(stored["scale"]) == 65536 / 4
    assert float(stored["growth"]) == 3  # good steps since the last overflow
    assert float(stored["adam_steps"]) == 3  # skipped steps do not count

    for used in (False, True):  # a scaler that has not scaled yet, and one that has
        other_weight = nn.Parameter(torch.zeros(3))
        other, other_optimizer, other_state = scaled_state(other_weight)
        if used:
            take_step(other, other_weight, other_optimizer, 1.0)
        other_state.restore(stored)
        assert torch.equal(other_weight, weight)
        found = other_state.tensors()
        assert all(torch.equal(t, stored[name]) for name, t in found.items())
        take_step(other, other_weight, other_optimizer, 1e38)
        assert other.scaler.get_scale() == 65536 / 8
