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


def test_it_is_small_enough_to_bundle() -> None:
    assert FOLDER is not None
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) <= 12_000_000


def test_it_finds_answers_and_refuses(reader: Reader) -> None:
    """The questions of the demo: correct answers, then a correct refusal."""
    by_id = {example.id: example for example in read_examples("bundled:test")}
    for identity in ASKED_OF_BUNDLED:
        example = by_id[identity]
        prediction = reader.answer(example.question, example.context)
        golds = [answer.text for answer in example.answers] or [""]
        assert prediction.text in golds, identity
    assert not example.answers


def test_its_card_names_authors_and_licences(reader: Reader) -> None:
    assert FOLDER is not None
    card = (FOLDER / "README.md").read_text("utf-8")
    for text in ("SQuAD", "CC BY-SA 4.0", "Rajpurkar", "GloVe", "PDDL", "Pennington"):
        assert text in card
    assert reader.notice.strip() in card
    assert "before slimming" not in card  # the scores are its own
