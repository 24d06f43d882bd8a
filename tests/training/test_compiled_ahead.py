"""Start-up on a GPU: programs are compiled ahead."""

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from readlet.engine.optimiser import MixedPrecision
from readlet.models.kinds import family_of
from readlet.models.recipe_files import load_recipe
from readlet.nn.qanet import EncoderBlock
from readlet.training.train import objective_of
from readlet.training.training_data import prepare


def test_if_nothing_can_be_compiled_training_runs_eagerly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no C compiler\nat all")

    def compile_parts(block: EncoderBlock) -> None:
        block.rest.compile(backend=broken)

    torch._dynamo.reset()
    monkeypatch.setattr(EncoderBlock, "compile_parts", compile_parts)
    recipe = load_recipe("tiny", ["training.batch_size=2"])
    with pytest.warns(UserWarning, match=r"^training runs slower, not compiled \(no C compiler\)$"):
        assert not family_of("qacnn").compile_ahead(recipe, torch.device("cpu"), None)
    torch._dynamo.reset()


@pytest.mark.parametrize(
    ("precision", "backend"), [("float32", "eager"), ("bfloat16", "aot_eager")]
)
def test_blocks_in_training_reuse_what_was_compiled_ahead(
    monkeypatch: pytest.MonkeyPatch, precision: str, backend: str
) -> None:
    """Three programs: two kinds of convolutions, and attention with feed-forward."""
    torch._dynamo.reset()
    counter = CompileCounterWithBackend(backend)

    def compile_parts(block: EncoderBlock) -> None:
        for part in (*block.pairs, block.rest):
            part.compile(backend=counter)
        block._is_compiled = True

    monkeypatch.setattr(EncoderBlock, "compile_parts", compile_parts)
    recipe = load_recipe(
        "tiny",
        [
            f"training.precision={precision}",
            "training.batch_size=4",
            "model.blocks=2",
            "model.embedding_kernel=7",
            "model.kernel=5",
            "model.convolutions=2",
            "model.embedding_convolutions=4",
            "model.dropout=0.1",
            "model.last_survival=0.9",
            "data.max_context=100",  # windows, so that there are several lengths
            "data.overlap=20",
        ],
    )
    assert family_of("qacnn").compile_ahead(recipe, torch.device("cpu"), None)
    assert counter.frame_count == 3

    data, family = prepare(recipe), family_of("qacnn")
    scorer = objective_of(recipe, None).build(data)
    family.compile(scorer)
    loss = scorer.learner(data.train.rows, 0.0, None)
    batches = scorer.batches(data.train.rows, 4, seed=0)
    seen = set()
    for shape, rows in dict(batches.epoch(0)).items():
        with MixedPrecision(recipe.training.precision, torch.device("cpu")).autocast():
            loss(batches.make(shape, rows)).backward()
        seen.add(shape)
    assert len(seen) > 1
    assert counter.frame_count == 3
    torch._dynamo.reset()
