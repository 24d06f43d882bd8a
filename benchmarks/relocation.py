"""How many answers are found again after translation, and how many of these rightly.

    python benchmarks/relocation.py --xquad FOLDER --to es --cache FILE
    python benchmarks/relocation.py --xquad FOLDER --to es --cache FILE --markers
    python benchmarks/relocation.py --xquad FOLDER --to fr --engine en-fr,fr-en --cache FILE

XQuAD has the same questions in several languages, with answers that people marked in each. The
English side is translated, and its answers are located: in the other language, and in English after
a translation back. The first of every two articles served to choose thresholds; the others are
reported.

A machine translation never agrees word by word with what people marked. So there are two measures:

labelled  The right words are marked in the machine translations (`relocation_labels.tsv`: places,
          no texts). A located answer is right if it is such a span, articles, prepositions and
          signs at its borders aside. Where a translation scatters the answer's words, no span is
          right. A label holds for one translation of its context; with others it is skipped, and
          counted.
human     The located text and the answer that people marked in that language have at least half of
          their words in common (F1), by their first five letters, function words aside. It needs no
          labels, but takes other words of the same meaning for an error: a lower bound. Languages
          that XQuAD does not have go without it, except for the translation back.

`--markers` compares signs around the answer, on the articles that served to choose: how often both
survive, how often all other words stay as they were, how often the answer is found by them, and how
often this is the place of the translated answer, where that stands in the sentence exactly once.
"""

import argparse
import csv
import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from scipy.stats import binomtest

from readlet.augmentation.relocation.cascade import (
    Located,
    Lost,
    agree,
    core,
    relocate_answer,
    stage_spans,
)
from readlet.augmentation.relocation.probe_texts import Keep, asked_sentences, place_of, probe_texts
from readlet.augmentation.relocation.stages import Alignment, find_marked, occurrences
from readlet.augmentation.translation.batch_translator import BatchTranslator, Cache
from readlet.augmentation.translation.engines import translator_for
from readlet.augmentation.translation.sentences import split_sentences
from readlet.augmentation.translation.types import LanguagePair, Range, Route, TranslatedText
from readlet.data import read_examples
from readlet.text.languages import FUNCTION_WORDS
from readlet.text.words import snap, word_spans, words
from readlet.types import Example, Span

LABELS = Path(__file__).with_name("relocation_labels.tsv")
STEM = 5
KINDS = (("[", "]"), ("<b>", "</b>"), ("(", ")"), ("«", "»"), ("“", "”"), ("{", "}"))
MODES: tuple[Keep, ...] = get_args(Keep)


@dataclass(frozen=True)
class Question:
    """A question with its translated context, and the answer that people marked there."""

    example: Example
    context: TranslatedText
    human: str | None  # None if XQuAD does not have the language
    language: str
    labels: list[Range] | None  # right spans, none if it has no right one; None without a label

    @property
    def answer(self) -> Span:
        return self.example.answers[0]

    def is_labelled_right(self, span: Span) -> bool:
        right = [Span(start, self.context.text[start:end]) for start, end in self.labels or ()]
        return any(self._core(span) == self._core(one) for one in right)

    def _core(self, span: Span) -> Range:
        spans = word_spans(self.context.text)
        found = snap(spans, span.start, span.end)
        assert found is not None
        texts = [self.context.text[start:end] for start, end in spans]
        return core((found.first, found.last + 1), texts, self.language)

    def is_like_human(self, span: Span) -> bool:
        located, human = self._stems(span.text), self._stems(self.human or "")
        common = (located & human).total()
        return 2 * common >= 0.5 * (located.total() + human.total())

    def _stems(self, text: str) -> Counter[str]:
        all_words = [word.casefold() for word in words(text) if any(map(str.isalnum, word))]
        light = FUNCTION_WORDS.get(self.language, frozenset())
        content = [word for word in all_words if word not in light]
        return Counter(word[:STEM] for word in content or all_words)


def reported(examples: Sequence[Example], half: int = 1) -> list[Example]:
    """The questions of every second article; half 0 served to choose."""
    titles = list(dict.fromkeys(example.title for example in examples))
    return [example for example in examples if titles.index(example.title) % 2 == half]


def answers(examples: Iterable[Example]) -> dict[str, str]:
    return {example.id: example.answers[0].text for example in examples}


def read_labels() -> dict[tuple[str, str], tuple[str, list[Range]]]:
    """By route and question: a digest of the translated context, and the right spans."""
    labels: dict[tuple[str, str], tuple[str, list[Range]]] = {}
    with LABELS.open(encoding="utf-8", newline="") as file:
        for route, identity, digest, places in csv.reader(file, delimiter="\t"):
            pairs = [place.split("-") for place in places.split(",") if place]
            labels[route, identity] = digest, [(int(start), int(end)) for start, end in pairs]
    return labels


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def name_of(route: Route) -> str:
    return "-".join([route[0].source, *(pair.target for pair in route)])


def questions(
    examples: Sequence[Example], human: Mapping[str, str], pool: BatchTranslator, route: Route
) -> Iterator[Question]:
    texts = {example.context for example in examples}
    for example in examples:
        sentences = split_sentences(example.context)
        texts.update(probe_texts(example, sentences, "all", has_links=pool.has_links(route)))
    print(f"\n{name_of(route)}: {pool.fill(sorted(texts), route)} new translations")
    labels = read_labels()
    for example in examples:
        context = pool.get(example.context, route)
        made_for, spans = labels.get((name_of(route), example.id), ("", []))
        known = spans if made_for == digest(context.text) else None
        yield Question(example, context, human.get(example.id), route[-1].target, known)


def by_stage(asked: Sequence[Question], translate: Callable[[str], str]) -> dict[str, list[Span]]:
    """What every stage finds by itself; an empty span where it finds nothing."""
    found: defaultdict[str, list[Span]] = defaultdict(list)
    for question in asked:
        ranges = [pair.source for pair in question.context.sentences]
        sentences = asked_sentences(question.context.source, question.answer, ranges)
        place = place_of(sentences, question.context)
        alignment = Alignment(place, translate)
        stages = stage_spans(question.answer, place, sentences, translate, alignment)
        for stage, words_found in stages:
            span = place.span(words_found) if words_found else Span(0, "")
            found[f"stage {stage}"].append(span)
    return found


def by_mode(asked: Sequence[Question], translate: Callable[[str], str]) -> dict[str, list[Span]]:
    found: defaultdict[str, list[Span]] = defaultdict(list)
    losses: Counter[str] = Counter()
    for question in asked:
        for keep in MODES:
            one = relocate_answer(
                question.answer,
                question.context,
                translate,
                language=question.language,
                keep=keep,
            )
            found[f"mode {keep}"].append(one.span if isinstance(one, Located) else Span(0, ""))
            if isinstance(one, Lost):
                losses[f"{keep}: {one.reason}"] += 1
    for reason, count in sorted(losses.items()):
        print(f"lost, {reason}: {count}")
    return found


def by_round_trip(
    asked: Sequence[Question], translate: Callable[[str], str], back: Callable[[str], str]
) -> dict[str, list[Span]]:
    """What `verified` keeps, and what else is the answer again when it is translated back."""
    found: list[Span] = []
    for question in asked:
        one = relocate_answer(
            question.answer, question.context, translate, language=question.language, keep="all"
        )
        wanted = [word.casefold() for word in words(question.answer.text)]
        passes = isinstance(one, Located) and (
            one.verified or [word.casefold() for word in words(back(one.span.text))] == wanted
        )
        found.append(one.span if isinstance(one, Located) and passes else Span(0, ""))
    return {"verified, or a round trip": found}


def by_markers(
    examples: Sequence[Example], human: Mapping[str, str], pool: BatchTranslator, route: Route
) -> Iterator[str]:
    """A row of the table for every kind of markers."""

    def translate(text: str) -> str:
        return pool.get(text, route).text

    places = []
    for question in questions(examples, human, pool, route):
        ranges = [pair.source for pair in question.context.sentences]
        sentences = asked_sentences(question.context.source, question.answer, ranges)
        places.append((question, sentences, place_of(sentences, question.context)))
    for signs in KINDS:
        marked = {one.marked(signs) for _, sentences, _ in places for one in sentences}
        pool.fill(sorted(filter(None, marked)), route)
        counts: Counter[str] = Counter()
        for question, sentences, place in places:
            texts = [one.marked(signs) for one in sentences]
            made = [translate(text) if text else "" for text in texts]
            counts["survived"] += all(
                text.count(signs[0]) == text.count(signs[1]) == 1
                and text.index(signs[0]) < text.index(signs[1])
                for text in made
            )
            rest = " ".join(made).replace(signs[0], " ").replace(signs[1], " ")
            there = [word.casefold() for word in place.words]
            counts["unchanged"] += [word.casefold() for word in words(rest)] == there
            found = find_marked(signs, place, sentences, translate)
            counts["found"] += found is not None
            alone = [word.casefold() for word in words(translate(question.answer.text))]
            exact = occurrences(there, alone)
            if found and len(exact) == 1:
                counts["compared"] += 1
                counts["agreed"] += agree(found, exact[0], place.words, question.language)
        shares = [share(counts[name], len(places)) for name in ("survived", "unchanged", "found")]
        agreed = share(counts["agreed"], counts["compared"])
        yield f"| `{signs[0]} {signs[1]}` | {' | '.join(shares)} | {agreed} |"


def row(name: str, asked: Sequence[Question], spans: Sequence[Span]) -> str:
    kept = [(question, span) for question, span in zip(asked, spans, strict=True) if span.text]
    labelled = [pair for pair in kept if pair[0].labels is not None]
    right = sum(question.is_labelled_right(span) for question, span in labelled)
    interval = "-"
    if labelled:
        bounds = binomtest(right, len(labelled)).proportion_ci(method="wilson")
        interval = f"{100 * bounds.low:.1f} to {100 * bounds.high:.1f}"
    marked = [pair for pair in kept if pair[0].human is not None]
    human = sum(question.is_like_human(span) for question, span in marked)
    return (
        f"| {name} | {share(len(kept), len(asked))} | {share(right, len(labelled))} "
        f"| {interval} | {share(human, len(marked))} |"
    )


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--xquad", type=Path, required=True)
    parser.add_argument("--to", default="es")
    parser.add_argument("--engine", help="as in readlet augment, such as en-fr,fr-en")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--markers", action="store_true", help="compare kinds of markers instead")
    args = parser.parse_args()

    half = 0 if args.markers else 1
    english = reported(list(read_examples(str(args.xquad / "xquad.en.json.gz"))), half)
    other = args.xquad / f"xquad.{args.to}.json.gz"
    there = answers(read_examples(str(other))) if other.is_file() else {}
    here = answers(english)
    pool = BatchTranslator(Cache(args.cache), lambda pair: translator_for(pair, args.engine))
    to, back = LanguagePair("en", args.to), LanguagePair(args.to, "en")
    routes: list[tuple[Route, Mapping[str, str]]] = [((to,), there), ((to, back), here)]
    for route, human in routes:
        if args.markers:
            print(f"\n| {name_of(route)}, % | survived | rest unchanged | found | right place |")
            print("|---|---|---|---|---|", *by_markers(english, human, pool, route), sep="\n")
            continue
        asked = list(questions(english, human, pool, route))
        labelled = sum(question.labels is not None for question in asked)
        print(f"{name_of(route)}: {len(asked)} questions, {labelled} with a label that holds")

        def translate(text: str, route: Route = route) -> str:
            return pool.get(text, route).text

        rows = by_mode(asked, translate) | by_stage(asked, translate)
        if len(route) == 1:
            rows |= by_round_trip(asked, translate, lambda text: pool.get(text, (back,)).text)
        print(
            "\n| % | kept | right, labelled | 95 % interval | right, human |\n|---|---|---|---|---|"
        )
        for name, spans in rows.items():
            print(row(name, asked, spans))


if __name__ == "__main__":
    main()
