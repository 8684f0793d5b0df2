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

from cfl_cli.errors import DataError
from cfl_cli.tables.codec import ReadOptions
from cfl_cli.tables.csv_dialect import Dialect
from cfl_cli.tables.csv_escapes import split
from cfl_cli.tables.csv_header import begun, renamed
from cfl_cli.tables.csv_scan import find_records
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
    start, dialect = b"", Dialect.of(options)
    lines = max(dialect.skipped, dialect.header_line or 1) + 1
    while start.count(b"\n") < lines and len(start) < LONGEST and (chunk := next(chunks, b"")):
        start += chunk
    line = start.partition(b"\n")[0].rstrip(b"\r").removeprefix(codecs.BOM_UTF8)
    if {*columns} <= _names(line, options.kind.delimiter) and not (
        {*columns} <= _names_as_said(start, dialect)
    ):
        return replace(options, signs={})
    if _has_single_bytes(said.get("encoding", DEFAULT)) and _is_utf8(chain([start], chunks)):
        return replace(
            options, signs={name: sign for name, sign in said.items() if name != "encoding"}
        )
    return options


def _names(line: bytes, delimiter: str) -> set[str]:
    """Return what a header names by the usual signs; nothing if it cannot be read so."""
    try:
        return {*next(csv.reader([line.decode()], delimiter=delimiter))}
    except (UnicodeError, csv.Error, StopIteration):
        return set()


def _names_as_said(start: bytes, dialect: Dialect) -> set[str]:
    """Return what the header names where and how a schema says it; nothing if there is none."""
    if not dialect.has_header:
        return set()
    try:
        text = start.decode(dialect.encoding).removeprefix("\ufeff").encode()
        found = begun(iter([text]), dialect)
        header = b"".join(found.texts) if found.above is None else found.above
        records, _, _ = find_records(header, found.signs, go_on=False)
        end = int(records.ends[0]) if len(records.ends) else 0
        names = split(header[:end].decode().removesuffix("\r"), found.signs)
    except (UnicodeError, csv.Error, DataError):
        return set()
    return {*(renamed(names).names if dialect.renames else names)}


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
