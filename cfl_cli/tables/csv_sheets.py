"""CSV text, some lines at a time → sheets: records that fit the header, and those that do not."""

import csv
from collections.abc import Iterable, Iterator

import numpy as np

from cfl_cli.core.arrays import Mask
from cfl_cli.core.messages import count
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import DataError
from cfl_cli.tables.codec import ReadOptions, Reject
from cfl_cli.tables.csv_dialect import Dialect
from cfl_cli.tables.csv_escapes import active, masked, split, undone
from cfl_cli.tables.csv_header import (
    Columns,
    MisshapenError,
    NamesError,
    Start,
    begun,
    checked,
    made_up,
)
from cfl_cli.tables.csv_records import NEWLINE, RETURN, BadRecord, Records, Signs
from cfl_cli.tables.csv_scan import find_records
from cfl_cli.tables.csv_trim import are_blank, trimmed
from cfl_cli.tables.encodings import exhaust, line_of

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
