"""The reader that comes with the package."""

import pytest

from readlet.bundled import bundled_reader
from readlet.cli.demo import ASKED_OF_BUNDLED
from readlet.formats import read_examples
from readlet.reading.reader import Reader

FOLDER = bundled_reader()
pytestmark = pytest.mark.skipif(FOLDER is None, reason="this copy of the package has no reader")


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader.load()


def test_it_is_small_enough_to_come_along() -> None:
    assert FOLDER is not None
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) <= 12_000_000


def test_it_finds_answers_and_says_that_there_is_none(reader: Reader) -> None:
    """The questions that the demonstration asks: right answers, then a right refusal."""
    by_id = {example.id: example for example in read_examples("bundled:test")}
    for identity in ASKED_OF_BUNDLED:
        asked = by_id[identity]
        said = reader.answer(asked.question, asked.context)
        golds = [answer.text for answer in asked.answers] or [""]
        assert said.text in golds, identity
    assert not asked.answers


def test_its_card_names_authors_and_licences(reader: Reader) -> None:
    assert FOLDER is not None
    card = (FOLDER / "README.md").read_text("utf-8")
    for told in ("SQuAD", "CC BY-SA 4.0", "Rajpurkar", "GloVe", "PDDL", "Pennington"):
        assert told in card
    assert reader.notice.strip() in card
    assert "before slimming" not in card  # the scores are its own
