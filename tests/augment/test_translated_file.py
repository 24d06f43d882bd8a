"""New questions by translation, from file to file: counts, ids, reasons, order."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from readlet.augment.assembly import assemble
from readlet.augment.parts import Parts, check_part, write_part
from readlet.augment.plan import Plan
from readlet.augment.shards import Shard
from readlet.augment.tally import NOT_SAMPLED, OTHER_LANGUAGE, Tally
from readlet.augment.text_statistics import TextStatistics
from readlet.augment.translated_file import Sources, fill, survey
from readlet.augment.translated_questions import Split
from readlet.errors import CannotResumeError, ReadletError
from readlet.formats import read_examples, write_examples
from readlet.translation.types import Route, TranslatedText
from readlet.types import Example, Span

Made = tuple[list[Example], Tally, list[dict[str, Any]]]
Augment = Callable[..., Made]


@pytest.fixture
def augmented(tmp_path: Path, word_by_word: Any, sentences: Split) -> Augment:
    """The written questions, the counts, and the list of what is lost."""

    def augment(
        examples: list[Example], plan: Plan, odd: dict[str, str] | None = None, count: int = 1
    ) -> Made:
        data, out, lost = (tmp_path / f"{name}.jsonl" for name in ("data", "out", "lost"))
        write_examples(data, examples)
        sources, translations = Sources([str(data)]), word_by_word(odd)
        found = survey(sources, plan)
        fill(sources, plan, sentences, translations.fill, 1)
        parts = Parts(out, count)
        for number in range(count):
            write_part(parts, number, sources, plan, translations.get, found)
        tally = assemble(sources, plan, parts, found, lost=lost, statistics=TextStatistics(plan))
        parts.remove()
        rows = [json.loads(line) for line in lost.read_text("utf-8").splitlines()]
        return list(read_examples(out)), tally, rows

    return augment


@pytest.fixture
def english(sound: list[Example]) -> list[Example]:
    return [example for example in sound if example.language == "en"]


def test_a_translation(augmented: Augment, english: list[Example]) -> None:
    made, tally, lost = augmented(english, Plan(to=("es",), keep="all"))
    assert made[:2] == english
    lamp, oil = made[2:]
    assert (lamp.id, lamp.language, lamp.title) == ("lamp-1-es", "es", "Cape Wick")
    assert lamp.question_language == ""
    assert lamp.question == "Whoes lites thees lampes?"
    assert lamp.context.startswith("Thees lampes ates Capees Wickes wases lites byes Adaes Brookes")
    assert {answer.text for answer in lamp.answers} == {"Adaes Brookes", "Adaes Brookes ines 1881"}
    assert (oil.id, oil.is_impossible, oil.answers) == ("lamp-2-es", True, ())
    assert [answer.text for answer in oil.plausible_answers] == ["Fishermenes"]
    counts = tally.languages["es"]
    assert (counts.kept, counts.kept_impossible, counts.copies, counts.lost) == (2, 1, 0, Counter())
    assert (tally.questions, tally.written, lost) == (2, 4, [])


def test_back_without_the_old_questions(augmented: Augment, english: list[Example]) -> None:
    plan = Plan(to=("es",), back=True, merge=False, fields=("context",))
    made, tally, _ = augmented(english, plan)
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
    plan = Plan(to=("es",), fields=("question",))
    _, _, lamp, _ = augmented(english, plan)[0]
    asked = {"question": "Whoes lites thees lampes?", "question_language": "es"}
    assert lamp == replace(english[0], id="lamp-1-es", **asked)


def test_a_context_alone_keeps_its_question(augmented: Augment, english: list[Example]) -> None:
    plan = Plan(to=("es",), fields=("context",), keep="all")
    _, _, lamp, _ = augmented(english, plan)[0]
    assert (lamp.question, lamp.language) == (english[0].question, "es")
    assert lamp.question_language == "en"


def test_copies_are_dropped_and_listed(augmented: Augment, english: list[Example]) -> None:
    """Nothing but the word "was" differs after the way back."""
    plan = Plan(to=("es",), back=True, fields=("question",))
    made, tally, lost = augmented(english, plan)
    assert made == english
    assert (tally.languages["es"].copies, tally.languages["es"].kept) == (2, 0)
    reason = "the translation equals the source"
    assert lost == [{"id": e.id, "language": "es", "reason": reason} for e in english]


def test_every_loss_has_a_reason(augmented: Augment, english: list[Example]) -> None:
    first, second = english
    more = [
        first,
        replace(second, id="no-question"),
        Example("no-context", "When?", "In May.", is_impossible=True),
        Example("gone", "Where?", "Lamps stand at Cape Wick.", (Span(15, "Cape Wick"),)),
    ]
    odd = {second.question: " ", "In May.": "", "Lamps stand at Cape Wick.": "Todo."}
    plan = Plan(to=("es",), keep="strict", merge=False)
    made, tally, lost = augmented(more, plan, odd)
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
    made, _, _ = augmented([*english, other], Plan(to=("es", "fr"), keep="all"))
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
    made, _, _ = augmented(old, Plan(to=("es",), keep="all"))
    assert [example.id for example in made[:4]] == [example.id for example in old]
    new = [example.id for example in made[4:]]
    assert new == ["lamp-1-es-3", "lamp-1-es-es", "lamp-1-es-4", "lamp-1-es-2-es"]


def test_other_languages_and_the_rest_of_the_sample_are_left(
    augmented: Augment, sound: list[Example]
) -> None:
    many = [replace(e, id=f"{e.id}-{number}") for number in range(40) for e in sound]
    plan = Plan(to=("fr",), share=0.5, keep="all")
    made, tally, _ = augmented(many, plan)
    assert tally.left[OTHER_LANGUAGE] == 40
    assert 20 <= tally.left[NOT_SAMPLED] <= 60
    assert tally.kept == 80 - tally.left[NOT_SAMPLED]
    new = {example.id for example in made if example.language == "fr"}
    backwards, _, _ = augmented(many[::-1], plan)
    assert {example.id for example in backwards if example.language == "fr"} == new
    others, _, _ = augmented(many, replace(plan, seed=1))
    assert {example.id for example in others if example.language == "fr"} != new


def test_nothing_to_translate(augmented: Augment, tmp_path: Path, sound: list[Example]) -> None:
    with pytest.raises(ReadletError, match=r"has no question to translate \(1 in another language"):
        augmented(sound[2:], Plan(to=("fr",)))
    plan = Plan(to=("es",), back=True, fields=("question",), merge=False)
    with pytest.raises(ReadletError, match="no new question is left; keep more with --keep all"):
        augmented(sound[:2], plan)
    assert not (tmp_path / "out.jsonl").exists()
    assert not (tmp_path / "lost.jsonl").exists()


def test_a_file_that_changes_is_noticed(
    word_by_word: Any, sentences: Split, tmp_path: Path, english: list[Example]
) -> None:
    data = tmp_path / "data.jsonl"
    write_examples(data, english)
    sources, plan, translations = Sources([str(data)]), Plan(to=("es",)), word_by_word()
    found = survey(sources, plan)
    fill(sources, plan, sentences, translations.fill, 1)
    parts = Parts(tmp_path / "out.jsonl", 1)
    write_part(parts, 0, sources, plan, translations.get, found)
    write_examples(data, english[:1])
    with pytest.raises(ReadletError, match="has other questions than when it was read first"):
        assemble(sources, plan, parts, found)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_context_is_collected_once(
    word_by_word: Any, sentences: Split, tmp_path: Path, english: list[Example]
) -> None:
    data = tmp_path / "data.jsonl"
    write_examples(data, english * 10)
    translations = word_by_word()
    fill(Sources([str(data)]), Plan(to=("es",)), sentences, translations.fill, 1)
    assert translations.asked.count(english[0].context) == 1


def test_shards_collect_the_articles_of_their_own(
    word_by_word: Any, sentences: Split, tmp_path: Path, english: list[Example]
) -> None:
    """Together they have all texts; none has the article of another."""
    many = [replace(e, id=f"{e.id}-{n}", title=f"{n}") for n in range(5) for e in english]
    many = [replace(e, question=f"{e.title}: {e.question}") for e in many]
    data = tmp_path / "data.jsonl"
    write_examples(data, many)
    sources, plan, whole = Sources([str(data)]), Plan(to=("es", "fr")), word_by_word()
    fill(sources, plan, sentences, whole.fill, len(many))
    together = set()
    for number in range(2):
        own = word_by_word()
        fill(sources, plan, sentences, own.fill, len(many), Shard(number, 2))
        titles = {text[0] for text in own.asked if text.endswith("?")}
        assert titles == {str(n) for n in range(number, 5, 2)}
        together |= own.filled
    assert together == whole.filled


def test_parts_of_another_number_of_processes_are_removed(tmp_path: Path) -> None:
    """And no other file, though it begins with the same name."""
    for name in (
        "out.jsonl",
        "out.jsonl.part-1",
        "out.jsonl.part-2-of-2x",
        "a-out.jsonl.part-1-of-2",
    ):
        (tmp_path / name).touch()
    before = set(tmp_path.iterdir())
    for count in (1, 2, 8):
        Parts(tmp_path / "out.jsonl", count).path(count - 1).touch()
    Parts(tmp_path / "out.jsonl", 2).remove()
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("count", [2, 3])
def test_processes_give_the_same_file_together(
    augmented: Augment, tmp_path: Path, english: list[Example], count: int
) -> None:
    """Also if there are more of them than articles."""
    many = [replace(e, id=f"{e.id}-{n}", title=str(n)) for n in range(5) for e in english]
    many = many[: 2 * count + 2] if count == 2 else many[:4]
    plan = Plan(to=("es", "fr"), share=0.7)
    expected = augmented(many, plan)
    alone = (tmp_path / "out.jsonl").read_bytes(), (tmp_path / "lost.jsonl").read_bytes()
    assert augmented(many, plan, count=count) == expected
    together = (tmp_path / "out.jsonl").read_bytes(), (tmp_path / "lost.jsonl").read_bytes()
    assert together == alone
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("data.jsonl", "lost.jsonl", "out.jsonl")
    ]


def test_a_killed_process_continues(
    tmp_path: Path, word_by_word: Any, sentences: Split, english: list[Example]
) -> None:
    """After the last block that it stored; nothing is made twice."""
    data, out = tmp_path / "data.jsonl", tmp_path / "out.jsonl"
    write_examples(
        data, [replace(e, id=f"{e.id}-{n}", title=str(n)) for n in range(6) for e in english]
    )
    sources, plan, translations = Sources([str(data)]), Plan(to=("es",)), word_by_word()
    fill(sources, plan, sentences, translations.fill, 1)
    parts, whole = Parts(out, 1), Parts(tmp_path / "whole.jsonl", 1)
    write_part(whole, 0, sources, plan, translations.get, survey(sources, plan))
    lines = whole.path(0).read_bytes().splitlines(keepends=True)
    parts.path(0).write_bytes(b"".join(lines[:4]) + lines[4][:20])
    asked: list[str] = []

    def get(text: str, route: Route) -> TranslatedText:
        asked.append(text)
        found: TranslatedText = translations.get(text, route)
        return found

    write_part(parts, 0, sources, plan, get, survey(sources, plan))
    assert parts.path(0).read_bytes() == whole.path(0).read_bytes()
    assert asked.count(english[0].context) == 3  # six articles, of which three were stored
    assemble(sources, plan, parts, survey(sources, plan))
    assemble(sources, plan, whole, survey(sources, plan))
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_the_part_of_another_plan_is_not_continued(
    tmp_path: Path, word_by_word: Any, sentences: Split, english: list[Example]
) -> None:
    data, parts = tmp_path / "data.jsonl", Parts(tmp_path / "out.jsonl", 1)
    write_examples(data, english)
    sources, plan, translations = Sources([str(data)]), Plan(to=("es",)), word_by_word()
    fill(sources, plan, sentences, translations.fill, 1)
    write_part(parts, 0, sources, plan, translations.get, survey(sources, plan))
    check_part(parts, 0, plan, survey(sources, plan))
    other = replace(plan, keep="all")
    with pytest.raises(CannotResumeError, match="beginning of an output with another plan; rem"):
        check_part(parts, 0, other, survey(sources, other))
    with pytest.raises(CannotResumeError, match="beginning of an output with another plan; rem"):
        write_part(parts, 0, sources, other, translations.get, survey(sources, other))
    check_part(Parts(tmp_path / "new.jsonl", 1), 0, plan, survey(sources, plan))
    assert not list(tmp_path.glob("new.jsonl*"))
