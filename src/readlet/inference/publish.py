"""Sends a model's folder to the Hugging Face hub, with metadata on its card."""

import re
from dataclasses import dataclass
from pathlib import Path

from readlet.errors import ReadletError, bad_input, reason_of
from readlet.inference.classifier import Classifier
from readlet.inference.model_card import card_data
from readlet.inference.reader import Reader
from readlet.inference.trained_model import reader_files, reader_folder, stored_task

_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
_FRONT = re.compile(r"\A---\n.*?\n---\n+", re.DOTALL)
_ALSO = ("metrics.json", "NOTICE.md")


@dataclass(frozen=True)
class Published:
    """What was sent, or would be: the result of `publish`."""

    files: dict[str, int]
    """Sizes in bytes by name."""
    card: str
    url: str
    """Of the commit; empty for a dry run."""

    @property
    def needs_torch(self) -> bool:
        """Whether there is no ONNX model among the files."""
        return not any(name.endswith(".onnx") for name in self.files)


def publish(
    folder: str,
    name: str,
    *,
    licence: str = "",
    private: bool = False,
    dry_run: bool = False,
) -> Published:
    """Send a reader or classifier to the hub as `user/name`, in one commit.

    The repository is made if there is none. `licence` is a name as the hub has them, such as mit.
    With `dry_run` nothing is sent, and no network is needed. The page below the card's metadata is
    the folder's README.md, unchanged.

    >>> from readlet import publish
    >>> sent = publish("bundled", "ada/reader", dry_run=True)
    >>> "model.onnx" in sent.files
    True
    """
    if not _NAME.fullmatch(name):
        raise bad_input(name, "", "no name of the hub", "give it as user/name")
    path = reader_folder(folder)
    task = stored_task(folder)
    if task is None:
        raise bad_input(folder, "", "no model there", "give the folder of a reader or classifier")
    model = (Classifier if task == "classes" else Reader).load(folder)
    page = path / "README.md"
    text = _FRONT.sub("", page.read_text("utf-8")) if page.is_file() else f"# {model.name}\n"
    card = f"---\n{card_data(model, licence, name.partition('/')[2])}\n---\n\n{text}"
    paths = [*reader_files(folder), *(path / also for also in _ALSO if (path / also).is_file())]
    files = {one.name: one.stat().st_size for one in paths} | {page.name: len(card.encode())}
    if dry_run:
        return Published(files, card, "")
    return Published(files, card, _send(name, paths, card, private=private))


def _send(name: str, paths: list[Path], card: str, *, private: bool) -> str:
    from huggingface_hub import CommitOperationAdd, HfApi

    api = HfApi(library_name="readlet")
    contents = {path.name: path for path in paths} | {"README.md": card.encode()}
    operations = [
        CommitOperationAdd(path_in_repo=file, path_or_fileobj=content)
        for file, content in contents.items()
    ]
    try:
        api.create_repo(name, private=private, exist_ok=True)
        made = api.create_commit(name, operations, commit_message="Published by Readlet")
    except Exception as error:  # its classes are those of an HTTP library
        remedy = "log in with `hf auth login`, or set HF_TOKEN to a token that may write"
        raise ReadletError(f"{name}: not published ({reason_of(error):.160}); {remedy}") from None
    return str(made.commit_url)
