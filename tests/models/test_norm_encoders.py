"""NormSoftmax in BERT, ALBERT and others, through transformers' own interface."""

import math
from typing import Any

import pytest
import torch

from readlet.errors import ReadletError
from readlet.models.pretrained.norm_attention import use_norm_attention
from readlet.nn.normsoftmax import materialised_norm_attention

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


def build(kind: str, attention: str = "sdpa") -> Any:
    torch.manual_seed(3)
    config = CONFIGS[kind]()
    return transformers.AutoModel.from_config(config, attn_implementation=attention).double().eval()


def register_materialised(gamma: float) -> str:
    """The same by definition, as an oracle."""

    def attend(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **_: Any
    ) -> tuple[Any, None]:
        keep = attention_mask[:, 0, 0].bool()
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
        use_norm_attention(build(kind), gamma),
        build(kind, register_materialised(math.sqrt(8) if gamma is None else gamma)),
    ]
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
    norm, plain = use_norm_attention(build(kind)), build(kind)
    with torch.no_grad():
        padded = norm(IDS, attention_mask=KEEP).last_hidden_state[0, :4]
        alone = norm(IDS[:1, :4]).last_hidden_state[0]
        other = plain(IDS[:1, :4]).last_hidden_state[0]
    assert torch.allclose(padded, alone, atol=1e-12)
    assert not torch.allclose(alone, other, atol=1e-3)


WITHOUT_CHOICE = {
    "MPNet": lambda: transformers.MPNetConfig(**SIZES),
    "DebertaV2": lambda: transformers.DebertaV2Config(**SIZES),
    "Bert": lambda: transformers.BertConfig(**SIZES, is_decoder=True),
}


@pytest.mark.parametrize("kind", WITHOUT_CHOICE)
def test_models_that_would_ignore_it_are_rejected(kind: str) -> None:
    model = transformers.AutoModel.from_config(WITHOUT_CHOICE[kind]())
    with pytest.raises(ReadletError, match=f"{kind}Model"):
        use_norm_attention(model)


def test_a_wrong_cap_or_mask_is_rejected() -> None:
    model = build("bert")
    with pytest.raises(ReadletError, match="gamma"):
        use_norm_attention(model, -1.0)
    with pytest.raises(ReadletError, match="mask"):  # 0 and 1 would be added to the scores
        use_norm_attention(model)(IDS, attention_mask=KEEP[:, None, None])


def test_a_compiled_model_gives_the_same() -> None:
    model = use_norm_attention(build("bert"))
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    with torch.no_grad():
        made = [m(IDS, attention_mask=KEEP).last_hidden_state for m in (model, compiled)]
    torch.testing.assert_close(made[0], made[1], rtol=1e-12, atol=1e-12)
    torch._dynamo.reset()
