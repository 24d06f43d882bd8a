"""Unanswerable questions, made by altering a question so that its paragraph has no answer.

English only. One piece of the question changes: another name, another number, the opposite of a
word, or an added "not". The answers of the original question become plausible wrong answers.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from readlet.augmentation.names import Names
from readlet.augmentation.new_questions import Article, Articles, NewQuestions, draw, plain
from readlet.augmentation.numbers import Numbers
from readlet.augmentation.opposites import negate, replace_by_opposite
from readlet.augmentation.passages import Passage, Piece, is_asked, read_passage
from readlet.text.languages import UNKNOWN
from readlet.types import Example, free_id

NAME, NUMBER, OPPOSITE, NEGATION = "name", "number", "opposite", "negation"
# Target proportions of the kinds; where one falls short, the others fill in.
MIX: Mapping[str, float] = {NAME: 0.5, NUMBER: 0.15, OPPOSITE: 0.25, NEGATION: 0.1}
# Priority of a kind. Few questions contain a number or a word with an opposite, so these kinds
# are tried before names, which would otherwise use most of such questions.
_PRIORITY: Mapping[str, float] = {NAME: 1, NUMBER: 6, OPPOSITE: 12, NEGATION: 2}

NOT_ENGLISH = "not in English, the only supported language"
NO_RULE = "without a name, number or word that a rule can change"

Rule = Callable[[Example, Passage, random.Random], Piece | None]


def alter_questions(
    examples: Sequence[Example], wanted: int, seed: int, mix: Mapping[str, float] = MIX
) -> NewQuestions:
    """Up to `wanted` impossible questions, at most one from each answerable one.

    `mix` has the kinds of alterations to use, with their proportions.

    The result depends on the seed and on the questions, not on their order.
    """
    maker = _Maker(examples)
    quota = {kind: round(wanted * part) for kind, part in mix.items()}
    answerable = (e for e in examples if e.answers and not e.is_impossible)
    drawn = sorted(((draw(e, seed, "altered"), e) for e in answerable), key=lambda pair: pair[0])
    spare: list[tuple[bytes, Example, list[str]]] = []
    left: defaultdict[str, list[str]] = defaultdict(list)
    for number, example in drawn:
        if len(maker.added) == wanted:
            break
        if not maker.is_english(example):
            left[NOT_ENGLISH].append(example.id)
            continue
        kinds = [kind for kind in mix if len(maker.kinds[kind]) < quota[kind]]
        if not maker.make(example, kinds, number):
            spare.append((number, example, [kind for kind in mix if kind not in kinds]))
    for number, example, kinds in spare:
        more = len(maker.added) < wanted
        if not kinds or (more and not maker.make(example, kinds, number)):
            left[NO_RULE].append(example.id)
    return maker.result(wanted, left)


class _Maker:
    """Makes new questions and keeps track of all existing ones."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self.added: list[Example] = []
        self.originals: list[Example] = []
        self.kinds: defaultdict[str, list[str]] = defaultdict(list)
        self._taken = {example.id for example in examples}
        self._article_of = article_of = Articles(examples).of
        self._passages = _passages(examples, article_of)
        # Sorted by text, so that the order of the input does not matter.
        articles = {
            article: [passages[text] for text in sorted(passages)]
            for article, passages in self._passages.items()
        }
        names, numbers = Names(articles), Numbers(articles)
        self._rules: dict[str, Rule] = {
            NAME: lambda e, p, rng: names.replace(e.question, p, article_of(e), rng),
            NUMBER: lambda e, p, rng: numbers.replace(e.question, p, article_of(e), rng),
            OPPOSITE: lambda e, p, rng: replace_by_opposite(e.question, p, rng),
            NEGATION: lambda e, p, rng: negate(e.question, p),
        }

    def is_english(self, example: Example) -> bool:
        _, language = self._article_of(example)
        # A text that is too short for a guess is assumed to be English.
        return language in ("en", UNKNOWN)

    def find(self, example: Example, kind: str, number: bytes) -> Piece | None:
        """The change of the question by a kind of alteration, unless the result exists already."""
        rng = random.Random(number + kind.encode())
        passage = self._passage(example)
        piece = self._rules[kind](example, passage, rng)
        if piece is None or is_asked(passage, piece.apply_to(example.question)):
            return None
        return piece

    def make(self, example: Example, kinds: Sequence[str], number: bytes) -> bool:
        """Make one new question by the first kind that applies, in a weighted random order."""
        order = random.Random(number)
        rank = {kind: order.random() ** (1 / _PRIORITY[kind]) for kind in MIX}
        for kind in sorted(kinds, key=rank.__getitem__, reverse=True):
            piece = self.find(example, kind, number)
            if piece is None:
                continue
            new = replace(
                example,
                id=free_id(f"{example.id}-altered", self._taken),
                question=piece.apply_to(example.question),
                answers=(),
                is_impossible=True,
                plausible_answers=example.answers,
            )
            self._taken.add(new.id)
            self._passage(example).asked.add(plain(new.question))
            self.added.append(new)
            self.originals.append(example)
            self.kinds[kind].append(new.id)
            return True
        return False

    def result(self, wanted: int, left: Mapping[str, list[str]]) -> NewQuestions:
        made = {kind: self.kinds[kind] for kind in MIX if self.kinds[kind]}
        return NewQuestions(self.added, self.originals, wanted, made, dict(left))

    def _passage(self, example: Example) -> Passage:
        return self._passages[self._article_of(example)][example.context]


def _passages(
    examples: Sequence[Example], article_of: Callable[[Example], Article]
) -> dict[Article, dict[str, Passage]]:
    found: defaultdict[Article, dict[str, Passage]] = defaultdict(dict)
    for example in examples:
        passages = found[article_of(example)]
        if example.context not in passages:
            passages[example.context] = read_passage(example.context)
        passages[example.context].asked.add(plain(example.question))
    return dict(found)
