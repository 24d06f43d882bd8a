"""`readlet ask`: one question about a passage or many documents."""

from dataclasses import asdict
from typing import Annotated

import typer

from readlet.cli.answer_view import (
    found_as_json,
    report_skipped,
    show_answer,
    show_found,
)
from readlet.cli.console import print_json
from readlet.cli.options import (
    AlwaysAnswer,
    Device,
    Encoding,
    ImpossibleShare,
    Language,
    QuestionLanguage,
    Threshold,
)
from readlet.cli.threads import use_free_cores
from readlet.reading.asked import MAX_PASSAGES

_ANSWERS_OF_DOCUMENTS = 3  # that are shown by default: another document may be the right one


def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    passages: Annotated[
        list[str],
        typer.Argument(
            metavar="PASSAGE...",
            help="A text file, or - for standard input. Several files, or a folder with .txt and "
            ".md files: the most relevant pieces are read, and the document is named.",
        ),
    ],
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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    threshold: Threshold = None,
    impossible_share: ImpossibleShare = None,
    always_answer: AlwaysAnswer = False,
    language: Language = "",
    question_language: QuestionLanguage = "",
    encoding: Encoding = "",
    device: Device = "auto",
) -> None:
    """Answer a question about a passage or many documents, or report that there is no answer."""
    from readlet.errors import ReadletError
    from readlet.reading.document_files import is_one_document, read_document, read_documents
    from readlet.reading.documents import Documents
    from readlet.reading.reader import load_reader

    use_free_cores(reader)
    if not is_one_document(passages):
        if not question.strip():
            raise ReadletError("the question is empty; it needs text")
        files = read_documents(passages, encoding)
        report_skipped(files)
        loaded = load_reader(reader, device=device)
        documents = Documents(files.texts)
        shown = n_best or _ANSWERS_OF_DOCUMENTS
        if not documents.pieces:
            raise ReadletError("the documents contain no words; give text")
        found = documents.answer(
            loaded,
            question,
            max_passages=read,
            threshold=threshold,
            impossible_share=impossible_share,
            always_answer=always_answer,
            language=language,
            question_language=question_language,
        )
        if as_json:
            print_json(found_as_json(found[:shown]))
        else:
            show_found(question, documents, found[:shown], min(read, documents.pieces))
        return
    text = read_document(passages[0], encoding)
    if not question.strip() or not text.strip():
        raise ReadletError("the question or the passage is empty; both need text")
    n_best = n_best or 1
    prediction = load_reader(reader, device=device).answer(
        question,
        text,
        n_best,
        threshold=threshold,
        impossible_share=impossible_share,
        always_answer=always_answer,
        language=language,
        question_language=question_language,
    )
    if as_json:
        best = [asdict(candidate) for candidate in prediction.n_best[:n_best]]
        print_json(asdict(prediction) | {"n_best": best})
    else:
        show_answer(question, text, prediction, n_best)
