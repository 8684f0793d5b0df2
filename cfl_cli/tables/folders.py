"""A folder of Parquet files: which files, in which order, and what the names of folders say.

    sales/year=2024/month=01/part-0.parquet

is a part of the table `sales`, whose columns `year` and `month` (partitions) follow those of the
files. Names that begin with `_` or `.` are left out, as Spark leaves them out.
"""

import ctypes
import fcntl
import hashlib
import io
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import IO, Any, Self
from urllib.parse import unquote

import pyarrow as pa

from cfl_cli.core import process
from cfl_cli.core.messages import quote
from cfl_cli.errors import (
    PROBLEMS_SHOWN,
    DataError,
    Problem,
    UsageError,
    file_problem,
    is_short,
    unreadable,
)
from cfl_cli.large.arrays import FOLDER
from cfl_cli.tables import columnar, formats, frames
from cfl_cli.tables.codec import (
    Contents,
    FolderLayout,
    ReadOptions,
    RowWriter,
    Table,
    WriteOptions,
    codec_of,
)
from cfl_cli.tables.columnar import REPORT_KEY
from cfl_cli.tables.files import Raw, locked, read_errors, write_errors
from cfl_cli.tables.formats import FORMATS, MANIFEST, Place
from cfl_cli.tables.source import Source, changed_error

REPORT = "_cfl_report.json"  # beside the parts that cfl writes
NULL = "__HIVE_DEFAULT_PARTITION__"  # the value of rows that have none
MARKERS = {"_SUCCESS", "_metadata", "_common_metadata"}  # of Spark, Hadoop and Arrow: no rows
PARTITION = re.compile("([^=]+)=(.*)", re.DOTALL)


@dataclass(frozen=True)
class PartFile:
    path: Path
    relative: str  # its path in the folder, with /
    values: tuple[str | None, ...]  # of the partitions


@dataclass(frozen=True)
class FolderSource:
    place: Place
    keys: tuple[str, ...]  # the partitions' names
    files: tuple[PartFile, ...]
    states: dict[str, tuple[int, int]] = field(default_factory=dict)  # as they were at first
    known: list[str] = field(default_factory=list)  # the checksum, once it was made

    @classmethod
    def of(cls, place: Place) -> Self:
        folder = place.path or Path()
        with read_errors(folder):
            relatives = sorted(_files(folder, "", {}, name=place.name))
        _check_manifest(folder, relatives, name=place.name)
        if not relatives:
            raise _fault("empty", place.name, "no Parquet file in this folder")
        keys, files = None, []
        for relative in relatives:
            pairs = [_partition(one, place.name) for one in relative.split("/")[:-1]]
            names = tuple(key for key, _ in pairs)
            if keys not in (None, names) or len({*names}) < len(names):
                what = f"{relatives[0]} and {relative} are in different kinds of partitions"
                remedy = "use the same levels of NAME=VALUE folders for all files"
                raise _fault("partitions", place.name, what, remedy)
            keys = names
            head = formats.head_of(folder / relative)  # empty or unreadable: its reader says it
            if head and not head.startswith((formats.PARQUET, formats.ENCRYPTED)):
                remedy = "move it away, or let its name begin with _"
                what = f"a folder may hold only Parquet files, and {relative} is not one"
                raise _fault("other-file", place.name, what, remedy)
            files.append(PartFile(folder / relative, relative, tuple(value for _, value in pairs)))
        return cls(place, keys or (), tuple(files))

    @contextmanager
    def opened(self, file: PartFile) -> Iterator[Source]:
        name = f"{self.place.name.rstrip('/')}/{file.relative}"
        with Source.of(Place(file.path, name, FORMATS["parquet"])) as source:
            if self.states.setdefault(file.relative, source.state) != source.state:
                raise changed_error(source.name)
            yield source

    def sha256(self) -> str:
        """Return the SHA-256 of what `sha256sum` prints of all files, in their order."""
        if not self.known:
            made = hashlib.sha256()
            for file in self.files:
                with self.opened(file) as source:
                    made.update(f"{source.sha256()}  {file.relative}\n".encode())
            self.known[:] = [made.hexdigest()]
        return self.known[0]


def in_the_way(folder: Path) -> str:
    """Return why a folder cannot be replaced; nothing if cfl wrote all that is in it."""
    paths = (one for one in folder.rglob("*") if one.is_symlink() or not one.is_dir())
    there = {path.relative_to(folder).as_posix() for path in paths}
    ours = _manifest_files(folder)
    if there and ours is None:
        return "cfl did not write this folder"
    others = []
    for one in there - {*(ours or []), MANIFEST, REPORT}:
        name = one.rpartition("/")[2]
        # Markers of others say something of the files, as those that copy data sets leave them.
        if name not in MARKERS and not (name.startswith(".") and name.endswith(".crc")):
            others.append(one)
    return f"holds {min(others)}, which cfl did not write" if others else ""


def check_whole(folder: Path, *, name: str) -> None:
    """Raise if files were added to a folder or are lost since cfl wrote it."""
    with read_errors(folder):
        relatives = _files(folder, "", {}, name=name)
    _check_manifest(folder, relatives, name=name)


def _manifest_files(folder: Path) -> dict[str, object] | None:
    try:
        listed = json.loads((folder / MANIFEST).read_bytes())["files"]
        return {str(one["path"]): one.get("bytes") for one in listed}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if is_short(error):
            raise unreadable(folder / MANIFEST, error) from error
        return None


def _check_manifest(folder: Path, relatives: list[str], *, name: str) -> None:
    listed = _manifest_files(folder)
    if listed is None:
        return
    again = f"write the folder again, or delete {MANIFEST} if the change is intended"
    for which, what in (
        ({*listed} - {*relatives}, "is in the manifest but not in the folder"),
        ({*relatives} - {*listed}, "is in the folder but not in the manifest"),
    ):
        if which:
            raise _fault("manifest", name, f"{min(which)} {what}", again)
    for relative, size in listed.items():
        with read_errors(folder / relative):
            found = (folder / relative).stat().st_size
        if isinstance(size, int) and found != size:
            what = f"{relative} has {found:,} bytes, but {size:,} in the manifest"
            raise _fault("manifest", name, what, f"it was cut short or replaced: {again}")


def _fault(code: str, name: str, what: str, remedy: str = "") -> DataError:
    return DataError(file_problem(f"folder-{code}", name, what, remedy))


def _files(folder: Path, inside: str, above: dict[tuple[int, int], str], *, name: str) -> list[str]:
    facts = folder.stat()
    place = (facts.st_dev, facts.st_ino)
    if place in above:
        what = f"{inside} is a link to a folder that contains it"
        raise _fault("link", name, what, "remove the link")
    found: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or (entry.name.startswith("_") and "=" not in entry.name):
                continue
            relative = f"{inside}/{entry.name}" if inside else entry.name
            try:
                relative.encode()
            except UnicodeError:
                what = "the name of a file in it is not UTF-8"
                raise _fault("file-name", name, what) from None
            if entry.is_dir():
                below = {**above, place: inside}
                found += _files(folder / entry.name, relative, below, name=name)
            else:
                found.append(relative)
    return found


def _partition(part: str, name: str) -> tuple[str, str | None]:
    found = PARTITION.fullmatch(part)
    if found is None:
        what = f"its folder {quote(part)} is not a partition (NAME=VALUE)"
        raise _fault("partitions", name, what, "pass only that folder, or move its files up")
    try:
        key, value = (unquote(text, errors="strict") for text in found.groups())
    except UnicodeError:
        what = f"the name of the folder {quote(part)} is not UTF-8"
        raise _fault("file-name", name, what) from None
    return key, None if value == NULL else value


# The Parquet files of a folder ↔ one pyarrow table, with a column for every partition.
#
# A partition is of whole numbers if all its values are, written as programs write them (`1`, not
# `01`), and of text otherwise.

_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")
_FIX = "write all files with the same columns and types"


@dataclass(frozen=True)
class _Parts:
    source: FolderSource
    options: ReadOptions
    schema: pa.Schema  # of the table: the files' columns, then the partitions
    heights: Mapping[str, int]  # of the files

    def rows(self) -> Iterator[Table]:
        layout = FolderLayout(tuple(self.heights.items()), self.source.keys)
        for file in self.source.files:
            with self.source.opened(file) as source:
                for part in columnar.rows(source, _of_file(self.options, source.name)):
                    columns = [*part.frame.columns, *self._partitions(file, len(part.frame))]
                    yield Table(pa.table(columns, schema=self.schema), layout=layout)

    def column(self, name: str) -> pa.Table:
        field = self.schema.field(name)
        cells: list[pa.Array] = []
        for file in self.source.files:
            if name in self.source.keys:
                values = self._partitions(file, self.heights[file.relative])
                cells.append(values[self.source.keys.index(name)])
                continue
            with self.source.opened(file) as source:
                options = _of_file(self.options, source.name)
                cells += columnar.one_column(source, options, name).column(0).chunks
        return pa.table([pa.chunked_array(cells, field.type)], schema=pa.schema([field]))

    def _partitions(self, file: PartFile, rows: int) -> list[pa.Array]:
        kinds = [self.schema.field(key).type for key in self.source.keys]
        return [
            pa.repeat(pa.scalar(int(value) if value and kind == pa.int64() else value, kind), rows)
            for kind, value in zip(kinds, file.values, strict=True)
        ]


def read_report(data: bytes, options: ReadOptions) -> bytes | None:
    return columnar.read_report(data, _of_file(options, options.name))


def scan(source: FolderSource, options: ReadOptions) -> Contents:
    schema = _schema(source, options)
    heights: dict[str, int] = {}
    for file in source.files:
        with source.opened(file) as one:
            contents = columnar.scan(one, _of_file(options, one.name))
            heights[file.relative] = contents.height
    parts = _Parts(source, options, schema, heights)
    layout = FolderLayout(tuple(heights.items()), source.keys)
    empty = Table(pa.Table.from_batches([], schema=schema), layout=layout)
    return Contents(empty, sum(heights.values()), 0, parts.rows, column=parts.column)


def misfits(table: Table, options: WriteOptions) -> list[Problem]:
    return columnar.misfits(table, replace(options, kind=columnar.PARQUET))


def writer(file: IO[bytes], options: WriteOptions) -> RowWriter:
    return columnar.writer(file, replace(options, kind=columnar.PARQUET))


def _of_file(options: ReadOptions, name: str) -> ReadOptions:
    return replace(options, kind=columnar.PARQUET, name=name)


def _schema(source: FolderSource, options: ReadOptions) -> pa.Schema:
    first, *others = source.files
    with source.opened(first) as one:
        schema = columnar.schema_of(one, _of_file(options, one.name))
    shared = {key: value for key, value in (schema.metadata or {}).items() if key != REPORT_KEY}
    required = [not field.nullable for field in schema]
    problems = list[Problem]()
    for file in others:
        with source.opened(file) as one:
            found = columnar.schema_of(one, _of_file(options, one.name))
        metadata = found.metadata or {}
        shared = {key: value for key, value in shared.items() if metadata.get(key) == value}
        if what := _difference(schema, found, first.relative, file.relative):
            problems += _fault("columns", source.place.name, what, _FIX).problems
        else:
            pairs = zip(required, found, strict=True)
            required = [both and not field.nullable for both, field in pairs]
    text = "{file}: column {column!r} is both in the files and in the folder names: {remedy}"
    problems += [
        Problem("folder-columns", text, file=source.place.name, column=key, remedy=frames.RENAME)
        for key in source.keys
        if key in schema.names
    ]
    if problems:
        more = max(0, len(problems) - PROBLEMS_SHOWN)
        raise DataError(*problems[:PROBLEMS_SHOWN], more=more)
    filled = zip(schema, required, strict=True)
    fields = [field.with_nullable(not always) for field, always in filled]
    for number, key in enumerate(source.keys):
        texts = {file.values[number] for file in source.files} - {None}
        whole = bool(texts) and all(_WHOLE.fullmatch(str(text)) for text in texts)
        fields.append(pa.field(key, pa.int64() if whole else pa.string()))
    return pa.schema(fields, metadata=shared or None)


def _difference(schema: pa.Schema, other: pa.Schema, first: str, file: str) -> str:
    for here, there, one, two in ((schema, other, first, file), (other, schema, file, first)):
        if lost := [name for name in here.names if name not in there.names]:
            return f"column {quote(lost[0])} is in {one} and not in {two}"
    for one, two in zip(schema, other, strict=False):
        if one.name != two.name:
            return f"the columns of {first} and {file} are in different orders, {quote(one.name)} where the other has {quote(two.name)}"
        if one.type != two.type:
            return f"column {quote(one.name)} is {one.type} in {first} and {two.type} in {file}"
    if len(schema.names) != len(other.names):
        return f"{first} and {file} have different columns"
    return ""


# A new folder that is written under a hidden name beside its place, and takes it as a whole.
#
# Its name begins with `.cfl-set-`, and it is locked as long as the run lives: what a killed run left
# is not locked, and is removed by the next run that writes beside it.

_PREFIX, OLD = ".cfl-set-", ".cfl-old-"
AT_CWD, EXCHANGE = -100, 2  # of renameat2 on Linux


@dataclass(eq=False)
class _Counted(Raw):
    size: int = 0
    made: Any = field(default_factory=hashlib.sha256)

    def write(self, data: Any) -> int:
        taken = super().write(data)
        self.made.update(memoryview(data)[:taken])
        self.size += taken
        return taken


@dataclass
class _NewFile:
    raw: _Counted
    file: io.BufferedWriter

    def finish(self) -> None:
        self.file.flush()
        self.raw.check()
        os.fsync(self.raw.handle)
        self.file.close()


@dataclass
class StagedFolder:
    path: Path  # as the user wrote it
    target: Path  # the folder that a link points to
    hidden: Path  # where it is until then
    handle: int  # of the hidden folder, which is locked by it
    open: list[_NewFile] = field(default_factory=list)

    @classmethod
    def create(cls, path: Path) -> Self:
        target = path.resolve()
        with write_errors(path), locked(target.parent):
            _sweep(target)
            hidden = target.parent / f"{_PREFIX}{secrets.token_hex(8)}"
            with process.GATE:
                hidden.mkdir()
                process.remove_at_end(hidden)
            try:
                handle = os.open(hidden, FOLDER)
            except OSError:
                with suppress(OSError):
                    hidden.rmdir()
                process.keep(hidden)
                raise
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return cls(path, target, hidden, handle)

    def guarded(self) -> AbstractContextManager[None]:
        return write_errors(self.path, self.open[-1].raw if self.open else None)

    def begin(self, relative: str) -> _NewFile:
        path = self.hidden / relative
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with process.GATE:  # or it might make the folder again that was just removed
            path.parent.mkdir(parents=True, exist_ok=True)
            raw = _Counted(os.open(path, flags, 0o666))
        file = _NewFile(raw, io.BufferedWriter(raw))
        self.open[:] = [file]
        return file

    def finish(self) -> None:
        for path, _, _ in os.walk(self.hidden):
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def place(self) -> None:
        """Take the target's place in one step; an older folder there must be ours."""
        if not self.target.exists() or not any(self.target.iterdir()):
            self.hidden.rename(self.target)
            process.keep(self.hidden)
            return
        if why := in_the_way(self.target):
            raise UsageError(file_problem("out-not-ours", self.path, why, "choose another folder"))
        self.hidden.chmod(self.target.stat().st_mode & 0o777)
        if not _exchanged(self.hidden, self.target):
            old = self.target.parent / f"{OLD}{self.target.name}"
            self.target.rename(old)
            self.hidden.rename(self.target)
            process.keep(self.hidden)
            self.hidden = old

    def take_back(self, old: Path | None) -> None:
        if not self.hidden.exists():  # the folder was new
            self.target.rename(self.hidden)
        elif not _exchanged(self.hidden, self.target):
            away = self.target.parent / f"{_PREFIX}{secrets.token_hex(8)}"
            self.target.rename(away)
            self.hidden.rename(self.target)
            self.hidden = away

    def discard(self) -> None:
        for file in self.open:
            with suppress(OSError):
                file.file.close()
        shutil.rmtree(self.hidden, ignore_errors=True)
        process.keep(self.hidden)
        with suppress(OSError):
            os.close(self.handle)


def _sweep(target: Path) -> None:
    for path in target.parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            handle = os.open(path, FOLDER)
            try:
                if os.fstat(handle).st_uid != os.geteuid():
                    continue
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(handle)
    old = target.parent / f"{OLD}{target.name}"
    if old.is_symlink() or not old.is_dir() or old.stat().st_uid != os.geteuid():
        return
    if not target.exists():  # killed between two names: it was whole
        with suppress(OSError):
            old.rename(target)
    else:
        shutil.rmtree(old, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError):
        return False
    return bool(rename(AT_CWD, os.fsencode(one), AT_CWD, os.fsencode(other), EXCHANGE) == 0)


# The rows of a table → the Parquet files of a folder, one after the other, and a manifest.
#
# Rows that come from a folder go to files with the same paths; others to parts of equal size. Columns
# that stand in the names of folders are not repeated in the files.

ROWS = 1 << 20  # of a part, if nothing says how many


@dataclass
class _Part:
    relative: str
    file: _NewFile
    writer: RowWriter
    due: int  # rows that are still to come
    rows: int = 0

    def add(self, table: Any) -> None:
        self.writer.add(table)
        self.rows += len(table)
        self.due -= len(table)


@dataclass
class FolderWriter(RowWriter):
    target: StagedFolder
    options: WriteOptions
    layout: FolderLayout | None = None
    plan: Iterator[tuple[str, int]] | None = None  # files to come, with their rows
    part: _Part | None = None
    files: list[dict[str, Any]] = field(default_factory=list)  # that are done, for the manifest
    empty: Any = None  # the columns, without rows

    def add(self, frame: Any, source: Table | None = None) -> None:
        if self.plan is None:
            same_rows = source is not None and len(frame) == len(source.frame)
            self.layout = source.layout if source is not None and same_rows else None
            parts = ((f"part-{number:05}.parquet", ROWS) for number in count())
            self.plan = iter(self.layout.files) if self.layout else parts
        table = self._of_files(frames.as_arrow(frame), source)
        self.empty = table[:0]
        while len(table):
            while self.part is None or not self.part.due:
                self._next(*next(self.plan))
            taken = min(self.part.due, len(table))
            self.part.add(table[:taken])
            table = table[taken:]

    def finish(self, report: str | None = None) -> None:
        if self.plan is not None and self.layout:
            for relative, rows in self.plan:
                self._next(relative, rows)
        elif self.plan is not None and self.part is None:
            self._next(*next(self.plan))
        self._close()
        if report:
            self._text(REPORT, f"{report}\n")
        facts: dict[str, Any] = {
            "version": 1,
            "rows": sum(file["rows"] for file in self.files),
            "partitions": list(self.layout.keys) if self.layout else [],
            "report": REPORT if report else None,
            "files": self.files,
        }
        self._text(MANIFEST, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")

    def close(self) -> None:
        if self.part is not None:
            self.part.writer.close()
            self.part = None

    def _next(self, relative: str, rows: int) -> None:
        self._close()
        file = self.target.begin(relative)
        writer = codec_of(self.options.kind).writer(file.file, self.options)
        self.part = _Part(relative, file, writer, rows)
        self.part.add(self.empty)  # or a file without rows would have no columns

    def _close(self) -> None:
        part = self.part
        if part is None:
            return
        if self.layout and part.due:
            raise ValueError(f"{part.relative}: {part.due} rows are missing")
        part.writer.finish()
        part.file.finish()
        size, made = part.file.raw.size, part.file.raw.made.hexdigest()
        facts = {"path": part.relative, "rows": part.rows, "bytes": size, "sha256": made}
        self.files.append(facts)
        self.part = None

    def _text(self, name: str, text: str) -> None:
        file = self.target.begin(name)
        file.file.write(text.encode())
        file.finish()

    def _of_files(self, table: Any, source: Table | None) -> Any:
        keys = self.layout.keys if self.layout else ()
        for key in keys:
            both = (source.frame if source else table[:0], table)
            old, new = (frames.as_polars(one.select([key]))[key] for one in both)
            if not new.equals(old):
                text = "{file}: the cells of column {column!r} changed, but its values name the folders: {remedy}"
                facts = {"file": self.options.name, "column": key, "remedy": "write a single file"}
                raise DataError(Problem("folder-partition-cells", text, **facts))
        metadata = dict(table.schema.metadata or {})
        metadata.pop(REPORT_KEY, None)
        return table.drop_columns(list(keys)).replace_schema_metadata(metadata or None)
