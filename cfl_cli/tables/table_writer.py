"""A table that is written block by block, and appears with the files beside it, or not at all."""

import io
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol

import polars as pl

from cfl_cli.core.undisturbed import undisturbed
from cfl_cli.tables import codec, compression, files, frames, spool
from cfl_cli.tables.codec import Reject, Table, WriteOptions, Writer, codec_of
from cfl_cli.tables.folder_writer import FolderWriter
from cfl_cli.tables.place import Place
from cfl_cli.tables.staged_folder import StagedFolder

REJECTS = ["line", "cause", "record"]


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
    ) -> None:
        self.rejected = 0  # records in the file of rejects
        self.finished = False
        self._target = target
        self._staging = staging
        self._rejects_path = rejects
        self._rejects: files.Staged | None = None
        self._names: list[Any] | None = None
        self._stack = ExitStack()
        kind, options = place.format.kind, WriteOptions(place.format.kind, place.name, place.path)
        if isinstance(target, StagedFolder):
            self._writer: Writer = FolderWriter(target, options)
            self._stack.callback(self._writer.close)
            return
        packed = compression.packed(target.file, place.format.packing)
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
        if source is not None and source.rejects and self._rejects_path is not None:
            self._set_aside(source.rejects, self._rejects_path)

    def finish(
        self, *, report: str | None = None, beside: Mapping[Path, str | bytes] | None = None
    ) -> None:
        """Write what is left, files `beside` the table too; embed `report` if possible."""
        if self._rejects is not None:
            with self._rejects.guarded():
                self._rejects.finish()
        for path, text in (beside or {}).items():
            with self._staging.file(path) as file:
                file.write(text if isinstance(text, bytes) else text.encode())
        with undisturbed(), self._target.guarded():
            self._writer.finish(report)
            self._stack.close()
            self._target.finish()
        if isinstance(self._target, files.Staged | StagedFolder):
            self._staging.put_last(self._target)
        self.finished = True

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
) -> Iterator[TableWriter]:
    """Give a writer of a table in blocks; it is in place when the `with` block has ended well.

    `rejects` is where records that were set aside go. `stream` is standard output if the place is
    that; it gets nothing before everything is written.
    """
    with files.Staging(overwrite=overwrite) as staging, ExitStack() as stack:
        if place.path is not None:
            target = _begun(place, place.path, staging)
            with _closing(TableWriter(place, target, staging, rejects), staging) as writer:
                yield writer
            return
        waiting = stack.enter_context(spool.Spool.create())
        with _closing(TableWriter(place, waiting, staging, rejects), staging) as writer:
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
    with compression.packed(file, place.format.packing) as inner:
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
