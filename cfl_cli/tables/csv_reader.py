"""CSV text, some lines at a time → sheets: records that fit the header, and those that do not."""

import codecs
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from itertools import count as iter_from
from typing import Any, NamedTuple

import numpy as np

from cfl_cli.core.arrays import Mask
from cfl_cli.core.messages import count
from cfl_cli.errors import DataError, Problem
from cfl_cli.tables import csv_scan
from cfl_cli.tables.codec import ReadOptions, Reject, Renamed
from cfl_cli.tables.dialect import QUOTE, UTF8, Dialect, TextStyle
from cfl_cli.tables.encodings import exhaust, line_of

# The line with which spreadsheets name the delimiter before the header: `sep=;`.
SEP = re.compile(rb'"?sep=([\t -/:-@\[-`{-~])"?[;,\t|]*\r?\n', re.IGNORECASE)
BLANK = csv_scan.Reason("csv-blank-line", "a blank line")
RAGGED = "csv-ragged-record"
EMPTY_HEADER, UNNAMED, _DUPLICATE = "csv-empty-header", "column-unnamed", "column-duplicate"
DATA_AS_HEADER = "file-header"  # the first line looks like a row
NAME_CODES = {EMPTY_HEADER, UNNAMED, _DUPLICATE, DATA_AS_HEADER}
# Whoever explains a problem further fills in `because`, and adds to the remedy.
AT_LINE = "{file}: line {line}: {what}{because}: {remedy}{aside}"


class MisshapenError(DataError):
    """Records or names that do not fit together, perhaps because the dialect is another one."""


def sep_line(text: bytes) -> str | None:
    match = SEP.match(text)
    return match[1].decode() if match else None


# Where a table begins, and what its columns are called: as its header says, or as made up.


@dataclass(frozen=True)
class ColumnNames:
    names: list[str]
    renamed: tuple[Renamed, ...] = ()
    made_up: bool = False  # no line of the file names them

    def widened(self, width: int) -> "ColumnNames":
        """Return as many columns as that, with made-up names for the new ones."""
        new = [""] * (width - len(self.names))
        added = renamed([*self.names, *new], keep=len(self.names))
        if self.made_up:
            return ColumnNames(added.names, made_up=True)
        return ColumnNames(added.names, (*self.renamed, *added.renamed))


class _Start(NamedTuple):
    texts: Iterator[bytes]
    dialect: Dialect  # with the delimiter that the first line names, if it does
    line: int  # lines that are left out
    above: bytes | None  # the header and what follows it, if that is among them


def begun(texts: Iterator[bytes], dialect: Dialect) -> _Start:
    """Return a text without the lines that are left out.

    These are the ones that the user named, those above the header, and a first line that names the
    delimiter; the user's own word wins over that line.
    """
    first = next(texts, b"")
    texts = chain([first], texts)
    sign, at = sep_line(first), dialect.header_line
    says = sign is not None and sign != dialect.quote and at != 1
    if says and sign is not None and not dialect.certain:
        dialect = dialect._replace(delimiter=sign)
    skipped = max(dialect.skipped, (at or 1) - 1, int(says))
    if not skipped:
        return _Start(texts, dialect, 0, None)
    above, lines = b"", 0
    rest: Iterator[bytes] = iter(())
    for text in texts:
        place = 0
        while lines < skipped and place < len(text):
            place = csv_scan.next_line(text, place, dialect)
            lines += 1
        above += text[:place]
        if place < len(text):
            rest = chain([text[place:]], texts)
            break
    header = None
    if at is not None and at <= lines:
        place = 0
        for _ in range(at - 1):
            place = csv_scan.next_line(above, place, dialect)
        header = above[place:]
    return _Start(rest, dialect, lines, header)


def as_given(text: bytes, given: Mapping[str, str]) -> tuple[bytes, int]:
    """Return a text to guess by, and where its header or its first row begins."""
    dialect = Dialect.of(given)._replace(certain=True)
    start = begun(iter([text]), dialect)
    body = csv_scan.prepared(b"".join(start.texts), start.dialect)
    text = csv_scan.prepared(text, start.dialect)
    return text, len(text) - len(body)


def _header(
    data: bytes,
    records: csv_scan.Records,
    bad: list[csv_scan.BadRecord],
    dialect: Dialect,
    name: str,
    line: int,
) -> ColumnNames:
    """Return the columns that a header names, or raise if it does not name all of them.

    The first may be empty: so pandas and R write row numbers and names.
    """
    if bad and (not len(records.starts) or bad[0].start < records.starts[0]):
        reason, at = bad[0].reason, line + line_of(data, bad[0].position)
        raise MisshapenError(record_problem(reason, name, at, reason.fix))
    record = data[: records.ends[0]].removesuffix(b"\r") if len(records.ends) else b""
    names = csv_scan.split(record, dialect)
    if dialect.renames and names:
        return renamed(names)
    if not any(names):
        raise _empty_header(name, line + 1)
    bare: dict[str, Any] = {"file": name, "line": line + 1, "because": "", "aside": ""}
    text = "{file}: line {line}: column {number} has no name{because}: {remedy}"
    do = "name it, or remove the column"
    problems = [
        Problem(UNNAMED, text, number=number, remedy=do, **bare)
        for number, column in enumerate(names[1:], start=2)
        if not column
    ]
    twice = [column for column, times in Counter(names).items() if column and times > 1]
    is_data = twice and any(column.replace(".", "").isdecimal() for column in names)
    code = DATA_AS_HEADER if is_data else _DUPLICATE
    text = "{file}: line {line}: duplicate column {column!r}{because}: {remedy}"
    do = "rename one of them"
    again = [Problem(code, text, column=column, remedy=do, **bare) for column in twice]
    if is_data:
        raise MisshapenError(again[0])
    if problems or again:
        raise MisshapenError(*problems, *again)
    return ColumnNames(names)


def _empty_header(name: str, line: int) -> MisshapenError:
    text = "{file}: the header is empty{because}: {remedy}"
    facts = {"because": "", "remedy": f"line {line} must name the columns"}
    return MisshapenError(Problem(EMPTY_HEADER, text, file=name, line=line, **facts))


def renamed(names: Sequence[str], *, keep: int = 0) -> ColumnNames:
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
    return ColumnNames(found, tuple(changed))


@dataclass(frozen=True)
class RecordBlock:
    columns: ColumnNames
    dialect: Dialect
    data: bytes  # with these records, and perhaps others
    body: csv_scan.Records
    fits: Mask  # which of them are as they should be
    bad: list[csv_scan.BadRecord]  # the others, and stretches that are no records
    line: int  # lines of the table before `data`
    blanks: range = range(0)  # the lines before it that are blank, and no longer at the end
    left_out: int = 0  # blank lines that nobody minds

    def good(self, width: int) -> bytes:
        """Return the bytes of the good records, as RFC 4180 has them, all with `width` cells."""
        if not self.fits.any():
            return b""
        kept = self.body[self.fits]
        missing, escape = width - kept.widths, self.dialect.escape
        signs = [escape, *([] if self.dialect.quote else [QUOTE])] if escape else []
        escapes = any(sign.encode() in self.data for sign in signs)
        if missing.any() or self.left_out or self.dialect.trims or escapes:
            return self._rewritten(kept, missing.tolist())
        begin, pieces = int(self.body.starts[0]), []
        for record in self.bad:
            pieces.append(self.data[begin : record.start])
            begin = max(begin, record.stop)
        return b"".join([*pieces, self.data[begin : int(self.body.ends[-1]) + 1]])

    def _rewritten(self, kept: csv_scan.Records, missing: list[int]) -> bytes:
        bounds = zip(kept.starts.tolist(), kept.ends.tolist(), strict=True)
        records = [self.data[start:end].removesuffix(b"\r") for start, end in bounds]
        if self.dialect.trims:
            records = [csv_scan.trimmed(one, self.dialect) for one in records]
        if self.dialect.escape:
            mark, escapes = self.dialect.quote or QUOTE, csv_scan.active(self.data, self.dialect)
            here = np.searchsorted(escapes, kept.starts) < np.searchsorted(escapes, kept.ends)
            if self.dialect.quote is None:
                here |= np.array([mark.encode() in record for record in records])
            places = np.flatnonzero(here).tolist()
            found = csv_scan.undone([records[place] for place in places], self.dialect, mark=mark)
            for place, record in zip(places, found, strict=True):
                records[place] = record
        sign = self.dialect.delimiter.encode()
        pairs = zip(records, missing, strict=True)
        return b"".join(record + sign * more + b"\n" for record, more in pairs)

    def rejects(self) -> Iterator[Reject]:
        yield from ((line, BLANK.text, "") for line in self.blanks)
        line, counted = self.line + 1, 0
        for record in self.bad:
            line += self.data.count(b"\n", counted, record.start)
            counted = record.start
            text = self.data[record.start : record.stop].decode().rstrip("\r\n")
            yield line, record.reason.text, text


def record_blocks(
    texts: Iterable[bytes], dialect: Dialect, options: ReadOptions
) -> Iterator[RecordBlock]:
    """Yield the blocks of a table whose text is UTF-8, in pieces of whole lines.

    If bad records are an error, nothing after the first misplaced character is looked at.
    """
    start = begun(iter(texts), dialect)
    dialect, name = start.dialect, options.name
    columns, blanks, before = None, range(0), start.line
    try:
        if start.above is not None and dialect.header_line is not None:
            records, bad, _ = csv_scan.find_records(start.above, dialect, go_on=False)
            columns = _header(start.above, records, bad, dialect, name, dialect.header_line - 1)
        for data, records, bad, before in _scanned(start, go_on=bool(options.set_aside)):
            view, lengths = np.frombuffer(data, dtype=np.uint8), records.ends - records.starts
            only = view[np.minimum(records.starts, len(view) - 1)]
            blank = np.asarray((lengths == 0) | ((lengths == 1) & (only == csv_scan.RETURN)))
            if dialect.trims:
                blank |= csv_scan.are_blank(data, records.starts, records.ends, dialect)
            body = records
            if columns is None and dialect.has_header:
                columns = _header(data, records, bad, dialect, name, before)
                body, blank = records[1:], blank[1:]
            elif columns is None and not blank.all():
                numbers = range(1, int(records.widths[~blank][0]) + 1)
                columns = ColumnNames([f"column_{number}" for number in numbers], made_up=True)
            names = columns or ColumnNames([])
            block = RecordBlock(names, dialect, data, body, ~blank, bad, before, blanks)
            if dialect.fills:
                yield replace(block, left_out=int(blank.sum()))
                continue
            block, blanks = _checked(block, blank)
            yield block
        if columns is None:
            raise _empty(start, name)
    except DataError:
        exhaust(start.texts)
        raise


def _empty(start: _Start, name: str) -> DataError:
    dialect = start.dialect
    asked = max(dialect.skipped, (dialect.header_line or 1) - 1)
    if asked and start.line <= asked:
        remedy = "lower --skip-lines" if dialect.skipped == asked else "lower --header"
        why, lines = "{file}: the file has only {lines}: {remedy}", start.line
        facts = {"lines": count(lines, "line"), "remedy": remedy}
        return DataError(Problem("csv-too-few-lines", why, file=name, **facts))
    if not dialect.has_header:
        text = "{file}: the table has neither header nor rows, so the number of columns is unknown: pass a table with rows"
        return DataError(Problem("csv-no-rows", text, file=name))
    return _empty_header(name, start.line + 1)


def _scanned(
    start: _Start, *, go_on: bool
) -> Iterator[tuple[bytes, csv_scan.Records, list[csv_scan.BadRecord], int]]:
    """Yield text with its records, those that are none, and the lines before it.

    A record that goes on in the next piece of text waits for it. If it is long, it waits for as
    much as there is of it, so that it is not scanned too often.
    """
    used = wanted = 0
    data, line, dialect = b"", start.line, start.dialect
    held: list[bytes] = []
    whole = (b"\n", b"\r") if dialect.returns else b"\n"
    for text in chain(start.texts, [b""]):
        held.append(text)
        last = not text.endswith(whole)
        if not last and sum(map(len, held)) < wanted:
            continue
        line += data.count(b"\n", 0, used)
        data = b"".join(held)
        records, bad, used = csv_scan.find_records(data, dialect, go_on=go_on, last=last)
        if dialect.returns and b"\r" in data:  # only line feeds end lines
            view = np.frombuffer(data, dtype=np.uint8).copy()
            view[records.ends[records.ends < len(view)]] = csv_scan.NEWLINE
            for record in bad:
                lone = view[record.start : record.stop] == csv_scan.RETURN
                lone[:-1] &= view[record.start + 1 : record.stop] != csv_scan.NEWLINE
                view[record.start : record.stop][lone] = csv_scan.NEWLINE
            data = view.tobytes()
        if len(records.starts) or bad:
            yield data, records, bad, line
        held = [data[used:]] if used < len(data) else []
        wanted = 2 * (len(data) - used)
        if bad and not go_on:
            exhaust(start.texts)
            return


def _checked(block: RecordBlock, blank: Mask) -> tuple[RecordBlock, range]:
    """Return the block with records of other widths among the bad ones, and blank lines at its end.

    These are bad if records follow them.
    """
    body, bad, columns = block.body, block.bad, block.columns
    end = bad[-1].stop if bad else 0
    full = np.flatnonzero(~blank)
    kept = max(int(full[-1]) + 1 if len(full) else 0, int(np.searchsorted(body.starts, end)))
    waiting = range(0)
    if kept < len(blank):
        first = block.line + line_of(block.data, int(body.starts[kept]))
        waiting = range(first, first + len(blank) - kept)
    if not kept and not bad:  # only blank lines, after others perhaps
        before = block.blanks
        if waiting:
            before = range(before.start if before else waiting.start, waiting.stop)
        return replace(block, body=body[:0], fits=blank[:0], blanks=range(0)), before
    body, blank = body[:kept], blank[:kept]
    width = len(columns.names)
    fits = ~blank & (body.widths == width)
    others = "the header has" if not columns.made_up else "the first record has"
    reasons = {
        wrong: csv_scan.Reason(RAGGED, f"{count(wrong, 'cell')}, but {others} {width}")
        for wrong in np.unique(body.widths[~fits]).tolist()
    }
    misfits = (column[~fits].tolist() for column in (body.starts, body.ends, body.widths, blank))
    bad = bad + [
        csv_scan.BadRecord(start, end + 1, start, BLANK if empty else reasons[width])
        for start, end, width, empty in zip(*misfits, strict=True)
    ]
    bad.sort(key=lambda record: record.start)
    return replace(block, body=body, fits=fits, bad=bad), waiting


def record_problem(reason: csv_scan.Reason, name: str, line: int, remedy: str) -> Problem:
    facts = {"what": reason.what, "because": "", "remedy": remedy, "aside": ""}
    return Problem(reason.code, AT_LINE, file=name, line=line, **facts)


# Whether a text table is in the default dialect, though a schema says that such tables are not.
#
# What cfl writes has commas, or tabs in TSV, and is UTF-8, whatever the table looked like that it was
# made from. It is read back by these two rules, else as the schema says:
#
#     header     by default it names the schema's columns, by the schema's dialect it does not
#     encoding   the schema's has one byte for each character, but all of the text is UTF-8, and not
#                only ASCII

_LONGEST = 1 << 20  # bytes of a header


def as_usual(
    options: ReadOptions, chunks: Iterable[bytes], columns: Collection[str]
) -> ReadOptions:
    words, chunks = options.dialect, iter(chunks)
    start, dialect = b"", Dialect.of(words, delimiter=options.kind.delimiter)
    lines = max(dialect.skipped, dialect.header_line or 1) + 1
    while start.count(b"\n") < lines and len(start) < _LONGEST and (chunk := next(chunks, b"")):
        start += chunk
    line = start.partition(b"\n")[0].rstrip(b"\r").removeprefix(codecs.BOM_UTF8)
    own = {name: words[name] for name in TextStyle._fields if name in words}
    for plain in ({}, own):  # as cfl writes: in the usual form, or in that of DATA
        usual = Dialect.of(plain, delimiter=options.kind.delimiter)._replace(certain=True)
        if {*columns} <= _names(line, usual) and not {*columns} <= _names(start, dialect):
            return replace(options, dialect=plain)
    encoding = dialect.encoding
    single = len(bytes(range(256)).decode(encoding, errors="replace")) == 256  # bytes, characters
    if single and codecs.lookup(encoding).name != UTF8 and _is_utf8(chain([start], chunks)):
        others = {name: word for name, word in words.items() if name != "encoding"}
        return replace(options, dialect=others)
    return options


def _names(start: bytes, dialect: Dialect) -> set[str]:
    if not dialect.has_header:
        return set()
    try:
        text = start.decode(dialect.encoding).removeprefix("\ufeff").encode()
    except UnicodeError:
        return set()
    found = begun(iter([text]), dialect)
    header = b"".join(found.texts) if found.above is None else found.above
    records, _, _ = csv_scan.find_records(header, found.dialect, go_on=False)
    end = int(records.ends[0]) if len(records.ends) else 0
    names = csv_scan.split(header[:end].removesuffix(b"\r"), found.dialect)
    return {*(renamed(names).names if dialect.renames else names)}


def _is_utf8(chunks: Iterable[bytes]) -> bool:
    decoder, plain = codecs.getincrementaldecoder(UTF8)(), True
    try:
        for chunk in chunks:
            plain = plain and chunk.isascii()
            if not plain:
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return not plain
