"""Text of any encoding as UTF-8, or an error that says what would help."""

import codecs
import io
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Self

from cfl_cli.core.messages import quote
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import DataError, ResourceError, UsageError
from cfl_cli.tables import guess_encoding
from cfl_cli.tables.csv_choices import YES
from cfl_cli.tables.nul_bytes import DAMAGED, ENOUGH, PADDED, are_only, is_whole, wide_encoding

MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",  # which begins like the first one here
    codecs.BOM_UTF16_BE: "UTF-16",
}
CAUSE = "file-encoding"  # the key of what is wrong here
DEFAULT = "utf-8"
WHOLE = {"idna", "punycode"}  # decoded in one go, because Python decodes their parts otherwise
ENDIAN = "le" if sys.byteorder == "little" else "be"
UNMARKED = {name: f"{name}-{ENDIAN}" for name in ("utf-16", "utf-32")}  # if no mark says more
NOT_PLAIN = re.compile(rb"[\0-\x08\x0e-\x1f\x80-\xff]")  # bytes that plain ASCII text lacks
WIDER = ("utf-16", "utf_16", "utf16", "utf-32", "utf_32", "utf32")
FIRST = 100  # lines before which the first NUL stands in a text of wide characters
LONE_RETURN = "a carriage return without a line feed: end lines with LF or CRLF"


def check_encoding(encoding: str, *, option: str = "--encoding") -> None:
    """Raise unless Python knows the encoding, as one of text."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    except (LookupError, ValueError):
        raise UsageError(
            f"{option}: unknown encoding {quote(encoding)}: name one such as utf-8, cp1252 or "
            "utf-16"
        ) from None


def to_utf8(data: bytes, *, name: str, encoding: str = DEFAULT, in_schema: bool = False) -> bytes:
    """Return the text as UTF-8 without a byte-order mark.

    `in_schema`: an error may say that a schema can name the encoding, too.
    """
    plain = _plain([data], name=name, encoding=encoding, in_schema=in_schema)
    return b"".join(_checked(plain, name=name, encoding=encoding, in_schema=in_schema))


def utf8_lines(
    chunks: Iterable[bytes],
    *,
    name: str,
    encoding: str = DEFAULT,
    limit: int,
    in_schema: bool = False,
    returns: bool = False,
) -> Iterator[bytes]:
    """Yield the same text in pieces of whole lines, or raise the same error after the last chunk.

    A line of more than `limit` bytes is an error, too. `returns`: a carriage return may end one.
    """
    plain = _plain(chunks, name=name, encoding=encoding, in_schema=in_schema)
    lines = _whole_lines(plain, name=name, limit=limit, returns=returns)
    return _checked(lines, name=name, encoding=encoding, in_schema=in_schema)


def way_out(option: str, value: str, *, in_schema: bool) -> str:
    """Return how to say how a text table is written: with an option, or in the schema."""
    shown = "tab" if value == "\t" else value
    plain = shown.replace("-", "").isalnum()
    typed = shown if plain else f'"{shown}"' if shown == "'" else f"'{shown}'"
    entry = shown if plain else f"'{shown}'" if shown in {'"', "\\"} else f'"{shown}"'
    schema = f", or file: {{{option}: {entry}}} in the schema" if in_schema else ""
    name = option.replace("_", "-")
    return f"add --{name}{schema}" if value == YES else f"add --{name} {typed}{schema}"


def exhaust(rest: Iterable[object]) -> None:
    """Go through what is left; an error in there comes before any that is known already."""
    for _ in rest:
        pass


def _plain(
    chunks: Iterable[bytes], *, name: str, encoding: str, in_schema: bool
) -> Iterator[bytes]:
    """Yield the text as UTF-8, which is not checked if it was to be UTF-8 already."""
    check_encoding(encoding)
    chunks = _with_long_start(chunks)
    if (codec := codecs.lookup(encoding)).name != DEFAULT:
        chunks = _with_long_start(_recoded(chunks, codec, name=name, encoding=encoding))
    start = next(chunks, b"")
    marked = next((title for mark, title in MARKS.items() if start.startswith(mark)), None)
    if marked and codec.name == DEFAULT:
        exhaust(chunks)
        do = way_out("encoding", marked.lower(), in_schema=in_schema)
        raise DataError(f"{name}: this is {marked}: {do}", cause=CAUSE)
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
    marked = False
    try:
        if codec.incrementaldecoder is None or codec.name in WHOLE:
            yield b"".join(chunks).decode(encoding).encode()
            return
        start = next(chunks)
        marks = tuple(mark for mark, title in MARKS.items() if title.lower() == codec.name)
        marked = start.startswith(marks)
        part = codec.incrementaldecoder("strict")
        if codec.name in UNMARKED and not marked:  # the parts of Python's would be refused
            part = codecs.getincrementaldecoder(UNMARKED[codec.name])("strict")
        # Whose characters have several bytes each, and NULs among those of a line's end.
        plain, lines = codec.name.startswith(("utf-16", "utf-32")), False
        for chunk in chain([start], chunks):
            yield part.decode(chunk).encode()
            plain = plain and NOT_PLAIN.search(chunk) is None
            lines = lines or b"\n" in chunk
        yield part.decode(b"", final=True).encode()
    except UnicodeError:
        exhaust(chunks)
        plain = lines = True
        if marked:  # so nobody need have named it
            raise DataError(
                f"{name}: this begins as {encoding.upper()}, and not all of it is: it was cut off "
                "or damaged: get the file anew",
                cause=CAUSE,
            ) from None
    if plain and lines:
        raise DataError(
            f"{name}: not {encoding} text: leave out --encoding, or name another", cause=CAUSE
        )


def _whole_lines(
    chunks: Iterable[bytes], *, name: str, limit: int, returns: bool
) -> Iterator[bytes]:
    """Yield the text in pieces that end where a line ends, or the text does."""
    held: list[bytes] = []
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if returns:  # the last byte may belong to a line feed that is still to come
            end = max(end, chunk.rfind(b"\r", 0, -1) + 1)
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


def _checked(
    texts: Iterator[bytes], *, name: str, encoding: str, in_schema: bool
) -> Iterator[bytes]:
    """Yield the texts, which are UTF-8 without a NUL, or raise; a NUL comes before other faults.

    `encoding` is the one that they were in.
    """
    lines, before, fault, plain = 0, b"", None, True
    start: list[bytes] = []  # of the text, to find out what a NUL means
    for text in texts:
        lines += before.count(b"\n")
        before = text
        start = [*start, text] if lines <= FIRST else []
        nul = text.find(b"\0")
        if nul >= 0:
            where = f"{name}: line {lines + line_of(text, nul)}: a NUL byte"
            start = [] if encoding.lower().startswith(WIDER) else start
            about = _about_nul(start, text[nul:], texts, in_schema=in_schema)
            exhaust(texts)
            raise DataError(f"{where}{about}", cause=CAUSE)
        if fault:
            fault.go_on(text)
        elif not text.isascii():
            try:
                text.decode()
            except UnicodeDecodeError as error:
                fault = NotUtf8.at(text, error.start, lines, plain=plain)
            plain = False
        if not fault:
            yield text
    if fault:
        raise DataError(f"{name}: {fault.described(in_schema=in_schema)}", cause=CAUSE)


def _about_nul(start: list[bytes], text: bytes, rest: Iterator[bytes], *, in_schema: bool) -> str:
    """Return what a NUL may mean, and what to do.

    `text` begins with it, and the rest comes behind. `start` is all up to there; nothing if that is
    much, or was in an encoding with NULs.
    """
    more: list[bytes] = []
    while sum(map(len, [*start, *more])) < ENOUGH and (one := next(rest, None)) is not None:
        more.append(one)
    encoding = wide_encoding(b"".join([*start, *more])) if start else None
    if encoding is None:
        return PADDED if are_only(chain([text], more, rest)) else DAMAGED
    looks = f": this looks like {encoding[:6].upper()}"
    if is_whole(chain(start, more, rest), encoding):
        return f"{looks}: {way_out('encoding', encoding, in_schema=in_schema)}"
    return f"{looks} that is damaged or cut short: get the file anew"


_READS = re.compile(" as ([a-z0-9_-]+) it reads '.*?'(?=: )", re.DOTALL)  # see `described`


@dataclass
class NotUtf8:
    """The first byte that is not UTF-8, and the words from its line on, to guess by."""

    line: int
    byte: int
    word: bytes  # that it stands in
    words: Counter[bytes]
    above: bool  # the lines above hold letters beyond ASCII, and are UTF-8

    @classmethod
    def at(cls, text: bytes, position: int, lines: int, *, plain: bool) -> Self:
        """Return what is wrong at a position of a text, before which there are so many lines.

        `plain`: these are ASCII.
        """
        start = text.rfind(b"\n", 0, position) + 1
        match = next(
            match
            for match in guess_encoding.WORD.finditer(text, start)
            if match.start() <= position < match.end()
        )
        words = guess_encoding.words_in(text[start:])
        above = not plain or not text[:start].isascii()
        return cls(lines + line_of(text, position), text[position], match[0], words, above)

    def go_on(self, text: bytes) -> None:
        """Look at further text."""
        guess_encoding.words_in(text, self.words)

    def described(self, *, in_schema: bool) -> str:
        """Return what is wrong, and what would help."""
        where = f"line {self.line}: byte {self.byte:02X} is not UTF-8"
        if self.above or guess_encoding.mostly_utf8(self.words):
            return f"{where}, though other lines are: correct this line"
        if guess := guess_encoding.guess(self.words):
            read = quote(self.word.decode(guess.encoding))
            do = way_out("encoding", guess.encoding, in_schema=in_schema)
            return f"{where}; as {guess.encoding} it reads {read}: {do}"
        return (
            f"{where}: name the encoding of the file with --encoding, such as cp1252 (Western), "
            "cp437 (old DOS), gb18030 (Chinese) or cp949 (Korean)"
        )


def without_word(problem: str) -> str:
    """Return what is wrong with a file without the word that a byte stands in."""
    return _READS.sub(" as \\1", problem)


def line_of(data: bytes, position: int) -> int:
    """Return the number of the line, from 1, that a byte is on."""
    return data.count(b"\n", 0, position) + 1
