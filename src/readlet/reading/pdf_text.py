"""The text of a PDF, read in a process of its own.

A PDF is a program of sorts: a small one may unpack to gigabytes, or keep its reader busy for hours.
The process has little memory and little time, and whatever happens to it happens to it alone.
"""

import io
import subprocess
import sys
from typing import Any

from readlet.errors import ReadletError
from readlet.installing import install_extra
from readlet.processes import Job

_MEMORY = 1 << 30  # bytes
_MOST = 20_000_000  # characters, and bytes of a stream once it is unpacked
_FAULT = 3  # exit code: stderr has a line for the user
_ENCRYPTED = "the PDF is encrypted; save it without a password"
_IMAGES = "the PDF has no text, only images; run text recognition (OCR) on it first"
_TOO_MUCH = "the PDF takes too much memory or time; split it, or save it again"
_DAMAGED = "the PDF is damaged, or no PDF; save it again"


def pdf_text(data: bytes, *, seconds: float = 30.0, job: Job | None = None) -> str:
    """The text, a blank line between pages; an error of one line for a file that has none.

    `job.kill()` in another thread ends the process, and this with an error.
    """
    job = job or Job()
    limit = str(max(1, round(seconds)))
    try:
        done = job.run("readlet.reading.pdf_text", limit, data=data, seconds=seconds)
    except subprocess.TimeoutExpired:
        raise ReadletError(f"the PDF was not read within {seconds:g} s; split it") from None
    if job.is_killed:
        raise ReadletError("the PDF was given up; read it again")
    if done.returncode == _FAULT:
        raise ReadletError(done.stderr.decode("utf-8", "replace").strip())
    if done.returncode != 0:  # out of memory or time, or an error in the library
        raise ReadletError(_TOO_MUCH)
    return done.stdout.decode("utf-8")


def _extracted(data: bytes) -> str:
    try:
        from pypdf import PasswordType, PdfReader, overwrite_configuration
        from pypdf.errors import DependencyError, LimitReachedError, PyPdfError
    except ModuleNotFoundError:
        raise ReadletError(f"PDF files need pypdf; {install_extra('serve')}") from None
    limits: dict[str, Any] = {
        f"{name}_maximum_output_length": _MOST
        for name in ("zlib", "lzw", "run_length", "jbig2", "array_based_stream")
    }
    try:
        overwrite_configuration(**limits)
        reader = PdfReader(io.BytesIO(data))
        # Many files are encrypted with an empty password, only to forbid printing.
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise ReadletError(_ENCRYPTED)
        pages: list[str] = []
        for page in reader.pages:
            pages.append(page.extract_text().strip())
            if sum(map(len, pages)) > _MOST:
                raise ReadletError(f"the PDF has more than {_MOST:,} characters; split it")
    except DependencyError:  # a cipher that needs another library
        raise ReadletError(_ENCRYPTED) from None
    except LimitReachedError:
        raise ReadletError(_TOO_MUCH) from None
    except (PyPdfError, ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, ReadletError):
            raise
        raise ReadletError(_DAMAGED) from None
    text = "\n\n".join(page for page in pages if page)
    if not text:
        raise ReadletError(_IMAGES)
    return text


def _main() -> None:
    import logging

    logging.disable()  # the library's warnings are about details of the file
    _limit(seconds=int(sys.argv[1]))
    try:
        text = _extracted(sys.stdin.buffer.read())
    except ReadletError as error:
        sys.stderr.write(str(error))
        sys.exit(_FAULT)
    # Lone surrogates are no text.
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def _limit(seconds: int) -> None:
    """Where the system has no such limits, only the time of the whole process is bounded."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


if __name__ == "__main__":
    _main()
