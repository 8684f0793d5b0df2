"""Tables in and out: a place and its format ↔ blocks of rows; a small table is one block in memory.

Cells of a text table are text and stay what they are; only the schema gives them a type. Parquet
and Arrow columns keep theirs.

A file is checked to the last cell before the first block, so every fault is found then, and a table
is refused for the same causes, in the same words, whether it is read into memory or not.
"""

import hashlib
import io
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from mmap import mmap
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import polars as pl

from cfl_cli.core.messages import STORED, Option
from cfl_cli.core.process import undisturbed
from cfl_cli.errors import DataError, Problem, UsageError, file_problem
from cfl_cli.tables import files, formats, frames
from cfl_cli.tables.checksums import ContentChecksum, TableContent, sums_of
from cfl_cli.tables.codec import (
    Contents,
    EmbeddingCodec,
    ReadOptions,
    Reject,
    RowWriter,
    Table,
    WriteOptions,
    codec_of,
    join_tables,
    too_many,
    write_frame,
)
from cfl_cli.tables.csv_reader import as_usual
from cfl_cli.tables.dialect import TextStyle, checked
from cfl_cli.tables.formats import STANDARD, Place, file_name, local
from cfl_cli.tables.source import CHUNK, Source, Spool

if TYPE_CHECKING:
    from types import ModuleType

    from cfl_cli.tables.folders import FolderSource, StagedFolder
    from cfl_cli.tables.sniff import Sniffed

__all__ = ["STANDARD", "Place", "Table", "file_name", "local"]

BLOCK = 5_000  # rows of a block, unless somebody wants more or fewer
_NOT_OURS = "no report inside: `cfl impute` did not write this"


@dataclass(frozen=True, kw_only=True)
class Blocks(Contents):
    """A table that was checked to the last cell: rows in blocks, columns one at a time.

    There is always a block, perhaps without rows. The records that were set aside come with the
    block in which they would be. Parquet and Arrow files are read where they are. Text has no
    columns that could be read alone, so its cells are copied to a file without a name.
    """

    source: "Source | FolderSource"
    columns: list[str]
    rows: int  # of a block
    load: Callable[[str], Any]  # returns one column as a frame
    whole: Table | None = None  # all rows, if the table is in memory
    dtypes: dict[str, pl.DataType] = field(default_factory=dict)  # as far as they are known

    def __iter__(self) -> Iterator[Table]:
        return self.blocks(self.rows)

    def blocks(self, rows: int | None = None) -> Iterator[Table]:
        """Yield the rows in blocks of at most `rows`, as often as called."""
        return regrouped(self.tables(), self.empty, rows=rows or self.rows)

    def __len__(self) -> int:
        return self.height

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> pl.Series:
        if name not in self:
            raise KeyError(name)
        column = frames.as_polars(self.load(name), [name])[name].rechunk()
        self.dtypes[name] = column.dtype
        return column

    def dtype(self, name: str) -> pl.DataType:
        frame, by_cells = self.empty.frame, False
        if name in self.dtypes:
            return self.dtypes[name]
        if frames.is_arrow(frame):
            kind, types = frame.schema.field(name).type, frames.pyarrow().types
            kind = kind.value_type if types.is_dictionary(kind) else kind
            by_cells = types.is_temporal(kind) or types.is_nested(kind)
        if by_cells:
            return self[name].dtype
        return self.dtypes.setdefault(name, frames.as_polars(frame, [name])[name].dtype)

    def check_holds(self, place: Place) -> None:
        kind = place.format.kind
        check_rows(self.height, place)
        codec, options = codec_of(kind), WriteOptions(kind, place.name)
        known = {*codec.misfits(self.empty, options)}
        faulty = [self.empty] if known else []
        own = self.source.place.format.kind
        if kind.minds_cells and kind != own and not self.plain:
            for block in self:
                if new := {*codec.misfits(block, options)} - known:
                    known |= new
                    faulty.append(block)
        if faulty:  # all of them together, so that columns are named in order
            raise DataError(*codec.misfits(join_tables(faulty), options))


def _folders() -> "ModuleType":
    from cfl_cli.tables import folders  # pyarrow, which text can do without

    return folders


@contextmanager
def reading(
    place: Place,
    *,
    rows: int = BLOCK,
    set_aside: bool | None = None,
    columns: Collection[str] = (),
    directory: Path | None = None,
    in_memory: bool = False,
    **dialect: str | None,
) -> Iterator[Blocks]:
    """Give the table at a place in blocks of `rows`; if it is `in_memory`, that is one block.

    `dialect` are the delimiter, encoding, header … of a text table, where they are not the usual
    ones; with the names of its `columns` it is noticed if they are, after all. Bad records are set
    aside with `set_aside`, and an error without; None says that nobody could ask for it. Cells that
    have to be copied go to `directory`, or where the system keeps temporary files, and are gone
    when the `with` block ends, or with the process.
    """
    options = read_options(place, set_aside=set_aside, **dialect)
    with ExitStack() as stack:
        if place.format == formats.DATA_SET:
            opened: Source | FolderSource = _folders().FolderSource.of(place)
            contents = _folders().scan(opened, options)
        else:
            opened = file = stack.enter_context(Source.of(place, in_memory=in_memory))
            if options.dialect and columns and options.kind.delimiter:
                options = as_usual(options, file.chunks(), columns)
            contents = codec_of(options.kind).scan(file, options)
        facts = vars(contents) | {"source": opened, "columns": frames.names(contents.empty.frame)}
        if in_memory:
            whole = contents.joined()
            facts |= {"tables": lambda: iter([whole]), "load": lambda n: whole.frame.select([n])}
            yield Blocks(**facts, rows=max(len(whole.frame), len(whole.rejects), 1), whole=whole)
            return
        from cfl_cli.tables import columnar

        @cache
        def cells() -> mmap:  # whoever takes blocks alone needs no copy
            spool = stack.enter_context(Spool.create(directory and directory / "cells"))
            blocks = regrouped(contents.tables(), contents.empty, rows=BLOCK)
            return columnar.copied(blocks, contents.empty, spool)

        load = contents.column or (lambda n: columnar.one_of(cells(), formats.ARROW, n))
        yield Blocks(**facts, rows=rows, load=load)


def read_options(place: Place, *, set_aside: bool | None, **dialect: str | None) -> ReadOptions:
    kind = place.format.kind
    for name, word in dialect.items():
        if word is not None and name not in kind.dialect:
            text = "{option} does not apply to {file}, which is {format}"
            facts = {"option": Option(name, to=STORED), "format": str(place.format)}
            raise UsageError(Problem("option-other-format", text, file=place.name, **facts))
    given, is_file = checked(dialect), place.path is not None
    return ReadOptions(kind, place.name, given, set_aside, place.sheet, is_file=is_file)


def regrouped(tables: Iterable[Table], empty: Table, *, rows: int) -> Iterator[Table]:
    """Yield the same rows in blocks of at most `rows`, each with the number of its first row.

    No block has more rejects than that, either. What is left of a table is never put together with
    the next: texts of polars hold on to each other, and the more so the longer that goes on.
    """
    held: list[Table] = []
    height = rejected = first = 0
    for part in (part for table in tables for part in _cut(table, rows)):
        if height + len(part.frame) > rows or rejected + len(part.rejects) > rows:
            yield replace(join_tables(held), first=first)
            held, first = [], first + height
            height = rejected = 0
        held.append(part)
        height += len(part.frame)
        rejected += len(part.rejects)
    if held or not first:
        yield replace(join_tables(held or [empty]), first=first)


def _cut(table: Table, rows: int) -> Iterator[Table]:
    height = max(len(table.frame), len(table.rejects))
    if height <= rows:
        if height:
            yield table
        return
    for start in range(0, height, rows):
        lines = None if table.lines is None else table.lines[start : start + rows]
        frame, rejects = table.frame.slice(start, rows), table.rejects[start : start + rows]
        yield replace(table, frame=frame, rejects=rejects, lines=lines)


def read(
    place: Place,
    *,
    set_aside: bool | None = None,
    checksum: bool = False,
    columns: Collection[str] = (),
    **dialect: Any,
) -> Table:
    """Return the table at a place, in memory; with `checksum` it has that of its file.

    The arguments are those of `reading`.
    """
    with reading(place, set_aside=set_aside, columns=columns, in_memory=True, **dialect) as blocks:
        whole = blocks.whole or blocks.empty
        return replace(whole, sha256=blocks.source.sha256()) if checksum else whole


def read_sniffed(
    place: Place, *, set_aside: bool | None = None, **dialect: str | None
) -> "tuple[Table, Sniffed | None]":
    """Return the table at a place, and how it is written where `dialect` do not say it.

    What was found is read as strictly as what is given. None: not a text with delimiters.
    """
    options = read_options(place, set_aside=set_aside, **dialect)
    if place.format == formats.DATA_SET:
        return read(place), None
    kind = options.kind
    with Source.of(place, in_memory=True) as held:
        if "delimiter" not in kind.dialect:
            return codec_of(kind).scan(held, options).joined(), None
        from cfl_cli.tables import csv_hints, sniff  # for tables that nobody has described

        found = sniff.sniff(held.data or b"", options.dialect, usual=kind.delimiter)
        if found.shape and not found.shape.first:
            raise DataError(csv_hints.title_above(place.name, found.shape.line))
        options = replace(options, dialect={**found.dialect, **options.dialect})
        return codec_of(kind).scan(held, options).joined(), found


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


def check_rows(rows: int, place: Place) -> None:
    most = place.format.kind.most_rows
    if most is not None and rows > most:
        raise too_many(place.name, rows, most)


def check_holds(table: Table, place: Place) -> None:
    kind = place.format.kind
    check_rows(len(table.frame), place)
    if problems := codec_of(kind).misfits(table, WriteOptions(kind, place.name)):
        raise DataError(*problems)


def read_report(name: str) -> bytes:
    """Return the JSON text of a report: embedded in a table, beside it, or a file of its own."""
    path = None if name == STANDARD else local(name)
    title = name if path else "standard input"
    if path is not None and files.exists(path) and path.is_dir():
        _folders().check_whole(path, name=title)
        path = path / _folders().REPORT
        if not files.exists(path):
            raise DataError(file_problem("report-missing", title, f"{_NOT_OURS} folder"))
    embeds = True  # or no table at all: the report itself, perhaps
    if path is not None:
        with suppress(UsageError):
            embeds = formats.of_path(path, option="").kind.embeds_report
    if path is not None and not embeds:
        beside = report_path(path)
        if not files.exists(path) and not files.exists(beside):
            files.read(path)  # which says why it cannot be read
        if not files.exists(beside):
            what = f"no report: expected {beside.name} beside it, or pass the report file"
            raise DataError(file_problem("report-missing", path, what))
        path, title = beside, str(beside)
    data = files.read(path)
    kind = formats.kind_seen(data)
    if kind is None:
        return data
    text = None
    if kind.embeds_report:
        codec = cast("EmbeddingCodec", codec_of(kind))
        text = codec.read_report(data, ReadOptions(kind, title))
    if text is None:
        raise DataError(file_problem("report-missing", title, f"{_NOT_OURS} file"))
    return text


def sha256_of(path: Path | None) -> str:
    """Return the checksum of a file, or of a folder with a table; None is standard input."""
    if path is not None and files.exists(path) and path.is_dir():
        source: FolderSource = _folders().FolderSource.of(Place(path, str(path), formats.DATA_SET))
        return source.sha256()
    return hashlib.sha256(files.read(path)).hexdigest()


def report_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.report.json")


def rejects_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.rejects.csv")


def write_text(text: str, path: Path, *, overwrite: bool = True) -> None:
    with files.Staging(overwrite=overwrite) as staging, staging.file(path) as file:
        file.write(text.encode())


# A table that is written block by block, and appears with the files beside it, or not at all.

Beside = str | bytes | Callable[[TableContent | None], str]  # a file's text, or what makes it


def rejects_text(rejects: list[Reject], *, header: bool = True) -> str:
    kinds = {"line": pl.Int64, "cause": pl.String, "record": pl.String}
    frame = pl.DataFrame(rejects, schema=kinds, orient="row")
    return frame.write_csv(include_header=header)


@dataclass
class TableWriter:
    """Takes the rows of a table; `finish` must be the last call, or nothing will be written."""

    _writer: RowWriter
    _stack: ExitStack  # of what is open for the writer
    _target: "files.Staged | StagedFolder | Spool"
    _staging: files.Staging
    _rejects_path: Path | None
    _sums: ContentChecksum | None
    _rejects: files.Staged | None = None
    _names: list[Any] | None = None
    rejected: int = 0  # records in the file of rejects
    finished: bool = False

    def add(self, frame: Any, source: Table | None = None) -> None:
        """Write further rows; `source` is the block that they were made from.

        Its rejects go to the file of rejects, if there is to be one.
        """
        names = frames.names(frame)
        if self._names not in (None, names):
            raise ValueError(f"other columns than before: {names}")
        self._names = names
        with undisturbed(), self._target.guarded():  # polars loses an interrupt, and writes twice
            self._writer.add(frame, source)
        if self._sums is not None:
            self._sums.add(frame)
        if source is not None and source.rejects and self._rejects_path is not None:
            self._rejects = self._rejects or self._staging.begin(self._rejects_path)
            with self._rejects.guarded():
                text = rejects_text(source.rejects, header=not self.rejected)
                self._rejects.file.write(text.encode())
            self.rejected += len(source.rejects)

    @property
    def content(self) -> TableContent | None:
        """What the rows hold that were added; None: nobody wants to know."""
        return self._sums.content() if self._sums else None

    def finish(
        self,
        *,
        report: str | None = None,
        beside: Mapping[Path, Beside] | None = None,
        then: Callable[[], object] | None = None,
    ) -> None:
        """Write what is left, files `beside` the table too; embed `report` if possible.

        `then` is done when all files are in their places. They go back if it fails.
        """
        self._staging.then = then or self._staging.then
        if self._rejects is not None:
            with self._rejects.guarded():
                self._rejects.finish()
        with undisturbed(), self._target.guarded():
            self._writer.finish(report)
            self._stack.close()
            self._target.finish()
        for path, given in (beside or {}).items():
            text = given(self.written()) if callable(given) else given
            with self._staging.file(path) as file:
                file.write(text if isinstance(text, bytes) else text.encode())
        if not isinstance(self._target, Spool):
            staged = self._staging.staged
            staged.append(staged.pop(staged.index(self._target)))
        self.finished = True

    def written(self) -> TableContent | None:
        """Return what the table holds, and its complete file; None: it is not summed."""
        content, target = self.content, self._target
        if content is None or not isinstance(target, files.Staged):
            return content
        with target.guarded(), open(target.raw.handle, "rb", closefd=False) as file:
            file.seek(0)
            size, made = sums_of(file)
        return replace(content, file=target.path.name, file_bytes=size, file_sha256=made)


@contextmanager
def writing(
    place: Place,
    *,
    rejects: Path | None = None,
    stream: IO[bytes] | None = None,
    overwrite: bool = True,
    summed: bool = False,
    style: TextStyle | None = None,
    staging: files.Staging | None = None,
) -> Iterator[TableWriter]:
    """Give a writer of a table in blocks; it is in place when the `with` block has ended well.

    With a `staging` of other files, it takes its place together with them.
    `rejects` is where records that were set aside go. `stream` is standard output if the place is
    that; it gets nothing before everything is written. A writer that is `summed` knows in the end
    what the table holds. A text table is written in a `style`.
    """
    kind, opened = place.format.kind, ExitStack()
    options = WriteOptions(kind, place.name, place.path, style)
    own = nullcontext(staging) if staging else files.Staging(overwrite=overwrite)
    with own as together, ExitStack() as stack:
        target: Any
        if place.path is not None and place.format == formats.DATA_SET:
            target = _folders().StagedFolder.create(place.path)
            together.staged.append(target)
            rows: RowWriter = _folders().FolderWriter(target, options)
        else:
            if place.path is None:
                target = waiting = stack.enter_context(Spool.create())
            else:
                target = together.begin(place.path)
            file, packing = target.file, place.format.packing
            packed = opened.enter_context(formats.pack_into(file, packing)) if packing else file
            rows = codec_of(kind).writer(packed, options)
        opened.callback(rows.close)
        sums = ContentChecksum(kind) if summed else None
        writer = TableWriter(rows, opened, target, together, rejects, sums)
        try:
            yield writer
        finally:
            with suppress(Exception):  # of a table that was given up
                opened.close()
            if not writer.finished:
                together.give_up()
        if place.path is None and writer.finished:
            if stream is None:
                raise ValueError("standard output is wanted and not given")
            shutil.copyfileobj(waiting.again(), stream, CHUNK)
            stream.flush()


def write(
    frame: Any,
    place: Place,
    *,
    report: str | None,
    source: Table | None = None,
    overwrite: bool = True,
    style: TextStyle | None = None,
    staging: files.Staging | None = None,
) -> None:
    """Write a whole table, completely or not at all; embed `report` if possible.

    `source` is the table that `frame` comes from; `staging` is as for `writing`.
    """
    with writing(place, overwrite=overwrite, style=style, staging=staging) as writer:
        writer.add(frame, source)
        writer.finish(report=report)


def to_bytes(frame: Any, place: Place) -> bytes:
    file, kind = io.BytesIO(), place.format.kind
    with formats.pack_into(file, place.format.packing) as inner:
        write_frame(frame, inner, WriteOptions(kind, place.name, place.path))
    return file.getvalue()
