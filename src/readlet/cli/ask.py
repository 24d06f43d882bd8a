"""`readlet ask`: questions about a passage or many documents."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from readlet.cli.answer_view import report_skipped
from readlet.cli.console import print_json
from readlet.cli.options import (
    AlwaysAnswer,
    Device,
    Encoding,
    Language,
    QuestionLanguage,
    Threshold,
    UnanswerableShare,
)
from readlet.cli.threads import use_free_cores
from readlet.inference.inputs import MAX_PASSAGES

if TYPE_CHECKING:
    from readlet.cli.conversation import Asked


def ask(
    question: Annotated[
        str, typer.Argument(help="The question, in quotes. With -i this is a passage, too.")
    ],
    passages: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PASSAGE...",
            show_default=False,
            help="A file (.txt, .md, .html or .pdf), or - for standard input. Several files, or a "
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
    n_best: Annotated[
        int | None,
        typer.Option(min=1, help="Number of answers to show.", show_default="1; documents: 3"),
    ] = None,
    read: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Of several documents, read the N most relevant pieces."
        ),
    ] = MAX_PASSAGES,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for each question.")
    ] = False,
    threshold: Threshold = None,
    unanswerable_share: UnanswerableShare = None,
    always_answer: AlwaysAnswer = False,
    language: Language = "",
    question_language: QuestionLanguage = "",
    encoding: Encoding = "",
    device: Device = "auto",
) -> None:
    """Answer questions about a passage or many documents, or report that there is no answer."""
    from readlet.errors import ReadletError
    from readlet.inference.document_files import STANDARD_INPUT

    given = [question] * interactive + (passages or [])
    if not given:
        raise ReadletError("no passage; give a file, a folder, or - for standard input")
    if not interactive and not question.strip():
        raise ReadletError("the question is empty; it needs text")
    if interactive and STANDARD_INPUT in given:
        raise ReadletError("-: questions come from standard input; give the passage as a file")
    settings = {
        "threshold": threshold,
        "unanswerable_share": unanswerable_share,
        "always_answer": always_answer,
        "language": language,
        "question_language": question_language,
    }
    use_free_cores(reader)
    asked = _asked(given, encoding, reader, device, read, settings)
    if interactive:
        from readlet.cli.conversation import converse

        converse(asked, n_best, as_json=as_json)
        return
    answered = asked.answer(question, n_best)
    if as_json:
        print_json(answered.as_json(n_best))
    else:
        answered.show(n_best)


def _asked(
    paths: list[str], encoding: str, reader: str, device: str, read: int, settings: dict[str, Any]
) -> "Asked":
    from readlet.cli.conversation import ManyDocuments, OnePassage
    from readlet.errors import ReadletError
    from readlet.inference.document_files import is_one_document, read_document, read_documents
    from readlet.inference.documents import Documents
    from readlet.inference.reader import load_reader

    if is_one_document(paths):
        text = read_document(paths[0], encoding)
        return OnePassage(load_reader(reader, device=device), text, settings)
    files = read_documents(paths, encoding)
    report_skipped(files)
    loaded = load_reader(reader, device=device)
    documents = Documents(files.texts)
    if not documents.pieces:
        raise ReadletError("the documents contain no words; give text")
    return ManyDocuments(loaded, documents, read, settings)
