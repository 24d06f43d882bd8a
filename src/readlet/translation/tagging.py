"""Apertium's tagger, made independent of the sentences that it has read before.

A word whose set of possible tags is not in the tagger's data changes, by an error in the tagger,
how it treats unknown words from then on. Sentences with such a word get a process of their own.
"""

import re
import subprocess
from collections.abc import Callable, Sequence

from readlet.translation.types import EngineError

Passed = Callable[[list[list[str]], list[bytes]], list[bytes]]
"""Sends texts through programs."""

_WORD = re.compile(rb"\^(?:\\.|[^\\/$])*/((?:\\.|[^\\$])*)\$")
_REPORTED = re.compile(r"Word '(\d+)'")
_STOP = b" ^./.<sent>$"
_MOST_KNOWN = 1_000_000  # analyses of words; more would fill the memory


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
        if len(known) > _MOST_KNOWN:  # not emptied: another thread may be reading it
            known = self._is_harmful = {}
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
