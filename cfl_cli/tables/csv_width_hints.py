"""Why records have other numbers of cells than the header, where a table's beginning shows it."""

import re
from collections.abc import Sequence
from itertools import pairwise

from cfl_cli.tables.csv_records import Signs
from cfl_cli.tables.csv_scan import find_records
from cfl_cli.tables.encodings import line_of
from cfl_cli.tables.sniff import shown

ENOUGH = 1 << 20  # bytes of a table that explain it
DECIMAL = re.compile(rb"(?:^|(?<=,))(?=(-?\d+,\d+)(?:,|$))")
ID = re.compile(rb'"?(id|nr|no|row|key|num|index|code)', re.IGNORECASE)
ROW_NUMBER = re.compile(rb'"?(\d{1,18})(?!\d)')


def hint(text: bytes, signs: Signs, name: str, *, line: int) -> str | None:
    """Return why the records below a header do not fit it; `line` is that of the first."""
    return (
        _one_more(text, signs, name, line=line)
        or _trailing(text, signs, name, line=line)
        or _line_break(text, signs, name, line=line)
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
        f"name: remove that {sign}, or name it, or add --rename-columns"
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
        f"{widths[0]}: if a cell holds a line break, put it in quotes, else join the lines, "
        "or add --ragged fill"
    )


def _one_more(text: bytes, signs: Signs, name: str, *, line: int) -> str | None:
    """Return why every record has a cell more than the header, or more, if that is so."""
    records, _, _ = find_records(text, signs, go_on=True)
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
        sign = shown(signs.delimiter)
        return f"{at}: every line but the header ends with {sign}: remove it, or add --ragged fill"
    decimals = DECIMAL.findall(lines[0]) if mark == b"," else []
    named = ID.match(text) is not None and not lines[0].startswith(b'"')
    one_more = {*widths[1:]} == {widths[0] + 1}
    quoted = all(one.startswith(b'"') for one in lines)
    counts = _counts(lines) and not (named and decimals)
    if one_more and (counts or ((quoted or not decimals) and _are_names(lines, mark))):
        return (
            f"{at}: it lacks the name of the row names, as R's write.table leaves it out: begin "
            f"line {line - 1} with row{signs.delimiter} or write the table with col.names=NA or "
            f"row.names=FALSE, or add --header none --skip-lines {line - 1}"
        )
    if decimals:
        return (
            f"{at}: is {decimals[-1].decode()} a number with a decimal comma? Then write the table "
            "with ; between the cells, or put such cells in quotes; if not, add --ragged fill"
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
