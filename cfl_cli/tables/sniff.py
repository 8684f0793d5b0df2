"""How a text table is written, from its bytes: encoding, delimiter, quote, line of the header.

All records are looked at. A delimiter must cut nearly all of them into the same number of cells,
two at least, from a line on that looks like names. What is found is a proposal: the table is read
with it as strictly as ever, so that a wrong one is refused and not passed on.
"""

import codecs
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType

import numpy as np

from cfl_cli.core.messages import count, quote
from cfl_cli.errors import DataError
from cfl_cli.tables import encodings
from cfl_cli.tables.csv_reader import as_given, sep_line
from cfl_cli.tables.csv_scan import Records, find_records
from cfl_cli.tables.dialect import NONE, QUOTE, UTF8, YES, Dialect
from cfl_cli.tables.encodings import MARKS, line_of, to_utf8, wide_encoding
from cfl_cli.texts.numbers import looks_like_number

DELIMITERS = ",;\t|"
OTHER_QUOTE = "'"
FIT = 0.98  # share of records that must have the same number of cells
LOOSE = 0.5  # … if nothing better is found; the reader then names the records that do not fit
_LOWEST = 4  # the last line that may be the header
_LOOKED_AT = 10_000  # records whose cells are looked at
_CELLS, _FEWEST = 500_000, 200  # … as long as they have so many cells, or are so few
_SHOWN = 3  # lines that are named
FAULTS = 20  # misplaced quotes, after which the rest does not count
QUOTED = 0.02  # share of cells within ' from which that is the quote


@dataclass(frozen=True)
class Shape:
    delimiter: str
    quote: str
    columns: int
    records: int  # from the header on
    share: float  # of these records that have as many cells as there are columns
    line: int  # of the header
    first: bool  # no line stands above it but one that names the delimiter
    named: bool  # the header looks like names
    blanks: bool  # half of the cells or more begin with a blank
    repeated: tuple[int, ...] = ()  # lines that are the header again

    @property
    def fits(self) -> bool:
        return self.share >= FIT

    @property
    def merit(self) -> tuple[bool, bool, bool, bool, int]:
        return self.fits, self.first, self.named, not self.blanks, self.columns


@dataclass(frozen=True)
class Sniffed:
    """How a text table seems to be written; what is None was not found."""

    encoding: str
    shape: Shape | None
    rivals: tuple[Shape, ...] = ()  # that fit as well
    words: tuple[str, ...] = ()  # that the encoding was guessed from
    cells: int = 0  # with letters beyond ASCII, if the encoding was guessed
    says_sep: bool = False  # a first line such as sep=; names the delimiter
    usual: str = ","  # the delimiter of such files

    @property
    def dialect(self) -> dict[str, str]:
        found = {"encoding": self.encoding}
        if self.shape:
            found |= {"delimiter": self.shape.delimiter, "quote": self.shape.quote}
        usual = {"encoding": UTF8, "delimiter": self.usual, "quote": QUOTE}
        return {name: word for name, word in found.items() if word != usual[name]}

    def notes(self, *, words: bool = True) -> Iterator[str]:
        """Yield the evidence, a line each; what is doubtful begins with a question mark.

        `words`: may they show words of the table?
        """
        if self.words:
            cells, shown_words = count(self.cells, "cell"), ", ".join(map(quote, self.words))
            evidence = f"from {shown_words} in {cells}" if words else f"from {cells}"
            yield f"? encoding {self.encoding} guessed {evidence}"
        shape = self.shape
        if shape is None:
            return
        if self.says_sep:
            yield f"line 1 says that {shown_sign(shape.delimiter)} separates the cells"
        elif shape.delimiter != self.usual:
            sign, lines = shown_sign(shape.delimiter), f"{shape.records:,} lines"
            yield f"{sign} separates {shape.columns} cells in each of {lines}"
        for rival in self.rivals:
            yield f"? {shown_sign(rival.delimiter)} would give {rival.columns} cells in every line"
        if shape.quote not in (QUOTE, NONE):
            yield f"? cells are quoted with {shape.quote}"
        for line in shape.repeated[:_SHOWN]:
            yield f"? line {line:,} repeats the header: delete it"
        if (more := len(shape.repeated) - _SHOWN) > 0:
            yield f"? {more:,} more lines repeat the header: delete them"
        if not shape.named:
            above = "add a line with the column names above it, or --header none"
            yield f"? line {shape.line} looks like data, not like column names: if so, {above}"


def shown_sign(sign: str) -> str:
    return "tab" if sign == "\t" else quote(sign)


def sniff(
    data: bytes, given: Mapping[str, str] = MappingProxyType({}), *, usual: str = ","
) -> Sniffed:
    """Return how a text table is written; what is given is not asked for.

    `usual` is the delimiter of such files, which wins if all else is equal.
    """
    guess = None
    delimiter, quote, encoding = map(given.get, ("delimiter", "quote", "encoding"))
    if encoding is None:
        encoding = _evident_encoding(data)
    if encoding is None:
        guess = encodings.guess_encoding(encodings.words_in(data))
        encoding = guess.encoding if guess else UTF8
    try:
        text = to_utf8(data, name="", encoding=encoding)
    except DataError:  # which the reader says
        return Sniffed(encoding, None, usual=usual)
    said = sep_line(text)
    text, start = as_given(text, given)
    trims = given.get("trim_cells") == YES
    shapes = sorted_shapes(text, start, delimiter or said, quote, usual=usual, trims=trims)
    words = guess.words if guess else ()
    sign, beyond = (shapes[0].delimiter if shapes else usual).encode(), 0
    if words:  # how many cells hold more than ASCII
        beyond = sum(not cell.isascii() for line in text.split(b"\n") for cell in line.split(sign))
    if {"header", "rename_columns"} & {*given}:  # the user says where the names are, if anywhere
        shapes = [replace(shape, first=True, named=True, repeated=()) for shape in shapes]
    rivals = tuple(shape for shape in shapes[1:] if shape.merit[:-1] == shapes[0].merit[:-1])
    best, says_sep = shapes[0] if shapes else None, said is not None and delimiter is None
    rivals = rivals if best and best.fits else ()
    return Sniffed(encoding, best, rivals, words, beyond, says_sep, usual)


def sorted_shapes(
    text: bytes,
    start: int = 0,
    delimiter: str | None = None,
    quote: str | None = None,
    *,
    usual: str = ",",
    trims: bool = False,
) -> list[Shape]:
    """Return what a dialect makes of UTF-8 text from `start` on, those that make a table, best first."""
    other = b'"' not in text and OTHER_QUOTE.encode() in text
    quotes = [quote] if quote else [QUOTE, OTHER_QUOTE] if other else [QUOTE]
    shapes = []
    for sign in [delimiter] if delimiter else sorted(DELIMITERS, key=lambda one: one != usual):
        if sign.encode() in text:
            marks = [None if mark == NONE else mark for mark in quotes if mark != sign]
            found = (_shape(text, start, Dialect(sign, mark, trims=trims)) for mark in marks)
            shapes += [one for one in found if one][-1:]  # the other quote if it passed its test
    return sorted(shapes, key=lambda shape: shape.merit, reverse=True)  # the first of equal ones


def _shape(text: bytes, start: int, dialect: Dialect) -> Shape | None:
    body = text[start:]
    records, bad = _records(body, dialect)
    wide = records.widths[records.widths > 1]
    if not len(wide) or (dialect.quote == OTHER_QUOTE and bad):
        return None
    widths = np.bincount(wide)
    columns = len(widths) - 1 - int(np.argmax(widths[::-1]))  # the larger one of equal ones
    most = min(_LOOKED_AT, max(_FEWEST, _CELLS // columns))
    enough = int(records.ends[most - 1]) + 1 if len(records.ends) > most else len(body)
    beginning = body[:enough]
    rows = _cells(beginning, dialect)
    if dialect.quote == OTHER_QUOTE and not _quotes_cells(beginning, dialect):
        return None
    places = [n for n, row in enumerate(rows[:_LOWEST]) if len(row) == columns]
    if not places:
        return None
    below = [row for row in rows if len(row) == columns]
    others = ([row for row in below[at:] if row != rows[n]] for at, n in enumerate(places, 1))
    named = (n for n, rest in zip(places, others, strict=True) if _looks_like_names(rows[n], rest))
    likely = next(named, None)
    place = places[0] if likely is None else likely
    below = below[places.index(place) + 1 :]
    begin = int(records.starts[min(place, len(records.starts) - 1)])
    # Blank lines at the end are fine, others count.
    here = (records.starts >= begin) & (records.starts < max(len(body.rstrip(b"\r\n")), 1))
    total = int(here.sum()) + bad
    share = int((records.widths[here] == columns).sum()) / total if total else 0.0
    cells = [cell for row in below for cell in row]
    blanks = 2 * sum(cell.startswith(" ") for cell in cells) >= max(len(cells), 1)
    if share < LOOSE or (
        place and (share < FIT or blanks or likely is None or not _is_title(rows[:place], below))
    ):
        return None
    return Shape(
        dialect.delimiter,
        dialect.quote or NONE,
        columns,
        total,
        share,
        line_of(text, start + begin),
        first=place == 0,
        named=likely is not None,
        blanks=blanks,
        repeated=_repeated(text, start, records, begin) if likely is not None else (),
    )


def _repeated(text: bytes, start: int, records: Records, begin: int) -> tuple[int, ...]:
    at = np.flatnonzero(records.starts == begin)
    if not len(at):
        return ()
    size = records.ends[at[0]] - begin
    header = text[start + begin : start + int(records.ends[at[0]])].rstrip(b"\r\n")
    alike = (records.starts > begin) & (abs(records.ends - records.starts - size) <= 1)
    places = (start + int(place) for place in records.starts[alike])
    same = [p for p in places if text[p : p + len(header) + 1].rstrip(b"\r\n") == header]
    return tuple(line_of(text, place) for place in same)


def _records(text: bytes, dialect: Dialect) -> tuple[Records, int]:
    pieces, bad, offset = [], 0, 0
    while offset < len(text):
        found, faults, _ = find_records(text[offset:], dialect, go_on=False)
        pieces.append(Records(found.starts + offset, found.ends + offset, found.widths))
        if not faults:
            break
        bad += 1
        offset += faults[0].stop
        if bad == FAULTS:
            bad += text.count(b"\n", offset)
            break
    return Records.joined(pieces), bad


def _is_title(above: Sequence[Sequence[str]], below: Sequence[Sequence[str]]) -> bool:
    if any(not any(row) or len(row) == len(below[0]) for row in above if below):
        return True
    columns = zip(*below, strict=False)
    return any(2 * sum(map(looks_like_number, column)) > len(column) for column in columns)


def _cells(text: bytes, dialect: Dialect) -> list[list[str]]:
    reader = csv.reader(
        io.StringIO(text.decode(), newline=""),
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        skipinitialspace=dialect.trims,
    )
    rows: list[list[str]] = []
    with suppress(csv.Error):  # a cell of more than 128 kB
        rows.extend(islice(reader, _LOOKED_AT))
    return rows


def _looks_like_names(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    given = [name.strip() for name in names]
    full = [name for name in given if name]
    only_first_lacks = given[0] == "" and len(full) == len(given) - 1
    if not only_first_lacks and len(full) < max(2, len(given) // 2 + 1):
        return False
    if len({*full}) < len(full) or any(map(looks_like_number, full)):
        return False
    return not any(row[place] == name for place, name in enumerate(names) if name for row in below)


def _quotes_cells(text: bytes, dialect: Dialect) -> bool:
    lines, mark = text.decode().splitlines()[:_LOOKED_AT], dialect.quote
    plain = [cell for line in lines for cell in line.split(dialect.delimiter)]
    quoted = sum(len(cell) > 1 and cell[0] == mark == cell[-1] for cell in plain)
    return quoted >= max(QUOTED * len(plain), 1)


def _evident_encoding(data: bytes) -> str | None:
    for mark, title in MARKS.items():
        if data.startswith(mark):
            return title.lower()
    if data.startswith(codecs.BOM_UTF8):
        return UTF8
    if b"\0" in data and (encoding := wide_encoding(data)):
        return encoding
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    return UTF8
