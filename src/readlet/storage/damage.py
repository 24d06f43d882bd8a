"""Any error while a stored file is read is reported as damage of that file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from readlet.errors import ReadletError, bad_input, is_out_of_memory


@contextmanager
def damage_of(path: Path) -> Iterator[None]:
    try:
        yield
    except ReadletError:
        raise
    except (OSError, LookupError, TypeError, ValueError, RuntimeError) as error:
        if is_out_of_memory(error):  # the file may be sound
            raise
        fault = " ".join(f"is damaged ({type(error).__name__}: {error})".split())
        raise bad_input(path, "", f"{fault:.200}", "copy the folder again") from None
