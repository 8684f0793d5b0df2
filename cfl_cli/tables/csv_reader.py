"""CSV text, some lines at a time → sheets: records that fit the header, and those that do not."""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from itertools import count as iter_from
from typing import Self

import numpy as np

from cfl_cli.core.arrays import Mask
from cfl_cli.core.messages import count, quote
from cfl_cli.errors import DataError, UsageError
from cfl_cli.tables.codec import ReadOptions, Reject, Renamed
from cfl_cli.tables.csv_scan import (
    NEWLINE,
    RETURN,
    BadRecord,
    Records,
    Signs,
    active,
    are_blank,
    find_records,
    masked,
    next_line,
    prepared,
    split,
    trimmed,
    undone,
)
from cfl_cli.tables.encodings import DEFAULT, check_encoding, exhaust, line_of
from cfl_cli.tables.formats import FILL, NONE, RETURNS, YES

# How a delimited text is written, as options and schemas say it in words.

MOST_LINES = 10**9


@dataclass(frozen=True)
class Dialect:
    """The signs that a table is written with, where its header is, and what is put right."""

    delimiter: str = ","
    quote: str = '"'  # or NONE
    encoding: str = "utf-8"
    escape: str = NONE  # or the sign
    line_end: str = "lf"  # which CRLF is too; RETURNS: also a carriage return alone
    header: str = ""  # a line, from 1, or NONE; empty: the first that is not left out
    skip_lines: str = "0"  # lines at the beginning that hold no rows
    rename_columns: str = "no"  # YES: names are made up for columns without, or with another's
    trim_cells: str = "no"  # YES: blanks around cells, outside quotes, are no part of them
    ragged: str = "fail"  # FILL: short records are filled up, long ones make new columns
    certain: bool = False  # the user gave the delimiter, so no first line changes it

    @classmethod
    def of(cls, options: ReadOptions) -> Self:
        """Return what options say, and what is usual for the format."""
        signs = {"delimiter": options.kind.delimiter, **options.signs}
        return cls(**signs, certain="delimiter" in options.signs)

    def __post_init__(self) -> None:
        for name in ("delimiter", "quote", "escape"):
            sign = getattr(self, name)
            if name != "delimiter" and sign == NONE:
                continue
            if problem := sign_problem(sign):
                raise UsageError(f"--{name}: {problem}")
        pairs = (("delimiter", "quote"), ("delimiter", "escape"), ("quote", "escape"))
        for one, two in pairs:
            if getattr(self, one) == getattr(self, two) != NONE:
                raise UsageError(f"--{one} and --{two} are both {quote(getattr(self, one))}")
        for name in ("header", "skip_lines"):
            if problem := number_problem(name, getattr(self, name)):
                raise UsageError(f"--{name.replace('_', '-')}: {problem}")
        check_encoding(self.encoding)

    @property
    def signs(self) -> Signs:
        """Return the characters that delimit and quote cells."""
        none = {NONE: None}
        return Signs(
            self.delimiter,
            none.get(self.quote, self.quote),
            none.get(self.escape, self.escape),
            self.line_end == RETURNS,
            self.trim_cells == YES,
        )

    @property
    def header_line(self) -> int | None:
        """The line of the header, from 1; None: the first that is not left out."""
        return int(self.header) if self.has_header and self.header else None

    @property
    def has_header(self) -> bool:
        """Whether a line names the columns."""
        return self.header != NONE

    @property
    def skipped(self) -> int:
        """How many lines at the beginning hold no rows."""
        return int(self.skip_lines)

    @property
    def renames(self) -> bool:
        """Whether names are made up where they lack or stand twice."""
        return self.rename_columns == YES

    @property
    def fills(self) -> bool:
        """Whether records of other widths than the header's are rows, too."""
        return self.ragged == FILL


NAMES = tuple(field.name for field in fields(Dialect) if field.name != "certain")


def sign_problem(sign: str) -> str:
    """Return why a text is not a sign; nothing if it is one."""
    if len(sign) == 1 and sign.isascii() and sign not in "\r\n\0":
        return ""
    return f"expected one ASCII character or tab, found {quote(sign)}"


def number_problem(name: str, text: str) -> str:
    """Return why a text does not say where the header is, or how many lines are left out."""
    lowest = 1 if name == "header" else 0
    if name == "header" and text in ("", NONE):
        return ""
    if text.isascii() and text.isdecimal() and lowest <= int(text[:12]) <= MOST_LINES:
        return ""
    wanted = "none or the number of a line, from 1" if lowest else "a number of lines"
    return f"expected {wanted}, found {quote(text)}"


# The line with which spreadsheets name the delimiter before the header: `sep=;`.

SEP = re.compile(rb'"?sep=([\t -/:-@\[-`{-~])"?[;,\t|]*\r?\n', re.IGNORECASE)


def sep_line(text: bytes) -> tuple[str | None, int]:
    """Return the delimiter that the first line of a text names, and where the next one begins.

    None and 0: the first line names none.
    """
    match = SEP.match(text)
    return (match[1].decode(), match.end()) if match else (None, 0)


# Where a table begins, and what its columns are called: as its header says, or as made up.

SHOWN = 5  # columns with other names that are named


class MisshapenError(DataError):
    """Records that do not fit together, perhaps because other signs separate their cells."""


class NamesError(MisshapenError):
    """A header that does not name all columns, or two alike."""


@dataclass(frozen=True)
class Columns:
    """The names of the columns, and which of them are not the file's."""

    names: list[str]
    renamed: tuple[Renamed, ...] = ()
    made_up: bool = False  # no line of the file names them

    def widened(self, width: int) -> "Columns":
        """Return as many columns as that, with made-up names for the new ones."""
        more = range(len(self.names) + 1, width + 1)
        if not more:
            return self
        added = renamed([*self.names, *("" for _ in more)], keep=len(self.names))
        if self.made_up:
            return Columns(added.names, made_up=True)
        return Columns(added.names, (*self.renamed, *added.renamed))


@dataclass(frozen=True)
class Start:
    """A text from where its rows begin, or the header right above them."""

    texts: Iterator[bytes]
    signs: Signs
    line: int  # lines that are left out
    above: bytes | None  # the header and what follows it, if that is among them


def begun(texts: Iterator[bytes], dialect: Dialect) -> Start:
    """Return a text without the lines that are left out.

    These are the ones that the user named, those above the header, and a first line that names the
    delimiter; the user's own word wins over that line.
    """
    first = next(texts, b"")
    texts = chain([first], texts)
    sign, _ = sep_line(first)
    signs, at = dialect.signs, dialect.header_line
    says = sign is not None and sign != dialect.quote and at != 1
    if says and sign is not None and not dialect.certain:
        signs = signs._replace(delimiter=sign)
    skipped = max(dialect.skipped, (at or 1) - 1, int(says))
    if not skipped:
        return Start(texts, signs, 0, None)
    above, rest, lines = _cut(texts, skipped, signs)
    header = None
    if at is not None and at <= lines:
        header = above[_line_start(above, at, signs) :]
    return Start(rest, signs, lines, header)


def _cut(texts: Iterator[bytes], lines: int, signs: Signs) -> tuple[bytes, Iterator[bytes], int]:
    """Return the first lines of a text, the rest, and how many lines there were."""
    held: list[bytes] = []
    passed = 0
    for text in texts:
        place = 0
        while passed < lines and place < len(text):
            place = next_line(text, place, signs)
            passed += 1
        held.append(text[:place])
        if place < len(text):
            return b"".join(held), chain([text[place:]], texts), passed
    return b"".join(held), iter(()), passed


def _line_start(text: bytes, line: int, signs: Signs) -> int:
    place = 0
    for _ in range(line - 1):
        place = next_line(text, place, signs)
    return place


def as_given(text: bytes, given: Mapping[str, str]) -> tuple[bytes, int]:
    """Return a text to guess by, and where its header or its first row begins."""
    dialect = Dialect(
        **{name: sign for name, sign in given.items() if name != "encoding"}, certain=True
    )
    start = begun(iter([text]), dialect)
    body = prepared(b"".join(start.texts), start.signs)
    text = prepared(text, start.signs)
    return text, len(text) - len(body)


def checked(names: Sequence[str], dialect: Dialect, *, name: str, line: int) -> Columns:
    """Return the columns that a header names, or raise if it does not name all of them.

    The first may be empty: so pandas and R write row numbers and names.
    """
    if dialect.renames and names:
        return renamed(names)
    if not any(names):
        raise NamesError(f"{name}: the header is empty: line {line} must name the columns")
    problems = [
        f"{name}: line {line}: column {number} has no name: name it, or leave it out"
        for number, column in enumerate(names[1:], start=2)
        if not column
    ]
    twice = [column for column, times in Counter(names).items() if column and times > 1]
    if twice and any(column.replace(".", "").isdecimal() for column in names):
        raise NamesError(
            f"{name}: line {line}: duplicate column {quote(twice[0])}: rename one of them, or if "
            "this line is data, add a header above it",
            cause="file-header",
        )
    problems += [
        f"{name}: line {line}: duplicate column {quote(column)}: rename one of them"
        for column in twice
    ]
    if problems:
        raise NamesError(*problems)
    return Columns(list(names))


def made_up(width: int) -> Columns:
    """Return the names of columns that no line names."""
    return Columns([f"column_{number}" for number in range(1, width + 1)], made_up=True)


def renamed(names: Sequence[str], *, keep: int = 0) -> Columns:
    """Return names that are all there and all different; `keep` are so already.

    A column without a name is called by its number, the second of a name gets _2, and so on; what
    is made up is no name that the header has.
    """
    taken, seen = {*names}, {*names[:keep]}
    numbers: dict[str, Iterator[int]] = {}
    found = list(names[:keep])
    changed = []
    for number, name in enumerate(names[keep:], start=keep + 1):
        now = name
        if not name or name in seen:
            stem = name or f"column_{number}"
            further = numbers.setdefault(stem, iter_from(2))
            now = f"{stem}_{next(further)}" if name else stem
            while now in taken:
                now = f"{stem}_{next(further)}"
            changed.append(Renamed(number, name, now))
        taken.add(now)
        seen.add(now)
        found.append(now)
    return Columns(found, tuple(changed))


def notes(
    columns: Columns, wide: Columns, *, fewer: int, more: int, left_out: int
) -> Iterator[str]:
    """Yield what was put right, a line each: names, records of other widths, blank lines.

    `wide` are the columns with those that longer records need.
    """
    for one in columns.renamed[:SHOWN]:
        was = f"{quote(one.name)} again" if one.name else "without a name"
        yield f"column {one.number} is {was}, and called {quote(one.now)}"
    if len(columns.renamed) > SHOWN:
        yield f"{count(len(columns.renamed) - SHOWN, 'more column')} renamed"
    if fewer:
        yield f"{count(fewer, 'record')} with fewer cells than columns filled up with empty ones"
    if more:
        added = wide.names[len(columns.names) :]
        names = quote(added[0]) + (f" to {quote(added[-1])}" if len(added) > 1 else "")
        yield f"{count(more, 'record')} with more cells than columns: these are in {names}"
    if left_out:
        yield f"{count(left_out, 'blank line')} left out"


BLANK = "a blank line"
QUOTE = '"'  # of what is made of escapes, if the table has none


@dataclass(frozen=True)
class Sheet:
    """Some records of a table, one after the other."""

    columns: Columns
    signs: Signs  # that delimit and quote its cells
    data: bytes  # with these records, and perhaps others
    body: Records
    fits: Mask  # which of them are as they should be
    bad: list[BadRecord]  # the others, and stretches that are no records
    line: int  # lines of the table before `data`
    blanks: range  # the lines before this sheet that are blank, and no longer at the end
    left_out: int = 0  # blank lines that nobody minds

    @property
    def height(self) -> int:
        """Good records."""
        return int(np.count_nonzero(self.fits))

    @property
    def rejected(self) -> int:
        """Bad ones."""
        return len(self.blanks) + len(self.bad)

    @property
    def widths(self) -> tuple[int, int, int]:
        """The cells of the widest good record, and how many have fewer or more than the header."""
        widths, usual = self.body.widths[self.fits], len(self.columns.names)
        widest = int(widths.max()) if len(widths) else 0
        return widest, int((widths < usual).sum()), int((widths > usual).sum())

    @property
    def strict_quote(self) -> str | None:
        """The quote of what `good` returns."""
        return self.signs.quote or (QUOTE if self.signs.escape else None)

    def good(self, width: int) -> bytes:
        """Return the bytes of the good records, as RFC 4180 has them, all with `width` cells."""
        if not self.height:
            return b""
        kept = self.body[self.fits]
        missing = width - kept.widths
        escapes = active(self.data, self.signs)
        as_written = not (missing.any() or len(escapes) or self.left_out or self.signs.trims)
        if not as_written or not (self.signs.quote or self._plain):
            return self._rewritten(kept, missing.tolist(), escapes)
        begin, pieces = int(self.body.starts[0]), []
        for record in self.bad:
            pieces.append(self.data[begin : record.start])
            begin = max(begin, record.stop)
        return b"".join([*pieces, self.data[begin : int(self.body.ends[-1]) + 1]])

    @property
    def _plain(self) -> bool:
        """Whether nothing has to be quoted, though there is no quote."""
        return self.strict_quote is None or QUOTE.encode() not in self.data

    def _rewritten(
        self, kept: Records, missing: list[int], escapes: "np.typing.NDArray[np.int64]"
    ) -> bytes:
        """Return records without escapes and outer blanks, and with all their cells."""
        bounds = zip(kept.starts.tolist(), kept.ends.tolist(), strict=True)
        records = [self.data[start:end].removesuffix(b"\r") for start, end in bounds]
        if self.signs.trims:
            records = [trimmed(one, masked(one, self.signs), self.signs) for one in records]
        if self.signs.escape and (mark := self.strict_quote):
            here = np.searchsorted(escapes, kept.starts) < np.searchsorted(escapes, kept.ends)
            if self.signs.quote is None:
                here |= np.array([mark.encode() in record for record in records])
            places = np.flatnonzero(here).tolist()
            found = undone([records[place] for place in places], self.signs, mark=mark)
            for place, record in zip(places, found, strict=True):
                records[place] = record
        sign = self.signs.delimiter.encode()
        return b"".join(
            record + sign * more + b"\n" for record, more in zip(records, missing, strict=True)
        )

    def causes(self) -> Iterator[tuple[int, str]]:
        """Yield the line at fault and the cause of every bad record."""
        yield from ((line, BLANK) for line in self.blanks)
        for record in self.bad:
            yield self.line + line_of(self.data, record.position), record.cause

    def rejects(self) -> Iterator[Reject]:
        """Yield the first line, the cause and the text of every bad record."""
        yield from ((line, BLANK, "") for line in self.blanks)
        line, counted = self.line + 1, 0
        for record in self.bad:
            line += self.data.count(b"\n", counted, record.start)
            counted = record.start
            text = self.data[record.start : record.stop].decode().rstrip("\r\n")
            yield line, record.cause, text


def sheets(texts: Iterable[bytes], dialect: Dialect, options: ReadOptions) -> Iterator[Sheet]:
    """Yield the sheets of a table whose text is UTF-8, in pieces of whole lines.

    If bad records are an error, nothing after the first misplaced character is looked at.
    """
    start = begun(iter(texts), dialect)
    columns, blanks, before = None, range(0), start.line
    try:
        columns = _columns_above(start, dialect, options)
        for data, records, bad, before in _scanned(start, go_on=bool(options.set_aside)):
            body, blank = records, _blank(data, records, start.signs)
            if columns is None and dialect.has_header:
                names = _header(
                    data, records, bad, name=options.name, signs=start.signs, line=before
                )
                columns = checked(names, dialect, name=options.name, line=before + 1)
                body, blank = records[1:], blank[1:]
            elif columns is None and not blank.all():
                columns = made_up(int(records.widths[~blank][0]))
            known = columns or Columns([])
            if dialect.fills:
                yield Sheet(
                    known, start.signs, data, body, ~blank, bad, before, range(0), int(blank.sum())
                )
                continue
            sheet, blanks = _sheet(known, start.signs, data, body, blank, bad, before, blanks)
            yield sheet
        if columns is None:
            raise _empty(start, dialect, options)
    except DataError:
        exhaust(start.texts)
        raise


def _columns_above(start: Start, dialect: Dialect, options: ReadOptions) -> Columns | None:
    """Return the columns by a header among the lines that are left out, if it is there."""
    line = dialect.header_line
    if start.above is None or line is None:
        return None
    records, bad, _ = find_records(start.above, start.signs, go_on=False)
    names = _header(start.above, records, bad, name=options.name, signs=start.signs, line=line - 1)
    return checked(names, dialect, name=options.name, line=line)


def _empty(start: Start, dialect: Dialect, options: ReadOptions) -> DataError:
    """Return that there is no header, or no row to count the columns by."""
    asked = max(dialect.skipped, (dialect.header_line or 1) - 1)
    if asked and start.line <= asked:
        option = "--skip-lines" if dialect.skipped == asked else "--header"
        there = f"the table has no more than {count(start.line, 'line')}"
        return DataError(f"{options.name}: {there}: lower {option}")
    if not dialect.has_header:
        return DataError(f"{options.name}: no rows, so nothing says how many columns there are")
    return NamesError(
        f"{options.name}: the header is empty: line {start.line + 1} must name the columns"
    )


def _scanned(start: Start, *, go_on: bool) -> Iterator[tuple[bytes, Records, list[BadRecord], int]]:
    """Yield text with its records, those that are none, and the lines before it.

    A record that goes on in the next piece of text waits for it. If it is long, it waits for as
    much as there is of it, so that it is not scanned too often.
    """
    used = wanted = 0
    data, line, signs = b"", start.line, start.signs
    held: list[bytes] = []
    whole = (b"\n", b"\r") if signs.returns else b"\n"
    for text in start.texts:
        held.append(text)
        last = not text.endswith(whole)
        if not last and sum(map(len, held)) < wanted:
            continue
        line += data.count(b"\n", 0, used)
        data = b"".join(held)
        records, bad, used = find_records(data, signs, go_on=go_on, last=last)
        data = _with_line_feeds(data, records, bad, signs)
        if len(records.starts) or bad:
            yield data, records, bad, line
        held = [data[used:]] if used < len(data) else []
        wanted = 2 * (len(data) - used)
        if bad and not go_on:
            exhaust(start.texts)
            return
    if held:
        line += data.count(b"\n", 0, used)
        data = b"".join(held)
        records, bad, _ = find_records(data, signs, go_on=go_on)
        yield _with_line_feeds(data, records, bad, signs), records, bad, line


def _with_line_feeds(data: bytes, records: Records, bad: list[BadRecord], signs: Signs) -> bytes:
    """Return the text with line feeds for the carriage returns that end a line alone."""
    if not signs.returns or b"\r" not in data:
        return data
    view = np.frombuffer(data, dtype=np.uint8).copy()
    ends = records.ends[records.ends < len(view)]
    view[ends] = NEWLINE
    for record in bad:
        lone = view[record.start : record.stop] == RETURN
        lone[:-1] &= view[record.start + 1 : record.stop] != NEWLINE
        view[record.start : record.stop][lone] = NEWLINE
    return view.tobytes()


def _sheet(
    columns: Columns,
    signs: Signs,
    data: bytes,
    body: Records,
    blank: Mask,
    bad: list[BadRecord],
    line: int,
    blanks: range,
) -> tuple[Sheet, range]:
    """Return a sheet and the blank lines at its end, which are fine if nothing else follows."""
    end = bad[-1].stop if bad else 0
    full = np.flatnonzero(~blank)
    kept = max(
        int(full[-1]) + 1 if len(full) else 0, int(np.searchsorted(body.starts, end, side="left"))
    )
    waiting = range(0)
    if kept < len(blank):
        first = line + line_of(data, int(body.starts[kept]))
        waiting = range(first, first + len(blank) - kept)
    if not kept and not bad:  # only blank lines, after others perhaps
        start = blanks.start if blanks else waiting.start
        sheet = Sheet(columns, signs, data, body[:0], blank[:0], [], line, range(0))
        return sheet, range(start, waiting.stop) if waiting else blanks
    body, blank = body[:kept], blank[:kept]
    width = len(columns.names)
    fits = ~blank & (body.widths == width)
    causes = {
        wrong: f"{count(wrong, 'cell')}, but {_others(columns)} {width}"
        for wrong in np.unique(body.widths[~fits]).tolist()
    }
    misfits = (column[~fits].tolist() for column in (body.starts, body.ends, body.widths, blank))
    bad = bad + [
        BadRecord(start, end + 1, start, BLANK if empty else causes[width])
        for start, end, width, empty in zip(*misfits, strict=True)
    ]
    bad.sort(key=lambda record: record.start)
    return Sheet(columns, signs, data, body, fits, bad, line, blanks), waiting


def _others(columns: Columns) -> str:
    """Return what has as many cells as there are columns."""
    return "the header has" if not columns.made_up else "the first record has"


def _header(
    data: bytes, records: Records, bad: list[BadRecord], *, name: str, signs: Signs, line: int
) -> list[str]:
    """Return the cells of the first record, or raise if it cannot be read."""
    if bad and (not len(records.starts) or bad[0].start < records.starts[0]):
        at = line + line_of(data, bad[0].position)
        raise MisshapenError(f"{name}: line {at}: {bad[0].cause}")
    text = data[: records.ends[0]].decode().removesuffix("\r") if len(records.ends) else ""
    try:
        return split(text, signs)
    except (csv.Error, DataError) as error:
        raise DataError(f"{name}: line {line + 1}: the header cannot be read: {error}") from None


def _blank(data: bytes, records: Records, signs: Signs) -> Mask:
    """Return which records are empty lines, with or without a carriage return."""
    view = np.frombuffer(data, dtype=np.uint8)
    lengths = records.ends - records.starts
    only = view[np.minimum(records.starts, len(view) - 1)]
    empty = np.asarray((lengths == 0) | ((lengths == 1) & (only == RETURN)))
    return empty | are_blank(data, records.starts, records.ends, signs) if signs.trims else empty


# Whether a text table is written as usual, though a schema says that such tables are not.
#
# What cfl writes has commas, or tabs in TSV, and is UTF-8, whatever the table looked like that it was
# made from. It is read back by these two rules, else as the schema says:
#
#     header     with the usual signs it names the schema's columns, with the schema's it does not
#     encoding   the schema's has one byte for each character, but all of the text is UTF-8, and not
#                only ASCII

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
