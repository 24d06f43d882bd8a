"""The plain form of the small reader has its scores, with every kind of character layer."""

from typing import Any, cast

import pytest
import torch

from readlet.export.plain_networks import plain_qacnn
from readlet.export.tracing import _Tables
from readlet.models.qacnn.network import QACNN
from readlet.models.qacnn.recipe import QacnnRecipe
from readlet.nn.characters import PADDING, CharacterConvolution
from readlet.text.tensors import FormTables, WordBatch

_FORMS, _CHARACTERS = 20, 9
_SIZES = {
    "width": 8,
    "character_width": 4,
    "character_filters": 6,
    "blocks": 2,
    "convolutions": 3,
    "embedding_convolutions": 2,
    "heads": 2,
    "head_width": 4,
    "feed_forward": 12,
    "last_survival": 0.5,
}


def network_of(changes: dict[str, Any]) -> QACNN:
    sizes = {"model": _SIZES | changes.pop("model", {})}
    recipe = QacnnRecipe.model_validate({"name": "tiny", **sizes, **changes})
    torch.manual_seed(0)
    network = QACNN(recipe, torch.randn(_FORMS, 5), 3, _CHARACTERS, languages=2, null=True)
    with torch.no_grad():
        for parameter in network.parameters():  # those that start at zero, too
            parameter += 0.1 * torch.randn_like(parameter)
        characters = network.embedding.characters
        if isinstance(characters, CharacterConvolution):
            characters.embedding.weight[PADDING] = 0.0  # training leaves it so
    return network.eval()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"model": {"character_filters": 0}},
        {"model": {"language_characters": "film"}, "words": {"languages": ["en", "es"]}},
        {"model": {"language_characters": "added"}, "words": {"languages": ["en", "es"]}},
        {"attention": {"softmax": "norm"}, "loss": {"softmax": "norm"}},
    ],
    ids=["characters", "words only", "film", "added", "NormSoftmax"],
)
def test_it_has_the_same_scores(changes: dict[str, Any]) -> None:
    network = network_of(dict(changes))
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    plain = plain_qacnn(network)
    characters = torch.randint(0, _CHARACTERS, (_FORMS, 7))
    characters[:, 4:] *= torch.randint(0, 2, (_FORMS, 1))  # some words end early
    characters[1] = 0
    tables = cast(
        FormTables,
        _Tables(
            torch.arange(_FORMS),
            characters,
            torch.arange(_FORMS) % 11,
            torch.randint(0, 3, (_FORMS,)),
        ),
    )
    context = torch.randint(2, _FORMS, (3, 13))
    context[1, 6:] = context[2, 1:] = 0  # padding; of the last row only the null place is left
    question = torch.randint(2, _FORMS, (3, 5))
    question[0, 3:] = question[2] = 0  # the last question has no words
    nothing = dict.fromkeys(("rows", "labels", "weight"), torch.zeros(0))
    batch = WordBatch(
        **cast(Any, nothing), forms=torch.arange(_FORMS), context=context, question=question
    )
    with torch.inference_mode():
        expected, found = network(batch, tables), plain(batch, tables)
    keep = expected.allowed
    assert torch.equal(found.allowed, keep)
    for one, other in zip(found[:2], expected[:2], strict=True):
        torch.testing.assert_close(one[keep], other[keep], atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(found.null, expected.null, atol=2e-5, rtol=1e-5)
    for name, weight in network.state_dict().items():  # they were not scaled in place
        assert torch.equal(weight, before[name]), name
