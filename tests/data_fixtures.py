"""Fixtures: examples and texts, in memory and in files."""

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from readlet.data.rows import located
from readlet.types import Example, Span


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of public datasets next to the repository; most machines do not have it."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the public datasets are not next to this repository")
    return folder


@pytest.fixture(scope="session")
def sound() -> list[Example]:
    """A few valid examples: with titles, languages, several golds, and no answer."""
    lamp = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil."
    puente = "El puente viejo une las dos orillas del río. Se abrió en 1904."
    return [
        Example(
            "lamp-1",
            "Who lit the lamp?",
            lamp,
            (Span(33, "Ada Brook"), Span(33, "Ada Brook in 1881")),
            title="Cape Wick",
            language="en",
        ),
        Example(
            "lamp-2",
            "Who sold the oil?",
            lamp,
            is_impossible=True,
            plausible_answers=(Span(52, "Fishermen"),),
            title="Cape Wick",
            language="en",
        ),
        Example("puente-1", "¿Cuándo se abrió?", puente, (Span(57, "1904"),), language="es"),
    ]


@st.composite
def _texts(draw: DrawFn) -> str:
    """Text that is hard to parse: quotes, unusual line ends, invisible characters."""
    invisible = ["\x00", "\x1f", "\x85", "\u2028", "\ufeff", "\ufffd", "\r", "\n", "\t", " "]
    visible = ['"', "\\", '"data": [', "NaN", ",", "e\u0301", "👩🏽\u200d🚀", "🇫🇷", "水", "don't"]
    odd = st.sampled_from([*invisible, *visible])
    return "".join(draw(st.lists(odd | st.text(max_size=4), max_size=6)))


@st.composite
def _spans(draw: DrawFn, context: str) -> Span:
    """A span of the context; or a shifted, foreign or empty one."""
    start = draw(st.integers(0, len(context)))
    end = draw(st.integers(start, len(context)))
    kind = draw(st.sampled_from(["right", "right", "right", "shifted", "foreign"]))
    if kind == "right":
        return Span(start, context[start:end])
    text = context[start:end] if kind == "shifted" else draw(_texts())
    # An answer without offset is placed if it occurs once.
    return located(draw(st.integers(-9, 40)), text, context)


@st.composite
def _example_lists(draw: DrawFn) -> list[Example]:
    contexts = draw(st.lists(_texts(), min_size=1, max_size=3))
    titles = draw(st.lists(st.just("") | _texts(), min_size=1, max_size=2))
    examples: list[Example] = []
    for _ in range(draw(st.integers(0, 6))):
        if examples and draw(st.integers(0, 5)) == 0:
            examples.append(draw(st.sampled_from(examples)))  # an exact copy
            continue
        context = draw(st.sampled_from(contexts))
        is_labelled = draw(st.integers(0, 5)) > 0
        examples.append(
            Example(
                id=draw(st.sampled_from(["", "a", "a-2", "b"]) | _texts()),
                question=draw(_texts()),
                context=context,
                answers=tuple(draw(st.lists(_spans(context), max_size=3 * is_labelled))),
                is_impossible=is_labelled and draw(st.booleans()),
                plausible_answers=tuple(draw(st.lists(_spans(context), max_size=2))),
                title=draw(st.sampled_from(titles)),
                language=draw(st.sampled_from(["", "en", "pt-BR"])),
                question_language=draw(st.sampled_from(["", "", "es"])),
                is_labelled=is_labelled,
            )
        )
    return examples


@pytest.fixture(scope="session")
def example_lists() -> SearchStrategy[list[Example]]:
    """Arbitrary lists of examples, valid or not: repeated ids and contexts, misplaced answers."""
    return _example_lists()


@pytest.fixture(scope="session")
def squad_text() -> Callable[..., str]:
    """The text of a SQuAD file with one article of one paragraph."""

    def text(context: str, questions: Sequence[dict[str, Any]], **top: Any) -> str:
        paragraph = {"context": context, "qas": list(questions)}
        return json.dumps({"data": [{"title": "", "paragraphs": [paragraph]}], **top})

    return text


@pytest.fixture(scope="session")
def short_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bundled questions about the beginnings of their passages: training takes seconds."""
    from readlet.bundled import corpus
    from readlet.data import read_examples, write_examples

    kept = []
    for example in read_examples(corpus("train")):
        beginning = " ".join(example.context.split(" ")[:50])
        answers = tuple(span for span in example.answers if span.end <= len(beginning))
        if len(answers) == len(example.answers):
            kept.append(replace(example, context=beginning, answers=answers, plausible_answers=()))
    path = tmp_path_factory.mktemp("short") / "train.json"
    write_examples(path, kept)
    return path


@pytest.fixture(scope="session")
def few_questions(short_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A handful of questions, some of them impossible."""
    from readlet.data import read_examples, write_examples

    examples = list(read_examples(short_corpus))
    answerable = [example for example in examples if example.answers][:9]
    path = tmp_path_factory.mktemp("few") / "questions.json"
    write_examples(path, answerable + [e for e in examples if not e.answers][:4])
    return path


@pytest.fixture(scope="session")
def labelled_files(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Files of forty labelled texts: `single`, `pairs`, or `numbers` as labels."""
    folder = tmp_path_factory.mktemp("labelled")
    nouns = ("lamp", "bridge", "kettle", "harbour", "garden")

    def write(what: str = "single") -> Path:
        path = folder / f"{what}.tsv"
        lines = ["text\tsecond\tlabel" if what == "pairs" else "text\tlabel"]
        for n in range(40):
            noun, word = nouns[n % 5], ("old", "new")[n // 5 % 2]
            text = f"The {word} {noun} number {n} was {'lit' if n % 3 else 'built'} in 18{n:02d}."
            if what == "pairs":
                other = noun if n % 2 else nouns[(n + 1) % 5]
                lines.append(f"{text}\tIt is about the {other}.\t{'no yes'.split()[n % 2]}")
            else:
                lines.append(f"{text}\t{n / 8 if what == 'numbers' else word}")
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def _made_pdf(stream: bytes, *, packed: bool = False) -> bytes:
    """A PDF of one page with this content."""
    data = zlib.compress(stream, 9) if packed else stream
    filtered = b"/Filter /FlateDecode " if packed else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< " + filtered + b"/Length %d >>\nstream\n" % len(data) + data + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    file = b"%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(file))
        file += b"%d 0 obj\n" % number + content + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(file)
    file += b"xref\n0 6\n0000000000 65535 f \n" + table
    return file + b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start


@pytest.fixture(scope="session")
def made_pdf() -> Callable[..., bytes]:
    return _made_pdf
