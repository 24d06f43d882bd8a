"""The lines of a table, row by row."""

from collections import deque
from collections.abc import Iterator

from readlet.storage.files import MAX_PIECE


class RowLines:
    """Lines that can be read again: after a fault, reading continues at the next line."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._ahead: deque[str] = deque()
        self._taken: list[str] = []  # of the current row
        self._number = 0
        self._budget = MAX_PIECE  # characters: the time stays linear if every row has a fault

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._ahead.popleft() if self._ahead else next(self._lines)
        self._number += 1
        self._taken.append(line)
        return line

    def peek(self) -> str | None:
        """The next line, which stays unread; None at the end."""
        if not self._ahead and (line := next(self._lines, None)) is not None:
            self._ahead.append(line)
        return self._ahead[0] if self._ahead else None

    @property
    def taken(self) -> str:
        """The text of the current row as far as it was read."""
        return "".join(self._taken)

    def start_row(self) -> int:
        """The number of the line where the next row begins."""
        self._taken.clear()
        return self._number + 1

    def give_back(self, kept: int) -> int:
        """Read the lines of this row again, all but the first ones; the number of lost lines."""
        again = self._taken[kept:]
        self._budget -= sum(map(len, again))
        if self._budget < 0:
            return len(again)
        self.unread(kept)
        return 0

    def unread(self, kept: int) -> None:
        """The same without a limit, for a reader that looks only a little ahead."""
        again = self._taken[kept:]
        del self._taken[kept:]
        self._ahead.extendleft(reversed(again))
        self._number -= len(again)
