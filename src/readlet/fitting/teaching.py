"""What a teacher, a reader that was trained before, says to the training questions."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from readlet.encoding.features import NO_LABEL, Features, encode
from readlet.encoding.vocabulary import Vocabulary
from readlet.encoding.windows import Windows
from readlet.models.span_loss import Teacher
from readlet.nn.softmax import masked_softmax
from readlet.progress import track
from readlet.reading.predictor import Predictor
from readlet.reading.reader import Reader
from readlet.recipe.recipe import Recipe
from readlet.training.processes import is_main_process
from readlet.types import Example


def ask_teacher(
    teacher: Reader,
    recipe: Recipe,
    vocabulary: Vocabulary,
    examples: Sequence[Example],
    features: Features,
    device: torch.device,
) -> Teacher:
    """Its probabilities for every row that holds an answer; of the others it is not asked.

    Rows are cut as the recipe says, whatever windows the teacher itself was trained with.
    """
    data = recipe.data
    if teacher.vocabulary != vocabulary:
        windows = Windows(data.max_context, data.overlap, data.max_question)
        features = encode(examples, teacher.vocabulary, windows)
    is_asked = features.row_label[:, 0] != NO_LABEL  # (rows,)
    length = torch.from_numpy(np.where(is_asked, features.row_window[:, 1], 0)).long()  # (rows,)
    first = length.cumsum(0) - length  # (rows,)
    start = torch.zeros(int(length.sum()), dtype=torch.float16)  # (words of all rows,)
    end = torch.zeros_like(start)  # (words of all rows,)
    size = 256 if device.type == "cuda" else 32
    predictor = Predictor(teacher.model.to(device), data, teacher.null, teacher.calibration, size)
    said = _probabilities(predictor, features)
    if is_main_process():
        said = track(said, len(features), "asking the teacher")
    for row, start_p, end_p in said:
        if is_asked[row]:
            words = slice(int(first[row]), int(first[row] + length[row]))
            start[words], end[words] = start_p[: length[row]], end_p[: length[row]]
    teacher.model.cpu()
    return Teacher(start, end, length, recipe.training.teacher_share)


def _probabilities(
    predictor: Predictor, features: Features
) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    """Of every row: its number, and how probable each word is as the first and the last one."""
    null = int(predictor.null)
    for rows, scores in predictor.scores(features):
        keep = predictor.words_of(scores)  # (B, L): the question has an answer here
        start = masked_softmax(scores.start, keep)[:, null:]  # (B, words)
        end = masked_softmax(scores.end, keep)[:, null:]  # (B, words)
        for i, row in enumerate(rows.tolist()):
            if row >= 0:  # no filler
                yield row, start[i], end[i]
