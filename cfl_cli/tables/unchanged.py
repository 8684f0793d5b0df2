"""Whether a table is still the one that its report belongs to.

A file that has the bytes that were written need not be read. Otherwise the cells are compared,
so that a table which was saved again, quoted or packed in another way, is still the same.
"""

from dataclasses import dataclass

from cfl_cli.core.messages import count, quote
from cfl_cli.tables.checksums import TableContent, sums_of
from cfl_cli.tables.formats import Place
from cfl_cli.tables.table import reading

BYTES_AT_ONCE = 500_000_000  # of a file that is summed although nobody asked for it
CELLS_AT_ONCE = 10_000_000  # that are compared although nobody asked for it: about a second
SHOWN = 3  # columns that a message names


@dataclass(frozen=True)
class Compared:
    """Whether a table is as it was written, and what is different or was not looked at."""

    holds: bool
    what: str = ""


def compared(place: Place, content: TableContent, *, size: int, thorough: bool) -> Compared:
    """Compare a table of `size` bytes with what a report says of it; a large one if `thorough`."""
    path = place.path
    if path is not None and path.is_file() and content.file_sha256 is not None:
        if size == content.file_bytes:
            if size > BYTES_AT_ONCE and not thorough:
                return Compared(holds=True, what="only its size was compared")
            with path.open("rb") as file:
                if sums_of(file)[1] == content.file_sha256:
                    return Compared(holds=True)
        return _cells(place, content)
    if thorough or content.rows * len(content.columns) <= CELLS_AT_ONCE:
        return _cells(place, content)
    return Compared(holds=True, what="its cells were not compared")


def _cells(place: Place, content: TableContent) -> Compared:
    """Compare all cells of the columns that were written; others may have been added."""
    from cfl_cli.tables import frames  # noqa: PLC0415 — loads slowly
    from cfl_cli.tables.checksums import ContentChecksum  # noqa: PLC0415 — with it

    kind = place.format.kind
    found, names = ContentChecksum(kind), [*content.columns]
    with reading(place) as blocks:
        there = frames.names(blocks.empty.frame)
        if lost := [name for name in names if name not in there]:
            listed = ", ".join(map(quote, lost[:SHOWN])) + (" …" if len(lost) > SHOWN else "")
            noun = "column" if len(lost) == 1 else "columns"
            return Compared(holds=False, what=f"it lacks {noun} {listed}")
        if blocks.height != content.rows:
            rows = f"{count(blocks.height, 'row')}, not {content.rows:,}"
            return Compared(holds=False, what=f"it has {rows}")
        for block in blocks:
            found.add(block.frame.select(names))
    now = found.content()
    if now.sha256 != content.sha256:
        return Compared(holds=False, what="cells are others")
    if kind.module != "csv" and now.nulls_sha256 != content.nulls_sha256:
        return Compared(holds=False, what="other cells are null")
    if content.types_sha256 not in (None, now.types_sha256) and now.types_sha256 is not None:
        return Compared(holds=False, what="columns have other types")
    added = len(there) - len(names)
    return Compared(holds=True, what=f"{count(added, 'column')} added since" if added else "")
