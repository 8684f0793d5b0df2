"""A table in blocks of rows, so that memory does not grow with the file.

The file is gone through once before the first block, and every fault in it is found then. So a
table is refused as one that is read whole: for the same causes, in the same words.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from cfl_cli.core.quick import dataclass
from cfl_cli.errors import DataError, UsageError
from cfl_cli.tables.codec import (
    Contents,
    ReadOptions,
    Table,
    WriteOptions,
    codec_of,
    joined,
)
from cfl_cli.tables.folder import FolderSource
from cfl_cli.tables.place import Place
from cfl_cli.tables.source import Source
from cfl_cli.tables.usual import as_usual

BLOCK = 5_000  # rows of a block, unless somebody wants more or fewer
ESCAPES = {"\\t": "\t", "tab": "\t"}  # a tab is hard to type


@dataclass(frozen=True)
class Blocks:
    """A table whose rows come in blocks of at most `rows`, as often as it is iterated over.

    There is always a block, perhaps without rows. The records that were set aside come with the
    block in which they would be.
    """

    source: Source | FolderSource
    contents: Contents
    rows: int

    @property
    def empty(self) -> Table:
        """The columns, without rows."""
        return self.contents.empty

    @property
    def height(self) -> int:
        """The rows of the table."""
        return self.contents.height

    @property
    def rejected(self) -> int:
        """The records that are set aside."""
        return self.contents.rejected

    def __iter__(self) -> Iterator[Table]:
        return regrouped(self.contents.tables(), self.contents.empty, rows=self.rows)

    def sha256(self) -> str:
        """Return the checksum of the file, or of all files of a folder."""
        return self.source.sha256()

    def check_holds(self, place: Place) -> None:
        """Raise if the table has columns that the format of `place` cannot hold."""
        kind = place.format.kind
        codec, options = codec_of(kind), WriteOptions(kind, place.name)
        faulty, known = [], set(codec.misfits(self.empty, options))
        if known:
            faulty.append(self.empty)
        own = self.source.place.format.kind
        if kind.minds_cells and kind != own and not self.contents.plain:
            for block in self:
                if new := set(codec.misfits(block, options)) - known:
                    known |= new
                    faulty.append(block)
        if faulty:  # all of them together, so that columns are named in order
            raise DataError(*codec.misfits(joined(faulty), options))


@contextmanager
def reading(
    place: Place,
    *,
    rows: int = BLOCK,
    set_aside: bool | None = None,
    columns: Collection[str] = (),
    **signs: str | None,
) -> Iterator[Blocks]:
    """Give the table at a place in blocks; it is `read` otherwise, with the same arguments."""
    options = read_options(place, set_aside=set_aside, **signs)
    if place.is_folder:
        from cfl_cli.tables import data_set  # noqa: PLC0415 — loads pyarrow

        folder = FolderSource.of(place)
        yield Blocks(folder, data_set.scan(folder, options), rows)
        return
    with Source.of(place) as source:
        options = as_usual(options, source.chunks(), columns)
        yield Blocks(source, codec_of(options.kind).scan(source, options), rows)


def read_options(place: Place, *, set_aside: bool | None, **signs: str | None) -> ReadOptions:
    """Return how a table is to be read, or raise if it has no such `signs`."""
    kind = place.format.kind
    given = {
        option: ESCAPES.get(sign.lower(), sign)
        for option, sign in signs.items()
        if sign is not None
    }
    for option in given:
        if option not in kind.signs:
            typed = option.replace("_", "-")
            raise UsageError(f"--{typed} does not apply to {place.name}, which is {place.format}")
    return ReadOptions(
        kind, place.name, given, set_aside, place.sheet, is_file=place.path is not None
    )


def regrouped(tables: Iterable[Table], empty: Table, *, rows: int) -> Iterator[Table]:
    """Yield the same rows in blocks of at most `rows`, each with the number of its first row.

    No block has more rejects than that, either. What is left of a table is never put together with
    the next: texts of polars hold on to each other, and the more so the longer that goes on.
    """
    held: list[Table] = []
    height = rejected = first = 0
    for part in (part for table in tables for part in _cut(table, rows)):
        if height + len(part.frame) > rows or rejected + len(part.rejects) > rows:
            yield replace(joined(held), first=first)
            held, first = [], first + height
            height = rejected = 0
        held.append(part)
        height += len(part.frame)
        rejected += len(part.rejects)
    if held or not first:
        yield replace(joined(held or [empty]), first=first)


def _cut(table: Table, rows: int) -> Iterator[Table]:
    """Yield a table in parts of at most `rows` rows and rejects."""
    height = max(len(table.frame), len(table.rejects))
    if height <= rows:
        if height:
            yield table
        return
    for start in range(0, height, rows):
        lines = None if table.lines is None else table.lines[start : start + rows]
        frame, rejects = table.frame.slice(start, rows), table.rejects[start : start + rows]
        yield replace(table, frame=frame, rejects=rejects, lines=lines)
