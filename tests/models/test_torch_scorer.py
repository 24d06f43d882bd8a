"""What scorers with a torch module share."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from readlet.inference.reader import Reader
from readlet.types import Example

TEXT = "the lamp at the cape was lit by a keeper who sold oil to the town for many years"
EXAMPLES = [
    Example(str(n), "who lit the lamp ?", " ".join(TEXT.split()[: 3 + n % 15])) for n in range(23)
]


def test_no_row_is_computed_in_vain(random_reader: Callable[..., Reader]) -> None:
    """Short batches are filled up in training, where shapes are captured, and not for answers."""
    scorer = random_reader(TEXT, null=True).scorer
    rows = scorer.encoder.encode(EXAMPLES)
    sizes = []
    scorer.module.register_forward_pre_hook(lambda _, inputs: sizes.append(len(inputs[0].rows)))
    numbers = [number for numbers, _ in scorer.scores(rows, 8) for number in numbers.tolist()]
    assert sorted(numbers) == list(range(len(rows)))
    assert sum(sizes) == len(rows)
    assert max(sizes) == 8
    assert {len(batch.rows) for batch in scorer.batches(rows, 8)} == {8}


@pytest.mark.parametrize("size", [1, 5, 64])
def test_the_batch_size_changes_no_score(random_reader: Callable[..., Reader], size: int) -> None:
    """Law 3."""
    scorer = random_reader(TEXT, null=True).scorer
    rows = scorer.encoder.encode(EXAMPLES)

    def scores(size: int) -> dict[int, np.ndarray]:
        return {
            int(number): np.concatenate([found.start[i][found.allowed[i]], found.null[i]])
            for numbers, found in scorer.scores(rows, size)
            for i, number in enumerate(numbers)
        }

    one, other = scores(size), scores(8)
    for number, values in one.items():
        np.testing.assert_allclose(values, other[number], atol=1e-5)


def test_scores_leave_gradients_enabled_between_batches(
    random_reader: Callable[..., Reader],
) -> None:
    scorer = random_reader(TEXT).scorer
    for _ in scorer.scores(scorer.encoder.encode(EXAMPLES), 4):
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_scores_of_short_precisions_are_given_in_float32(
    random_reader: Callable[..., Reader], dtype: torch.dtype
) -> None:
    scorer = random_reader(TEXT, null=True).scorer
    scorer.module.register_forward_hook(
        lambda _, __, out: out._replace(
            start=out.start.to(dtype), end=out.end.to(dtype), null=out.null.to(dtype)
        )
    )
    for _, scores in scorer.scores(scorer.encoder.encode(EXAMPLES), 8):
        assert {part.dtype for part in (scores.start, scores.end, scores.null)} == {np.dtype("f4")}
