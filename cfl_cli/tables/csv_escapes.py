r"""Escapes of a delimited text, such as `\"`: what means nothing by them, and records without.

The first of a run of escapes takes the meaning of the second, the third that of the fourth …; what
comes behind a run of odd length stands for itself. So `\n` is n, not the end of a line.
"""

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from cfl_cli.core.arrays import Ints
from cfl_cli.errors import DataError
from cfl_cli.tables.csv_records import Signs
from cfl_cli.tables.csv_trim import trimmed

NOTHING = 0  # no text holds this byte


def masked(data: bytes, signs: Signs) -> bytes:
    """Return the text with a byte that means nothing in the place of each escaped one."""
    if signs.escape is None or signs.escape.encode() not in data:
        return data
    view = np.frombuffer(data, dtype=np.uint8).copy()
    behind = active(data, signs) + 1
    view[behind[behind < len(view)]] = NOTHING
    return view.tobytes()


def prepared(text: bytes, signs: Signs) -> bytes:
    """Return a text to guess by: only line feeds end lines, and nothing is escaped."""
    text = masked(text, signs)
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if signs.returns else text


def active(data: bytes, signs: Signs) -> Ints:
    """Return the positions of the escapes that are not escaped themselves."""
    if signs.escape is None:
        return np.empty(0, np.int64)
    at = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord(signs.escape))
    number = np.arange(len(at))
    begins = np.diff(at, prepend=-2) != 1
    first = np.maximum.accumulate(np.where(begins, number, 0))  # of its run
    return np.asarray(at[(number - first) % 2 == 0])


def undone(records: Sequence[bytes], signs: Signs, *, mark: str) -> Iterator[bytes]:
    """Yield records without escapes: cells that need it are quoted with `mark`, as RFC 4180 says.

    Cells that are empty stay so, whether they were quoted or not.
    """
    special = {signs.delimiter, mark, "\r", "\n"}
    with unlimited():
        for record in records:
            cells = split(record.decode(), signs)
            yield signs.delimiter.join(
                f"{mark}{cell.replace(mark, mark * 2)}{mark}" if special & {*cell} else cell
                for cell in cells
            ).encode()


def split(record: str, signs: Signs) -> list[str]:
    """Return the cells of one record."""
    if signs.trims:
        data = record.encode()
        record = trimmed(data, masked(data, signs), signs).decode()
    lines = io.StringIO(record, newline="")
    found = list(
        csv.reader(
            lines,
            delimiter=signs.delimiter,
            quotechar=signs.quote,
            escapechar=signs.escape,
            quoting=csv.QUOTE_NONE if signs.quote is None else csv.QUOTE_MINIMAL,
            strict=signs.escape is None,
        )
    )
    if len(found) > 1:
        raise DataError("a record that Python's csv takes for several")
    return found[0] if found else []


@contextmanager
def unlimited() -> Iterator[None]:
    """Let cells be of any length."""
    usual = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(usual)
