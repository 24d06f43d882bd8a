"""The text of a PDF, read in a process of its own.

A PDF is a program of sorts: a small one may unpack to gigabytes, or keep its reader busy for hours.
"""

import io
import logging
from typing import Any

from readlet.errors import ReadletError, install_extra
from readlet.processes import write_text

_MOST = 20_000_000  # characters, and bytes of a stream once it is unpacked
_ENCRYPTED = "the PDF is encrypted; save it without a password"
_IMAGES = "the PDF has no text, only images; run text recognition (OCR) on it first"
_TOO_MUCH = "the PDF takes too much memory or time; split it, or save it again"
_DAMAGED = "the PDF is damaged, or no PDF; save it again"


def pdf_text(data: bytes) -> str:
    """The text, a blank line between pages; an error of one line for a file that has none."""
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


if __name__ == "__main__":
    logging.disable()  # the library's warnings are about details of the file
    write_text(pdf_text)
