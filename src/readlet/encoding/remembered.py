"""What was made of the last texts: a passage that is asked about again is not split again."""

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

Text = TypeVar("Text", bound=Hashable)  # a text, or a text with its language
Made = TypeVar("Made")
CHARACTERS = 500_000
"""Of all remembered texts: some 20 MB of places."""


class Remembered(Generic[Text, Made]):
    """Results of `make` by text. The texts that were not used for longest are forgotten first."""

    def __init__(
        self,
        make: Callable[[list[Text]], list[Made]],
        length: Callable[[Text], int],
        most: int = CHARACTERS,
    ) -> None:
        """All texts together have at most the length `most`."""
        self._make = make
        self._length = length
        self._most = most
        self._made: dict[Text, Made] = {}  # in the order of their last use
        self._total = 0
        self._lock = threading.Lock()

    def __call__(self, texts: Sequence[Text]) -> list[Made]:
        """Results in order; `make` gets the new texts, each once."""
        with self._lock:
            found = {text: self._made[text] for text in texts if text in self._made}
        new = [text for text in dict.fromkeys(texts) if text not in found]
        if new:
            found.update(zip(new, self._make(new), strict=True))
        with self._lock:
            for text, made in found.items():
                self._put(text, made)
        return [found[text] for text in texts]

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy begins empty: it has a lock and an encoder of its own."""
        return Remembered, (self._make, self._length, self._most)

    def _put(self, text: Text, made: Made) -> None:
        if text in self._made:
            self._drop(text)
        length = self._length(text)
        if length > self._most:
            return
        self._made[text] = made
        self._total += length
        while self._total > self._most:
            self._drop(next(iter(self._made)))

    def _drop(self, text: Text) -> None:
        del self._made[text]
        self._total -= self._length(text)
