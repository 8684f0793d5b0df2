"""Where a table is or will be: the name that the user gave, and its format."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Self

from cfl_cli.core.quick import dataclass
from cfl_cli.errors import UsageError
from cfl_cli.tables import files, foreign, formats
from cfl_cli.tables.formats import FORMATS, Format

STANDARD = "-"
MANIFEST = "_cfl_manifest.json"  # is in every folder that cfl writes
REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True)
class Place:
    """Where a table is or will be, and its format."""

    path: Path | None  # None: a standard stream
    name: str  # what messages call it
    format: Format
    sheet: str | None = None  # of a book, if it is named

    @classmethod
    def to_read(cls, name: str, form: str | None = None, *, option: str = "--input-format") -> Self:
        """Return the place of a table that the user names, `-` for standard input.

        `book.xlsx#Sheet` names a sheet, unless there is a file with that name. `option` is the one
        that `form`, the name of its format, was given with.
        """
        book, sheet = _book_and_sheet(name, form)
        place = cls._of(book, form, stream="standard input", option=option)
        return place if sheet is None else replace(place, name=name, sheet=sheet)

    @classmethod
    def to_write(cls, name: str, form: str | None = None) -> Self:
        """Return the place that the user names for a table, `-` for standard output."""
        place = cls._of(name, form, stream="standard output", option=formats.OUTPUT_OPTION)
        if place.format.kind.is_only_read:
            title = place.format.kind.title
            raise UsageError(f"{place.name}: {title} is only read: write .csv or .parquet")
        return place

    @property
    def is_folder(self) -> bool:
        """Whether the table is a folder of files."""
        return self.format == formats.DATA_SET

    @classmethod
    def _of(cls, name: str, form: str | None, *, stream: str, option: str) -> Self:
        given = formats.by_name(form, option=option) if form else None
        if name == STANDARD:
            return cls(None, stream, given or FORMATS["csv"])
        path = local(name)
        if _names_folder(name, path, written=option == formats.OUTPUT_OPTION):
            if given not in (None, FORMATS["parquet"]):
                raise UsageError(f"{name}: a folder holds Parquet files: leave {option} out")
            return cls(path, name, formats.DATA_SET)
        try:
            return cls(path, name, given or formats.of_path(path, option=option))
        except UsageError as error:
            if files.exists(path) and path.is_dir():
                raise UsageError(
                    f"{path}: a directory: name a file in it, or add a / at its end to write a "
                    "folder of Parquet files"
                ) from None
            if option != formats.OUTPUT_OPTION:
                _explain(path)
            elif "." not in path.name:
                told = f"{error}; {name}/ is a folder of Parquet files"
                raise UsageError(told) from None
            raise


def _names_folder(name: str, path: Path, *, written: bool) -> bool:
    """Return whether a table is a folder: it is there, or is to be made, as a / at its end says."""
    if name.endswith("/"):
        return True
    return files.exists(path / MANIFEST) if written else files.exists(path) and path.is_dir()


def _explain(path: Path) -> None:
    """Raise with what a file is that has no name of a table, if its first bytes show it."""
    head = foreign.head_of(path)
    if head.startswith(formats.ZIP) and not formats.kind_of(head):
        raise UsageError(f"{path}: a ZIP archive: unpack it first")
    if kind := formats.kind_of(head):
        raise UsageError(f"{path}: this is {kind.title}: add --input-format {kind.name}")
    if found := foreign.seen_in(head):
        raise UsageError(f"{path}: this is {found.what}, not a table: {found.way_out}")


def _book_and_sheet(name: str, form: str | None) -> tuple[str, str | None]:
    """Return the file in a name such as `book.xlsx#Sheet`, and the sheet, None if there is none.

    Both may hold a `#`: the file ends where an existing one does, or else where a book's name does.
    """
    if "#" not in name or files.exists(Path(name)):
        return name, None
    splits = [
        (name[: found.start()], name[found.end() :])
        for found in re.finditer("#", name)
        if _is_book(name[: found.start()], form)
    ]
    there = (split for split in splits if files.exists(Path(split[0])))
    return next(there, splits[0] if splits else (name, None))


def _is_book(name: str, form: str | None) -> bool:
    """Return whether a file has sheets, as its name or else its format says."""
    ending = form or name.rpartition(".")[2]
    kind = formats.KINDS.get(formats.ALIASES.get(ending.lower(), ending.lower()))
    return bool(name) and kind is not None and kind.is_only_read


def name_of(path: Path | None) -> str:
    """Return a file's name without its folder, as text that any file can hold; - has no path."""
    return os.fsencode(path.name).decode(errors="replace") if path else STANDARD


def local(name: str) -> Path:
    """Return the path of a file on this machine, or raise if the name is an address elsewhere."""
    if not name:
        raise UsageError(f"an empty file name: name a file, or {STANDARD} for a standard stream")
    if REMOTE.match(name):
        raise UsageError(
            f"{name}: only local files can be opened: download it first, or pipe it in as "
            f"{STANDARD}"
        )
    path = Path(name)
    if path.name not in ("", ".."):  # as . and .. have no name to put another beside
        return path
    if not path.resolve().name:
        raise UsageError(f"{name}: not a file: name one")
    return path.resolve()
