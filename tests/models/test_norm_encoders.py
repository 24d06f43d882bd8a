"""NormSoftmax in BERT, ALBERT and others, through transformers' own interface."""

import math
import warnings
from typing import Any

import pytest
import torch

from readlet.errors import ReadletError
from readlet.models.pretrained.norm_attention import register_norm_attention, use_norm_attention
from readlet.nn.normsoftmax import _warn, materialised_norm_attention

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
    """The same by definition, as an oracle."""

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
    _warn.cache_clear()
    with torch.no_grad(), pytest.warns(UserWarning, match="mask of pairs"):
        whole = model(IDS[1:], use_cache=False).last_hidden_state[0]
    with torch.no_grad():
        part = model(IDS[1:, :3], use_cache=False).last_hidden_state[0]
    assert torch.allclose(whole[:3], part, atol=1e-12)  # later words have no influence


def test_an_additive_mask_is_supported() -> None:
    model = build("bert", register_norm_attention())
    added = torch.zeros(2, 1, 1, 6, dtype=torch.float64)
    added[0, ..., 4:] = torch.finfo(torch.float64).min
    with torch.no_grad():
        got = model(IDS, attention_mask=added).last_hidden_state
        wanted = model(IDS, attention_mask=KEEP).last_hidden_state
    assert torch.allclose(got[KEEP.bool()], wanted[KEEP.bool()], atol=1e-12)


def test_unsupported_options_are_rejected() -> None:
    attend = transformers.AttentionInterface()[register_norm_attention()]
    tensors = [torch.randn(1, 2, 3, 4) for _ in range(3)]
    with pytest.raises(ReadletError, match="softcap"):
        attend(torch.nn.Identity(), *tensors, None, softcap=30.0)
    with pytest.raises(ReadletError, match="causal"):
        attend(torch.nn.Identity(), *tensors, None, is_causal=True)
    with pytest.raises(ReadletError, match="gamma"):
        register_norm_attention(-1.0)


def test_an_integer_mask_of_four_dimensions_is_rejected() -> None:
    """0 and 1 would be added to the scores."""
    model = build("bert", register_norm_attention())
    with pytest.raises(ReadletError, match=r"mask: torch\.int64 of 4 dimensions; give"):
        model(IDS, attention_mask=KEEP[:, None, None])


WITHOUT_CHOICE = {
    "MPNet": lambda: transformers.MPNetConfig(**SIZES),
    "DebertaV2": lambda: transformers.DebertaV2Config(**SIZES),
    # transformers believes that these have a choice: another layer of their file has one.
    "LongT5": lambda: transformers.LongT5Config(
        vocab_size=50, d_model=32, d_kv=8, d_ff=48, num_layers=1, num_heads=4, local_radius=3
    ),
}


@pytest.mark.parametrize("kind", WITHOUT_CHOICE)
@pytest.mark.parametrize("by_name", [False, True])
def test_models_with_their_own_attention_are_rejected(kind: str, by_name: bool) -> None:
    """Also when they were built with the name, which they silently ignore."""
    named = {"attn_implementation": register_norm_attention()} if by_name else {}
    model = transformers.AutoModel.from_config(WITHOUT_CHOICE[kind](), **named)
    with pytest.raises(ReadletError, match=f"^{kind}Model has a fixed attention implementation;"):
        use_norm_attention(model)


def test_a_compiled_model_gives_the_same() -> None:
    model = use_norm_attention(build("bert", "sdpa"))
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    with torch.no_grad():
        made = [m(IDS, attention_mask=KEEP).last_hidden_state for m in (model, compiled)]
    torch.testing.assert_close(made[0], made[1], rtol=1e-12, atol=1e-12)
    torch._dynamo.reset()


def t5(attention: str) -> Any:
    config = transformers.T5Config(
        vocab_size=50, d_model=32, d_kv=8, d_ff=48, num_layers=1, num_heads=4
    )
    return transformers.T5EncoderModel._from_config(config, attn_implementation=attention)


def test_far_above_the_cap_a_model_is_unchanged() -> None:
    """Also one that does not scale by the root of the head's width, and adds a bias."""
    states = []
    for attention in ("eager", register_norm_attention()):
        torch.manual_seed(3)
        model = t5(attention).double().eval()
        for name, parameter in model.named_parameters():
            if ".q.weight" in name:
                torch.nn.init.normal_(parameter, std=3.0)
            if "relative" in name:
                torch.nn.init.normal_(parameter, std=5.0)
        with torch.no_grad(), warnings.catch_warnings(action="ignore"):
            states.append(model(input_ids=IDS).last_hidden_state)
    assert torch.allclose(*states, atol=1e-5)
