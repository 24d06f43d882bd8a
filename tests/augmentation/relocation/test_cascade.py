"""Answers in translated contexts: the laws of spans, the modes, and what is lost."""

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readlet.augmentation.relocation.cascade import (
    Located,
    Lost,
    LostReason,
    Stage,
    relocate,
    relocate_answer,
)
from readlet.augmentation.relocation.probe_texts import Keep, probe_texts
from readlet.augmentation.translation.types import SentencePair, TranslatedText
from readlet.text.words import word_spans
from readlet.types import Example, Span

NOUNS = ("lamp", "river", "king", "letter", "bridge")
OTHERS = ("green", "ancient", "broken", "saw", "carried", "under", "nobody", "Ada", "1905", "24")


def answer_of(context: str, text: str, occurrence: int = 0) -> Span:
    start = -1
    for _ in range(occurrence + 1):
        start = context.index(text, start + 1)
    return Span(start, text)


def found(made: Any, context: str, answer: Span, keep: str = "verified") -> Located | Lost:
    text = made.translated(context, made.sentences(context))
    return relocate_answer(answer, text, made.sentence, language="", keep=keep)


def located(made: Any, context: str, answer: Span, keep: str = "verified") -> Located:
    one = found(made, context, answer, keep)
    assert isinstance(one, Located)
    text = made.translated(context, made.sentences(context)).text
    assert text[one.span.start : one.span.end] == one.span.text
    return one


@settings(max_examples=150)
@given(data=st.data())
def test_verified_answers_are_the_translated_words(made: Any, data: st.DataObject) -> None:
    """Against the known order of the made-up language; words are repeated in other sentences.

    Inside a sentence, nobody can tell an answer from an equal word that moves across it.
    """
    vocabulary = st.sampled_from(NOUNS + OTHERS)
    one_list = st.lists(vocabulary, min_size=2, max_size=9, unique=True)
    lists = data.draw(st.lists(one_list, min_size=1, max_size=3))
    context = " ".join(f"{' '.join(words)}." for words in lists)
    number = data.draw(st.integers(0, len(lists) - 1))
    words = lists[number]
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, min(len(words) - 1, first + 2)))
    before = sum(len(" ".join(some)) + 2 for some in lists[:number])
    start = before + sum(len(word) + 1 for word in words[:first])
    answer = Span(start, " ".join(words[first : last + 1]))
    assert answer.is_in(context)

    one = found(made, context, answer)
    order = made.moved([*words, "."])
    places = sorted(order.index(place) for place in range(first, last + 1))
    if places != list(range(places[0], places[-1] + 1)):
        return  # the translation scatters the answer
    text = made.translated(context, made.sentences(context))
    offset, end = text.sentences[number].target
    spans = [(offset + a, offset + b) for a, b in word_spans(text.text[offset:end])]
    assert isinstance(one, Located), text.text
    assert (one.span.start, one.span.end) == (spans[places[0]][0], spans[places[-1]][1])
    assert one.verified
    assert len(one.stages) > 1


SIGNS = "ab«»[]{}. ,'’é字漢かไทยء1-\n"


@settings(max_examples=150)
@given(
    sources=st.lists(st.text(SIGNS, min_size=1, max_size=12), min_size=1, max_size=3),
    targets=st.lists(st.text(SIGNS, max_size=12), min_size=3, max_size=3),
    probe=st.text(SIGNS, max_size=12),
    ends=st.tuples(st.integers(0, 40), st.integers(1, 20)),
)
def test_laws_hold_whatever_the_engine_gives(
    sources: list[str], targets: list[str], probe: str, ends: tuple[int, int]
) -> None:
    source, text, pairs = "", "", []
    for one, other in zip(sources, targets, strict=False):
        pairs.append(SentencePair((len(source), len(source + one)), (len(text), len(text + other))))
        source, text = f"{source}{one} ", f"{text}{other} "
    context = TranslatedText(source, text, tuple(pairs))
    start = ends[0] % len(source)
    answer = Span(start, source[start : start + ends[1]])
    kept = {}
    for keep in ("strict", "verified", "all"):
        one_found = relocate_answer(answer, context, lambda _: probe, language="es", keep=keep)
        kept[keep] = isinstance(one_found, Located)
        if isinstance(one_found, Lost):
            assert one_found.reason in LostReason
            continue
        span = one_found.span
        assert span.text
        assert span.is_in(text)
        assert span.text == span.text.strip()
        borders = {place for pair in pairs for place in _borders(text, pair)}
        if keep != "strict":
            assert {span.start, span.end} <= borders
    assert kept["all"] or not kept["verified"]


def _borders(text: str, pair: SentencePair) -> set[int]:
    start, end = pair.target
    return {start + place for span in word_spans(text[start:end]) for place in span}


def test_the_right_one_of_several_occurrences(made: Any) -> None:
    context = "Nobody saw the king. The king saw the old king under a bridge."
    spans = [located(made, context, answer_of(context, "king", n)).span for n in range(3)]
    text = made.translated(context, made.sentences(context)).text
    assert [span.start for span in spans] == sorted({span.start for span in spans})
    assert [span.start for span in spans] == [
        place for place in range(len(text)) if text.startswith(made.word("king"), place)
    ]


def test_an_answer_of_several_sentences(made: Any) -> None:
    context = "Nobody saw Ada. She carried a letter. A king saw it."
    answer = answer_of(context, "Ada. She carried a letter. A king")
    text = made.translated(context, made.sentences(context)).text
    span = located(made, context, answer).span
    assert span.text.startswith("Ada. ")
    assert span.text.endswith(made.word("king", plural=True))
    assert span.text in text


def test_strict_is_the_rule_of_the_paper(made: Any) -> None:
    """The translated answer stands in the context, or the question is lost."""
    context = "Ada saw a green lamp. Nobody saw a letter."
    copied = located(made, context, answer_of(context, "Ada"), "strict")
    assert (copied.span, copied.stages, copied.verified) == (Span(0, "Ada"), (Stage.EXACT,), False)
    other_ending = answer_of(context, "green lamp")
    assert found(made, context, other_ending, "strict") == Lost(
        other_ending, LostReason.NOT_IN_CONTEXT
    )
    assert located(made, context, other_ending, "verified").verified


def test_one_kind_of_evidence_is_not_verified() -> None:
    """Several stages compare with the answer's own translation; that is no confirmation."""
    source, target = "It was very quick.", "Es ging wie der Blitz."
    context = TranslatedText(source, target, (SentencePair((0, 18), (0, 22)),))
    answer = Span(7, "very quick")

    def translate(text: str) -> str:
        return "wie der Blitz" if text == answer.text else "-"

    best = relocate_answer(answer, context, translate, language="de", keep="all")
    assert best == Located(Span(8, "wie der Blitz"), (Stage.EXACT,), verified=False)
    verified = relocate_answer(answer, context, translate, language="de", keep="verified")
    assert verified == Lost(answer, LostReason.NOT_VERIFIED)


def test_an_inexact_stage_does_not_end_in_the_next_phrase() -> None:
    source, target = "From the white lamp, the king came.", "Del lámpara blanca, el rey vino."
    context = TranslatedText(source, target, (SentencePair((0, 35), (0, 32)),))
    probes = {"the white lamp": "El lámpara blanco", "white": "blanco", "lamp": "lámpara"}
    one = relocate_answer(
        Span(5, "the white lamp"),
        context,
        lambda text: probes.get(text, ""),
        language="es",
        keep="verified",
    )
    assert one == Located(Span(4, "lámpara blanca"), (Stage.INFLECTED, Stage.ALIGNED), True)


def test_scripts_without_spaces() -> None:
    signs = str.maketrans("灯塔在河边由王点亮", "ABCDEFGHI")
    source = "灯塔在河边。由王点亮。"

    def translate(text: str) -> str:
        return text.translate(signs).translate(str.maketrans("ABCDEFGHI", "光楼于川旁被君燃明"))

    context = TranslatedText(
        source,
        translate(source),
        (SentencePair((0, 6), (0, 6)), SentencePair((6, 11), (6, 11))),
    )
    one = relocate_answer(Span(3, "河边"), context, translate, language="zh", keep="verified")
    assert isinstance(one, Located)
    assert one.span == Span(3, "川旁")


@pytest.mark.parametrize("keep", get_args(Keep))
def test_all_answers_of_a_question(made: Any, keep: Keep) -> None:
    context = "Ada saw a green lamp under the bridge."
    gold = (answer_of(context, "green lamp"), answer_of(context, "lamp"))
    example = Example("q", "What?", context, (*gold, gold[0]))
    text = made.translated(context, made.sentences(context))
    asked = set(probe_texts(example, made.sentences(context), keep))

    def translate(probe: str) -> str:
        assert probe in asked
        return str(made.sentence(probe))

    result = relocate(example, text, translate, language="", keep=keep)
    strict = keep == "strict"  # inflected words are not found
    assert (len(result.answers), len(result.lost)) == ((1, 1) if strict else (2, 0))


@pytest.mark.parametrize(
    ("answer", "target", "reason"),
    [
        (Span(-1, "lamp"), "Una lámpara.", LostReason.NO_OFFSET),
        (Span(3, "lamp"), "Una lámpara.", LostReason.NO_OFFSET),
        (Span(2, "lamp"), "", LostReason.NO_TRANSLATION),
        (Span(2, "lamp"), "Otra cosa.", LostReason.NOT_FOUND),
    ],
)
def test_every_loss_has_a_reason(answer: Span, target: str, reason: LostReason) -> None:
    context = TranslatedText("A lamp.", target, (SentencePair((0, 7), (0, len(target))),))
    example = Example("q", "What?", context.source, (answer,))
    result = relocate(example, context, lambda _: "", language="es", keep="verified")
    assert result.lost == (Lost(answer, reason),)
    assert result.answers == ()
