"""Why a text table cannot be read, where its beginning shows it, and which options would help.

The reader names a record that does not fit. If all of them do not, because something else separates
the cells or a title stands above the header, that line says what to type instead.
"""

from cfl_cli.core.messages import count
from cfl_cli.errors import DataError
from cfl_cli.tables import csv_ways, csv_width_hints
from cfl_cli.tables.codec import OR_ASIDE, ReadOptions
from cfl_cli.tables.csv_choices import YES
from cfl_cli.tables.csv_dialect import Dialect
from cfl_cli.tables.csv_escapes import prepared
from cfl_cli.tables.csv_header import MisshapenError, NamesError, begun
from cfl_cli.tables.csv_records import Signs
from cfl_cli.tables.csv_scan import find_records
from cfl_cli.tables.csv_sheets import BLANK
from cfl_cli.tables.csv_ways import Beginning, Row
from cfl_cli.tables.encodings import LONE_RETURN, way_out
from cfl_cli.tables.sep_line import sep_line
from cfl_cli.tables.sniff import OTHER_QUOTE, Shape, is_number, shown, sorted_shapes

DELIMITER = "file-delimiter"  # the keys of causes
HEADER = "file-header"
QUOTES = "file-quote"
LINE_ENDS = "file-line-end"
ENOUGH = csv_width_hints.ENOUGH
RETURNS = ", or add --line-end cr"
OR_HEADER = ", or if this line is data, add a header above it"


def explained(
    text: bytes, dialect: Dialect, options: ReadOptions, error: MisshapenError
) -> DataError | None:
    """Return why records do not fit, and what would help, if the beginning of the text shows it."""
    now = _beginning(text, dialect)
    signs, name = now.signs, options.name
    if csv_ways.returns_end_lines(now):
        first = next((one for one in error.problems if LONE_RETURN in one), "")
        before = first.partition(LONE_RETURN)[0] or f"{name}: "
        return DataError(f"{before}{LONE_RETURN}{RETURNS}", cause=LINE_ENDS)
    body = prepared(now.text, signs)
    shapes = sorted_shapes(*_with_offset(text, now), trims=now.signs.trims)
    best = shapes[0] if shapes else None
    free = dialect.has_header and not dialect.header
    return (
        _other_signs(best, body, now, error, name=name)
        or (_title(best, now, dialect, name=name) if free else None)
        or _misfit(body, now, error, name=name, free=free)
    )


def _with_offset(text: bytes, now: Beginning) -> tuple[bytes, int]:
    """Return a text to guess by, and where in it the table begins."""
    text, body = prepared(text, now.signs), prepared(now.text, now.signs)
    return text, len(text) - len(body)


def _other_signs(
    best: Shape | None, body: bytes, now: Beginning, error: DataError, *, name: str
) -> DataError | None:
    """Return that other signs separate or quote the cells, if they do."""
    if best and best.fits and best.delimiter == now.signs.delimiter:
        if best.quote == OTHER_QUOTE != now.signs.quote and now.signs.quote:
            return _quoted("quote", best.quote, error)
        if not all("quote" in one for one in error.problems):  # one must not hide the others
            return None
    elif best and best.fits and best.first:
        return _other_sign(best, body, now.signs, name=name)
    elif sign := csv_ways.other_delimiter(now):
        return _rather(sign, now, name=name)
    found = csv_ways.other_quotes(now)
    return _quoted(*found, error) if found else None


def _title(best: Shape | None, now: Beginning, dialect: Dialect, *, name: str) -> DataError | None:
    """Return that a title stands above the header, if it does."""
    row = csv_ways.header_row(now.rows())
    if row is None and best and best.fits and not best.first:
        row = Row(best.line, [])
    if row is None:
        return None
    first = 1 + bool(now.line and not dialect.skipped)
    if row.cells and all(is_number(cell) for cell in row.cells if cell.strip()):
        do = f"add a header above it, or add --header none --skip-lines {row.line - 1}"
        return DataError(f"{name}: line {row.line} looks like the first row: {do}", cause=HEADER)
    return DataError(f"{name}: {title_above(row.line, first=first)}", cause=HEADER)


def _misfit(
    body: bytes, now: Beginning, error: MisshapenError, *, name: str, free: bool
) -> DataError | None:
    """Return what is wrong with names or widths, if more is known than where it is."""
    hint = csv_width_hints.hint(body, now.signs, name, line=2 + now.line) if free else None
    if isinstance(error, NamesError) and not (hint and "so column" in hint):
        return _names(error, now)
    rows = now.rows() if free else []
    if rows and rows[0].line == now.line + 1 and csv_ways.is_data(rows):
        do = "add a header above it, or add --header none"
        return DataError(f"{name}: line {rows[0].line} looks like data: {do}", cause=HEADER)
    return DataError(hint) if hint else None


def _beginning(text: bytes, dialect: Dialect) -> Beginning:
    """Return the beginning of a table without the lines that are left out."""
    start = begun(iter([text]), dialect)
    return Beginning(b"".join(start.texts), start.signs, start.line)


def _names(error: NamesError, now: Beginning) -> DataError:
    """Return that columns lack names or have those of others, and which option helps."""
    rows = now.rows()
    if not rows or (not rows[0].filled and len(rows[0].cells) < 2):
        full = next((row.line for row in rows if row.filled), None)
        do = f", or add --skip-lines {full - 1}" if full else ""
        return DataError(*(f"{one}{do}" for one in error.problems), cause=error.cause)
    data = csv_ways.is_data(rows)
    do = "or if this line is data, add --header none" if data else "or add --rename-columns"
    problems = (one.removesuffix(OR_HEADER) for one in error.problems)
    cause = HEADER if data else error.cause
    return DataError(*(f"{one}, {do}" for one in problems), more=error.more, cause=cause)


def _quoted(option: str, value: str, error: DataError) -> DataError:
    """Return the first problem with another way out: other quotes, or escapes."""
    about = next((one for one in error.problems if "quote" in one), error.problems[0])
    place = ": ".join(about.split(": ")[:3])
    why = {
        YES: "blanks seem to stand around cells, outside their quotes",
        "none": "quotes seem to be part of the cells",
        "'": "cells seem to be quoted with '",
    }.get(value, f"{value} seems to escape what comes behind it")
    do = way_out(option, value, in_schema=True)
    aside = OR_ASIDE if error.problems[0].endswith(OR_ASIDE) else ""
    return DataError(f"{place}; {why}: {do}{aside}", cause=QUOTES)


def of_record(cause: str, options: ReadOptions) -> str:
    """Return what to do about a bad record, as far as its cause does not say it."""
    if cause == LONE_RETURN:
        return f"{RETURNS}{options.or_aside}"
    if ": " in cause:
        return options.or_aside
    do = ": delete it" if cause == BLANK else ": correct it"
    return f"{do}, or add --ragged fill{options.or_aside}"


def refuse_lone_column(text: bytes, dialect: Dialect, options: ReadOptions) -> None:
    """Raise if a table with one column has more with another delimiter, by all its lines.

    If nobody gave the delimiter, one in the header is enough.
    """
    now = _beginning(text, dialect)
    signs = now.signs
    body = prepared(now.text, signs)
    header = body.partition(b"\n")[0].decode()
    shapes = sorted_shapes(*_with_offset(text, now), trims=now.signs.trims)
    others = [one for one in shapes if one.delimiter != signs.delimiter]
    if others and others[0].fits and others[0].first and others[0].named:
        raise _other_sign(others[0], body, signs, name=options.name)
    sign = next((one for one in ";\t|" if one in header), None)
    if sign and sign != signs.delimiter and not dialect.certain and not sep_line(text)[1]:
        do = way_out("delimiter", sign, in_schema=True)
        raise DataError(
            f"{options.name}: line {now.line + 1}: only one column: if {shown(sign)} separates the "
            f"cells, {do}",
            cause=DELIMITER,
        )


def title_above(line: int, *, first: int = 1) -> str:
    """Return that the header is not the first line, and what to do."""
    last = line - 1
    between = "to" if last > first + 1 else "and"
    lines = f"line {first}" if last == first else f"lines {first} {between} {last}"
    return f"line {line} looks like the header: delete {lines}, or add --skip-lines {last}"


def _other_sign(best: Shape, text: bytes, signs: Signs, *, name: str) -> DataError:
    """Return that another sign separates the cells."""
    records, _, _ = find_records(text.partition(b"\n")[0], signs, go_on=True)
    width = int(records.widths[0]) if len(records.widths) else 1
    columns = count(width, "column")
    do = way_out("delimiter", best.delimiter, in_schema=True)
    return DataError(
        f"{name}: line {best.line}: {columns} with {shown(signs.delimiter)}, but "
        f"{shown(best.delimiter)} separates {best.columns} cells in every line: {do}",
        cause=DELIMITER,
    )


def _rather(sign: str, now: Beginning, *, name: str) -> DataError:
    """Return that another sign separates the cells of most records."""
    cut = csv_ways.best_cut(now, sign)
    do, lines = way_out("delimiter", sign, in_schema=True), count(cut.widths[cut.width], "line")
    return DataError(
        f"{name}: {shown(sign)} separates {cut.width} cells in {lines}, "
        f"and {shown(now.signs.delimiter)} fits fewer: {do}",
        cause=DELIMITER,
    )
