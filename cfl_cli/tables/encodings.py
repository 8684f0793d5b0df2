"""Text of any encoding as UTF-8, or an error that says what would help."""

import codecs
import io
import sys
from collections.abc import Iterable, Iterator
from itertools import chain

from cfl_cli.core.messages import quote
from cfl_cli.errors import DataError, ResourceError, UsageError

MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",  # which begins like the first one here
    codecs.BOM_UTF16_BE: "UTF-16",
}
DEFAULT = "utf-8"
WHOLE = {"idna", "punycode"}  # decoded in one go, because Python decodes their parts otherwise
ENDIAN = "le" if sys.byteorder == "little" else "be"
UNMARKED = {name: f"{name}-{ENDIAN}" for name in ("utf-16", "utf-32")}  # if no mark says more
LONE_RETURN = "a carriage return without a line feed: end lines with LF or CRLF"


def check_encoding(encoding: str) -> None:
    """Raise unless Python knows the encoding, as one of text."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    except (LookupError, ValueError):
        raise UsageError(f"--encoding: unknown encoding {quote(encoding)}") from None


def to_utf8(data: bytes, *, name: str, encoding: str = DEFAULT) -> bytes:
    """Return the text as UTF-8 without a byte-order mark."""
    return b"".join(_checked(_plain([data], name=name, encoding=encoding), name=name))


def utf8_lines(
    chunks: Iterable[bytes], *, name: str, encoding: str = DEFAULT, limit: int
) -> Iterator[bytes]:
    """Yield the same text in pieces of whole lines, or raise the same error after the last chunk.

    A line of more than `limit` bytes is an error, too.
    """
    plain = _plain(chunks, name=name, encoding=encoding)
    return _checked(_whole_lines(plain, name=name, limit=limit), name=name)


def exhaust(rest: Iterable[object]) -> None:
    """Go through what is left; an error in there comes before any that is known already."""
    for _ in rest:
        pass


def _plain(chunks: Iterable[bytes], *, name: str, encoding: str) -> Iterator[bytes]:
    """Yield the text as UTF-8, which is not checked if it was to be UTF-8 already."""
    check_encoding(encoding)
    chunks = _with_long_start(chunks)
    if (codec := codecs.lookup(encoding)).name != DEFAULT:
        chunks = _with_long_start(_recoded(chunks, codec, name=name, encoding=encoding))
    start = next(chunks, b"")
    marked = next((title for mark, title in MARKS.items() if start.startswith(mark)), None)
    if marked and codec.name == DEFAULT:
        exhaust(chunks)
        raise DataError(f"{name}: this is {marked}: add --encoding {marked.lower()}")
    yield start.removeprefix(codecs.BOM_UTF8)
    yield from chunks


def _with_long_start(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks, the first one long enough to hold any mark."""
    start, longest = b"", max(map(len, MARKS))
    chunks = iter(chunks)
    while len(start) < longest and (chunk := next(chunks, None)) is not None:
        start = start + chunk if start else chunk
    yield start
    yield from chunks


def _recoded(
    chunks: Iterable[bytes], codec: codecs.CodecInfo, *, name: str, encoding: str
) -> Iterator[bytes]:
    chunks = iter(chunks)
    try:
        if codec.incrementaldecoder is None or codec.name in WHOLE:
            yield b"".join(chunks).decode(encoding).encode()
            return
        start = next(chunks)
        marks = tuple(mark for mark, title in MARKS.items() if title.lower() == codec.name)
        part = codec.incrementaldecoder("strict")
        if codec.name in UNMARKED and not start.startswith(
            marks
        ):  # the parts of Python's would be refused
            part = codecs.getincrementaldecoder(UNMARKED[codec.name])("strict")
        for chunk in chain([start], chunks):
            yield part.decode(chunk).encode()
        yield part.decode(b"", final=True).encode()
    except UnicodeError:
        exhaust(chunks)
        raise DataError(f"{name}: not {encoding} text: name another --encoding") from None


def _whole_lines(chunks: Iterable[bytes], *, name: str, limit: int) -> Iterator[bytes]:
    """Yield the text in pieces that end where a line ends, or the text does."""
    held: list[bytes] = []
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join([*held, chunk[:end]])
            held = []
        held.append(chunk[end:])
        if sum(map(len, held)) > limit:
            raise ResourceError(
                f"{name}: a line of more than {limit / 1e6:,.0f} MB, too much for the memory of "
                "this machine"
            )
    if rest := b"".join(held):
        yield rest


def _checked(texts: Iterator[bytes], *, name: str) -> Iterator[bytes]:
    """Yield the texts, which are UTF-8 without a NUL, or raise; a NUL comes before other faults."""
    lines, before, fault = 0, b"", None
    for text in texts:
        lines += before.count(b"\n")
        before = text
        nul = text.find(b"\0")
        if nul >= 0:
            exhaust(texts)
            raise DataError(
                f"{name}: line {lines + line_of(text, nul)}: a NUL byte: not a text file, or one "
                "that needs --encoding"
            )
        try:
            if not fault and not text.isascii():
                text.decode()
        except UnicodeDecodeError as error:
            fault = DataError(
                f"{name}: line {lines + line_of(text, error.start)}: not UTF-8: name the "
                "encoding, for example --encoding latin-1"
            )
        if not fault:
            yield text
    if fault:
        raise fault


def line_of(data: bytes, position: int) -> int:
    """Return the number of the line, from 1, that a byte is on."""
    return data.count(b"\n", 0, position) + 1
