import json
from dataclasses import replace
from pathlib import Path

import pytest

from readlet.data import write_examples
from readlet.data.check import FileReport, check, check_items
from readlet.data.faults import Fault
from readlet.types import NO_OFFSET, Example, Sentence, Span

GOOD = Example("g", "Where is the kiln?", "The kiln is in Hollow Lane.", (Span(15, "Hollow Lane"),))


def with_answer(start: int, text: str) -> Example:
    return replace(GOOD, answers=(Span(start, text),))


def test_nothing_is_found_in_valid_data(sound: list[Example]) -> None:
    report = check_items("sound", [GOOD, *sound], {})
    assert report.findings == []
    assert (report.questions, report.contexts, report.answers) == (4, 3, 4)
    assert report.unanswerable == 1
    assert report.languages == {"en": 2, "es": 1}


CASES: list[tuple[Fault, list[Example], str]] = [
    (Fault.MISPLACED, [with_answer(14, "Hollow Lane")], "'Hollow Lane' at 14, is at 15"),
    (Fault.MISPLACED, [with_answer(-5, "kiln")], "'kiln' at -5, is at 4"),
    (
        Fault.NO_OFFSET,
        [with_answer(NO_OFFSET, "l")],
        "'l': no offset given, occurs 3 times",
    ),
    (Fault.MISPLACED, [with_answer(4, "KILN")], "'KILN' at 4, is at 4, spelled 'kiln'"),
    (Fault.NOWHERE, [with_answer(NO_OFFSET, "oven")], "'oven': no offset given"),
    (Fault.UNLABELLED, [replace(GOOD, answers=(), is_labelled=False)], ""),
    (Fault.NOWHERE, [with_answer(15, "Hollow Road")], "'Hollow Road' at 15"),
    (Fault.EMPTY, [replace(GOOD, question=" \n")], "the question has no text"),
    (Fault.EMPTY, [with_answer(8, "")], "an answer has no text"),
    (Fault.CONTROL, [replace(GOOD, question="Where\x07?")], "U+0007 at 5 of the question"),
    (Fault.CONTROL, [replace(GOOD, context=GOOD.context + " \ud83d")], "U+D83D at 28"),
    (
        Fault.MOJIBAKE,
        [replace(GOOD, question="Where is the cafÃ©?")],
        "'Ã©' at 16 of the question, perhaps 'é'",
    ),
    (Fault.MOJIBAKE, [replace(GOOD, question="Whatâ€™s a kiln?")], "'â€™' at 4 of the question"),
    (Fault.ENTITY, [replace(GOOD, question="Kiln &amp; lane, R&D; where?")], "'&amp;' at 5"),
    (Fault.ZERO_WIDTH, [replace(GOOD, context=GOOD.context + "\u200b")], "ZERO WIDTH SPACE at 27"),
    (Fault.MISPLACED, [with_answer(15, "Hollow\u00a0Lane")], "'Hollow\\xa0Lane' at 15, is at 15"),
    (Fault.FLAG, [replace(GOOD, is_impossible=True)], "marked impossible but has answers"),
    (Fault.FLAG, [replace(GOOD, answers=())], "has no answer but is not marked impossible"),
    (Fault.SAME_ID, [GOOD, replace(GOOD, question="What kiln?")], "used before in this file"),
    (Fault.CUT, [with_answer(15, "Hollow Lan")], "'Hollow Lan' of 'Hollow Lane'"),
    (Fault.SPACE, [with_answer(14, " Hollow Lane")], "' Hollow Lane'"),
    (Fault.REPEATED, [GOOD, replace(GOOD, id="h")], "'Where is the kiln?'"),
    (
        Fault.MISPLACED,
        [replace(GOOD, plausible_answers=(Span(5, "kiln"),))],
        "'kiln' at 5, is at 4",
    ),
]


@pytest.mark.parametrize(("fault", "examples", "detail"), CASES)
def test_each_fault_is_found_and_nothing_else(
    fault: Fault, examples: list[Example], detail: str
) -> None:
    report = check_items("memory", examples, {})
    (found,) = report.findings
    assert (found.fault, found.id) == (fault, examples[-1].id)
    assert found.detail.startswith(detail)
    assert report.counts() == {fault: 1}


def two(*rows: tuple[str, str | None]) -> list[Sentence]:
    """Two rows of each of two classes, and these."""
    base = [("so fine", "good"), ("so dull", "bad"), ("very fine", "good"), ("very dull", "bad")]
    return [Sentence(str(n), text, label) for n, (text, label) in enumerate([*base, *rows], 1)]


TEXT_CASES: list[tuple[Fault, list[Sentence], str, str]] = [
    (Fault.EMPTY, two((" \n", "good")), "5", "a text is empty"),
    (Fault.EMPTY, [*two(), Sentence("5", "x", "bad", "y")], "5", "a second text, unlike the first"),
    (Fault.CONTROL, two(("a bell\x07", "bad")), "5", "U+0007 at 6 of the text"),
    (Fault.SAME_ID, [*two(), Sentence("1", "x", "bad")], "1", "used before in this file"),
    (Fault.REPEATED_TEXT, two((" so  fine", "good")), "5", "' so  fine', as '1'"),
    (Fault.REPEATED_TEXT, two(("so fine", "good"), ("x", "bad")), "5", "'so fine', as '1'"),
    (Fault.TWO_LABELS, two(("so fine\n", "bad")), "5", "'so fine\\n': 'bad', but 'good' in '1'"),
    (Fault.UNLABELLED_TEXT, two(("x", None)), "5", ""),
    (Fault.ONE_CLASS, two()[::2], "", "all 2 labels are 'good'"),
    (Fault.RARE_CLASS, two(("x", "so so")), "5", "class 'so so'"),
    (Fault.SIMILAR_LABELS, two(("x", "Good"), ("y", "Good")), "1", "'Good', 'good'"),
]


@pytest.mark.parametrize(("fault", "rows", "identity", "detail"), TEXT_CASES)
def test_each_fault_of_texts_is_found_and_nothing_else(
    fault: Fault, rows: list[Sentence], identity: str, detail: str
) -> None:
    (finding,) = check_items("memory", rows, {}).findings
    assert (finding.fault, finding.id) == (fault, identity)
    assert finding.detail.startswith(detail)


def test_same_context_in_two_files(tmp_path: Path, sound: list[Example]) -> None:
    train, dev = tmp_path / "train.json", tmp_path / "dev.jsonl"
    write_examples(train, sound)
    write_examples(dev, [replace(sound[0], id="other", question="Who was Ada Brook?"), GOOD])
    report = check([str(train), str(dev)])
    assert report.is_wrong
    assert report.files[0].findings == []
    (finding,) = report.files[1].findings
    assert finding.fault is Fault.SHARED
    assert finding.id == "other"
    assert finding.detail.endswith(f"is also in {train}")
    # The same id in two files is no fault.
    write_examples(dev, [replace(GOOD, id=sound[0].id)])
    assert not check([str(train), str(dev)]).is_wrong


def test_nearly_the_same_context_in_two_files() -> None:
    """Spaces, case and punctuation make no other text; words and digits do."""
    seen: dict[int, FileReport] = {}
    train = check_items("train", [GOOD], seen)
    others = ("the kiln is  in Hollow Lane", "The kiln is in Hollow Lane 2.")
    dev = check_items(
        "dev",
        [replace(GOOD, id=c, context=c, answers=(), is_impossible=True) for c in others],
        seen,
    )
    assert train.findings == []
    (finding,) = dev.findings
    assert (finding.fault, finding.id) == (Fault.NEAR, others[0])


def test_french_and_portuguese_are_not_mojibake() -> None:
    for text in ("Où est la forêt à Évry ?", "São João não é Ãlvaro.", "« Noël » – 20 €"):
        assert check_items("x", [replace(GOOD, question=text)], {}).findings == []


def test_a_text_in_two_files(tmp_path: Path) -> None:
    """Also between formats, and with another label or other spaces."""
    train, dev = tmp_path / "train.csv", tmp_path / "dev.jsonl"
    train.write_text("text,label\nthe same words,pos\na,neg\nb,pos\nc,neg\n")
    rows = [(" the same  words", "neg"), ("d", "pos"), ("e", "neg"), ("f", "pos")]
    dev.write_text("".join(json.dumps({"text": t, "label": n}) + "\n" for t, n in rows))
    report = check([str(train), str(dev)])
    assert report.files[0].findings == []
    (finding,) = report.files[1].findings
    assert (finding.fault, finding.id) == (Fault.SHARED, "1")
    assert finding.detail == f"text 'the same  words' is also in {train}"
