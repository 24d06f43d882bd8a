"""Models of the Hugging Face hub by name: `user/name`, or `user/name@REVISION`.

They are downloaded once, to the cache of `huggingface_hub`, with its settings: HF_HUB_OFFLINE,
HF_HOME, HF_TOKEN, HF_ENDPOINT. Only the files that config.json names are fetched, all of one
commit; nothing in them is executed.
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from readlet.errors import InputError, bad_input, reason_of

_NAME = re.compile(r"(?P<repository>[\w-][\w.-]*/[\w-][\w.-]*)(?:@(?P<revision>[\w./-]+))?")
_DATA = (".json", ".jsonl", ".csv", ".tsv", ".gz", ".parquet")  # a file that is missing
_FILE = re.compile(r"[\w-][\w.-]*")
_REQUIRED, _OPTIONAL = ("calibration.json", "metrics.json"), ("NOTICE.md", "README.md")
_REMEDY = "check its spelling and the network, or give the path of a folder"


def is_hub_name(name: str) -> bool:
    """Whether a name can only be that of a model of the hub: there is no such folder here."""
    if _NAME.fullmatch(name) is None or name.endswith(_DATA):
        return False
    return not Path(name).exists() and not Path(name.partition("/")[0]).is_dir()


@cache  # one commit for everything that a process reads
def downloaded(name: str) -> Path:
    """The folder of a model of the hub in the cache of `huggingface_hub`."""
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    found = _NAME.fullmatch(name)
    assert found is not None
    repository = found["repository"]
    try:
        revision = found["revision"] or "main"
        get = _download(repository, revision)
        config = Path(get(repository, "config.json", revision=revision))
        commit = config.parent.name  # all other files are of the same one
        files = json.loads(config.read_text("utf-8")).get("files")
        if not isinstance(files, list) or not all(_is_file(file) for file in files):
            fault = "is not a model of Readlet (its config.json lists no files)"
            raise bad_input(name, "", fault, "give a model that `readlet push` has published")
        for file in (*_REQUIRED, *files):
            get(repository, file, revision=commit)
        for file in _OPTIONAL:
            with suppress(EntryNotFoundError):  # also if not cached and the hub is unreachable
                get(repository, file, revision=commit)
    except InputError:
        raise
    except Exception as error:  # its classes are those of an HTTP library
        reason = reason_of(error)
        if isinstance(error, LocalEntryNotFoundError):
            reason = "it is out of reach, and the model is not cached"
        fault = f"not a folder, and not available from the hub ({reason:.160})"
        raise bad_input(name, "", fault, _REMEDY) from None
    return config.parent


def _download(repository: str, revision: str) -> Callable[..., str]:
    """A function to the path of a file: downloaded, or only cached if the hub is out of reach.

    `hf_hub_download` alone would retry for half a minute.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError

    try:
        url = hf_hub_url(repository, "config.json", revision=revision)
        get_hf_file_metadata(url)
    except Exception as error:  # its classes are those of an HTTP library
        if isinstance(error, HfHubHTTPError) and error.response.status_code < 500:
            raise
        return partial(hf_hub_download, local_files_only=True)
    return hf_hub_download


def _is_file(name: object) -> bool:
    return isinstance(name, str) and _FILE.fullmatch(name) is not None
