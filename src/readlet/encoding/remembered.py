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
        size: Callable[[Text, Made], int],
        most: int = CHARACTERS,
    ) -> None:
        """All results together have at most the size `most`."""
        self._make = make
        self._size = size
        self._most = most
        self._made: dict[Text, Made] = {}  # in the order of their last use
        self._total = 0
        self.used_again = 0  # how many texts were not made again
        self.made_new = 0
        self._lock = threading.Lock()

    def __call__(
        self, texts: Sequence[Text], make: Callable[[list[Text]], list[Made]] | None = None
    ) -> list[Made]:
        """Results in order; `make`, or another way to the same, gets the new texts, each once."""
        with self._lock:
            found = {text: self._made[text] for text in texts if text in self._made}
        new = [text for text in dict.fromkeys(texts) if text not in found]
        if new:
            found.update(zip(new, (make or self._make)(new), strict=True))
        with self._lock:
            self.used_again += len(found) - len(new)
            self.made_new += len(new)
            for text, made in found.items():
                self._put(text, made)
        return [found[text] for text in texts]

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy begins empty: it has a lock and an encoder of its own."""
        return Remembered, (self._make, self._size, self._most)

    def _put(self, text: Text, made: Made) -> None:
        if text in self._made:
            self._drop(text)
        size = self._size(text, made)
        if size > self._most:
            return
        self._made[text] = made
        self._total += size
        while self._total > self._most:
            self._drop(next(iter(self._made)))

    def _drop(self, text: Text) -> None:
        self._total -= self._size(text, self._made.pop(text))
