"""Files: text in any encoding with the position of errors, atomic writes, locks, the cache folder.

An encoding is chosen by a byte order mark or by name, with a hint when it fails.
"""

import codecs
import errno
import glob
import gzip
import io
import os
import stat
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TextIO, cast
from unicodedata import category

from readlet.errors import EncodingError, ReadletError, bad_input, input_error, shortened
from readlet.storage.overwrite import check_file

CHUNK = 1 << 20
# A longer row or article is an error in the file, and would fill the memory.
MAX_PIECE = 64 << 20
_DAY = 24 * 3600  # seconds


@contextmanager
def open_bytes(path: Path, *, only_regular: bool = False) -> Iterator[io.BufferedIOBase]:
    """Open a plain or gzip file (detected by content); failures are one-line errors.

    With `only_regular`, or a link to such a file: a pipe has no end, and waits to be opened.
    """
    try:
        if only_regular and not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        with open(path, "rb", opener=_without_waiting if only_regular else None) as raw:
            is_gzip = raw.peek(2)[:2] == b"\x1f\x8b"
            yield gzip.GzipFile(fileobj=raw) if is_gzip else raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        fault = f"the gzip data is damaged or ends early ({error})"
        place = f"byte {path.stat().st_size}" if isinstance(error, EOFError) else ""
        raise bad_input(path, place, fault, "copy or download it again") from None
    except OSError as error:  # for example a file used as a folder, a long name, a failing disk
        fault = (error.strerror or str(error)).lower().removesuffix(" or directory")
        raise bad_input(path, "", fault, "check the path and its permissions") from None


def _without_waiting(name: str, flags: int) -> int:
    """Should it have become a pipe meanwhile."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def text_chunks(path: Path, encoding: str | None = None) -> Iterator[str]:
    """The text of a file in chunks, without byte order mark; invalid text raises an error.

    A byte order mark decides the encoding, then `encoding`, then it is UTF-8. Use None where the
    user cannot name an encoding: the error then suggests another remedy.
    """
    check_encoding(encoding or "")
    with open_bytes(path) as stream:
        yield from decoded_chunks(stream, path, encoding)


def decoded_chunks(
    stream: io.BufferedIOBase,
    source: str | Path,
    encoding: str | None = None,
    *,
    declared: str = "",
) -> Iterator[str]:
    """The text of bytes that come from a file, a client or standard input, as in `text_chunks`.

    `declared` is the encoding that the file itself names; it counts where no other is given.
    """
    consumed = 0  # bytes decoded so far
    empty = True
    data = stream.read(CHUNK)
    chosen = encoding_of(data, encoding or declared)
    if chosen == "utf-8" and (likely := likely_utf16(data)):
        raise _not_text(source, 0, chosen, likely, encoding)
    decoder = codecs.getincrementaldecoder(chosen)()
    while True:
        pending = len(decoder.getstate()[0])
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeError as error:
            at = error.start if isinstance(error, UnicodeDecodeError) else 0
            likely = likely_encoding(data, at) if data and chosen == "utf-8" else ""
            raise _not_text(source, consumed + at, chosen, likely, encoding) from None
        consumed += pending + len(data) - len(decoder.getstate()[0])
        if empty and text:
            text = text.removeprefix("\ufeff")
            empty = not text  # a byte order mark alone is not text
        if text:
            yield text
        if not data:
            break
        data = stream.read(CHUNK)
    if empty:
        raise bad_input(source, "", "the file is empty", "check how it was created")


def _not_text(
    source: str | Path, at: int, chosen: str, likely: str, encoding: str | None
) -> ReadletError:
    fault = f"not {chosen.upper()} text" + (f", looks like {likely}" if likely else "")
    remedy = "save it as UTF-8"
    if encoding is not None:
        option = f"--encoding {likely or 'NAME'} (in recipes: data.encoding)"
        remedy = f"name its encoding with {option}, or {remedy}"
    return input_error(EncodingError, source, f"byte {at}", fault, remedy)


def text_lines(path: Path, encoding: str | None = None) -> Iterator[str]:
    """Lines with their newline, split at newline characters only, of limited length."""
    pieces: list[str] = []  # of an unfinished line; joined once, at its end
    number = 1
    for chunk in text_chunks(path, encoding):
        *lines, rest = chunk.split("\n")
        if lines:
            lines[0] = "".join((*pieces, lines[0]))
            pieces.clear()
        for line in lines:
            yield line + "\n"
        number += len(lines)
        pieces.append(rest)
        if sum(map(len, pieces)) > MAX_PIECE:
            fault = f"longer than {MAX_PIECE >> 20} MiB"
            raise bad_input(path, f"line {number}", fault, "put one record on each line")
    if any(pieces):
        yield "".join(pieces)


def make_readable(path: Path) -> None:
    """Set the default permissions of a new file."""
    path.chmod(_default_mode())


def _default_mode() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


@contextmanager
def atomic_bytes(path: Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """Write bytes atomically: the file appears only when complete. A private one is its user's."""
    check_file(path)
    target = path.resolve()  # a link is followed, not replaced
    try:
        handle, name = _draft(target)
    except OSError as error:
        raise bad_input(
            path, "", f"cannot be written ({error.strerror})", "choose another path"
        ) from None
    try:
        with os.fdopen(handle, "wb") as raw:
            yield raw
            raw.flush()
            os.fsync(raw.fileno())
        # mkstemp creates private files; a file that is replaced keeps its permissions.
        if not private:
            os.chmod(
                name, stat.S_IMODE(target.stat().st_mode) if target.exists() else _default_mode()
            )
        os.replace(name, target)
    except OSError as error:
        if error.filename not in (None, name, str(target)):  # of a file that is being read
            raise
        fault = f"not written: {error.strerror or error}"
        raise ReadletError(f"{shortened(path)}: {fault}; free some space") from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def _draft(target: Path) -> tuple[int, str]:
    """A new temporary file beside the target; those of processes killed long ago are removed."""
    prefix, suffix = f".{target.name[:100]}.", ".readlet"
    for path in target.parent.glob(f"{glob.escape(prefix)}????????{suffix}"):
        with suppress(OSError):  # another process may remove it at the same time
            if time.time() - path.stat().st_mtime > _DAY:
                path.unlink()
    return tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=suffix)


@contextmanager
def written_to(path: Path) -> Iterator[None]:
    """Add the file's name to errors of a stream, where Python gives none."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def atomic_text(path: Path, *, private: bool = False) -> Iterator[TextIO]:
    """Write text atomically: the file appears only when complete. `.gz` names are gzipped."""
    with atomic_bytes(path, private=private) as raw:
        zipped = path.suffix.lower() == ".gz"
        # mtime=0: equal content gives equal bytes.
        binary = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if zipped else raw
        # An unpaired surrogate has no UTF-8; its backslash form is how JSON writes it.
        text = io.TextIOWrapper(
            cast(IO[bytes], binary), encoding="utf-8", errors="backslashreplace", newline="\n"
        )
        yield text
        text.flush()
        text.detach()
        if zipped:
            binary.close()


def write_text(path: Path, text: str) -> None:
    """Write a small file atomically."""
    with atomic_text(path) as stream:
        stream.write(text)


_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SAMPLE = 4096  # bytes


def check_encoding(name: str) -> None:
    """Reject names that are not text encodings; an empty one means automatic."""
    if not name:
        return
    try:
        # Rejects bytes-to-bytes encodings, such as hex or zip, with a LookupError.
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


# Of images and archives; those that a text may begin with are left to the control characters.
_SIGNATURES = (b"\x89PNG", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"\xd0\xcf\x11\xe0")
_SHIFTS = "\x0e\x0f\x1b"  # encodings of East Asia change alphabets with them
_MOST_CONTROLS = 0.02  # of the characters; of random bytes it is a tenth


def is_binary(data: bytes, encoding: str) -> bool:
    """Whether these are plainly no text: by their signature, or by control characters."""
    if data.startswith(_SIGNATURES):
        return True
    wide = encoding if encoding.startswith(("utf-16", "utf-32")) else likely_utf16(data)
    if b"\0" in data and not wide:
        return True
    sample = data[:_SAMPLE].decode(wide or "latin-1", "replace")
    # In UTF-16 pairs of bytes also give characters that do not exist, and halves of some.
    kinds = ("Cc", "Cn", "Co", "Cs") if wide else ("Cc",)
    last = "\U0010ffff" if wide else "\x7f"  # beyond it every byte may be a letter
    unlikely = (c <= last and category(c) in kinds and not c.isspace() for c in sample)
    controls = sum(unlikely) - sum(map(sample.count, _SHIFTS))
    return controls > max(3, _MOST_CONTROLS * len(sample))


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


def cache_folder() -> Path:
    """`READLET_CACHE`, or the user's cache folder."""
    given = os.environ.get("READLET_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(base) / "readlet"


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Yield whether the lock was acquired; False if another process has it.

    The operating system releases it when the process ends, even by a crash.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)  # minus the umask
    try:
        yield _acquire(handle, path)
    finally:
        os.close(handle)


@contextmanager
def locked_folder(folder: Path) -> Iterator[bool]:
    """The same for a folder that exists, without a file for it."""
    if os.name == "nt":  # a folder cannot be opened there
        yield True
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _acquire(handle, folder)
    finally:
        os.close(handle)


def _acquire(handle: int, path: Path) -> bool:
    """Lock an open file, if no other process has; the lock ends when the file is closed."""
    try:
        import fcntl
    except ImportError:  # Windows has no flock: concurrent runs are not prevented there
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:  # some network file systems do not support locks
        raise OSError(error.errno, f"cannot be locked ({error.strerror})", str(path)) from None
    return True
