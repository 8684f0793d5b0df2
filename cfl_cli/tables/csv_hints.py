"""Why a text table cannot be read, where its beginning shows it, and which options would help.

The reader names a record that does not fit. If all of them do not, because something else separates
the cells or a title stands above the header, that line says what to type instead.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from cfl_cli.core.messages import count
from cfl_cli.errors import DataError, Problem, UserText
from cfl_cli.tables.codec import ReadOptions
from cfl_cli.tables.csv_reader import BLANK, NAME_CODES, MisshapenError, begun, sep_line
from cfl_cli.tables.csv_scan import (
    QUOTE_CODES,
    RETURNED,
    Reason,
    Records,
    find_records,
    prepared,
    split,
)
from cfl_cli.tables.dialect import YES, Dialect, Fix
from cfl_cli.tables.encodings import line_of
from cfl_cli.tables.sniff import (
    DELIMITERS,
    OTHER_QUOTE,
    Shape,
    shown_sign,
    sorted_shapes,
)
from cfl_cli.texts.numbers import looks_like_number

# Which options would let a text table be read that is refused. Each is tried on the beginning of
# the table before it is proposed.

ENOUGH = 1 << 20  # bytes of a table that explain it
ESCAPE = "\\"
_LOOKED_AT = 500  # records
_DEEPEST = 100  # record that may be the header
_FULL = 0.5  # share of the usual number of filled cells from which a record is not a title
_MOST = 0.6  # share of records that another sign must make alike
NEARLY_ALL = 0.95  # … if it is rare, or the table's own does well
_RARE = " :"
FEW = 0.25  # share of the faults that may be left
AFTER_QUOTE = re.compile(rb"[\"']\r(?!\n)")
YEAR = re.compile(r"(?:1[89]|20)\d\d")


@dataclass(frozen=True)
class _Row:
    line: int
    cells: Sequence[str]

    @property
    def filled(self) -> int:
        return sum(bool(cell.strip()) for cell in self.cells)


@dataclass(frozen=True)
class _Beginning:
    text: bytes
    dialect: Dialect
    line: int  # lines before it

    @classmethod
    def of(cls, text: bytes, dialect: Dialect) -> "_Beginning":
        start = begun(iter([text]), dialect)
        return cls(b"".join(start.texts), start.dialect, start.line)

    def cut(self, dialect: Dialect) -> "_Cut":
        records, bad, _ = find_records(self.text, dialect, go_on=True)
        blank = records.ends - records.starts <= 1  # or a single character, which says little
        causes = Counter(one.reason.code for one in bad)
        return _Cut(records, Counter(records.widths[~blank].tolist()), causes)

    def rows(self) -> list[_Row]:
        records, _, _ = find_records(self.text, self.dialect, go_on=True)
        bounds = (one[:_LOOKED_AT].tolist() for one in (records.starts, records.ends))
        found = []
        for start, end in zip(*bounds, strict=True):
            cells = split(self.text[start:end].removesuffix(b"\r"), self.dialect)
            found.append(_Row(self.line + line_of(self.text, start), cells))
        return found


@dataclass(frozen=True)
class _Cut:
    records: Records
    widths: Counter[int]
    causes: Counter[str]

    @property
    def faults(self) -> int:
        return sum(self.causes[code] for code in QUOTE_CODES)

    @property
    def width(self) -> int:
        """The commonest width, the largest of equals."""
        return max(self.widths, key=lambda width: (self.widths[width], width), default=0)

    @property
    def fits_below(self) -> bool:
        """Whether all records from the first that has it on have it, and there are no others."""
        widths = self.records.widths[self.records.ends - self.records.starts > 1]
        fit = widths == self.width
        return not self.causes and bool(fit[fit.argmax() :].all())

    @property
    def share(self) -> float:
        total = self.widths.total() + self.causes.total()
        return self.widths[self.width] / total if total and self.width > 1 else 0.0


def returns_end_lines(now: _Beginning) -> bool:
    if now.dialect.returns:
        return False
    mine = now.cut(now.dialect)
    if mine.causes[RETURNED.code] or not mine.faults or not AFTER_QUOTE.search(now.text):
        return mine.causes[RETURNED.code] > 0
    dialect, signs = now.dialect._replace(returns=True), (now.dialect.delimiter, *DELIMITERS)
    cuts = [now.cut(dialect._replace(delimiter=sign)) for sign in signs]
    return any(cut.faults <= FEW * mine.faults and cut.share >= _MOST for cut in cuts)


def other_delimiter(now: _Beginning) -> str | None:
    """Return a sign that cuts far more records alike than the table's, if there is one."""
    mine = best_cut(now, now.dialect.delimiter).share
    needed = {**dict.fromkeys(DELIMITERS, _MOST if mine < _MOST else NEARLY_ALL)}
    if mine < _MOST:
        needed |= dict.fromkeys(_RARE, NEARLY_ALL)
    found = [
        (cut.share, cut.width, sign)
        for sign, least in needed.items()
        if sign not in (now.dialect.delimiter, now.dialect.quote)
        and (cut := best_cut(now, sign)).share >= least
        and (sign in DELIMITERS or cut.width > 2)
    ]
    best = max(found, key=lambda one: one[:2], default=None)
    if best and best[0] > mine:
        return best[2]
    mark = now.dialect.quote
    for sign in DELIMITERS if mark and not mine else ():
        if sign != now.dialect.delimiter and f"{mark}{sign}{mark}".encode() in now.text:
            cut = now.cut(now.dialect._replace(delimiter=sign))
            if not cut.causes and min(cut.widths, default=0) > 1:
                return sign
    return None


def best_cut(now: _Beginning, sign: str) -> _Cut:
    """Return what a sign makes of it, with blanks left out if that is better.

    So without quotes, if none quotes a cell.
    """
    dialect = now.dialect._replace(delimiter=sign)
    cuts = [now.cut(dialect)]
    if cuts[0].faults:
        cuts.append(now.cut(dialect._replace(trims=True)))
    if cuts[0].faults and not _quotes_cells(now, dialect):
        cuts.append(now.cut(dialect._replace(quote=None)))
    return max(cuts, key=lambda cut: cut.share)


def _quotes_cells(now: _Beginning, dialect: Dialect, *, whole: bool = False) -> bool:
    mark, sign = re.escape((dialect.quote or "").encode()), re.escape(dialect.delimiter.encode())
    cell = b"(?:^|[%b\r\n])%b" % (sign, mark)
    if whole:
        cell += b"[^%b]*%b(?:[%b\r\n]|$)" % (mark, mark, sign)
    return bool(mark) and re.search(cell, now.text) is not None


def other_quotes(now: _Beginning) -> tuple[str, str] | None:
    dialect, mine = now.dialect, now.cut(now.dialect)
    if not mine.faults and len(mine.widths) < 2:
        return None
    if not dialect.escape and ESCAPE.encode() in now.text:
        cut = now.cut(dialect._replace(escape=ESCAPE))
        fewer = mine.faults and cut.faults <= FEW * mine.faults and cut.share >= mine.share
        if fewer or (cut.width > 1 and len(cut.widths) == 1 and not cut.causes):
            return "escape", ESCAPE
    if mine.faults and not dialect.trims:
        trims = dialect._replace(trims=True)
        cuts = (now.cut(trims), now.cut(trims._replace(escape=trims.escape or ESCAPE)))
        if any(cut.faults <= FEW * mine.faults and cut.share >= mine.share for cut in cuts):
            return "trim_cells", YES
    single = dialect._replace(quote="'")
    if dialect.quote == '"' and b"'" in now.text and not _quotes_cells(now, dialect):
        for cut in (now.cut(single), now.cut(single._replace(trims=True))):
            if not cut.faults and len(cut.widths) == 1 and cut.width > 1:
                return "quote", "'"
    if mine.faults and dialect.quote is not None and not _quotes_cells(now, dialect, whole=True):
        cut = now.cut(dialect._replace(quote=None))
        mended = Counter({cut.width: mine.faults})  # each of the bad ones, and no other
        if cut.width > 1 and cut.fits_below and cut.widths - mine.widths == mended:
            return "quote", "none"
    return None


def header_row(rows: Sequence[_Row]) -> _Row | None:
    """Return the record that looks like the header, if others above it do not; None: the first.

    If its cells are numbers, it is rather the first row of a table without a header.
    """
    full = [row for row in rows if row.filled]
    widths = Counter(len(row.cells) for row in full if len(row.cells) > 1)
    if not widths or not rows:
        return None
    width = max(widths, key=lambda one: (widths[one], one))
    usual = median(row.filled for row in full if len(row.cells) == width)
    least = max(2.0, _FULL * usual)
    found = (row for row in rows[:_DEEPEST] if len(row.cells) == width and row.filled >= least)
    row, first = next(found, None), rows[0]
    if row is None or row is first:
        return None
    if len(first.cells) == width and any(map(looks_like_number, row.cells)):
        return None  # rather a row below a header with few names
    if first.filled < 2 or first.filled < _FULL * row.filled:
        return row  # below a title
    place, names = rows.index(row), not any(map(looks_like_number, row.cells))
    above, below = ([len(one.cells) for one in part] for part in (rows[:place], rows[place + 1 :]))
    fit = below.count(width) >= max(NEARLY_ALL * len(below), place)
    return row if place > 1 and width not in above and fit and names else None  # below settings


def is_data(rows: Sequence[_Row]) -> bool:
    names, below = rows[0].cells, [row.cells for row in rows[1:]]
    numbers = [cell.strip() for cell in names if looks_like_number(cell)]
    if not numbers:
        return False
    if all(YEAR.fullmatch(text) for text in numbers):
        steps = {int(two) - int(one) for one, two in pairwise(numbers)}
        if steps and steps <= {0, 1}:  # years above their columns
            return False
    for place, name in enumerate(names):
        cells = [row[place] for row in below if len(row) > place and row[place].strip()]
        are_numbers = len(cells) > 1 and 2 * sum(map(looks_like_number, cells)) > len(cells)
        if name.strip() and not looks_like_number(name) and are_numbers:
            return False
    return True


# Why records have other numbers of cells than the header, where a table's beginning shows it.

_DECIMAL = re.compile(rb"(?:^|(?<=,))(?=(-?\d+,\d+)(?:,|$))")
ID = re.compile(rb'"?(id|nr|no|row|key|num|index|code)', re.IGNORECASE)
ROW_NUMBER = re.compile(rb'"?(\d{1,18})(?!\d)')


TRAILING = "csv-trailing-delimiter"


def _trailing(text: bytes, dialect: Dialect, name: str, *, line: int) -> Problem | None:
    lines, mark = text.rstrip(b"\r\n").splitlines(), dialect.delimiter.encode()
    names = lines[0].split(mark) if lines else []
    if len(names) < 3 or b"" in names[:-1] or not all(one.endswith(mark) for one in lines):
        return None
    why = (
        "{file}: line {line}: every line ends with {sign}, so column {number} has no name: {remedy}"
    )
    sign = shown_sign(dialect.delimiter)
    do = f"remove the last {sign}, name the column, or add --rename-columns"
    facts: dict[str, Any] = {"sign": sign, "number": len(names), "remedy": do}
    return Problem(TRAILING, why, file=name, line=line - 1, **facts)


def _line_break(text: bytes, dialect: Dialect, name: str, *, line: int) -> Problem | None:
    records, bad, _ = find_records(text.rstrip(b"\r\n"), dialect, go_on=True)
    widths = [int(width) for width in records.widths]
    wrong = [place for place, width in enumerate(widths) if width != widths[0]]
    cut = [widths[place] for place in wrong]
    whole = len(text) < ENOUGH and not bad
    if not whole or len(wrong) != 2 or wrong[1] != wrong[0] + 1 or sum(cut) != widths[0] + 1:
        return None
    at = line_of(text, int(records.starts[wrong[0]])) + line - 2
    do = "put a cell that holds a line break in quotes, join the lines, or add --ragged fill"
    facts = {"next_line": at + 1, "cells": cut[0], "next_cells": cut[1], "columns": widths[0]}
    why = "{file}: lines {line} and {next_line}: {cells} and {next_cells} cells, but the header has {columns}: {remedy}"
    return Problem("csv-line-break", why, file=name, line=at, remedy=do, **facts)


def _one_more(text: bytes, dialect: Dialect, name: str, *, line: int) -> Problem | None:
    records, _, _ = find_records(text, dialect, go_on=True)
    widths = [int(width) for width in records.widths]
    if len(widths) < 2 or min(widths[1:]) <= widths[0]:
        return None
    mark = dialect.delimiter.encode()
    bounds = zip(records.starts[1:].tolist(), records.ends[1:].tolist(), strict=True)
    lines = [text[start:end].rstrip(b"\r") for start, end in bounds]

    def problem(code: str, why: str, remedy: str, **facts: object) -> Problem:
        at = "{file}: line {line}: {cells} cells, but the header has {columns}: "
        facts |= {"cells": widths[1], "columns": widths[0], "remedy": remedy}
        return Problem(code, at + why, file=name, line=line, **facts)

    if all(one.endswith(mark) for one in lines):
        why, do = "every line except the header ends with {sign}: {remedy}", "remove it, or add "
        sign = shown_sign(dialect.delimiter)
        return problem("csv-trailing-delimiter-rows", why, do + "--ragged fill", sign=sign)
    decimals = _DECIMAL.findall(lines[0]) if mark == b"," else []
    named = ID.match(text) is not None and not lines[0].startswith(b'"')
    one_more = {*widths[1:]} == {widths[0] + 1}
    quoted = all(one.startswith(b'"') for one in lines)
    found = [ROW_NUMBER.match(row) for row in lines]
    numbers = [int(match[1]) for match in found if match]
    steps = {after - before for before, after in pairwise(numbers)}
    counted = len(numbers) == len(lines) > 1 and steps == {1} and not (named and decimals)
    firsts = [row.partition(mark)[0].strip(b'"') for row in lines]
    words = all(re.match(rb"[^\W\d]|[\x80-\xff]", first) for first in firsts)
    different = words and len({*firsts}) == len(firsts) > 1
    if one_more and (counted or ((quoted or not decimals) and different)):
        return problem(
            "csv-row-names",
            "the header has no name for R's row names: {remedy}",
            f"begin line {line - 1} with row{dialect.delimiter} or write the table with "
            f"col.names=NA or row.names=FALSE, or add --header none --skip-lines {line - 1}",
        )
    if decimals:
        return problem(
            "csv-decimal-comma",
            "is {number} a number with a decimal comma? Then {remedy}",
            "separate the cells with ;, or put such numbers in quotes; if it is not, add --ragged fill",
            number=UserText(decimals[-1].decode()),
        )
    return None


# The problem that is raised instead of records that do not fit.

_DELIMITER, _HEADER = "file-delimiter", "file-header"


def _beginning(texts: Iterable[bytes]) -> bytes:
    held, size = [], 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size > ENOUGH:
            break
    data = b"".join(held)
    if size <= ENOUGH:
        return data
    return data[: max(data.rfind(end, 0, ENOUGH) for end in (b"\n", b"\r")) + 1]


def explained(
    texts: Iterable[bytes], dialect: Dialect, options: ReadOptions, error: MisshapenError
) -> DataError | None:
    """Return why records do not fit, and what would help, if the beginning of the text shows it."""
    text = _beginning(texts)
    now, name = _Beginning.of(text, dialect), options.name
    if returns_end_lines(now):
        lines = [one.place.line for one in error.problems if one.code == RETURNED.code]
        at = "{file}: line {line}: {what}: {remedy}" if lines else "{file}: {what}: {remedy}"
        facts = {"what": RETURNED.what, "remedy": record_remedy(RETURNED)}
        line = lines[0] if lines else None
        return DataError(Problem("file-line-end", at, file=name, line=line, **facts))
    body = prepared(now.text, now.dialect)
    shapes = _shapes(text, now)
    best = shapes[0] if shapes else None
    free = dialect.has_header and dialect.header_line is None
    return (
        _other_dialect(best, body, now, error, name=name)
        or (_title(best, now, dialect, name=name) if free else None)
        or _misfit(body, now, error, name=name, free=free)
    )


def _shapes(text: bytes, now: _Beginning) -> list[Shape]:
    text, body = prepared(text, now.dialect), prepared(now.text, now.dialect)
    return sorted_shapes(text, len(text) - len(body), trims=now.dialect.trims)


def _other_dialect(
    best: Shape | None, body: bytes, now: _Beginning, error: DataError, *, name: str
) -> DataError | None:
    if best and best.fits and best.delimiter == now.dialect.delimiter:
        if best.quote == OTHER_QUOTE != now.dialect.quote and now.dialect.quote:
            return _quoted("quote", best.quote, error)
        if not all(one.code in QUOTE_CODES for one in error.problems):  # which it must not hide
            return None
    elif best and best.fits and best.first:
        return _other_delimiter(best, body, now.dialect, name=name)
    elif sign := other_delimiter(now):
        cut = best_cut(now, sign)
        text = "{file}: {sign} gives {cells} cells in {lines}, and {now} fits fewer lines: {remedy}"
        facts: dict[str, Any] = {"sign": shown_sign(sign), "cells": cut.width}
        facts |= {"lines": count(cut.widths[cut.width], "line")}
        facts |= {"now": shown_sign(now.dialect.delimiter)}
        fix = Fix("delimiter", sign)
        return DataError(Problem(_DELIMITER, text, file=name, remedy=fix, **facts))
    found = other_quotes(now)
    return _quoted(*found, error) if found else None


def _title(best: Shape | None, now: _Beginning, dialect: Dialect, *, name: str) -> DataError | None:
    row = header_row(now.rows())
    if row is None and best and best.fits and not best.first:
        row = _Row(best.line, [])
    if row is None:
        return None
    first = 1 + bool(now.line and not dialect.skipped)
    if row.cells and all(looks_like_number(cell) for cell in row.cells if cell.strip()):
        text = "{file}: line {line} looks like the first row, without a header above it: {remedy}"
        do = f"add a header above it, or add --header none --skip-lines {row.line - 1}"
        return DataError(Problem(_HEADER, text, file=name, line=row.line, remedy=do))
    return DataError(title_above(name, row.line, first=first))


def _misfit(
    body: bytes, now: _Beginning, error: MisshapenError, *, name: str, free: bool
) -> DataError | None:
    ways = (_one_more, _trailing, _line_break) if free else ()
    hints = (way(body, now.dialect, name, line=2 + now.line) for way in ways)
    hint = next(filter(None, hints), None)
    if error.code in NAME_CODES and not (hint and hint.code == TRAILING):
        rows, code = now.rows(), ""
        if not rows or (not rows[0].filled and len(rows[0].cells) < 2):
            full = next((row.line for row in rows if row.filled), None)
            do = f", or add --skip-lines {full - 1}" if full else ""
        elif is_data(rows):
            do, code = ", or if this line is data, add --header none", _HEADER
        else:
            do = ", or add --rename-columns"
        problems = (_also(one, code, remedy=f"{one.remedy}{do}") for one in error.problems)
        return DataError(*problems, more=error.more)
    rows = now.rows() if free else []
    if rows and rows[0].line == now.line + 1 and is_data(rows):
        do = "add a header above it, or add --header none"
        text = "{file}: line {line} looks like data, not a header: {remedy}"
        return DataError(Problem(_HEADER, text, file=name, line=rows[0].line, remedy=do))
    return DataError(hint) if hint else None


def _also(problem: Problem, code: str, **fields: object) -> Problem:
    return Problem(code or problem.code, problem.text, **(problem.fields | fields))


def _quoted(name: str, value: str, error: DataError) -> DataError:
    about = next((one for one in error.problems if one.code in QUOTE_CODES), error.problems[0])
    why = {
        YES: "there seem to be blanks around the quotes of cells",
        "none": "quotes seem to be part of the cells",
        "'": "cells seem to be quoted with '",
    }.get(value, f"{value} seems to be an escape character")
    aside = error.problems[0].facts.get("or_aside", "")
    fix = Fix(name, value)
    return DataError(_also(about, "file-quote", because=f"; {why}", remedy=fix, aside=aside))


def record_remedy(reason: Reason, aside: str = "") -> str:
    """Return what to do about a record; `aside` is the way to set it aside, if there is one."""
    if reason.fix:
        return reason.fix + (", or add --line-end cr" if reason == RETURNED else "") + aside
    # Setting aside comes first: where a cell in the middle is missing, filling shifts the others.
    return f"{'delete' if reason == BLANK else 'correct'} it{aside}, or add --ragged fill"


def refuse_lone_column(texts: Iterable[bytes], dialect: Dialect, options: ReadOptions) -> None:
    """Raise if a table with one column has more with another delimiter, by all its lines.

    If nobody gave the delimiter, one in the header is enough.
    """
    text = _beginning(texts)
    now = _Beginning.of(text, dialect)
    body = prepared(now.text, now.dialect)
    header = body.partition(b"\n")[0].decode()
    others = [one for one in _shapes(text, now) if one.delimiter != now.dialect.delimiter]
    if others and others[0].fits and others[0].first and others[0].named:
        raise _other_delimiter(others[0], body, now.dialect, name=options.name)
    sign = next((one for one in ";\t|" if one in header), None)
    if sign and sign != now.dialect.delimiter and not dialect.certain and not sep_line(text):
        why = "{file}: line {line}: only one column; if {sign} separates the cells, {remedy}"
        facts = {"sign": shown_sign(sign), "remedy": Fix("delimiter", sign)}
        raise DataError(Problem(_DELIMITER, why, file=options.name, line=now.line + 1, **facts))


def title_above(name: str, line: int, *, first: int = 1) -> Problem:
    last = line - 1
    between = "to" if last > first + 1 else "and"
    lines = f"line {first}" if last == first else f"lines {first} {between} {last}"
    text = "{file}: line {line} looks like the header: {remedy}"
    do = f"delete {lines}, or add --skip-lines {last}"
    return Problem(_HEADER, text, file=name, line=line, remedy=do)


def _other_delimiter(best: Shape, text: bytes, dialect: Dialect, *, name: str) -> DataError:
    records, _, _ = find_records(text.partition(b"\n")[0], dialect, go_on=True)
    width = int(records.widths[0]) if len(records.widths) else 1
    why = "{file}: line {line}: {columns} with {now}, but {sign} separates {cells} cells in every line: {remedy}"
    facts: dict[str, Any] = {"columns": count(width, "column"), "cells": best.columns}
    facts |= {"now": shown_sign(dialect.delimiter), "sign": shown_sign(best.delimiter)}
    fix = Fix("delimiter", best.delimiter)
    return DataError(Problem(_DELIMITER, why, file=name, line=best.line, remedy=fix, **facts))
