"""A folder of Parquet files: which files, in which order, and what the names of folders say.

    sales/year=2024/month=01/part-0.parquet

is a part of the table `sales`, whose columns `year` and `month` (partitions) follow those of the
files. Names that begin with `_` or `.` are left out, as Spark leaves them out.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Self
from urllib.parse import unquote

from cfl_cli.core.messages import quote
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import DataError
from cfl_cli.tables import foreign, formats
from cfl_cli.tables.files import reading
from cfl_cli.tables.formats import FORMATS
from cfl_cli.tables.place import MANIFEST, Place
from cfl_cli.tables.source import Source

REPORT = "_cfl_report.json"  # beside the parts that cfl writes
NULL = "__HIVE_DEFAULT_PARTITION__"  # the value of rows that have none
MARKERS = {"_SUCCESS", "_metadata", "_common_metadata"}  # of Spark, Hadoop and Arrow: no rows
PARTITION = re.compile("([^=]+)=(.*)", re.DOTALL)
PARQUET = FORMATS["parquet"]


@dataclass(frozen=True)
class PartFile:
    """A file of a folder."""

    path: Path
    relative: str  # its path in the folder, with /
    values: tuple[str | None, ...]  # of the partitions


@dataclass(frozen=True)
class FolderSource:
    """The files of a table, each to be opened as often as one likes."""

    place: Place
    keys: tuple[str, ...]  # the partitions' names
    files: tuple[PartFile, ...]
    states: dict[str, tuple[int, int]] = field(default_factory=dict)  # as they were at first
    known: list[str] = field(default_factory=list)  # the checksum, once it was made

    @classmethod
    def of(cls, place: Place) -> Self:
        """Return what is in a folder, or raise if that is not the parts of one table."""
        folder = place.path or Path()
        with reading(folder):
            relatives = sorted(_files(folder, "", {}, name=place.name))
        _check_manifest(folder, relatives, name=place.name)
        if not relatives:
            raise DataError(f"{place.name}: no Parquet file in this folder")
        keys, files = None, []
        for relative in relatives:
            pairs = [_partition(one, place.name) for one in relative.split("/")[:-1]]
            names = tuple(key for key, _ in pairs)
            if keys not in (None, names) or len({*names}) < len(names):
                raise DataError(
                    f"{place.name}: {relatives[0]} and {relative} are in different partitions: "
                    "the same NAME=VALUE folders must lead to all files"
                )
            keys = names
            _check_is_parquet(folder / relative, relative, name=place.name)
            files.append(PartFile(folder / relative, relative, tuple(value for _, value in pairs)))
        return cls(place, keys or (), tuple(files))

    @property
    def name(self) -> str:
        """What messages call the table."""
        return self.place.name

    def name_of(self, file: PartFile) -> str:
        """Return what messages call a file."""
        return f"{self.name.rstrip('/')}/{file.relative}"

    @contextmanager
    def opened(self, file: PartFile) -> Iterator[Source]:
        """Give a file, or raise if it is no longer as it was."""
        with Source.of(Place(file.path, self.name_of(file), PARQUET)) as source:
            if self.states.setdefault(file.relative, source.state) != source.state:
                raise DataError(
                    f"{source.name}: changed while it was read: try again when it is complete"
                )
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


def sha256_of(path: Path) -> str:
    """Return the checksum of a folder with a table."""
    return FolderSource.of(Place(path, str(path), formats.DATA_SET)).sha256()


def is_hidden(name: str) -> bool:
    """Return whether a file or folder is none of the table's."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def in_the_way(folder: Path) -> str:
    """Return why a folder cannot be replaced; nothing if cfl wrote all that is in it."""
    there = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    ours = _manifest_files(folder)
    if there and ours is None:
        return "a folder that cfl did not write"
    known = {*(ours or []), MANIFEST, REPORT}
    others = {one for one in there - known if not _is_marker(one)}
    return f"holds {min(others)}, which cfl did not write" if others else ""


def _is_marker(relative: str) -> bool:
    """Return whether a file says something of others, as those that copy data sets leave it."""
    name = relative.rpartition("/")[2]
    return name in MARKERS or (name.startswith(".") and name.endswith(".crc"))


def check_whole(folder: Path, *, name: str) -> None:
    """Raise if files were added to a folder or are lost since cfl wrote it."""
    with reading(folder):
        relatives = _files(folder, "", {}, name=name)
    _check_manifest(folder, relatives, name=name)


def _manifest_files(folder: Path) -> list[str] | None:
    """Return the files that a manifest lists; None: there is none that cfl wrote."""
    try:
        listed = json.loads((folder / MANIFEST).read_bytes())["files"]
        return [str(one["path"]) for one in listed]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _sizes(folder: Path) -> dict[str, int]:
    """Return how large files were when cfl wrote them, as far as a manifest says so."""
    try:
        listed = json.loads((folder / MANIFEST).read_bytes())["files"]
        return {str(one["path"]): int(one["bytes"]) for one in listed}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _check_manifest(folder: Path, relatives: list[str], *, name: str) -> None:
    """Raise if files were added or are lost since cfl wrote them."""
    listed = _manifest_files(folder)
    if listed is None:
        return
    for which, what in (
        ({*listed} - {*relatives}, "is in its manifest, but not there"),
        ({*relatives} - {*listed}, "is there, but not in its manifest"),
    ):
        if which:
            raise DataError(
                f"{name}: {min(which)} {what}: write the folder again, or if it is right so, "
                f"delete {MANIFEST}"
            )
    for relative, size in _sizes(folder).items():
        with reading(folder / relative):
            found = (folder / relative).stat().st_size
        if found != size:
            raise DataError(
                f"{name}: {relative} has {found:,} bytes, {size:,} by its manifest: it is cut "
                "short or was replaced: write the folder again, or if it is right so, delete "
                f"{MANIFEST}"
            )


def _files(folder: Path, inside: str, above: dict[tuple[int, int], str], *, name: str) -> list[str]:
    """Return the paths of all files in a folder, and in those in it, as text with /."""
    facts = folder.stat()
    place = (facts.st_dev, facts.st_ino)
    if place in above:
        raise DataError(f"{name}: {inside} is a link to a folder that it is in: remove it")
    found: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_hidden(entry.name):
                continue
            relative = f"{inside}/{entry.name}" if inside else entry.name
            try:
                relative.encode()
            except UnicodeError:
                raise DataError(f"{name}: the name of a file in it is not UTF-8") from None
            if entry.is_dir():
                below = {**above, place: inside}
                found += _files(folder / entry.name, relative, below, name=name)
            else:
                found.append(relative)
    return found


def _partition(part: str, name: str) -> tuple[str, str | None]:
    """Return the column and the value that a folder in the folder stands for."""
    found = PARTITION.fullmatch(part)
    if found is None:
        raise DataError(
            f"{name}: the folder {quote(part)} in it is not a partition (NAME=VALUE): name that "
            "folder alone, or move its files up"
        )
    try:
        key, value = (unquote(text, errors="strict") for text in found.groups())
    except UnicodeError:
        raise DataError(f"{name}: the name of the folder {quote(part)} is not UTF-8") from None
    return key, None if value == NULL else value


def _check_is_parquet(path: Path, relative: str, *, name: str) -> None:
    """Raise if a file is something else; one that cannot be read or is empty is named later."""
    head = foreign.head_of(path)
    if head and not head.startswith((formats.PARQUET, formats.ENCRYPTED)):
        raise DataError(
            f"{name}: {relative} is not a Parquet file: move it away, or let its name begin with _"
        )
