"""Apertium: rule-based translation, by the modes that its language packages install.

Its programs form a pipeline. Its tagger is made independent of the sentences that it has read
before. Because of a bug in the tagger, a word whose set of possible tags is not in its data
changes how it treats unknown words from then on. Sentences with such a word get a separate
process.
"""

import hashlib
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from readlet.augmentation.translation.types import (
    EngineError,
    LanguagePair,
    Translation,
    loss_of,
    short_code,
)
from readlet.processes import own_cores


def run_pipeline(
    commands: Sequence[Sequence[str]], data: bytes, *, seconds: float, name: str
) -> bytes:
    """The output of a pipeline of programs. If one dies or hangs, an error is raised."""
    line = " | ".join(map(shlex.join, commands))
    # A separate process group, so that all programs can be killed together.
    process = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", line],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(data, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise EngineError(f"{name}: no result after {seconds:.0f} seconds") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode:
        fault = f"a program of its pipeline ended with code {process.returncode}"
        raise EngineError(f"{name}: {fault}; install Apertium again")
    return output


Passed = Callable[[list[list[str]], list[bytes]], list[bytes]]
"""Pipes texts through programs."""

_WORD = re.compile(rb"\^(?:\\.|[^\\/$])*/((?:\\.|[^\\$])*)\$")
_REPORTED = re.compile(r"Word '(\d+)'")
_STOP = b" ^./.<sent>$"


class Tagger:
    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._is_harmful: dict[bytes, bool] = {}  # by the analyses of a word

    def tagged(self, texts: list[bytes], passed: Passed) -> list[bytes]:
        """The texts with one tag for each word, as a new tagger would give for each."""
        harmful = self._with_harmful_words(texts)
        harmless = [number for number in range(len(texts)) if number not in harmful]
        tagged = list(texts)
        if harmless:
            results = passed([self._command], [texts[number] for number in harmless])
            for number, result in zip(harmless, results, strict=True):
                tagged[number] = result
        for number in harmful:
            [tagged[number]] = passed([self._command], [texts[number]])
        return tagged

    def _with_harmful_words(self, texts: Sequence[bytes]) -> set[int]:
        words = [set(_WORD.findall(text)) for text in texts]
        known = self._is_harmful
        new = sorted(word for word in set().union(*words) if word not in known)
        harmful = self._harmful(new)
        known.update((word, word in harmful) for word in new)
        return {number for number, found in enumerate(words) if any(known[w] for w in found)}

    def _harmful(self, words: Sequence[bytes]) -> set[bytes]:
        """The tagger names such words when it is asked for messages: here by their numbers."""
        if not words:
            return set()
        data = b"".join(b"^%d/%s$%s\0" % (n, word, _STOP) for n, word in enumerate(words))
        program, *options = self._command
        try:
            done = subprocess.run(
                [program, "-d", *options], input=data, capture_output=True, timeout=600, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise EngineError(f"{program}: {error}") from None
        return {words[int(n)] for n in _REPORTED.findall(done.stderr.decode("utf-8", "replace"))}


INSTALL = "on Debian and Ubuntu: apt install apertium-eng-spa apertium-fr-es"
INSTALLED_BY_IT = frozenset(("en", "es", "fr"))
_WAY = 2  # bump it whenever the same data is used in another way
_MODE = re.compile(r"([a-z]{2,3})-([a-z]{2,3})")
_SPECIAL = re.compile(r"([\[\]{}^$/\\@<>])")  # they have a meaning in Apertium's stream
_ESCAPED = re.compile(r"\\(.)|[\[\]]", re.DOTALL)  # brackets that are not escaped are its own
# What `apertium` itself appends: a stop, so that the last words are tagged as a sentence's end.
_END = ".[]"
_FEWEST = 64  # from this many sentences on, a separate pipeline pays off
# A batch that takes longer than this hangs: a busy machine is slow, but not that slow.
_SECONDS, _CHARACTERS_A_SECOND = 60.0, 1_000


class Apertium:
    """The modes of an Apertium installation as a translation engine."""

    name = "apertium"
    has_links = False

    def __init__(self, data: Path | None = None) -> None:
        folder = data or Path(os.environ.get("APERTIUM_DATADIR", "/usr/share/apertium"))
        self._modes = _modes(folder / "modes")

    def pairs(self) -> Collection[LanguagePair]:
        return self._modes.keys()

    def version(self, pair: LanguagePair) -> str:
        return _version(self._modes[pair])

    def translate(self, sentences: Sequence[str], pair: LanguagePair) -> list[Translation]:
        """A sentence's translation does not depend on the other sentences."""
        if pair.source == "es":  # after these marks its tagger mistakes nouns for verbs
            sentences = [sentence.translate(_NO_OPENING) for sentence in sentences]
        parts = max(1, min(own_cores(), len(sentences) // _FEWEST))
        shares = [sentences[number::parts] for number in range(parts)]
        stages = _stages(self._modes[pair])
        name = f"apertium {pair}"
        with ThreadPoolExecutor(parts) as pool:  # the work is done by other processes
            made = list(pool.map(lambda share: _translated(share, stages, name), shares))
        texts = [made[number % parts][number // parts] for number in range(len(sentences))]
        if pair.target == "es":
            texts = list(map(_opened, texts))
        return [
            Translation(text, loss=loss_of(sentence, text))
            for sentence, text in zip(sentences, texts, strict=True)
        ]


# The question or exclamation begins after a comma if the question word comes there.
_OPENING = re.compile(
    r"(?:^|(?<=, ))(?=(?:(?:a|con|de|desde|en|hacia|hasta|para|por|según|sin|sobre) )?"
    r"(?:qué|quién|quiénes|cuál|cuáles|cuánt[oa]s?|cuándo|cómo|dónde|por qué)\b)",
    re.IGNORECASE,
)


_NO_OPENING = str.maketrans("", "", "¿¡")


def _opened(text: str) -> str:
    """Adds ¿ and ¡, which Apertium leaves out."""
    for closing, opening in (("?", "¿"), ("!", "¡")):
        if text.rstrip("\"'»”)").endswith(closing) and opening not in text:
            begins = [found.start() for found in _OPENING.finditer(text)] if closing == "?" else []
            at = begins[0] if begins else 0
            text = f"{text[:at]}{opening}{text[at:]}"
    return text


@dataclass(frozen=True, slots=True)
class _Stages:
    """The programs of a mode: before the tagger, the tagger, and after it."""

    before: list[list[str]]
    tagger: Tagger | None
    after: list[list[str]]


def _modes(folder: Path) -> dict[LanguagePair, Path]:
    found = {}
    for path in sorted(folder.glob("*.mode")):
        if codes := _MODE.fullmatch(path.stem):  # others are variants, such as `spa-eng_US`
            found[LanguagePair(short_code(codes[1]), short_code(codes[2]))] = path
    return found


@cache
def _stages(mode: Path) -> _Stages:
    # $1 is how words are generated: `-n`, without marks of unknown words. $2 is for the tagger.
    line = mode.read_text("utf-8").replace("$1", "-n").replace("$2", "")
    commands = []
    for part in line.strip().split("|"):
        program, *options = shlex.split(part)
        commands.append([program, "-z", *options])  # a NUL character ends a text
    at = next((n for n, c in enumerate(commands) if Path(c[0]).name == "apertium-tagger"), None)
    if at is None:
        return _Stages([], None, commands)
    return _Stages(commands[:at], Tagger(commands[at]), commands[at + 1 :])


@cache
def _version(mode: Path) -> str:
    """A digest of the mode and of all data that it names."""
    digest = hashlib.blake2b(mode.read_bytes(), digest_size=8)
    for word in shlex.split(mode.read_text("utf-8").replace("|", " ")):
        if Path(word).is_absolute() and Path(word).is_file():
            digest.update(Path(word).read_bytes())
    return f"{mode.stem} {digest.hexdigest()} {_WAY}"


def _translated(sentences: Sequence[str], stages: _Stages, name: str) -> list[str]:
    texts = [_as_stream(sentence) for sentence in sentences]
    seconds = _SECONDS + sum(map(len, texts)) / _CHARACTERS_A_SECOND

    def passed(commands: list[list[str]], texts: list[bytes]) -> list[bytes]:
        joined = b"".join(text + b"\0" for text in texts)
        parts = run_pipeline(commands, joined, seconds=seconds, name=name).split(b"\0")
        if len(parts) <= len(texts):
            raise EngineError(f"{name}: {len(texts)} sentences gave {len(parts) - 1} translations")
        return parts[: len(texts)]  # at its end, each program adds a NUL character

    if stages.tagger is not None:
        texts = passed(stages.before, texts) if stages.before else texts
        texts = stages.tagger.tagged(texts, passed)
    return [_from_stream(text) for text in passed(stages.after, texts)]


def _as_stream(sentence: str) -> bytes:
    text = " ".join(sentence.replace("\0", " ").split())
    text = _SPECIAL.sub(r"\\\1", text).replace("~", "[~]")  # else a tilde would be dropped
    return (text + _END).encode("utf-8", "replace")


def _from_stream(text: bytes) -> str:
    plain = text.decode("utf-8", "replace").removesuffix("[]").removesuffix(".")
    return _ESCAPED.sub(r"\1", plain).strip()
