"""Checkpoints: there is always a complete one. The state in it is restored to the bit."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from readlet.engine import checkpoint as module
from readlet.engine.checkpoint import (
    Checkpoint,
    Progress,
    find_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from readlet.engine.loop import TrainingLoop
from readlet.errors import CannotResumeError, ReadletError


def made(step: int, size: int = 10) -> Checkpoint:
    return Checkpoint(
        Progress(step, mean_loss=1 / 3, window_loss=0.1, window_steps=2, rollbacks=1),
        {"weight": torch.randn(size), "count": torch.tensor(float(step))},
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_loaded_as_saved_to_the_bit(tmp_path: Path) -> None:
    before = made(12)
    save_checkpoint(tmp_path, before)
    path = find_checkpoint(tmp_path)
    assert path is not None
    after = load_checkpoint(path, before.tensors)
    assert after.progress == before.progress
    assert set(after.tensors) == set(before.tensors)
    assert all(torch.equal(t, before.tensors[name]) for name, t in after.tensors.items())


def test_only_the_newest_is_kept(tmp_path: Path) -> None:
    for step in (9, 10, 100, 1000, 1000):  # the last one again
        save_checkpoint(tmp_path, made(step))
        assert names(tmp_path) == [f"checkpoint-{step:08d}"]


def test_what_killed_processes_have_left_is_removed(tmp_path: Path) -> None:
    """Of the same step too; safetensors writes to a file of another name first."""
    for name in (".checkpoint-00000003", ".checkpoint-00000004", ".checkpoint-00000002.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "state.safetensors").write_bytes(b"half")
        (tmp_path / name / ".tmpKH0wHF").write_bytes(b"half")
    assert find_checkpoint(tmp_path) is None
    after = made(4)
    save_checkpoint(tmp_path, after)
    previous_is_valid(tmp_path, after)


def test_the_state_for_a_rollback_is_stored(tmp_path: Path) -> None:
    regular, stopped = made(3), made(5)
    stopped.good = regular.tensors
    save_checkpoint(tmp_path, stopped)
    found = load_checkpoint(tmp_path / "checkpoint-00000005", stopped.tensors)
    assert found.tensors.keys() == stopped.tensors.keys()
    assert torch.equal(found.tensors["weight"], stopped.tensors["weight"])
    assert found.good is not None
    assert torch.equal(found.good["weight"], regular.tensors["weight"])
    assert torch.equal(found.good["count"], torch.tensor(3.0))
    stopped.good = {"weight": torch.ones(11)}
    save_checkpoint(tmp_path, stopped)
    with pytest.raises(ReadletError, match="has no 'weight' of shape"):
        load_checkpoint(tmp_path / "checkpoint-00000005", stopped.tensors)


def previous_is_valid(folder: Path, previous: Checkpoint) -> None:
    assert names(folder) == [f"checkpoint-{previous.progress.step:08d}"]
    path = find_checkpoint(folder)
    assert path is not None
    found = load_checkpoint(path, previous.tensors)
    assert found.progress == previous.progress
    assert torch.equal(found.tensors["weight"], previous.tensors["weight"])


def half_written(_: dict[str, Tensor], path: Path) -> None:
    path.write_bytes(b"half of")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def not_flushed(_: Path) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(("step", "fail"), [("save_file", half_written), ("_flush", not_flushed)])
def test_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, fail: Callable[..., None]
) -> None:
    previous = made(3)
    save_checkpoint(tmp_path, previous)
    monkeypatch.setattr(module, step, fail)
    with pytest.raises(ReadletError, match=r"checkpoint-00000004: not written .*No space"):
        save_checkpoint(tmp_path, made(4))
    previous_is_valid(tmp_path, previous)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("state.safetensors", b""),
        ("state.safetensors", b"\x00" * 100),
        ("state.safetensors", "truncated"),
        ("state.safetensors", None),
        ("progress.json", b'{"step": 3'),
        ("progress.json", b"[]"),
        ("progress.json", b'{"stop": 3}'),
        ("progress.json", b"\xff"),
        ("progress.json", None),
    ],
)
def test_damaged_checkpoint_is_named(
    tmp_path: Path, name: str, content: bytes | str | None
) -> None:
    good = made(3)
    save_checkpoint(tmp_path, good)
    path = tmp_path / "checkpoint-00000003"
    if content is None:
        (path / name).unlink()
    else:
        cut = (path / name).read_bytes()[:-1]
        (path / name).write_bytes(content if isinstance(content, bytes) else cut)
    with pytest.raises(CannotResumeError, match=f"^{path}: damaged checkpoint"):
        load_checkpoint(path, good.tensors)


@pytest.mark.parametrize("change", ["model.width=24", "model.blocks=2"])
def test_another_architecture_is_rejected(
    make_loop: Callable[..., TrainingLoop], tmp_path: Path, change: str
) -> None:
    loop = make_loop(tmp_path)
    save_checkpoint(tmp_path, Checkpoint(Progress(step=1), loop.state.tensors()))
    other = make_loop(tmp_path, change)
    before = other.state.tensors()
    with pytest.raises(CannotResumeError, match=r"checkpoint-00000001: has no 'weight\.model\."):
        other.resume()
    # nothing of it was loaded
    assert all(torch.equal(t, before[name]) for name, t in other.state.tensors().items())
    assert other.progress == Progress()


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    assert set(one) == set(other)
    return all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def advance(loop: TrainingLoop, steps: int) -> list[float]:
    return [float(loop.advance()[0]) for _ in range(steps)]


def test_restored_steps_repeat_themselves(
    make_loop: Callable[..., TrainingLoop], tmp_path: Path
) -> None:
    loop = make_loop(tmp_path)
    advance(loop, 3)
    at_three = loop.state.tensors()
    losses = advance(loop, 4)
    at_seven = loop.state.tensors()
    assert not same(at_three, at_seven)
    assert float(at_seven["adam_steps"]) == 7

    loop.state.restore(at_three)  # into a loop whose optimiser has a state already
    assert same(loop.state.tensors(), at_three)
    loop.progress.step = 3
    assert advance(loop, 4) == losses
    assert same(loop.state.tensors(), at_seven)

    fresh = make_loop(tmp_path, "training.seed=0")  # and into one without
    fresh.state.restore(at_three)
    fresh.progress.step = 3
    assert advance(fresh, 4) == losses
    assert same(fresh.state.tensors(), at_seven)


@pytest.mark.parametrize("part", ["weight.", "average.", "exp_avg.", "exp_avg_sq.", "adam_steps"])
def test_every_part_matters(
    make_loop: Callable[..., TrainingLoop], tmp_path: Path, part: str
) -> None:
    """Without one of the parts of the state, training would continue differently."""
    loop = make_loop(tmp_path)
    advance(loop, 3)
    at_three = loop.state.tensors()
    advance(loop, 2)
    at_five = loop.state.tensors()
    lacking = {n: torch.ones_like(t) if n.startswith(part) else t for n, t in at_three.items()}
    assert not same(lacking, at_three)
    loop.state.restore(lacking)
    loop.progress.step = 3
    advance(loop, 2)
    assert not same(loop.state.tensors(), at_five)
