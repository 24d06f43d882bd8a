"""Reader: its guarantees for every text, and that a folder gives the same reader again."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from readlet.errors import ReadletError
from readlet.inference.calibration import Calibration
from readlet.inference.inputs import LEVELS
from readlet.inference.reader import Reader, load_reader
from readlet.types import Prediction

pytestmark = pytest.mark.filterwarnings("ignore:.*long question")

Build = Callable[..., Reader]

LAMP = (
    "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil, and the "
    "keepers' houses stood empty for years. El puente viejo une las dos orillas del río; "
    "東京は日本の首都です。 Its last keeper, Ines Calder, left in 1953."
)
PIECES = (
    "Who lit the lamp ? in 1881 , . ¿ río straße 東京 はし ไทย العربية हिन्दी 한국어 l’eau don't "
    "U.S. 12,5 👩🏽\u200d🚀 🇫🇷 e\u0301 \x00 \x1f \ufeff \u200b \ud83d \u2028 \n \t \u00a0"
).split(" ")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join) | st.text(max_size=80)


def questions(count: int) -> list[tuple[str, str]]:
    """Pairs of very different lengths."""
    words = LAMP.split()
    return [
        (f"{words[i % len(words)]} {words[i * 7 % len(words)]}?", " ".join(words[: 1 + i * 5 % 47]))
        for i in range(count)
    ]


def test_long_questions_are_counted_over_all_chunks(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time: Python would show two equal warnings as one."""
    monkeypatch.setattr("readlet.inference.reader.CHUNK", 2)
    pairs = [("Who lit it ? " * (60 if i % 2 else 1), LAMP) for i in range(6)]
    with pytest.warns(UserWarning, match="long question") as caught:
        assert len(list(reader.answer_batch(pairs))) == 6
    assert [str(warning.message)[:18] for warning in caught] == ["3 × long question:"]
    with pytest.warns(UserWarning, match="^1 × long question"):
        reader.answer(*pairs[1])


@pytest.fixture(scope="module")
def reader(random_reader: Build) -> Reader:
    return random_reader(LAMP, null=False)


@pytest.fixture(scope="module")
def refusing(random_reader: Build) -> Reader:
    """A reader that refuses about half of the questions."""
    reader = random_reader(LAMP, null=True, seed=3)
    odds = [
        p.no_answer / p.score for p in reader.answer_batch(questions(40), n_best=1) if p.score > 0
    ]
    bias = -math.log(median(odds) * LEVELS["balanced"] / (1 - LEVELS["balanced"]))
    reader.calibration = Calibration(no_answer_bias=bias, questions=9)
    reader.metrics = {"dev": {"exact": 1.5, "f1": 2.25}, "dev_source": "río.json", "steps": 3}
    return reader


def check_properties(context: str, prediction: Prediction, n_best: int = 5) -> None:
    """Properties of every prediction of every reader."""
    assert 0 <= prediction.score <= 1
    assert 0 <= prediction.no_answer <= 1
    assert context[prediction.start : prediction.end] == prediction.text
    if prediction.abstained:
        assert (prediction.text, prediction.start, prediction.end) == ("", 0, 0)
    else:
        assert prediction.n_best[0].text == prediction.text
    for candidate in prediction.n_best:
        assert candidate.text
        assert context[candidate.start : candidate.end] == candidate.text
        assert 0 <= candidate.score <= 1
    texts = [candidate.text for candidate in prediction.n_best]
    assert len(set(texts)) == len(texts) <= n_best
    scores = [candidate.score for candidate in prediction.n_best]
    assert scores == sorted(scores, reverse=True)


@settings(max_examples=60)
@given(TEXTS, TEXTS)
@example("Who lit the lamp?", LAMP)
@example("", LAMP)
@example("?", "\ud83d half a pair")
def test_properties(reader: Reader, refusing: Reader, question: str, context: str) -> None:
    for one in (reader, refusing):
        check_properties(context, one.answer(question, context))


@pytest.mark.parametrize("context", ["", " \n\t", "\u2003"])
def test_an_empty_passage_has_no_answer(reader: Reader, context: str) -> None:
    prediction = reader.answer("Who lit the lamp?", context)
    assert (prediction.abstained, prediction.no_answer, prediction.n_best) == (True, 1.0, ())


@pytest.mark.parametrize("question", ["", "  "])
def test_an_empty_question_has_no_answer_and_is_reported(reader: Reader, question: str) -> None:
    with pytest.warns(UserWarning, match="^1 × question without text"):
        assert reader.answer(question, LAMP).abstained


def near(one: Prediction, two: Prediction) -> bool:
    return (
        (one.text, one.start, one.end) == (two.text, two.start, two.end)
        and one.score == pytest.approx(two.score, abs=1e-4)
        and one.no_answer == pytest.approx(two.no_answer, abs=1e-4)
        and [c.score for c in one.n_best] == pytest.approx([c.score for c in two.n_best], abs=1e-4)
    )


def test_a_batch_is_in_order_and_equals_single_questions(
    reader: Reader, refusing: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = questions(40)
    for one in (reader, refusing):
        alone = [one.answer(*pair) for pair in pairs]
        assert len({round(p.n_best[0].score, 6) for p in alone}) > 20  # not all the same
        for chunk in (1, 3, 512):
            monkeypatch.setattr("readlet.inference.reader.CHUNK", chunk)
            together = list(one.answer_batch(pairs))
            assert all(near(a, b) for a, b in zip(together, alone, strict=True)), chunk
            turned = list(one.answer_batch(pairs[::-1]))[::-1]
            assert all(near(a, b) for a, b in zip(turned, alone, strict=True)), chunk
            assert list(one.answer_batch([])) == []


def test_a_batch_reads_at_most_one_chunk_ahead(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readlet.inference.reader.CHUNK", 4)
    taken = []

    def endless() -> Iterator[tuple[str, str]]:
        number = 0
        while True:
            taken.append(number)
            yield f"Who lit lamp {number}?", LAMP
            number += 1

    answers = reader.answer_batch(endless())
    assert taken == []
    for given_back in range(1, 14):
        next(answers)
        assert given_back <= len(taken) < given_back + 4


@pytest.fixture
def folder(refusing: Reader, tmp_path: Path) -> Path:
    place = tmp_path / "a reader"
    refusing.save(place)
    return place


def test_save_and_load_give_the_same_to_the_bit(refusing: Reader, folder: Path) -> None:
    loaded = Reader.load(folder)
    for one, two in (
        (refusing.scorer.encoder.vocabulary, loaded.scorer.encoder.vocabulary),
        (refusing.recipe, loaded.recipe),
        (refusing.calibration, loaded.calibration),
        (refusing.metrics, loaded.metrics),
        (refusing.scorer.can_abstain, loaded.scorer.can_abstain),
        (refusing.name, loaded.name),
    ):
        assert one == two
    before, after = refusing.scorer.module.state_dict(), loaded.scorer.module.state_dict()
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]), name
    pairs = questions(25)
    predictions = list(refusing.answer_batch(pairs))
    assert predictions == list(loaded.answer_batch(pairs))  # floats compared without tolerance
    assert {p.abstained for p in predictions} == {True, False}
    assert not loaded.scorer.module.training


def test_the_folder_is_complete_and_has_no_pickle(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "config.json",
        "vocabulary.json",
        "calibration.json",
        "metrics.json",
        "model.safetensors",
        "README.md",
    }
    for path in folder.iterdir():
        start = path.read_bytes()[:2]
        assert start != b"PK", path.name  # what torch.save writes is a zip of pickles
        assert start[:1] != b"\x80", path.name
        if path.suffix == ".json":
            assert isinstance(json.loads(path.read_text("utf-8")), dict)


NAMES = ["config.json", "vocabulary.json", "calibration.json", "metrics.json", "model.safetensors"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("damage", ["missing", "half", "list", "object"])
def test_a_damaged_file_is_named(folder: Path, name: str, damage: str) -> None:
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    if damage != "missing":
        kinds = {"half": content[: len(content) // 2], "list": b"[]"}
        path.write_bytes(kinds.get(damage, b"{}"))
    if damage == "object" and name == "metrics.json":
        Reader.load(folder)  # no field of it is needed
        return
    with pytest.raises(ReadletError) as caught:
        Reader.load(folder)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


LARGE = {"blocks": 256, "convolutions": 256, "width": 2048, "feed_forward": 16_384}


def change(path: Path, *, settings: dict[str, Any] | None = None, **values: Any) -> None:
    before = json.loads(path.read_text("utf-8"))
    if settings is not None:
        before["settings"] |= settings
    path.write_text(json.dumps(before | values), "utf-8")


@pytest.mark.parametrize(
    ("name", "values", "named"),
    [
        ("config.json", {"format": 2}, "config.json"),
        ("config.json", {"architecture": "encoder"}, "config.json"),
        ("config.json", {"settings": {"model": {"widht": 8}}}, "widht"),
        ("config.json", {"settings": {"stored": "int4"}}, "config.json"),
        # The weights have another width.
        ("config.json", {"settings": {"model": {}}}, "model.safetensors"),
        ("calibration.json", {"temperature": 0}, "calibration.json"),
        ("calibration.json", {"heat": 1}, "calibration.json"),
        ("vocabulary.json", {"trainable": 7}, "vocabulary.json"),
        ("vocabulary.json", {"frozen": ["sea"]}, "vocabulary"),
        ("vocabulary.json", {"characters": "ab"}, "model.safetensors"),
        ("vocabulary.json", {"max_characters": 10**9}, "max_characters: "),
        ("config.json", {"settings": {"null_answer": 1}}, "null_answer: "),
        ("config.json", {"files": ["../x"]}, "files: "),
        # Within the limits of a field, but of terabytes: compared with the weights first.
        (
            "config.json",
            {"settings": {"model": LARGE}},
            r"model.safetensors: is damaged .* of the settings",
        ),
        ("metrics.json", {"dev": {"f1": "high"}}, "dev, f1: "),
    ],
)
def test_files_that_do_not_match_are_rejected(
    folder: Path, name: str, values: dict[str, Any], named: str
) -> None:
    change(folder / name, **values)
    with pytest.raises(ReadletError, match=named):
        Reader.load(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_no_numbers_are_rejected(folder: Path, value: float) -> None:
    path = folder / "model.safetensors"
    weights = load_file(path)
    name = "blocks.0.rest.attention.output.weight"
    name = name if name in weights else sorted(weights)[0]
    weights[name].view(-1)[-1] = value
    save_file(weights, path)
    with pytest.raises(ReadletError, match=f"{name}: a value is NaN or infinite"):
        Reader.load(folder)


def test_a_notice_is_saved_with_the_reader(refusing: Reader, tmp_path: Path) -> None:
    notice = "Questions by Ada Brook, río.org,\nunder a licence of her own.\n"
    noticed = replace(refusing, notice=notice)
    noticed.save(tmp_path / "one")
    assert (tmp_path / "one" / "NOTICE.md").read_text("utf-8") == notice
    loaded = Reader.load(tmp_path / "one")
    assert loaded.notice == notice
    loaded.save(tmp_path / "two")
    for path in (tmp_path / "one").iterdir():
        assert (tmp_path / "two" / path.name).read_bytes() == path.read_bytes(), path.name
    assert notice in (tmp_path / "two" / "README.md").read_text("utf-8")
    refusing.save(str(tmp_path / "two"))  # over the other reader
    assert Reader.load(tmp_path / "two").notice == ""
    (tmp_path / "two" / "NOTICE.md").write_bytes(b"\xff")
    with pytest.raises(ReadletError, match=r"NOTICE\.md: is damaged"):
        Reader.load(tmp_path / "two")


def test_the_bundled_reader(
    refusing: Reader, bundle: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    bundle(refusing)
    expected = refusing.answer("Who lit the lamp?", LAMP)
    for loaded in (Reader.load(), Reader.load("bundled"), load_reader("bundled")):
        assert loaded.answer("Who lit the lamp?", LAMP) == expected
    assert capsys.readouterr().err == ""


def test_a_reader_knows_its_device_and_batch_size(refusing: Reader, folder: Path) -> None:
    usual, small = Reader.load(folder), Reader.load(folder, device="cpu", batch_size=3)
    assert (usual.device, usual.rows_at_once, small.rows_at_once) == ("cpu", 32, 3)
    pairs = questions(25)
    for one, two in zip(usual.answer_batch(pairs), small.answer_batch(pairs), strict=True):
        assert (one.text, one.start) == (two.text, two.start)
        assert one.score == pytest.approx(two.score, abs=1e-5)
    with pytest.raises(ReadletError, match="batch_size: -1"):
        Reader.load(folder, batch_size=-1)


def test_the_expected_share_of_impossible_questions_moves_all_probabilities(
    random_reader: Build,
) -> None:
    reader = random_reader(LAMP, null=True)
    found = [
        reader.answer("Who lit the lamp?", LAMP, unanswerable_share=share)
        for share in (0.1, 0.5, 0.9)
    ]
    assert found[1] == reader.answer("Who lit the lamp?", LAMP)  # uncalibrated: an even prior
    doubts = [prediction.no_answer for prediction in found]
    assert doubts == sorted(doubts)
    assert doubts[0] < doubts[2]
    for one in found:
        # Given that there is an answer, nothing has changed.
        shares = [candidate.score / (1 - one.no_answer) for candidate in one.n_best]
        usual = [candidate.score / (1 - doubts[1]) for candidate in found[1].n_best]
        assert shares == pytest.approx(usual)
        level = LEVELS["balanced"]
        assert one.abstained == (one.score < level * (one.score + one.no_answer))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unanswerable_share": float("nan")}, "unanswerable-share: "),
        ({"unanswerable_share": 1.0}, "unanswerable-share: "),
        ({"min_confidence": "bold"}, "min-confidence: "),
        ({"min_confidence": 1.5}, "min-confidence: "),
        ({"min_confidence": True}, "min-confidence: "),
        ({"n_best": 0}, "n_best: 0; must be a number from 1"),
        ({"n_best": 10**6}, "n_best: 1000000; must be a number from 1"),
    ],
)
def test_bad_options(random_reader: Build, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ReadletError, match=message):
        random_reader(LAMP, null=True).answer("Who?", LAMP, **options)
