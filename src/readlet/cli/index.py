"""`readlet index`: keep the texts of a folder's documents, so that questions need not read them."""

from pathlib import Path
from typing import Annotated

import typer

from readlet.cli.options import Encoding
from readlet.console import console
from readlet.errors import bad_input


def index(
    folder: Annotated[Path, typer.Argument(help="Folder of documents.")],
    remove: Annotated[bool, typer.Option("--remove", help="Remove the index again.")] = False,
    encoding: Encoding = "",
) -> None:
    """Read the documents of a folder once.

    `readlet ask` about this folder then reads again only what has changed. Their texts are
    kept in your cache folder; what cannot be read is listed.
    """
    from readlet.inference.document_files import read_documents
    from readlet.inference.document_index import DocumentIndex

    if not folder.is_dir():
        raise bad_input(folder, "", "is not a folder", "give a folder of documents")
    if remove:
        DocumentIndex.of(str(folder)).remove()
        return
    files = read_documents([str(folder)], encoding, keep=True)
    for line in files.unreadable:
        console.print(f"not read: {line}", markup=False, soft_wrap=True)
    characters = sum(len(document.text) for document in files.documents.values())
    line = f"{folder}: {len(files.documents):,} documents, {characters:,} characters"
    console.print(line, markup=False, soft_wrap=True)
