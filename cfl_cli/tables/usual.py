"""Whether a text table is written as usual, though a schema says that such tables are not.

What cfl writes has commas, or tabs in TSV, and is UTF-8, whatever the table looked like that it was
made from. It is read back by these two rules, else as the schema says:

    header     with the usual signs it names the schema's columns, with the schema's it does not
    encoding   the schema's has one byte for each character, but all of the text is UTF-8, and not
               only ASCII
"""

import codecs
import csv
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain

from cfl_cli.tables.codec import ReadOptions
from cfl_cli.tables.encodings import DEFAULT

LONGEST = 1 << 20  # bytes of a header


def as_usual(
    options: ReadOptions, chunks: Iterable[bytes], columns: Collection[str]
) -> ReadOptions:
    """Return how to read a text, which should name these columns."""
    said = options.signs
    if not said or not columns or not options.kind.delimiter:
        return options
    chunks = iter(chunks)
    start = b""
    while b"\n" not in start and len(start) < LONGEST and (chunk := next(chunks, b"")):
        start += chunk
    line = start.partition(b"\n")[0].rstrip(b"\r").removeprefix(codecs.BOM_UTF8)
    as_said = {"delimiter": options.kind.delimiter, **said}
    if {*columns} <= _names(line, options.kind.delimiter) and not (
        {*columns} <= _names(line, **as_said)
    ):
        return replace(options, signs={})
    if _has_single_bytes(said.get("encoding", DEFAULT)) and _is_utf8(chain([start], chunks)):
        return replace(
            options, signs={name: sign for name, sign in said.items() if name != "encoding"}
        )
    return options


def _names(line: bytes, delimiter: str, quote: str = '"', encoding: str = DEFAULT) -> set[str]:
    """Return what a header names by some signs; nothing if it cannot be read so."""
    try:
        return {*next(csv.reader([line.decode(encoding)], delimiter=delimiter, quotechar=quote))}
    except (UnicodeError, csv.Error, StopIteration):
        return set()


def _has_single_bytes(encoding: str) -> bool:
    """Return whether each character is one byte, which no UTF-8 beyond ASCII is by chance."""
    if codecs.lookup(encoding).name == DEFAULT:
        return False
    return len(bytes(range(256)).decode(encoding, errors="replace")) == 256


def _is_utf8(chunks: Iterable[bytes]) -> bool:
    """Return whether a text is UTF-8 with letters beyond ASCII."""
    decoder, plain = codecs.getincrementaldecoder(DEFAULT)(), True
    try:
        for chunk in chunks:
            plain = plain and chunk.isascii()
            if not plain:
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return not plain
