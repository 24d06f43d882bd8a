"""New questions by translation, from file to file: counts, ids, reasons, order."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from readlet.augmentation.config import AugmentationConfig
from readlet.augmentation.pipeline import Sources, fill, survey, write
from readlet.augmentation.tally import Tally
from readlet.augmentation.translated_questions import NOT_SAMPLED, OTHER_LANGUAGE, quality_of
from readlet.data import read_examples, write_examples
from readlet.errors import ReadletError
from readlet.types import Example, Span

Made = tuple[list[Example], Tally, list[dict[str, Any]]]
Augment = Callable[..., Made]


@pytest.fixture
def augmented(tmp_path: Path, word_by_word: Any) -> Augment:
    """The written questions, the counts, and the list of what is lost."""

    def augment(
        examples: list[Example], config: AugmentationConfig, odd: dict[str, str] | None = None
    ) -> Made:
        data, out, lost = (tmp_path / f"{name}.jsonl" for name in ("data", "out", "lost"))
        write_examples(data, examples)
        sources, translations = Sources([str(data)]), word_by_word(odd)
        tally, ids = survey(sources, config)
        fill(sources, config, translations, 1)
        write(sources, config, translations, tally, ids, out, lost)
        rows = [json.loads(line) for line in lost.read_text("utf-8").splitlines()]
        return list(read_examples(out)), tally, rows

    return augment


@pytest.fixture
def english(sound: list[Example]) -> list[Example]:
    return [example for example in sound if example.language == "en"]


def test_a_translation(augmented: Augment, english: list[Example]) -> None:
    made, tally, lost = augmented(english, AugmentationConfig(to=("es",), keep="all"))
    assert made[:2] == english
    lamp, oil = made[2:]
    assert (lamp.id, lamp.language, lamp.title) == ("lamp-1-es", "es", "Cape Wick")
    assert lamp.question_language == ""
    assert lamp.question == "Whoes lites thees lampes?"
    assert lamp.context.startswith("Thees lampes ates Capees Wickes wases lites byes Adaes Brookes")
    assert {answer.text for answer in lamp.answers} == {"Adaes Brookes", "Adaes Brookes ines 1881"}
    assert (oil.id, oil.is_impossible, oil.answers) == ("lamp-2-es", True, ())
    counts = tally.languages["es"]
    assert (counts.kept, counts.kept_impossible, counts.copies, counts.lost) == (2, 1, 0, Counter())
    assert (tally.questions, tally.written, lost) == (2, 4, [])


def test_back_without_the_old_questions(augmented: Augment, english: list[Example]) -> None:
    config = AugmentationConfig(to=("es",), back=True, merge=False, fields=("context",))
    made, tally, _ = augmented(english, config)
    assert [example.id for example in made] == ["lamp-1-es-back", "lamp-2-es-back"]
    assert {example.language for example in made} == {"en"}
    assert {example.question_language for example in made} == {""}  # that of their contexts
    assert [example.question for example in made] == [example.question for example in english]
    assert "has been lit by Ada Brook" in made[0].context
    assert Span(made[0].context.index("Ada"), "Ada Brook") in made[0].answers
    assert tally.written == 2


def test_a_question_alone_keeps_its_context_and_answers(
    augmented: Augment, english: list[Example]
) -> None:
    config = AugmentationConfig(to=("es",), fields=("question",))
    _, _, lamp, _ = augmented(english, config)[0]
    asked = {"question": "Whoes lites thees lampes?", "question_language": "es"}
    assert lamp == replace(english[0], id="lamp-1-es", **asked)


def test_a_context_alone_keeps_its_question(augmented: Augment, english: list[Example]) -> None:
    config = AugmentationConfig(to=("es",), fields=("context",), keep="all")
    _, _, lamp, _ = augmented(english, config)[0]
    assert (lamp.question, lamp.language) == (english[0].question, "es")
    assert lamp.question_language == "en"


def test_copies_are_dropped_and_listed(augmented: Augment, english: list[Example]) -> None:
    """Nothing but the word "was" differs after the way back."""
    config = AugmentationConfig(to=("es",), back=True, fields=("question",))
    made, tally, lost = augmented(english, config)
    assert made == english
    assert (tally.languages["es"].copies, tally.languages["es"].kept) == (2, 0)
    reason = "the translation equals the source"
    assert lost == [{"id": e.id, "language": "es", "reason": reason} for e in english]


def test_garbled_questions_are_counted_and_dropped(
    augmented: Augment, english: list[Example]
) -> None:
    """A question is garbled if little of it is left after the way back."""
    first, second = english
    odd = {first.question: "Who lit those lamps?", second.question: "Thick power a dry branch?"}
    config = AugmentationConfig(to=("es",), back=True, merge=False, keep="all")
    _, tally, _ = augmented(english, config, odd)
    found = tally.languages["es"].quality()
    assert found["below 0.6"] == 0.5
    made, tally, lost = augmented(english, replace(config, min_quality=0.6), odd)
    assert [example.id for example in made] == [f"{first.id}-es-back"]
    assert [row["id"] for row in lost] == [second.id]
    assert quality_of("Who lit it?", "who lit  it ?") == 1
    with pytest.raises(ReadletError, match="min-quality"):
        AugmentationConfig(to=("es",), min_quality=0.6)


def test_every_loss_has_a_reason(augmented: Augment, english: list[Example]) -> None:
    first, second = english
    more = [
        first,
        replace(second, id="no-question"),
        Example("no-context", "When?", "In May.", is_impossible=True),
        Example("gone", "Where?", "Lamps stand at Cape Wick.", (Span(15, "Cape Wick"),)),
    ]
    odd = {second.question: " ", "In May.": "", "Lamps stand at Cape Wick.": "Todo."}
    config = AugmentationConfig(to=("es",), keep="strict", merge=False)
    made, tally, lost = augmented(more, config, odd)
    assert [example.id for example in made] == ["lamp-1-es"]
    assert {row["id"]: row["reason"] for row in lost} == {
        "no-question": "question: empty translation",
        "no-context": "sentence of the context: empty translation",
        "gone": "the translated answer is not in the translated context",
    }
    counts = tally.languages["es"]
    assert counts.asked == 4
    assert counts.lost.total() == 3
    assert counts.kept_share == 0.25


def test_several_languages_stay_together_by_article(
    augmented: Augment, english: list[Example]
) -> None:
    other = replace(english[0], id="else", title="Another")
    made, _, _ = augmented([*english, other], AugmentationConfig(to=("es", "fr"), keep="all"))
    assert [(example.title, example.language) for example in made] == [
        *[("Cape Wick", "en")] * 2,
        *[("Cape Wick", "es")] * 2,
        *[("Cape Wick", "fr")] * 2,
        *[("Another", language) for language in ("en", "es", "fr")],
    ]


def test_ids_stay_unique(augmented: Augment, english: list[Example]) -> None:
    """An id of the data may look like a new one, and ids of the data may repeat."""
    lamp = english[0]
    old = [lamp, replace(lamp, id="lamp-1-es"), lamp, replace(lamp, id="lamp-1-es-2")]
    made, _, _ = augmented(old, AugmentationConfig(to=("es",), keep="all"))
    assert [example.id for example in made[:4]] == [example.id for example in old]
    new = [example.id for example in made[4:]]
    assert new == ["lamp-1-es-3", "lamp-1-es-es", "lamp-1-es-4", "lamp-1-es-2-es"]


def test_other_languages_and_the_rest_of_the_sample_are_left(
    augmented: Augment, sound: list[Example]
) -> None:
    many = [replace(e, id=f"{e.id}-{number}") for number in range(40) for e in sound]
    config = AugmentationConfig(to=("fr",), share=0.5, keep="all")
    made, tally, _ = augmented(many, config)
    assert tally.left[OTHER_LANGUAGE] == 40
    assert 20 <= tally.left[NOT_SAMPLED] <= 60
    assert tally.kept == 80 - tally.left[NOT_SAMPLED]
    new = {example.id for example in made if example.language == "fr"}
    backwards, _, _ = augmented(many[::-1], config)
    assert {example.id for example in backwards if example.language == "fr"} == new
    others, _, _ = augmented(many, replace(config, seed=1))
    assert {example.id for example in others if example.language == "fr"} != new


def test_nothing_to_translate(augmented: Augment, tmp_path: Path, sound: list[Example]) -> None:
    with pytest.raises(ReadletError, match="1 in another language"):
        augmented(sound[2:], AugmentationConfig(to=("fr",)))
    config = AugmentationConfig(to=("es",), back=True, fields=("question",), merge=False)
    with pytest.raises(ReadletError, match="--keep all"):
        augmented(sound[:2], config)
    assert not (tmp_path / "out.jsonl").exists()
    assert not (tmp_path / "lost.jsonl").exists()


def test_a_context_is_collected_once(
    word_by_word: Any, tmp_path: Path, english: list[Example]
) -> None:
    data = tmp_path / "data.jsonl"
    write_examples(data, english * 10)
    translations = word_by_word()
    fill(Sources([str(data)]), AugmentationConfig(to=("es",)), translations, 1)
    assert translations.asked.count(english[0].context) == 1
