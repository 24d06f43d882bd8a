"""The files of the page, and the bundled passages that it offers."""

from functools import cache
from pathlib import Path

from readlet.bundled import corpus
from readlet.data import read_examples
from readlet.serve.messages import PassageMessage

_STATIC = Path(__file__).parent / "static"
_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_PASSAGES, _QUESTIONS = 8, 3


@cache
def page_files() -> dict[str, tuple[bytes, str]]:
    """Content and media type of each file of the page, by its path on the server."""
    files = {
        f"/{path.name}": (path.read_bytes(), _TYPES[path.suffix])
        for path in sorted(_STATIC.iterdir())
        if path.suffix in _TYPES
    }
    files["/"] = files.pop("/index.html")
    return files


@cache
def bundled_passages() -> list[PassageMessage]:
    """The first passages of the bundled test split, each with a few questions."""
    found: dict[str, PassageMessage] = {}
    for example in read_examples(corpus("test")):
        if example.language not in ("", "en"):  # the bundled reader reads English
            continue
        if example.context not in found and len(found) < _PASSAGES:
            passage = PassageMessage(title=example.title, passage=example.context, questions=[])
            found[example.context] = passage
        shown = found.get(example.context)
        if shown is not None and len(shown.questions) < _QUESTIONS:
            shown.questions.append(example.question)
    return list(found.values())
