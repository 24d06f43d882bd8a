from pathlib import Path

import pytest

from readlet.data import read, read_sentences
from readlet.data.datasets import task_of
from readlet.errors import ReadletError
from readlet.types import Sentence

COLA = 'bk01\t1\t\tThe "door opened.\nbk01\t0\t*\tDoor the "opened, quickly.\n'
SST2 = 'sentence\tlabel\na "dull, slow walk\t0\r\nbright and quick "\t1\n'
MRPC = (
    "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    '1\t10\t11\tShe said "no.\tHer word was "no".\n'
    "0\t12\t13\tRain fell.\tSnow melted."  # no newline at the end
)


@pytest.mark.parametrize(
    ("text", "task", "rows"),
    [
        (
            COLA,
            "cola",
            [
                Sentence("1", 'The "door opened.', "1"),
                Sentence("2", 'Door the "opened, quickly.', "0"),
            ],
        ),
        (
            SST2,
            "sst2",
            [Sentence("1", 'a "dull, slow walk', "0"), Sentence("2", 'bright and quick "', "1")],
        ),
        (
            MRPC,
            "mrpc",
            [
                Sentence("1", 'She said "no.', "1", 'Her word was "no".'),
                Sentence("2", "Rain fell.", "0", "Snow melted."),
            ],
        ),
    ],
)
def test_a_quote_is_an_ordinary_character(
    tmp_path: Path, text: str, task: str, rows: list[Sentence]
) -> None:
    path = tmp_path / "file.csv"  # the suffix is wrong
    path.write_bytes(text.encode())
    assert task_of(path) == task
    assert list(read(path)) == list(read_sentences(path)) == rows


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (COLA + "bk01\t1\tno star\n", "line 3: 3 cells instead of 4"),
        (COLA + "bk01\tyes\t\tFine.\n", "line 3: label 'yes'"),
        (SST2 + "fine\n", "line 4: 1 cells under 2 column names"),
        (SST2 + "fine\tday\t1\n", "line 4: 3 cells under 2 column names"),
        (MRPC + "\textra", "line 3: 6 cells instead of 5"),
    ],
)
def test_bad_line(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "dev.tsv"
    path.write_text(text)
    with pytest.raises(ReadletError, match=rf"dev\.tsv: {fault}; \w"):
        list(read_sentences(path))


def test_other_labels_are_another_task(tmp_path: Path) -> None:
    """A file of one's own may have the names of SST-2."""
    path = tmp_path / "dev.tsv"
    path.write_text(SST2 + "so so\t2\n")
    assert task_of(path) is None
    assert [row.label for row in read_sentences(path)] == ["0", "1", "2"]
    path.write_text(SST2 + "\n\n")  # blank lines are no rows
    assert task_of(path) == "sst2"
    assert [row.label for row in read_sentences(path)] == ["0", "1"]
