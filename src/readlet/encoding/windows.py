"""Windows: how a long context is cut into pieces of the model's input length."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Windows:
    """The sizes of windows, in words."""

    max_context: int
    overlap: int
    max_question: int

    def starts(self, length: int) -> range:
        """The first word of each window; together they cover all of `length` words."""
        step = self.max_context - self.overlap
        beyond = max(length - self.max_context, 0)
        return range(0, beyond + step if beyond else 1, step)
