"""`readlet ask`: questions about a passage or many documents.

`readlet ask -i`: one after another about the same passage or documents.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from readlet.cli.answers import Answer, ManyDocuments, OnePassage, Source, show_question
from readlet.cli.options import (
    Device,
    Encoding,
    Language,
    MinConfidence,
    QuestionLanguage,
    UnanswerableShare,
)
from readlet.console import FEW, console, forget_interrupt, print_json, say
from readlet.errors import ReadletError, bad_input
from readlet.inference.inputs import MAX_PASSAGES, AnswerOptions, is_passage

if TYPE_CHECKING:
    from readlet.inference.document_files import DocumentFiles

_PROMPT = "? "
_MORE = "/more"
_HELP = f"Type a question. {_MORE} shows other candidates. Ctrl-C cancels, Ctrl-D ends."


def ask(
    question: Annotated[
        str,
        typer.Argument(help="The question, in quotes. With -i this is a passage, too."),
    ],
    passages: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PASSAGE...",
            show_default=False,
            help="A file (.txt, .md, .html, .pdf, .docx, .xlsx, .csv or .eml), or - for standard "
            "input. Several files, or a "
            "folder of them: the most relevant pieces are read, and the document is named.",
        ),
    ] = None,
    interactive: Annotated[
        bool,
        typer.Option(
            "--interactive",
            "-i",
            help="Ask several questions: in the terminal, or one on each line of standard input.",
        ),
    ] = False,
    reader: Annotated[
        str, typer.Option(help="The reader to use: a folder, `bundled` or `baseline`.")
    ] = "bundled",
    n_best: Annotated[int, typer.Option(min=1, help="Show the N best answers.", metavar="N")] = 1,
    show_passage: Annotated[
        bool, typer.Option("--show-passage", help="Also print the text, with the answer marked.")
    ] = False,
    read: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Of several documents, read the N most relevant pieces."
        ),
    ] = MAX_PASSAGES,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for each question.")
    ] = False,
    min_confidence: MinConfidence = "balanced",
    unanswerable_share: UnanswerableShare = None,
    language: Language = "",
    question_language: QuestionLanguage = "",
    encoding: Encoding = "",
    device: Device = "auto",
) -> None:
    """Answer questions about a passage or many documents.

    If the text does not contain the answer, the reader says so.
    """
    from readlet.inference.document_files import STANDARD_INPUT

    given = [question] * interactive + (passages or [])
    if not given:
        raise ReadletError("no passage; give a file, a folder, or - for standard input")
    if not interactive and not question.strip():
        raise ReadletError("the question is empty; it needs text")
    if interactive and STANDARD_INPUT in given:
        raise ReadletError("-: questions come from standard input; give the passage as a file")
    options = AnswerOptions.parse(
        min_confidence,
        unanswerable_share=unanswerable_share,
        language=language,
        question_language=question_language,
    )
    asked = _asked(given, encoding, reader, device, read, options)
    if interactive:
        converse(asked, n_best, as_json=as_json)
        return
    answer = asked.answer(question, n_best)
    if as_json:
        print_json(answer.as_json(n_best))
        return
    answer.show(n_best)
    if show_passage:
        console.print()
        answer.show_passage()


def _asked(
    paths: list[str], encoding: str, reader: str, device: str, read: int, options: AnswerOptions
) -> Source:
    from readlet.inference.document_files import (
        STANDARD_INPUT,
        is_one_document,
        read_document,
        read_documents,
    )
    from readlet.inference.reader import load_reader

    if is_one_document(paths):
        document = read_document(paths[0], encoding)
        name = "standard input" if paths[0] == STANDARD_INPUT else paths[0]
        if document.guessed_encoding:
            say(f"readlet: {name}: read as {document.guessed_encoding}; --encoding names another")
        # In a table read as a whole, readers mix the rows up.
        if is_passage(document.text) and not document.row_cuts:
            return OnePassage(load_reader(reader, device=device), name, document, options)
        texts = {name: document}
    else:
        files = read_documents(paths, encoding)
        _report_skipped(files)
        texts = files.documents
    from readlet.inference.documents import Documents

    loaded = load_reader(reader, device=device)
    documents = Documents(texts)
    if not documents.pieces:
        raise ReadletError("the documents contain no words; give text")
    return ManyDocuments(loaded, documents, read, options)


def _report_skipped(files: "DocumentFiles") -> None:
    """Report skipped files on stderr, one line for each reason."""
    if files.unreadable:
        say(f"readlet: {len(files.unreadable):,} skipped: {_few(files.unreadable)}")
    if files.guessed:
        say(f"readlet: {_few(files.guessed)}; --encoding names another")
    if files.others:
        some = "file of another type" if files.others == 1 else "files of other types"
        say(f"readlet: {files.others:,} {some} skipped")


def _few(lines: Sequence[str]) -> str:
    more = len(lines) - FEW
    return "; ".join(lines[:FEW]) + (f"; and {more:,} more" if more > 0 else "")


def converse(asked: Source, shown: int, *, as_json: bool) -> None:
    """Answer questions until the input ends: from the terminal, or one on each line."""
    in_terminal = sys.stdin.isatty()
    if in_terminal and not as_json:
        with suppress(ImportError):  # not on every system
            import readline  # noqa: F401  gives `input` line editing and history
        console.print(_HELP, style="dim")
    last: Answer | None = None
    for line in _typed() if in_terminal else _lines():
        try:
            if line == _MORE and last is not None and not as_json:
                last.show_more()
                continue
            last = asked.answer(line, shown)
            if as_json:
                print_json(last.as_json(shown))
            else:
                if not in_terminal:  # where the user has just typed it
                    show_question(line)
                last.show(shown)
                console.print()
            sys.stdout.flush()  # a program may wait for each answer
        except KeyboardInterrupt:
            if not in_terminal:
                raise
            forget_interrupt()
            console.print("cancelled", style="dim")


def _typed() -> Iterator[str]:
    """What the user types, until Ctrl-D."""
    while True:
        try:
            line = input(_PROMPT).strip()
        except EOFError:
            console.print()
            return
        except KeyboardInterrupt:
            forget_interrupt()
            console.print()
            continue
        if line:
            yield line


def _lines() -> Iterator[str]:
    try:
        yield from filter(None, map(str.strip, sys.stdin))
    except UnicodeDecodeError as error:
        fault = f"not {error.encoding.upper()} text"
        raise bad_input("standard input", "", fault, "give the questions as UTF-8") from None
