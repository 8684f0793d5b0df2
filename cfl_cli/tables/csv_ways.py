"""Ways in for a text table that is refused: which options would let it be read.

What is proposed is tried on the beginning of the table first, so that nobody types it in vain.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from cfl_cli.core.quick import dataclass
from cfl_cli.tables.csv_choices import YES
from cfl_cli.tables.csv_escapes import split, unlimited
from cfl_cli.tables.csv_records import BEHIND, OPEN, WITHIN, Records, Signs
from cfl_cli.tables.csv_scan import find_records
from cfl_cli.tables.encodings import LONE_RETURN, line_of
from cfl_cli.tables.sniff import DELIMITERS, is_number

QUOTES = {WITHIN, BEHIND, OPEN}
ESCAPE = "\\"
LOOKED_AT = 500  # records
DEEPEST = 100  # record that may be the header
FULL = 0.5  # share of the usual number of filled cells from which a record is not a title
MOST = 0.6  # share of records that another sign must make alike
NEARLY_ALL = 0.95  # … if it is rare, or the table's own does well
RARE = " :"
FEW = 0.25  # share of the faults that may be left
AFTER_QUOTE = re.compile(rb"[\"']\r(?!\n)")
YEAR = re.compile(r"(?:1[89]|20)\d\d")


@dataclass(frozen=True)
class Beginning:
    """The beginning of a table as some signs cut it."""

    text: bytes
    signs: Signs
    line: int = 0  # lines before it

    def cut(self, signs: Signs) -> "Cut":
        """Return what other signs make of it."""
        records, bad, _ = find_records(self.text, signs, go_on=True)
        blank = records.ends - records.starts <= 1  # or a single character, which says little
        causes = Counter(one.cause for one in bad)
        return Cut(records, Counter(records.widths[~blank].tolist()), causes)

    def rows(self) -> "list[Row]":
        """Return the first records that are records."""
        records, _, _ = find_records(self.text, self.signs, go_on=True)
        found = []
        with unlimited():
            for start, end in zip(
                records.starts[:LOOKED_AT].tolist(), records.ends[:LOOKED_AT].tolist(), strict=True
            ):
                text = self.text[start:end].decode(errors="replace").removesuffix("\r")
                found.append(Row(self.line + line_of(self.text, start), split(text, self.signs)))
        return found


@dataclass(frozen=True)
class Cut:
    """Records, how many there are of each width, and how many stretches are none, by cause."""

    records: Records
    widths: Counter[int]
    causes: Counter[str]

    @property
    def faults(self) -> int:
        """How many quotes are misplaced."""
        return sum(self.causes[cause] for cause in QUOTES)

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
        """The share of records that have it."""
        total = self.widths.total() + self.causes.total()
        return self.widths[self.width] / total if total and self.width > 1 else 0.0


@dataclass(frozen=True)
class Row:
    """A record and its line."""

    line: int
    cells: Sequence[str]

    @property
    def filled(self) -> int:
        """How many cells hold something."""
        return sum(bool(cell.strip()) for cell in self.cells)


def returns_end_lines(now: Beginning) -> bool:
    """Return whether carriage returns alone end lines."""
    if now.signs.returns:
        return False
    mine = now.cut(now.signs)
    if mine.causes[LONE_RETURN] or not mine.faults or not AFTER_QUOTE.search(now.text):
        return mine.causes[LONE_RETURN] > 0
    cuts = [
        now.cut(now.signs._replace(delimiter=sign, returns=True))
        for sign in (now.signs.delimiter, *DELIMITERS)
    ]
    return any(cut.faults <= FEW * mine.faults and cut.share >= MOST for cut in cuts)


def other_delimiter(now: Beginning) -> str | None:
    """Return a sign that cuts far more records alike than the table's, if there is one."""
    mine = best_cut(now, now.signs.delimiter).share
    needed = {**dict.fromkeys(DELIMITERS, MOST if mine < MOST else NEARLY_ALL)}
    if mine < MOST:
        needed |= dict.fromkeys(RARE, NEARLY_ALL)
    found = [
        (cut.share, cut.width, sign)
        for sign, least in needed.items()
        if sign not in (now.signs.delimiter, now.signs.quote)
        and (cut := best_cut(now, sign)).share >= least
        and (sign in DELIMITERS or cut.width > 2)
    ]
    best = max(found, key=lambda one: one[:2], default=None)
    if best and best[0] > mine:
        return best[2]
    return None if mine else _between_quotes(now)


def _between_quotes(now: Beginning) -> str | None:
    """Return a sign between quoted cells that cuts all records, whatever their widths, if any."""
    for sign in DELIMITERS:
        between = f"{now.signs.quote}{sign}{now.signs.quote}".encode()
        if sign != now.signs.delimiter and now.signs.quote and between in now.text:
            cut = now.cut(now.signs._replace(delimiter=sign))
            if not cut.causes and min(cut.widths, default=0) > 1:
                return sign
    return None


def best_cut(now: Beginning, sign: str) -> "Cut":
    """Return what a sign makes of it, with blanks left out if that is better.

    So without quotes, if none quotes a cell.
    """
    signs = now.signs._replace(delimiter=sign)
    cuts = [now.cut(signs)]
    if cuts[0].faults:
        cuts.append(now.cut(signs._replace(trims=True)))
    if cuts[0].faults and not _quotes_cells(now, signs):
        cuts.append(now.cut(signs._replace(quote=None)))
    return max(cuts, key=lambda cut: cut.share)


def _quotes_cells(now: Beginning, signs: Signs, *, whole: bool = False) -> bool:
    """Return whether a quote stands where a cell begins; `whole`: and one where it ends."""
    mark, sign = re.escape((signs.quote or "").encode()), re.escape(signs.delimiter.encode())
    cell = b"(?:^|[%b\r\n])%b" % (sign, mark)
    if whole:
        cell += b"[^%b]*%b(?:[%b\r\n]|$)" % (mark, mark, sign)
    return bool(mark) and re.search(cell, now.text) is not None


def other_quotes(now: Beginning) -> tuple[str, str] | None:
    """Return an option about quotes and its value, if records fit together by it."""
    signs, mine = now.signs, now.cut(now.signs)
    if not mine.faults and len(mine.widths) < 2:
        return None
    if not signs.escape and ESCAPE.encode() in now.text:
        cut = now.cut(signs._replace(escape=ESCAPE))
        fewer = mine.faults and cut.faults <= FEW * mine.faults and cut.share >= mine.share
        if fewer or (cut.width > 1 and len(cut.widths) == 1 and not cut.causes):
            return "escape", ESCAPE
    if _blanks_around_quotes(now, mine):
        return "trim_cells", YES
    single = signs._replace(quote="'")
    if signs.quote == '"' and b"'" in now.text and not _quotes_cells(now, signs):
        for cut in (now.cut(single), now.cut(single._replace(trims=True))):
            if not cut.faults and len(cut.widths) == 1 and cut.width > 1:
                return "quote", "'"
    if mine.faults and signs.quote is not None and not _quotes_cells(now, signs, whole=True):
        cut = now.cut(signs._replace(quote=None))
        mended = Counter({cut.width: mine.faults})  # each of the bad ones, and no other
        if cut.width > 1 and cut.fits_below and cut.widths - mine.widths == mended:
            return "quote", "none"
    return None


def _blanks_around_quotes(now: Beginning, mine: Cut) -> bool:
    """Return whether quotes are misplaced because blanks stand between them and the delimiter."""
    if now.signs.trims or not mine.faults:
        return False
    trims = now.signs._replace(trims=True)
    cuts = (now.cut(trims), now.cut(trims._replace(escape=trims.escape or ESCAPE)))
    return any(cut.faults <= FEW * mine.faults and cut.share >= mine.share for cut in cuts)


def header_row(rows: Sequence[Row]) -> Row | None:
    """Return the record that looks like the header, if others above it do not; None: the first.

    If its cells are numbers, it is rather the first row of a table without a header.
    """
    full = [row for row in rows if row.filled]
    widths = Counter(len(row.cells) for row in full if len(row.cells) > 1)
    if not widths or not rows:
        return None
    width = max(widths, key=lambda one: (widths[one], one))
    usual = median(row.filled for row in full if len(row.cells) == width)
    least = max(2.0, FULL * usual)
    found = (row for row in rows[:DEEPEST] if len(row.cells) == width and row.filled >= least)
    row, first = next(found, None), rows[0]
    if row is None or row is first:
        return None
    if len(first.cells) == width and any(map(is_number, row.cells)):
        return None  # rather a row below a header with few names
    is_title = first.filled < 2 or first.filled < FULL * row.filled
    return row if is_title or _are_settings(rows, row) else None


def _are_settings(rows: Sequence[Row], header: Row) -> bool:
    """Return whether lines above names are of other widths, and nearly all below of theirs."""
    place, width = rows.index(header), len(header.cells)
    above, below = ([len(row.cells) for row in part] for part in (rows[:place], rows[place + 1 :]))
    fit = below.count(width) >= max(NEARLY_ALL * len(below), place)
    return place > 1 and width not in above and fit and not any(map(is_number, header.cells))


def is_data(rows: Sequence[Row]) -> bool:
    """Return whether the first record looks like cells and not like names."""
    names, below = rows[0].cells, [row.cells for row in rows[1:]]
    numbers = [cell.strip() for cell in names if is_number(cell)]
    if not numbers:
        return False
    steps = [int(two) - int(one) for one, two in pairwise(numbers) if _years(numbers)]
    if steps and {*steps} <= {0, 1}:  # years above their columns
        return False
    for place, name in enumerate(names):
        cells = [row[place] for row in below if len(row) > place and row[place].strip()]
        are_numbers = len(cells) > 1 and 2 * sum(map(is_number, cells)) > len(cells)
        if name.strip() and not is_number(name) and are_numbers:
            return False
    return True


def _years(texts: Sequence[str]) -> bool:
    return all(YEAR.fullmatch(text) for text in texts)
