"""The index of Argos packages, and their download: continued after a break, checked, atomic."""

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from readlet.errors import ReadletError, bad_input
from readlet.progress import track
from readlet.storage.outputs import make_folder
from readlet.translation.argos import SUFFIX, Package, packages_folder, unpack, version_key
from readlet.translation.languages import short_code
from readlet.translation.routes import route_to
from readlet.translation.types import LanguagePair

PUBLIC_INDEX = "https://raw.githubusercontent.com/argosopentech/argospm-index/main/index.json"
_SECONDS = 30
_BLOCK = 1 << 20
_MOST_INDEX_BYTES = 64 << 20
_FAILURES = (urllib.error.URLError, http.client.HTTPException, OSError)


@dataclass(frozen=True, slots=True)
class Offer:
    """A package that can be downloaded."""

    pair: LanguagePair
    version: str
    link: str


def index_address() -> str:
    """`ARGOS_PACKAGE_INDEX`, or the public index."""
    return os.environ.get("ARGOS_PACKAGE_INDEX") or PUBLIC_INDEX


def offers(address: str) -> dict[LanguagePair, Offer]:
    """The newest package of each pair in an index."""
    try:
        with _opened(address) as response:
            rows = json.loads(response.read(_MOST_INDEX_BYTES))
    except _FAILURES as error:
        raise _unreachable(address, error) from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise bad_input(address, "", "no JSON", "check the address of the index") from None
    if not isinstance(rows, list):
        raise bad_input(address, "", "no list of packages", "check the address of the index")
    newest: dict[LanguagePair, Offer] = {}
    for offer in filter(None, map(_offer, rows)):
        before = newest.get(offer.pair)
        if before is None or version_key(before.version) < version_key(offer.version):
            newest[offer.pair] = offer
    return newest


def _offer(row: Any) -> Offer | None:
    """None for packages of other kinds, such as sentence splitters."""
    if not isinstance(row, dict) or row.get("type", "translate") != "translate":
        return None
    links = [link for link in row.get("links", ()) if str(link).startswith(("https:", "http:"))]
    if not links or not row.get("from_code") or not row.get("to_code"):
        return None
    pair = LanguagePair(short_code(row["from_code"]), short_code(row["to_code"]))
    return Offer(pair, str(row.get("package_version", "0")), links[0])


def install(pair: LanguagePair, address: str) -> list[Package]:
    """Download and unpack the packages of a pair into Argos' folder; two if there is a pivot."""
    available = offers(address)
    route = route_to(pair, available)
    if route is None:
        names = " ".join(sorted(str(p) for p in available if pair.source in p or pair.target in p))
        remedy = f"related pairs: {names}" if names else "check the language codes"
        raise bad_input(address, "", f"has no package for {pair}", remedy)
    return [_install(available[leg]) for leg in route]


def _install(offer: Offer) -> Package:
    folder = packages_folder()
    make_folder(folder)
    name = f"translate-{offer.pair.source}_{offer.pair.target}-{offer.version.replace('.', '_')}"
    if "/" in name or "\\" in name:
        raise bad_input(offer.link, "", f"the package has a bad name, {name}", "do not trust it")
    file = folder / f".{name}{SUFFIX}.part"
    _download(offer, file)
    try:
        return unpack(file, folder / name, offer.pair, replaces=True)
    finally:
        file.unlink(missing_ok=True)  # damaged or unpacked: of no more use


def _download(offer: Offer, file: Path) -> None:
    """What an earlier attempt has left is continued where the server allows that."""
    done = file.stat().st_size if file.exists() else 0
    try:
        with _opened(offer.link, {"Range": f"bytes={done}-"} if done else {}) as response:
            is_rest = response.status == 206
            done = done if is_rest else 0
            total = done + int(response.headers.get("Content-Length") or 0)
            with file.open("ab" if is_rest else "wb") as stream:
                megabytes = max(1, -(-total // _BLOCK))
                blocks = _blocks(response)
                for block in track(blocks, megabytes, f"{offer.pair}", done=done // _BLOCK):
                    stream.write(block)
    except urllib.error.HTTPError as error:
        if error.code == 416 and done:  # nothing is missing
            return
        raise _unreachable(offer.link, error) from None
    except _FAILURES as error:
        raise _unreachable(offer.link, error) from None
    if total and file.stat().st_size < total:
        fault = f"the connection broke after {file.stat().st_size} of {total} bytes"
        raise bad_input(offer.link, "", fault, "run it again to continue")


def _blocks(response: Any) -> Iterator[bytes]:
    while block := response.read(_BLOCK):
        yield block


def _opened(address: str, headers: Mapping[str, str] = MappingProxyType({})) -> Any:
    if not address.startswith(("https://", "http://")):
        raise bad_input(address, "", "no web address", "it begins with https://")
    request = urllib.request.Request(address, headers=dict(headers))
    return urllib.request.urlopen(request, timeout=_SECONDS)


def _unreachable(address: str, error: BaseException) -> ReadletError:
    reason = getattr(error, "reason", None) or error
    return bad_input(address, "", f"cannot be fetched ({reason})", "check the network, or --index")
