"""Public datasets, if available: counts, and the time to read them."""

import time
from pathlib import Path

import pytest

from readlet.data import read_examples, read_sentences
from readlet.data.check import check
from readlet.data.datasets import task_of
from readlet.data.faults import Fault


@pytest.mark.parametrize(
    ("name", "questions", "contexts", "answers", "unanswerable"),
    [
        ("dev-v1.1.json.gz", 10_570, 2_067, 34_726, 0),
        ("cs224n-dev-v2.0.json.gz", 6_078, None, None, 3_168),
        ("rest-dev-v2.0.json.gz", 5_795, None, None, 2_777),
    ],
)
def test_squad_counts(
    real_data: Path,
    name: str,
    questions: int,
    contexts: int | None,
    answers: int | None,
    unanswerable: int,
) -> None:
    examples = list(read_examples(real_data / "squad" / name))
    assert len(examples) == questions == len({example.id for example in examples})
    assert sum(example.is_impossible for example in examples) == unanswerable
    assert all(bool(example.answers) != example.is_impossible for example in examples)
    if contexts:
        assert len({example.context for example in examples}) == contexts
    if answers:
        assert sum(len(example.answers) for example in examples) == answers


def test_train_file_is_read_and_validated_quickly(real_data: Path) -> None:
    path = real_data / "squad" / "train-v1.1.json.gz"
    seconds = []
    for _ in range(2):  # the better of two: other programs may interfere
        start = time.process_time()
        examples = answers = 0
        for example in read_examples(path):
            examples += 1
            answers += len(example.answers)
        seconds.append(time.process_time() - start)
        assert (examples, answers) == (87_599, 87_599)
    assert min(seconds) < 3


@pytest.mark.parametrize("language", ["en", "es", "de", "ro"])
def test_every_answer_of_xquad_is_at_its_offset(real_data: Path, language: str) -> None:
    report = check([str(real_data / "xquad" / f"xquad.{language}.json.gz")])
    (file,) = report.files
    assert (file.questions, file.contexts) == (1_190, 240)
    assert file.languages.most_common(1)[0][0] == language
    # Some translated texts begin with a byte order mark; there are no other faults.
    assert {f.fault for f in file.findings if f.fault.is_wrong} <= {Fault.CONTROL}


@pytest.mark.parametrize(
    ("name", "task", "ones", "zeros"),
    [
        ("CoLA/train.tsv", "cola", 6_023, 2_528),
        ("CoLA/dev.tsv", "cola", 721, 322),
        ("SST-2/dev.tsv", "sst2", 444, 428),
        ("MRPC/test.tsv", "mrpc", 1_147, 578),
    ],
)
def test_glue_counts(real_data: Path, name: str, task: str, ones: int, zeros: int) -> None:
    path = real_data / "glue" / name
    labels = [row.label for row in read_sentences(path)]
    assert task_of(path) == task
    assert (labels.count("1"), labels.count("0")) == (ones, zeros)
