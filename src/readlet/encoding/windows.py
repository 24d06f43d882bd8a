"""How a long context is cut into pieces that a model can read at once."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Windows:
    """How long texts are cut: lengths in words."""

    max_context: int
    overlap: int
    max_question: int

    def starts(self, length: int) -> range:
        """First words of windows that together cover all of `length` words."""
        step = self.max_context - self.overlap
        beyond = max(length - self.max_context, 0)
        return range(0, beyond + step if beyond else 1, step)
