"""The rows of a table → the Parquet files of a folder, one after the other, and a manifest.

Rows that come from a folder go to files with the same paths; others to parts of equal size. Columns
that stand in the names of folders are not repeated in the files.
"""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from cfl_cli.core.messages import quote
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import DataError
from cfl_cli.tables import frames
from cfl_cli.tables.codec import Layout, Table, WriteOptions, Writer, codec_of
from cfl_cli.tables.folder import REPORT
from cfl_cli.tables.place import MANIFEST
from cfl_cli.tables.staged_folder import FolderFile, StagedFolder

ROWS = 1 << 20  # of a part, if nothing says how many
REPORT_KEY = b"cfl.report"  # in a file that was read; a folder has one report for all


@dataclass
class _Part:
    """The file that is being written."""

    relative: str
    file: FolderFile
    writer: Writer
    due: int  # rows that are still to come
    rows: int = 0

    def add(self, table: Any) -> None:
        self.writer.add(table)
        self.rows += len(table)
        self.due -= len(table)

    def finish(self) -> dict[str, Any]:
        """Write it to disk, and return what the manifest says of it."""
        self.writer.finish()
        self.file.finish()
        size, made = self.file.raw.size, self.file.raw.made.hexdigest()
        return {"path": self.relative, "rows": self.rows, "bytes": size, "sha256": made}


class FolderWriter:
    """Writes the files of a folder."""

    def __init__(self, target: StagedFolder, options: WriteOptions) -> None:
        self.target = target
        self.options = options
        self.layout: Layout | None = None
        self.plan: Iterator[tuple[str, int]] | None = None  # files to come, with their rows
        self.part: _Part | None = None
        self.files: list[dict[str, Any]] = []  # what the manifest says of those that are done
        self.empty: Any = None  # the columns, without rows

    def add(self, frame: Any, source: Table | None = None) -> None:
        """Write rows to the files that they belong to."""
        if self.plan is None:
            self.layout = _layout(frame, source)
            self.plan = iter(self.layout.files) if self.layout else _equal_parts()
        table = self._of_files(frames.as_arrow(frame), source)
        self.empty = table[:0]
        while len(table):
            while self.part is None or not self.part.due:
                self._next(*next(self.plan))
            taken = min(self.part.due, len(table))
            self.part.add(table[:taken])
            table = table[taken:]

    def finish(self, report: str | None = None) -> None:
        """Write files that have no rows, the report, and last the manifest."""
        if self.plan is not None and self.layout:
            for relative, rows in self.plan:
                self._next(relative, rows)
        elif self.plan is not None and self.part is None:
            self._next(*next(self.plan))
        self._close()
        if report:
            self._text(REPORT, f"{report}\n")
        facts = {
            "version": 1,
            "rows": sum(file["rows"] for file in self.files),
            "partitions": list(self.layout.keys) if self.layout else [],
            "report": REPORT if report else None,
            "files": self.files,
        }
        self._text(MANIFEST, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Let go of the file that is being written."""
        if self.part is not None:
            self.part.writer.close()
            self.part = None

    def _next(self, relative: str, rows: int) -> None:
        """Begin a file after the one before."""
        self._close()
        file = self.target.begin(relative)
        writer = codec_of(self.options.kind).writer(file.file, self.options)
        self.part = _Part(relative, file, writer, rows)
        self.part.add(self.empty)  # or a file without rows would have no columns

    def _close(self) -> None:
        if self.part is None:
            return
        if self.layout and self.part.due:
            raise ValueError(f"{self.part.relative}: {self.part.due} rows are missing")
        self.files.append(self.part.finish())
        self.part = None

    def _text(self, name: str, text: str) -> None:
        file = self.target.begin(name)
        file.file.write(text.encode())
        file.finish()

    def _of_files(self, table: Any, source: Table | None) -> Any:
        """Return a table without what is not in the files: partitions, and an older report."""
        keys = self.layout.keys if self.layout else ()
        for key in keys:
            old, new = (
                frames.as_polars(one.select([key]))[key]
                for one in (source.frame if source else table[:0], table)
            )
            if not new.equals(old):
                raise DataError(
                    f"{self.options.name}: column {quote(key)} has new cells, but names the "
                    "folders of the files: write a single file"
                )
        metadata = dict(table.schema.metadata or {})
        metadata.pop(REPORT_KEY, None)
        return table.drop_columns(list(keys)).replace_schema_metadata(metadata or None)


def _layout(frame: Any, source: Table | None) -> Layout | None:
    """Return how rows are dealt to files, if those of the source are all there."""
    if source is None or len(frame) != len(source.frame):
        return None
    return source.layout


def _equal_parts() -> Iterator[tuple[str, int]]:
    return ((f"part-{number:05}.parquet", ROWS) for number in count())
