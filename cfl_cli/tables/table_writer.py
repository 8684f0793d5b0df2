"""A table that is written block by block, and appears with the files beside it, or not at all."""

import io
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Protocol

import polars as pl

from cfl_cli.core.process import undisturbed
from cfl_cli.tables import codec, files, formats, frames
from cfl_cli.tables import source as spool
from cfl_cli.tables.checksums import ContentChecksum, TableContent, sums_of
from cfl_cli.tables.codec import Reject, Table, WriteOptions, Writer, codec_of
from cfl_cli.tables.folders import FolderWriter, StagedFolder
from cfl_cli.tables.formats import Place

REJECTS = ["line", "cause", "record"]
Beside = (
    str | bytes | Callable[[TableContent | None], str]
)  # a file's text, perhaps by what is written


def rejects_text(rejects: list[Reject], *, header: bool = True) -> str:
    """Return records that were set aside as CSV: the line, the cause and the text of each."""
    frame = pl.DataFrame(rejects, schema=REJECTS, orient="row")
    return frame.write_csv(include_header=header)


class Target(Protocol):
    """Where the bytes of a table go."""

    @property
    def file(self) -> IO[bytes]:
        """The file that takes them."""

    def guarded(self) -> AbstractContextManager[None]:
        """Let an error say what could not be written."""

    def finish(self) -> None:
        """Bring what was written to where it cannot be lost."""


class TableWriter:
    """Takes the rows of a table; `finish` must be the last call, or nothing will be written."""

    def __init__(
        self,
        place: Place,
        target: Target | StagedFolder,
        staging: files.Staging,
        rejects: Path | None,
        *,
        summed: bool = False,
    ) -> None:
        self.rejected = 0  # records in the file of rejects
        self.finished = False
        self._target = target
        self._staging = staging
        self._rejects_path = rejects
        self._rejects: files.Staged | None = None
        self._names: list[Any] | None = None
        self._place = place
        self._sums = ContentChecksum(place.format.kind) if summed else None
        self._stack = ExitStack()
        kind, options = place.format.kind, WriteOptions(place.format.kind, place.name, place.path)
        if isinstance(target, StagedFolder):
            self._writer: Writer = FolderWriter(target, options)
            self._stack.callback(self._writer.close)
            return
        packed = formats.packed(target.file, place.format.packing)
        inner = self._stack.enter_context(packed)
        self._writer = codec_of(kind).writer(inner, options)
        self._stack.callback(self._writer.close)

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
            self._set_aside(source.rejects, self._rejects_path)

    @property
    def content(self) -> TableContent | None:
        """What the rows hold that were added; None: nobody wants to know."""
        return self._sums.content() if self._sums else None

    def finish(
        self, *, report: str | None = None, beside: Mapping[Path, Beside] | None = None
    ) -> None:
        """Write what is left, files `beside` the table too; embed `report` if possible."""
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
        if isinstance(self._target, files.Staged | StagedFolder):
            self._staging.put_last(self._target)
        self.finished = True

    def written(self) -> TableContent | None:
        """Return what the table holds, and what its file is like that is complete."""
        content, target = self.content, self._target
        if content is None or not isinstance(target, files.Staged):
            return content
        with target.guarded(), open(target.raw.handle, "rb", closefd=False) as file:
            file.seek(0)
            size, made = sums_of(file)
        return replace(content, file=target.path.name, file_bytes=size, file_sha256=made)

    def close(self) -> None:
        """Let go of everything."""
        with suppress(Exception):  # of a table that was given up
            self._stack.close()

    def _set_aside(self, rejects: list[Reject], path: Path) -> None:
        if self._rejects is None:
            self._rejects = self._staging.begin(path)
        with self._rejects.guarded():
            text = rejects_text(rejects, header=not self.rejected)
            self._rejects.file.write(text.encode())
        self.rejected += len(rejects)


@contextmanager
def writing(
    place: Place,
    *,
    rejects: Path | None = None,
    stream: IO[bytes] | None = None,
    overwrite: bool = True,
    summed: bool = False,
) -> Iterator[TableWriter]:
    """Give a writer of a table in blocks; it is in place when the `with` block has ended well.

    `rejects` is where records that were set aside go. `stream` is standard output if the place is
    that; it gets nothing before everything is written. A writer that is `summed` knows in the end
    what the table holds.
    """
    with files.Staging(overwrite=overwrite) as staging, ExitStack() as stack:
        if place.path is not None:
            target = _begun(place, place.path, staging)
            table = TableWriter(place, target, staging, rejects, summed=summed)
            with _closing(table, staging) as writer:
                yield writer
            return
        waiting = stack.enter_context(spool.Spool.create())
        table = TableWriter(place, waiting, staging, rejects, summed=summed)
        with _closing(table, staging) as writer:
            yield writer
        if writer.finished:
            shutil.copyfileobj(waiting.again(), _given(stream), spool.CHUNK)
            _given(stream).flush()


def write(
    frame: Any,
    place: Place,
    *,
    report: str | None,
    source: Table | None = None,
    overwrite: bool = True,
) -> None:
    """Write a whole table, completely or not at all; embed `report` if possible.

    `source` is the table that `frame` comes from.
    """
    with writing(place, overwrite=overwrite) as writer:
        writer.add(frame, source)
        writer.finish(report=report)


def to_bytes(frame: Any, place: Place) -> bytes:
    """Return what a file with this table would hold."""
    file, kind = io.BytesIO(), place.format.kind
    with formats.packed(file, place.format.packing) as inner:
        codec.write(frame, inner, WriteOptions(kind, place.name, place.path))
    return file.getvalue()


def _begun(place: Place, path: Path, staging: files.Staging) -> Target | StagedFolder:
    """Return the new file or folder that will be at a place."""
    if not place.is_folder:
        return staging.begin(path)
    folder = StagedFolder.create(path)
    staging.staged.append(folder)
    return folder


@contextmanager
def _closing(writer: TableWriter, staging: files.Staging) -> Iterator[TableWriter]:
    """Close a writer in the end, and drop its files unless it was finished."""
    try:
        yield writer
    finally:
        writer.close()
        if not writer.finished:
            staging.give_up()


def _given(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("standard output is wanted and not given")
    return stream
