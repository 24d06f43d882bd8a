"""What a reader does with a malformed row: raise an error (the default), or collect and go on."""

from collections.abc import Callable

from readlet.errors import InputError, bad_input

OnFault = Callable[[InputError], None]
"""Called with each malformed row. If it returns, the row is left out and reading continues."""


def raise_fault(error: InputError) -> None:
    """Stop at the first malformed row, and say how all of them are listed."""
    if type(error) is not InputError:
        raise error
    remedy = f"{error.remedy} (`readlet data check {error.source}` lists all malformed rows)"
    raise bad_input(error.source, error.place, error.fault, remedy)
