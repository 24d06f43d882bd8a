"""Checkpoints: there is always a complete one."""

import errno
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
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
from readlet.errors import ReadletError
from readlet.storage import tensors
from readlet.storage.tensors import detached, save_tensors

save = partial(save_checkpoint, how_to_resume="continue with --resume")


def made(step: int, size: int = 10) -> Checkpoint:
    return Checkpoint(
        Progress(step, mean_loss=1 / 3, window_loss=0.1, window_steps=2, rollbacks=1),
        {"weight": torch.randn(size), "count": torch.tensor(float(step))},
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_loaded_as_saved_to_the_bit(tmp_path: Path) -> None:
    before = made(12)
    save(tmp_path, before)
    path = find_checkpoint(tmp_path)
    assert path is not None
    after = load_checkpoint(path, before.tensors)
    assert after.progress == before.progress
    assert set(after.tensors) == set(before.tensors)
    assert all(torch.equal(t, before.tensors[name]) for name, t in after.tensors.items())


def test_only_the_newest_is_kept(tmp_path: Path) -> None:
    for step in (9, 10, 100, 1000):
        save(tmp_path, made(step))
        assert names(tmp_path) == [f"checkpoint-{step:08d}"]


def test_the_same_step_again(tmp_path: Path) -> None:
    save(tmp_path, made(5))
    again = made(5)
    save(tmp_path, again)
    found = load_checkpoint(tmp_path / "checkpoint-00000005", again.tensors)
    assert torch.equal(found.tensors["weight"], again.tensors["weight"])


def test_none_in_an_empty_or_missing_folder(tmp_path: Path) -> None:
    assert find_checkpoint(tmp_path) is None
    assert find_checkpoint(tmp_path / "missing") is None


def test_what_killed_processes_have_left_is_removed(tmp_path: Path) -> None:
    """Of the same step too; safetensors writes to a file of another name first."""
    for name in (".checkpoint-00000003", ".checkpoint-00000004", ".checkpoint-00000002.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "state.safetensors").write_bytes(b"half")
        (tmp_path / name / ".tmpKH0wHF").write_bytes(b"half")
    assert find_checkpoint(tmp_path) is None
    after = made(4)
    save(tmp_path, after)
    previous_is_valid(tmp_path, after)


def test_the_state_for_a_rollback_is_stored(tmp_path: Path) -> None:
    regular, stopped = made(3), made(5)
    stopped.good = regular.tensors
    save(tmp_path, stopped)
    found = load_checkpoint(tmp_path / "checkpoint-00000005", stopped.tensors)
    assert found.tensors.keys() == stopped.tensors.keys()
    assert torch.equal(found.tensors["weight"], stopped.tensors["weight"])
    assert found.good is not None
    assert torch.equal(found.good["weight"], regular.tensors["weight"])
    assert torch.equal(found.good["count"], torch.tensor(3.0))
    stopped.good = {"weight": torch.ones(11)}
    save(tmp_path, stopped)
    with pytest.raises(ReadletError, match="has no 'weight' of shape"):
        load_checkpoint(tmp_path / "checkpoint-00000005", stopped.tensors)


def previous_is_valid(folder: Path, previous: Checkpoint) -> None:
    assert names(folder) == [f"checkpoint-{previous.progress.step:08d}"]
    path = find_checkpoint(folder)
    assert path is not None
    found = load_checkpoint(path, previous.tensors)
    assert found.progress == previous.progress
    assert torch.equal(found.tensors["weight"], previous.tensors["weight"])


def test_full_disk_in_the_middle_of_the_tensors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    previous = made(3)
    save(tmp_path, previous)

    def half(tensors: dict[str, Tensor], path: Path) -> None:
        path.write_bytes(b"half of")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "save_file", half)
    with pytest.raises(
        ReadletError, match=r"checkpoint-00000004: not written .*No space.*--resume"
    ):
        save(tmp_path, made(4))
    previous_is_valid(tmp_path, previous)


def test_full_disk_after_the_tensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    previous = made(3)
    save(tmp_path, previous)

    def fail(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "_flush", fail)
    with pytest.raises(ReadletError, match="not written"):
        save(tmp_path, made(4))
    previous_is_valid(tmp_path, previous)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A real disk of one megabyte, where the machine can mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip("this user may not mount a disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_full_disk_for_real(tiny_disk: Path) -> None:
    previous = made(3, size=100_000)
    save(tiny_disk, previous)
    with pytest.raises(ReadletError, match="not written"):
        save(tiny_disk, made(4, size=200_000))
    previous_is_valid(tiny_disk, previous)
    save(tiny_disk, made(5, size=1000))
    assert names(tiny_disk) == ["checkpoint-00000005"]


def test_a_file_of_tensors_is_complete_or_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "best.safetensors"
    save_tensors(path, {"a": torch.ones(2)}, how_to_resume="go on")
    before = path.read_bytes()

    def half(_: dict[str, Tensor], path: Path) -> None:
        path.write_bytes(b"half of")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tensors, "save_file", half)
    with pytest.raises(ReadletError, match=r"best\.safetensors: not written .* space and go on"):
        save_tensors(path, {"a": torch.zeros(2)}, how_to_resume="go on")
    assert names(tmp_path) == ["best.safetensors"]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("state.safetensors", b""),
        ("state.safetensors", b"\x00" * 100),
        ("state.safetensors", None),
        ("progress.json", b""),
        ("progress.json", b'{"step": 3'),
        ("progress.json", b"[]"),
        ("progress.json", b'{"stop": 3}'),
        ("progress.json", b"\xff"),
        ("progress.json", None),
    ],
)
def test_damaged_checkpoint_is_named(tmp_path: Path, name: str, content: bytes | None) -> None:
    good = made(3)
    save(tmp_path, good)
    path = tmp_path / "checkpoint-00000003"
    if content is None:
        (path / name).unlink()
    else:
        (path / name).write_bytes(content)
    with pytest.raises(ReadletError) as caught:
        load_checkpoint(path, good.tensors)
    line = str(caught.value)
    assert line.startswith(f"{path}: damaged checkpoint (")
    assert line.endswith("; remove it and train again")
    assert "\n" not in line


def test_truncated_tensors_are_named(tmp_path: Path) -> None:
    good = made(3)
    save(tmp_path, good)
    state = tmp_path / "checkpoint-00000003" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-1])
    with pytest.raises(ReadletError, match="checkpoint-00000003: damaged checkpoint"):
        load_checkpoint(state.parent, good.tensors)


def test_another_architecture_is_rejected(
    make_loop: Callable[..., TrainingLoop], tmp_path: Path
) -> None:
    loop = make_loop(tmp_path)
    save(tmp_path, Checkpoint(Progress(step=1), loop.state.tensors()))
    for change in ("model.width=24", "model.blocks=2"):
        other = make_loop(tmp_path, change)
        before = other.state.tensors()
        with pytest.raises(ReadletError) as caught:
            other.resume()
        line = str(caught.value)
        assert line.startswith(f"{tmp_path / 'checkpoint-00000001'}: has no 'weight.model.")
        assert line.endswith(
            ": from another version; train again in another --out, or use that version"
        )
        # nothing of it was loaded
        assert all(torch.equal(t, before[name]) for name, t in other.state.tensors().items())
        assert other.progress == Progress()


def test_progress_is_plain_json(tmp_path: Path) -> None:
    save(tmp_path, made(3))
    found = json.loads((tmp_path / "checkpoint-00000003" / "progress.json").read_text())
    assert found["step"] == 3
    assert found["mean_loss"] == 1 / 3


def test_later_steps_do_not_change_what_was_detached() -> None:
    weight = torch.nn.Parameter(torch.ones(3, 2).T)
    kept = detached({"weight": weight})["weight"]
    with torch.no_grad():
        weight.zero_()
    assert torch.equal(kept, torch.ones(2, 3))
    assert kept.is_contiguous()
    assert not kept.requires_grad
