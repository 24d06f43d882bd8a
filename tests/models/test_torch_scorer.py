"""Scorers with a torch module: scores of any batch; the loss of spans, with a teacher too."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from readlet.inference.reader import Reader
from readlet.models.torch_scorer import SpanLearner, SpanLogits, Targets, Teacher, span_loss
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
    """To rounding."""
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


LENGTHS = (5, 3, 1, 0)  # allowed places of each row
WIDTH = 6
SMOOTHING = pytest.mark.parametrize("smoothing", [0.0, 0.2])
NULL = pytest.mark.parametrize("null", [False, True])


@dataclass(frozen=True)
class LabelledRows:
    """The fields of a batch that the loss uses."""

    rows: Tensor  # (B,)
    labels: Tensor  # (B, 2)
    weight: Tensor  # (B,)


def random_scores(*, null: bool) -> SpanLogits:
    """Scores of places that are not allowed are large: they must be ignored."""
    allowed = torch.arange(WIDTH) < torch.tensor(LENGTHS)[:, None]  # (B, L)
    start, end = (
        torch.randn(allowed.shape).masked_fill(~allowed, 50.0) for _ in range(2)
    )  # (B, L)
    return SpanLogits(start, end, allowed, torch.randn(len(LENGTHS), 2) if null else None)


def labelled_rows(*, null: bool) -> LabelledRows:
    """The last row is filler. With null, the second has no answer."""
    labels = [[1, 4], [-1, -1] if null else [2, 2], [0, 0], [-1, -1]]
    weight = [0.5, 0.3, 0.2, 0.0]
    return LabelledRows(torch.tensor([7, 2, 5, -1]), torch.tensor(labels), torch.tensor(weight))


def by_hand(
    scores: SpanLogits,
    batch: LabelledRows,
    smoothing: float,
    taught: Targets | None = None,
    share: float = 0.0,
) -> float:
    """One list of classes for each row and side, where index 0 is "no answer" if there is one."""
    total = 0.0
    for row, weight in enumerate(batch.weight.tolist()):
        if not weight:
            continue
        for side in range(2):
            outcomes: NDArray[np.float64] = scores[side][row][scores.allowed[row]].double().numpy()
            label = int(batch.labels[row, side])
            target = None if taught is None else taught[side][row][: len(outcomes)].numpy()
            if scores.null is not None:
                outcomes = np.concatenate([[float(scores.null[row, side])], outcomes])
                label += 1
                if taught is not None and target is not None:
                    null = 0.0 if taught.null is None else float(taught.null[row, side])
                    target = np.concatenate([[null], target])
            log_p = outcomes - np.log(np.exp(outcomes).sum())
            loss = -(1 - smoothing) * log_p[label] - smoothing * log_p.mean()
            if taught is not None and target is not None and taught.exists[row]:
                loss = (1 - share) * loss - share * float((target * log_p).sum())
            total += weight * float(loss)
    return total


@SMOOTHING
@NULL
def test_loss(smoothing: float, null: bool) -> None:
    scores, batch = random_scores(null=null), labelled_rows(null=null)
    got = span_loss(scores, batch, smoothing)
    assert float(got) == pytest.approx(by_hand(scores, batch, smoothing), rel=1e-5)


@SMOOTHING
def test_no_answer_is_a_place_before_all_others(smoothing: float) -> None:
    """The same loss where "no answer" is the first of the places."""
    scores, batch = random_scores(null=True), labelled_rows(null=True)
    assert scores.null is not None
    first = torch.ones(len(LENGTHS), 1, dtype=torch.bool)  # (B, 1)
    joined = SpanLogits(
        torch.cat([scores.null[:, :1], scores.start], dim=1),
        torch.cat([scores.null[:, 1:], scores.end], dim=1),
        torch.cat([first, scores.allowed], dim=1),
    )
    shifted = replace(batch, labels=batch.labels + 1)
    got, expected = (span_loss(*pair, smoothing) for pair in ((scores, batch), (joined, shifted)))
    torch.testing.assert_close(got, expected)


@SMOOTHING
@NULL
def test_filler_rows_have_no_loss_and_no_gradient(smoothing: float, null: bool) -> None:
    scores, batch = random_scores(null=null), labelled_rows(null=null)
    given = [part.requires_grad_() for part in (scores.start, scores.end)]
    given += [] if scores.null is None else [scores.null.requires_grad_()]
    loss = span_loss(scores, batch, smoothing)
    loss.backward()
    short = SpanLogits(*(None if part is None else part[:3].detach() for part in scores))
    whole = LabelledRows(batch.rows[:3], batch.labels[:3], batch.weight[:3])
    torch.testing.assert_close(loss.detach(), span_loss(short, whole, smoothing))
    for part in given:
        assert part.grad is not None
        assert torch.isfinite(part.grad).all()
        assert (part.grad[3] == 0).all()
    for part in given[:2]:  # places that are not allowed get no gradient
        assert part.grad is not None
        assert (part.grad[~scores.allowed] == 0).all()
        assert (part.grad[:2][scores.allowed[:2]] != 0).all()


def teacher_of(share: float, *, abstains: bool = False) -> Teacher:
    """Eight rows; of those in the batch, row 7 has probabilities, 2 has none, 5 has one place."""
    lengths = torch.tensor([2, 0, 0, 1, 0, 1, 0, 5])  # (rows,)
    places = int(lengths.sum())
    start, end = torch.rand(places), torch.rand(places)  # (places of all rows,)
    return Teacher(start, end, lengths, share, torch.rand(8, 2) if abstains else None)


@SMOOTHING
@NULL
@pytest.mark.parametrize("abstains", [False, True])
def test_loss_with_a_teacher(smoothing: float, null: bool, abstains: bool) -> None:
    """A student that cannot abstain ignores the teacher's no-answer scores."""
    scores, batch = random_scores(null=null), labelled_rows(null=null)
    teacher = teacher_of(0.3, abstains=abstains)
    taught = teacher(batch.rows, WIDTH)
    if teacher.null is None:
        assert taught.null is None
    else:
        assert torch.equal(taught.null[:3], teacher.null[[7, 2, 5]])
    assert taught.exists[:3].tolist() == [1.0, 0.0, 1.0]
    assert taught.start[0].tolist() == [*teacher.start[-5:].tolist(), 0.0]
    assert not taught.start[1].any()
    assert taught.end[2].tolist() == [float(teacher.end[3]), *[0.0] * 5]
    got = span_loss(scores, batch, smoothing, taught, 0.3)
    assert float(got) == pytest.approx(by_hand(scores, batch, smoothing, taught, 0.3), rel=1e-5)
    assert float(got) != pytest.approx(by_hand(scores, batch, smoothing), rel=1e-3)


@pytest.mark.parametrize("share", [None, 0.3])
@NULL
def test_the_learner_uses_model_and_teacher(share: float | None, null: bool) -> None:
    scores, batch = random_scores(null=null), labelled_rows(null=null)

    class Fixed(nn.Module):
        def forward(self, given: LabelledRows) -> SpanLogits:
            assert given is batch
            return scores

    teacher = None if share is None else teacher_of(share)
    taught = None if teacher is None else teacher(batch.rows, WIDTH)
    got = SpanLearner(Fixed(), 0.1, teacher)(batch)
    assert got.dim() == 0
    assert float(got) == pytest.approx(by_hand(scores, batch, 0.1, taught, share or 0.0), rel=1e-5)


@pytest.mark.parametrize("abstains", [False, True])
def test_a_taught_loss_needs_no_values(abstains: bool) -> None:
    """A captured step has fixed shapes and never waits: tensors without values are enough."""
    scores, batch = random_scores(null=True), labelled_rows(null=True)
    empty = SpanLogits(*(None if part is None else part.to("meta") for part in scores))
    rows = LabelledRows(*(part.to("meta") for part in (batch.rows, batch.labels, batch.weight)))
    taught = teacher_of(0.3, abstains=abstains).to("meta")(rows.rows, WIDTH)
    assert taught.start.shape == (len(LENGTHS), WIDTH)
    assert span_loss(empty, rows, 0.1, taught, 0.3).device.type == "meta"
