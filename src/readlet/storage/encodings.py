"""Text encodings of files: chosen by a byte order mark or by name, with a hint when they fail."""

import codecs

from readlet.errors import ReadletError

# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SAMPLE = 4096  # bytes


def check_encoding(name: str) -> None:
    """Reject names that are no text encoding; an empty one means automatic."""
    if not name:
        return
    try:
        # Refuses encodings of bytes as bytes, such as hex or zip, with a LookupError.
        b"text".decode(name)
        codecs.getincrementaldecoder(name)
    except UnicodeError:  # these bytes are not valid in it: the encoding exists
        return
    except (LookupError, ValueError):  # ValueError: a null character in the name
        remedy = "use for example utf-16, cp1252, latin-1 or shift_jis"
        raise ReadletError(f"encoding {name!r:.40}: unknown; {remedy}") from None


def encoding_of(head: bytes, given: str) -> str:
    """The encoding of a file: a byte order mark decides, then the given name, then UTF-8."""
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    return codecs.lookup(given or "utf-8").name


def is_utf8(head: bytes) -> bool:
    """Whether the bytes are UTF-8 beyond ASCII; texts in other encodings hardly ever are."""
    if head.isascii():
        return False
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return not text.isascii()


def likely_utf16(head: bytes) -> str:
    """The name of UTF-16 without a byte order mark, or nothing: every other byte is zero."""
    sample = head[:_SAMPLE]
    if not sample or sample.count(0) * 3 < len(sample):
        return ""
    zeros_first, zeros_second = sample[::2].count(0), sample[1::2].count(0)
    return "utf-16-le" if zeros_second > zeros_first else "utf-16-be"


def likely_encoding(data: bytes, at: int) -> str:
    """The likely encoding of bytes that are not UTF-8, judged around the first invalid one."""
    sample = data[max(at - _SAMPLE, 0) : at + _SAMPLE]
    high = sum(byte >= 0x80 for byte in sample)
    letters = high + sum(chr(byte).isalpha() for byte in sample if byte < 0x80)
    if high * 2 > letters:  # mostly letters of another script
        return ""
    try:
        sample.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"
