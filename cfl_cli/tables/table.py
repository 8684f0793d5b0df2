"""Tables in and out: a place and its format ↔ a data frame.

Cells of a text table are text and stay what they are; only the schema gives them a type. Parquet
and Arrow columns keep theirs.
"""

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cfl_cli.errors import DataError, UsageError
from cfl_cli.tables import files, folder, formats, source
from cfl_cli.tables.blocks import Blocks, read_options, reading
from cfl_cli.tables.codec import EmbeddingCodec, ReadOptions, Table, WriteOptions, codec_of, joined
from cfl_cli.tables.place import STANDARD, Place, local, name_of
from cfl_cli.tables.stored import StoredTable, stored
from cfl_cli.tables.table_writer import TableWriter, rejects_text, to_bytes, write, writing
from cfl_cli.tables.usual import as_usual

if TYPE_CHECKING:
    from cfl_cli.tables.sniff import Sniffed

__all__ = [
    "STANDARD",
    "Blocks",
    "Place",
    "StoredTable",
    "Table",
    "TableWriter",
    "check_holds",
    "local",
    "name_of",
    "read",
    "read_report",
    "read_sniffed",
    "reading",
    "rejects_path",
    "rejects_text",
    "report_path",
    "sha256_of",
    "stored",
    "to_bytes",
    "write",
    "write_text",
    "writing",
]


def read(
    place: Place,
    *,
    set_aside: bool | None = None,
    checksum: bool = False,
    columns: Collection[str] = (),
    **signs: str | None,
) -> Table:
    """Return the table at a place.

    `signs` are the delimiter, encoding, header … of a text table, where they are not the usual
    ones; with the names of its `columns` it is noticed if they are, after all. Bad records are set
    aside with `set_aside`, and an error without; None says that nobody could ask for it. With
    `checksum` the table has that of its file, which is made while the cells are read.
    """
    options = read_options(place, set_aside=set_aside, **signs)
    if place.is_folder:
        with reading(place, set_aside=set_aside) as blocks:
            found = joined([*blocks.contents.tables()] or [blocks.empty])
            return replace(found, sha256=blocks.sha256() if checksum else None)

    def table(data: bytes) -> Table:
        return codec_of(options.kind).read(data, as_usual(options, [data], columns))

    if not checksum:
        return table(source.whole(place))
    data = files.read(place.path)
    with ThreadPoolExecutor(1) as beside:
        made = beside.submit(source.sha256_of, data)
        return replace(table(source.own(data, place)), sha256=made.result())


def read_sniffed(
    place: Place, *, set_aside: bool | None = None, **signs: str | None
) -> tuple[Table, "Sniffed | None"]:
    """Return the table at a place, and how it is written where `signs` do not say it.

    What was found is read as strictly as what is given. None: not a text with delimiters.
    """
    options = read_options(place, set_aside=set_aside, **signs)
    if place.is_folder:
        return read(place), None
    kind, data = options.kind, source.whole(place)
    if "delimiter" not in kind.signs:
        return codec_of(kind).read(data, options), None
    from cfl_cli.tables.csv_hints import title_above  # noqa: PLC0415 — only drafts need it
    from cfl_cli.tables.sniff import sniff  # noqa: PLC0415 — only drafts need it

    found = sniff(data, options.signs, usual=kind.delimiter)
    if found.shape and not found.shape.first:
        raise DataError(f"{place.name}: {title_above(found.shape.line)}")
    options = replace(options, signs={**found.signs, **options.signs})
    return codec_of(kind).read(data, options), found


def bytes_of(place: Place) -> int:
    """Return how large the file or the files at a place are; 0 for standard input."""
    if place.path is None:
        return 0
    try:
        if place.path.is_dir():
            return sum(one.stat().st_size for one in place.path.rglob("*.parquet"))
        return place.path.stat().st_size
    except OSError:  # whoever reads it says why it cannot be read
        return 0


def check_holds(table: Table, place: Place) -> None:
    """Raise if the table has columns that the format of `place` cannot hold."""
    kind = place.format.kind
    if problems := codec_of(kind).misfits(table, WriteOptions(kind, place.name)):
        raise DataError(*problems)


def read_report(name: str) -> bytes:
    """Return the JSON text of a report: embedded in a table, beside it, or a file of its own."""
    path = None if name == STANDARD else local(name)
    title = name if path else "standard input"
    if path is not None and files.exists(path) and path.is_dir():
        folder.check_whole(path, name=title)
        path = path / folder.REPORT
        if not files.exists(path):
            raise DataError(f"{title}: no report inside: `cfl impute` did not write this folder")
    if path is not None and _report_is_beside(path):
        beside = report_path(path)
        if not files.exists(path) and not files.exists(beside):
            raise DataError(f"{path}: cannot be read: No such file or directory")
        if not files.exists(beside):
            raise DataError(
                f"{path}: no report: expected {beside.name} beside it, or pass the report file"
            )
        path, title = beside, str(beside)
    data = files.read(path)
    kind = formats.kind_of(data)
    if kind is None:
        return data
    text = None
    if kind.embeds_report:
        codec = cast("EmbeddingCodec", codec_of(kind))
        text = codec.read_report(data, ReadOptions(kind, title))
    if text is None:
        raise DataError(f"{title}: no report inside: `cfl impute` did not write this file")
    return text


def sha256_of(path: Path | None) -> str:
    """Return the checksum of a file, or of a folder with a table; None is standard input."""
    if path is not None and files.exists(path) and path.is_dir():
        return folder.sha256_of(path)
    return source.sha256_of(files.read(path))


def _report_is_beside(path: Path) -> bool:
    """Return whether this is a table of a format that cannot carry its report."""
    try:
        return not formats.of_path(path, option="").embeds_report
    except UsageError:  # no table at all: the report itself, perhaps
        return False


def report_path(out: Path) -> Path:
    """Return where the report of a table that cannot embed one goes."""
    return out.with_name(f"{out.name}.report.json")


def rejects_path(out: Path) -> Path:
    """Return where the records that were set aside go."""
    return out.with_name(f"{out.name}.rejects.csv")


def write_text(text: str, path: Path, *, overwrite: bool = True) -> None:
    """Write a text file completely or not at all."""
    with files.Staging(overwrite=overwrite) as staging, staging.file(path) as file:
        file.write(text.encode())
