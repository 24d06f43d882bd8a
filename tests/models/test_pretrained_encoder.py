"""Encoders of transformers: the states of their layers, in threads, and code that is never run."""

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounter
from transformers.utils import logging

from readlet.engine.step import can_be_captured
from readlet.errors import ReadletError
from readlet.inference.reader import Reader
from readlet.models.pretrained.encoder import PretrainedEncoder, build_encoder, load_pretrained
from readlet.models.weights import from_int8, round_at_random, to_int8
from readlet.text.pretrained import load_config, load_tokenizer

Build = Callable[..., Reader]
SIZES = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2}


def network(kind: str, **changes: Any) -> Any:
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(0)
    return AutoModel.from_config(AutoConfig.for_model(kind, **changes)).eval()


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("deberta-v2", SIZES | {"intermediate_size": 32, "conv_kernel_size": 3}),
        ("xlm", {"vocab_size": 40, "emb_dim": 16, "n_layers": 3, "n_heads": 2}),
        ("modernbert", SIZES | {"intermediate_size": 32, "pad_token_id": 0}),
        ("mpnet", SIZES | {"intermediate_size": 32, "pad_token_id": 1}),
        *((kind, SIZES | {"intermediate_size": 32}) for kind in ("camembert", "deberta")),
        *((kind, SIZES | {"intermediate_size": 32}) for kind in ("ernie", "rembert")),
    ],
)
def test_states_are_those_of_transformers(kind: str, changes: dict[str, Any]) -> None:
    """Where the layers are no plain list of blocks, the network's own states are used."""
    made = network(kind, **changes)
    encoder = PretrainedEncoder(network(kind, **changes)).eval()
    tokens = torch.randint(5, 40, (2, 9), generator=torch.Generator().manual_seed(1))  # (B, T)
    keep = torch.ones_like(tokens, dtype=torch.bool)  # (B, T)
    with torch.no_grad():
        states = encoder(tokens, torch.zeros_like(tokens), keep, all_layers=True)
        wanted = made(
            input_ids=tokens, attention_mask=keep.long(), output_hidden_states=True
        ).hidden_states[1:]
    assert len(states) == len(wanted) == encoder.layers == 3
    for mine, theirs in zip(states[:-1], wanted[:-1], strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize(
    ("kind", "captured"),
    [("bert", True), ("roberta", True), ("mpnet", True), ("deberta-v2", False)],
)
def test_encoders_without_fused_attention_are_not_captured(kind: str, captured: bool) -> None:
    encoder = PretrainedEncoder(network(kind, **SIZES, intermediate_size=32))
    assert encoder.can_be_captured == captured
    assert can_be_captured(torch.nn.Sequential(torch.nn.Linear(2, 2), encoder)) == captured


def test_threads_do_not_share_states(random_encoder_reader: Build) -> None:
    reader = random_encoder_reader("dot")
    pairs = [
        (f"Who lit lamp {n}?", f"Ada lit lamp {n} at the cape. " * (1 + n % 5)) for n in range(24)
    ]
    alone = [reader.answer(*pair) for pair in pairs]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda pair: reader.answer(*pair), pairs * 3))
    assert together == alone * 3
    doubled = torch.compile(lambda x: x * 2, backend=(counter := CompileCounter()))
    doubled(torch.ones(2))
    assert counter.frame_count == 1  # threads leave compilation as it was


def test_only_mixes_keep_the_states_of_all_layers(random_encoder_reader: Build) -> None:
    reader = random_encoder_reader("last")
    kept: list[int] = []
    module = reader.scorer.module.encoder
    module.blocks[-1].register_forward_hook(lambda *_: kept.append(len(alive())))

    def alive() -> list[Any]:
        from readlet.models.pretrained.encoder import _COLLECTED

        return _COLLECTED.get() or []

    reader.answer("Who lit it?", "Ada lit the lamp.")
    assert kept == [0]


def test_code_in_the_folder_of_an_encoder_is_not_run(
    tiny_encoder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal transformers would ask, and run it after a y."""
    import shutil

    folder = shutil.copytree(tiny_encoder(), tmp_path / "encoder")
    ran = tmp_path / "ran"
    code = f"from pathlib import Path\nPath({str(ran)!r}).touch()\nfrom transformers import *\n"
    (folder / "code.py").write_text(
        code + "class Mine(BertModel): ...\nclass MyConfig(BertConfig): ...\n"
    )
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["auto_map"] = {"AutoModel": "code.Mine", "AutoConfig": "code.MyConfig"}
    (folder / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    found = load_config(str(folder))
    assert "auto_map" not in found
    load_pretrained(str(folder), found, None)
    load_tokenizer(str(folder))
    build_encoder(config, None)  # as in a reader's encoder.json
    with pytest.raises((ReadletError, ValueError)):
        build_encoder(config | {"model_type": "trocr"}, None)
    assert not ran.exists()


def test_an_encoder_is_read_once_and_copied(
    tiny_encoder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one whose pooler is drawn: the weights that follow do not depend on it."""
    from transformers import AutoModel

    folder = tiny_encoder("electra")
    config, read, calls = load_config(str(folder)), AutoModel.from_pretrained, []

    def counted(*given: Any, **named: Any) -> Any:
        calls.append(given)
        return read(*given, **named)

    monkeypatch.setattr(AutoModel, "from_pretrained", counted)
    drawn = []
    for _ in range(2):
        torch.manual_seed(3)
        encoder = load_pretrained(str(folder), config, 0.37)  # a rate of no other test
        drawn.append(torch.rand(1).item())
        with torch.no_grad():
            before = next(encoder.parameters()).clone()
            next(encoder.parameters()).zero_()
    assert before.abs().sum() > 0  # the second is a copy of what was read
    assert drawn[0] == drawn[1]
    assert len(calls) == 1


def test_no_progress_bar_of_transformers(
    tiny_encoder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    name = str(tiny_encoder())
    capsys.readouterr()  # of writing it
    load_pretrained(name, load_config(name), None)
    assert capsys.readouterr() == ("", "")
    assert logging.is_progress_bar_enabled()  # other users of transformers keep it


@torch.no_grad()
def test_small_changes_survive_eight_bits() -> None:
    """Of weights that stand on the grid already; the nearest point would be where they began."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(256, 64, bias=False)
    start = from_int8(to_int8({"weight": layer.weight}))["weight"]  # (64, 256)
    largest = start.abs().amax(dim=1, keepdim=True)  # (64, 1)
    change = torch.where(start.abs() < largest, 0.1 * largest / 127, 0.0)  # (64, 256)
    layer.weight.copy_(start + change)
    assert torch.equal(from_int8(to_int8({"weight": layer.weight}))["weight"], start)
    round_at_random(layer)
    stored = from_int8(to_int8({"weight": layer.weight}))["weight"]  # (64, 256)
    assert torch.allclose(stored, layer.weight)
    assert float((stored - start).mean()) == pytest.approx(float(change.mean()), rel=0.1)
