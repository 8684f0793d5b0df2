"""Where a table begins, and what its columns are called: as its header says, or as made up."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from itertools import count as iter_from

from cfl_cli.core.messages import count, quote
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import DataError
from cfl_cli.tables.codec import Renamed
from cfl_cli.tables.csv_dialect import Dialect
from cfl_cli.tables.csv_escapes import prepared
from cfl_cli.tables.csv_records import Signs, next_line
from cfl_cli.tables.sep_line import sep_line

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
