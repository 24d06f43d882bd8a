"""NormSoftmax in BERT and ALBERT, through transformers' own interface."""

import math
import warnings
from typing import Any

import pytest
import torch

from readlet.errors import ReadletError
from readlet.models.norm_encoders import register_norm_attention
from readlet.nn.norm_attention import _tell, materialised_norm_attention

transformers = pytest.importorskip("transformers")

SIZES = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 40,
}
CONFIGS = {
    "bert": lambda: transformers.BertConfig(**SIZES),
    "albert": lambda: transformers.AlbertConfig(**SIZES, embedding_size=16),
}
IDS = torch.tensor([[3, 9, 17, 4, 0, 0], [5, 8, 2, 11, 12, 7]])
KEEP = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])


def build(kind: str, attention: str) -> Any:
    torch.manual_seed(3)
    config = CONFIGS[kind]()
    return transformers.AutoModel.from_config(config, attn_implementation=attention).double().eval()


def register_materialised(gamma: float) -> str:
    """The same by its definition, as an oracle."""

    def attend(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **_: Any
    ) -> tuple[Any, None]:
        keep = None if attention_mask is None else attention_mask.bool()
        mixed = materialised_norm_attention(query, key, value, keep, gamma=gamma)
        return mixed.transpose(1, 2).contiguous(), None

    transformers.AttentionInterface.register("oracle", attend)
    from transformers.masking_utils import sdpa_mask

    transformers.AttentionMaskInterface.register("oracle", sdpa_mask)
    return "oracle"


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize("gamma", [None, math.inf, 0.5])
def test_exact_in_value_and_gradient(kind: str, gamma: float | None) -> None:
    models = [
        build(kind, register_norm_attention(gamma)),
        build(kind, register_materialised(math.sqrt(8) if gamma is None else gamma)),
    ]
    with warnings.catch_warnings(action="error", category=UserWarning):  # no fallback
        states = [m(IDS, attention_mask=KEEP).last_hidden_state for m in models]
    real = KEEP.bool()
    assert torch.allclose(states[0][real], states[1][real], atol=1e-12)
    for state in states:
        state[real].square().sum().backward()
    for (name, ours), (_, theirs) in zip(
        models[0].named_parameters(), models[1].named_parameters(), strict=True
    ):
        if theirs.grad is not None:
            assert torch.allclose(ours.grad, theirs.grad, atol=1e-9), name


@pytest.mark.parametrize("kind", CONFIGS)
def test_it_differs_from_softmax_and_padding_does_not_matter(kind: str) -> None:
    norm = build(kind, register_norm_attention())
    plain = build(kind, "sdpa")
    with torch.no_grad():
        padded = norm(IDS, attention_mask=KEEP).last_hidden_state[0, :4]
        alone = norm(IDS[:1, :4]).last_hidden_state[0]
        other = plain(IDS[:1, :4]).last_hidden_state[0]
    assert torch.allclose(padded, alone, atol=1e-12)
    assert not torch.allclose(alone, other, atol=1e-3)


def test_a_causal_mask_falls_back_and_is_exact() -> None:
    torch.manual_seed(3)
    config = transformers.BertConfig(**SIZES, is_decoder=True)
    model = transformers.AutoModel.from_config(
        config, attn_implementation=register_norm_attention()
    )
    model = model.double().eval()
    _tell.cache_clear()
    with torch.no_grad(), pytest.warns(UserWarning, match="mask of pairs"):
        whole = model(IDS[1:], use_cache=False).last_hidden_state[0]
    with torch.no_grad():
        part = model(IDS[1:, :3], use_cache=False).last_hidden_state[0]
    assert torch.allclose(whole[:3], part, atol=1e-12)  # later words are not seen


def test_a_mask_that_is_added_is_understood() -> None:
    model = build("bert", register_norm_attention())
    added = torch.zeros(2, 1, 1, 6, dtype=torch.float64)
    added[0, ..., 4:] = torch.finfo(torch.float64).min
    with torch.no_grad():
        got = model(IDS, attention_mask=added).last_hidden_state
        wanted = model(IDS, attention_mask=KEEP).last_hidden_state
    assert torch.allclose(got[KEEP.bool()], wanted[KEEP.bool()], atol=1e-12)


def test_a_bias_inside_the_mask_counts() -> None:
    """BEiT puts its bias of places there."""
    torch.manual_seed(3)
    config = transformers.BeitConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=48,
        image_size=8,
        patch_size=4,
        use_relative_position_bias=True,
    )
    name = register_norm_attention()
    model = transformers.AutoModel.from_config(config, attn_implementation=name).double().eval()
    images = torch.randn(1, 3, 8, 8, dtype=torch.float64)
    with torch.no_grad(), warnings.catch_warnings(action="ignore"):
        before = model(images).last_hidden_state
        for part, parameter in model.named_parameters():
            if "relative_position_bias_table" in part:
                parameter += 5 * torch.randn_like(parameter)
        after = model(images).last_hidden_state
    assert not torch.allclose(before, after, atol=1e-3)


@pytest.mark.parametrize("low", [-100.0, -1e4, -1e9, -math.inf])
def test_masks_of_any_low_number(low: float) -> None:
    model = build("bert", register_norm_attention())
    added = torch.zeros(2, 1, 1, 6, dtype=torch.float64)
    added[0, ..., 4:] = low
    with torch.no_grad():
        got = model(IDS, attention_mask=added).last_hidden_state
        wanted = model(IDS, attention_mask=KEEP).last_hidden_state
    assert torch.allclose(got[KEEP.bool()], wanted[KEEP.bool()], atol=1e-12)


def test_what_it_cannot_do_is_refused() -> None:
    attend = transformers.AttentionInterface()[register_norm_attention()]
    tensors = [torch.randn(1, 2, 3, 4) for _ in range(3)]
    with pytest.raises(ReadletError, match="softcap"):
        attend(torch.nn.Identity(), *tensors, None, softcap=30.0)
    with pytest.raises(ReadletError, match="causal"):
        attend(torch.nn.Identity(), *tensors, None, is_causal=True)
    with pytest.raises(ReadletError, match="gamma"):
        register_norm_attention(-1.0)
