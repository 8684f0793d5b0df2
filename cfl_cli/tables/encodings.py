"""Text of any encoding as UTF-8, or an error that says what would help."""

import codecs
import io

from cfl_cli.core.messages import quote
from cfl_cli.errors import DataError, UsageError

MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",  # which begins like the first one here
    codecs.BOM_UTF16_BE: "UTF-16",
}
DEFAULT = "utf-8"
LONE_RETURN = "a carriage return without a line feed: end lines with LF or CRLF"


def check_encoding(encoding: str) -> None:
    """Raise unless Python knows the encoding, as one of text."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    except (LookupError, ValueError):
        raise UsageError(f"--encoding: unknown encoding {quote(encoding)}") from None


def to_utf8(data: bytes, *, name: str, encoding: str = DEFAULT) -> bytes:
    """Return the text as UTF-8 without a byte-order mark."""
    check_encoding(encoding)
    if codecs.lookup(encoding).name != DEFAULT:
        try:
            data = data.decode(encoding).encode()
        except UnicodeError:
            raise DataError(f"{name}: not {encoding} text: name another --encoding") from None
    elif marked := next((title for mark, title in MARKS.items() if data.startswith(mark)), None):
        raise DataError(f"{name}: this is {marked}: add --encoding {marked.lower()}")
    data = data.removeprefix(codecs.BOM_UTF8)
    nul = data.find(b"\0")
    if nul >= 0:
        raise DataError(
            f"{name}: line {line_of(data, nul)}: a NUL byte: not a text file, or one that "
            "needs --encoding"
        )
    try:
        if not data.isascii():
            data.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}: line {line_of(data, error.start)}: not UTF-8: name the encoding, for example "
            "--encoding latin-1"
        ) from None
    return data


def line_of(data: bytes, position: int) -> int:
    """Return the number of the line, from 1, that a byte is on."""
    return data.count(b"\n", 0, position) + 1
