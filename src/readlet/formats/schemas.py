"""The two kinds of rows: questions about a context, and texts with labels; what they are called."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Content = Literal["questions", "texts"]
"""What the rows of a file are: questions about a context, or texts with labels."""


@dataclass(frozen=True)
class Schema:
    """The fields of a kind of row, and their common names."""

    fields: tuple[str, ...]
    required: tuple[str, ...]
    # Used if the file has no column of the field's own name, and only one of these.
    other_names: Mapping[str, tuple[str, ...]]
    pairs: tuple[tuple[str, str], ...] = ()  # common names of `text` and `second` together
    obvious: tuple[str, ...] = ()  # other names that need no warning

    @property
    def names(self) -> set[str]:
        paired = (name for pair in self.pairs for name in pair)
        others = (name for names in self.other_names.values() for name in names)
        return {*self.fields, *others, *paired}


QUESTIONS = Schema(
    fields=(
        "id",
        "question",
        "context",
        "answers",
        "answer",
        "answer_start",
        "is_impossible",
        "plausible_answers",
        "title",
        "language",
        "question_language",
    ),
    required=("question", "context"),
    other_names={
        "id": ("qid", "question_id"),
        "question": ("query", "question_text"),
        "context": ("passage", "paragraph", "text", "document"),
        "answer": ("answer_text",),
        "answer_start": ("start", "start_char", "answer_offset"),
        "is_impossible": ("impossible",),
        "language": ("lang",),
    },
)
TEXTS = Schema(
    fields=("id", "text", "second", "label"),
    required=("text",),
    other_names={
        "id": ("idx", "index", "guid", "text_id", "sentence_id"),
        "text": (
            *("sentence", "review", "content", "comment", "tweet", "message", "document"),
            *("utterance", "headline", "query", "question", "body", "review_text", "text_a"),
            *("sentence1", "text1", "premise", "first"),
        ),
        "second": (
            *("second_text", "second_sentence", "sentence2", "text2", "text_b", "text_pair"),
            "hypothesis",
        ),
        "label": (
            *("class", "category", "sentiment", "score", "labels", "target", "rating", "stars"),
            *("intent", "topic", "polarity", "gold_label", "label_text", "quality"),
        ),
    },
    pairs=(
        ("sentence1", "sentence2"),
        ("text1", "text2"),
        ("text_a", "text_b"),
        ("question1", "question2"),
        ("premise", "hypothesis"),
        ("question", "sentence"),
        ("query", "document"),
    ),
    obvious=("sentence",),
)
SCHEMAS: dict[Content, Schema] = {"questions": QUESTIONS, "texts": TEXTS}
FIELDS = tuple(dict.fromkeys((*QUESTIONS.fields, *TEXTS.fields)))
KNOWN_NAMES = QUESTIONS.names | TEXTS.names
_ASKING = {"question", *QUESTIONS.other_names["question"]}
_TEXT_NAMES = {"text", *TEXTS.other_names["text"], *(first for first, _ in TEXTS.pairs)}
# Next to a question, these make a row one of question data, whatever else it has.
_OF_QUESTIONS = {
    *("context", "passage", "paragraph"),
    *("answers", "answer", "answer_text", "is_impossible", "impossible"),
}


def is_question_data(names: Iterable[str]) -> bool:
    """Whether rows with these columns have a question, and a context or an answer."""
    simple = {simple_name(name) for name in names}
    return bool(simple & _ASKING) and bool(simple & _OF_QUESTIONS)


def guessed_content(names: Sequence[str]) -> Content | None:
    """What rows with these columns are; None if the names do not say it.

    Texts need a column for labels here: without one, a text may be the context of a question.
    """
    simple = {simple_name(name) for name in names}
    if is_question_data(names):
        return "questions"
    if simple & _TEXT_NAMES and simple & {"label", *TEXTS.other_names["label"]}:
        return "texts"
    return "questions" if simple & (_ASKING | _OF_QUESTIONS) else None


def simple_name(name: str) -> str:
    return "_".join(name.lower().replace("-", " ").split())
