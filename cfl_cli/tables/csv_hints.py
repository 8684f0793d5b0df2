"""Why the records of a text table do not fit together, where its beginning shows it, in one line.

The reader names a record that does not fit. If all of them do not, because something else separates
the cells or a title stands above the header, that line says what to type instead.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from cfl_cli.core.messages import count
from cfl_cli.errors import DataError
from cfl_cli.tables.codec import ReadOptions
from cfl_cli.tables.csv_scan import Records, Signs, find_records
from cfl_cli.tables.csv_sheets import Dialect
from cfl_cli.tables.encodings import line_of, way_out
from cfl_cli.tables.sep_line import sep_line
from cfl_cli.tables.sniff import Shape, shown, sorted_shapes

DELIMITER = "file-delimiter"  # the key of this cause
ENOUGH = 1 << 20  # bytes of a table that explain it
DECIMAL = re.compile(rb"(?:^|(?<=,))(?=(-?\d+,\d+)(?:,|$))")
ID = re.compile(rb'"?(id|nr|no|row|key|num|index|code)', re.IGNORECASE)
ROW_NUMBER = re.compile(rb'"?(\d{1,18})(?!\d)')


def explained(text: bytes, dialect: Dialect, options: ReadOptions) -> DataError | None:
    """Return why records do not fit, if the beginning of the text shows it."""
    signs, start = _signs(text, dialect)
    shapes = sorted_shapes(text, start)
    best = shapes[0] if shapes else None
    if best and not best.first:
        title = title_above(best, first=1 + bool(start))
        return DataError(f"{options.name}: {title}", cause="file-header")
    if best and best.fits and best.delimiter != signs.delimiter:
        return _other_sign(best, text, signs, start, name=options.name)
    body, _, _ = find_records(text[start:], signs, go_on=True)
    line = 2 + bool(start)
    hint = (
        _one_more(text[start:], body, signs, options.name, line=line)
        or _trailing(text[start:], signs, options.name, line=line)
        or _line_break(text[start:], signs, options.name, line=line)
    )
    return DataError(hint) if hint else None


def refuse_lone_column(text: bytes, dialect: Dialect, options: ReadOptions) -> None:
    """Raise if a table with one column has more with another delimiter, by all its lines.

    If nobody gave the delimiter, one in the header is enough.
    """
    signs, start = _signs(text, dialect)
    header = text[start:].partition(b"\n")[0].decode()
    shapes = [one for one in sorted_shapes(text, start) if one.delimiter != signs.delimiter]
    if shapes and shapes[0].fits and shapes[0].first and shapes[0].named:
        raise _other_sign(shapes[0], text, signs, start, name=options.name)
    sign = next((one for one in ";\t|" if one in header), None)
    if sign and sign != signs.delimiter and not dialect.certain and not start:
        do = way_out("delimiter", sign, in_schema=True)
        raise DataError(
            f"{options.name}: line 1: only one column: if {shown(sign)} separates the cells, {do}",
            cause=DELIMITER,
        )


def title_above(shape: Shape, *, first: int = 1) -> str:
    """Return that the header is not the first line, and what to do."""
    last = shape.line - 1
    between = "to" if last > first + 1 else "and"
    lines = f"line {first}" if last == first else f"lines {first} {between} {last}"
    return f"line {shape.line} looks like the header: delete {lines}"


def _signs(text: bytes, dialect: Dialect) -> tuple[Signs, int]:
    """Return the signs that the table was read with, and where it begins."""
    sign, start = sep_line(text)
    return (dialect.signs if sign is None or dialect.certain else Signs(sign, dialect.quote)), start


def _other_sign(best: Shape, text: bytes, signs: Signs, start: int, *, name: str) -> DataError:
    """Return that another sign separates the cells."""
    records, _, _ = find_records(text[start:].partition(b"\n")[0], signs, go_on=True)
    width = int(records.widths[0]) if len(records.widths) else 1
    columns = count(width, "column")
    do = way_out("delimiter", best.delimiter, in_schema=True)
    return DataError(
        f"{name}: line {best.line}: {columns} with {shown(signs.delimiter)}, but "
        f"{shown(best.delimiter)} separates {best.columns} cells in every line: {do}",
        cause=DELIMITER,
    )


def _trailing(text: bytes, signs: Signs, name: str, *, line: int) -> str | None:
    """Return that every line ends with the delimiter, if one column lacks its name by that."""
    lines, mark = text.rstrip(b"\r\n").splitlines(), signs.delimiter.encode()
    names = lines[0].split(mark) if lines else []
    if len(names) < 3 or b"" in names[:-1] or not all(one.endswith(mark) for one in lines):
        return None
    sign = shown(signs.delimiter)
    return (
        f"{name}: line {line - 1}: every line ends with {sign}, so column {len(names)} has no "
        f"name: remove that {sign}, or name it"
    )


def _line_break(text: bytes, signs: Signs, name: str, *, line: int) -> str | None:
    """Return that one record is cut in two by a line break, if that is all that is wrong."""
    records, bad, _ = find_records(text.rstrip(b"\r\n"), signs, go_on=True)
    widths = [int(width) for width in records.widths]
    wrong = [place for place, width in enumerate(widths) if width != widths[0]]
    cut = [widths[place] for place in wrong]
    whole = len(text) < ENOUGH and not bad
    if not whole or len(wrong) != 2 or wrong[1] != wrong[0] + 1 or sum(cut) != widths[0] + 1:
        return None
    at = line_of(text, int(records.starts[wrong[0]])) + line - 2
    return (
        f"{name}: lines {at} and {at + 1}: {cut[0]} and {cut[1]} cells, but the header has "
        f"{widths[0]}: if a cell holds a line break, put it in quotes, else join the lines"
    )


def _one_more(text: bytes, records: Records, signs: Signs, name: str, *, line: int) -> str | None:
    """Return why every record has a cell more than the header, or more, if that is so."""
    widths = [int(width) for width in records.widths]
    if len(widths) < 2 or min(widths[1:]) <= widths[0]:
        return None
    mark = signs.delimiter.encode()
    lines = [
        text[int(start) : int(end)].rstrip(b"\r")
        for start, end in zip(records.starts[1:], records.ends[1:], strict=True)
    ]
    at = f"{name}: line {line}: {widths[1]} cells, but the header has {widths[0]}"
    if all(one.endswith(mark) for one in lines):
        return f"{at}: every line but the header ends with {shown(signs.delimiter)}: remove it"
    decimals = DECIMAL.findall(lines[0]) if mark == b"," else []
    named = ID.match(text) is not None and not lines[0].startswith(b'"')
    one_more = {*widths[1:]} == {widths[0] + 1}
    quoted = all(one.startswith(b'"') for one in lines)
    counts = _counts(lines) and not (named and decimals)
    if one_more and (counts or ((quoted or not decimals) and _are_names(lines, mark))):
        return (
            f"{at}: it lacks the name of the row names, as R's write.table leaves it out: begin "
            f"line {line - 1} with row{signs.delimiter} or write the table with col.names=NA or "
            "row.names=FALSE"
        )
    if decimals:
        return (
            f"{at}: is {decimals[-1].decode()} a number with a decimal comma? Then write the table "
            "with ; between the cells, or put such cells in quotes"
        )
    return None


def _are_names(lines: Sequence[bytes], mark: bytes) -> bool:
    """Return whether the first cells are different words."""
    firsts = [line.partition(mark)[0].strip(b'"') for line in lines]
    words = all(re.match(rb"[^\W\d]|[\x80-\xff]", first) for first in firsts)
    return words and len({*firsts}) == len(firsts) > 1


def _counts(lines: Sequence[bytes]) -> bool:
    """Return whether the first cells are whole numbers one after the other."""
    found = [ROW_NUMBER.match(line) for line in lines]
    numbers = [int(match[1]) for match in found if match]
    steps = {after - before for before, after in pairwise(numbers)}
    return len(numbers) == len(lines) > 1 and steps == {1}
