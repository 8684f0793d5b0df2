"""Where a table is or will be: the name that the user gave, and its format."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cfl_cli.errors import UsageError
from cfl_cli.tables import formats
from cfl_cli.tables.formats import FORMATS, Format

STANDARD = "-"
REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True)
class Place:
    """Where a table is or will be, and its format."""

    path: Path | None  # None: a standard stream
    name: str  # what messages call it
    format: Format

    @classmethod
    def to_read(cls, name: str, form: str | None = None, *, option: str = "--input-format") -> Self:
        """Return the place of a table that the user names, `-` for standard input.

        `option` is the one that `form`, the name of its format, was given with.
        """
        return cls._of(name, form, stream="standard input", option=option)

    @classmethod
    def to_write(cls, name: str, form: str | None = None) -> Self:
        """Return the place that the user names for a table, `-` for standard output."""
        return cls._of(name, form, stream="standard output", option="--output-format")

    @classmethod
    def _of(cls, name: str, form: str | None, *, stream: str, option: str) -> Self:
        given = formats.by_name(form, option=option) if form else None
        if name == STANDARD:
            return cls(None, stream, given or FORMATS["csv"])
        path = local(name)
        return cls(path, name, given or formats.of_path(path, option=option))


def local(name: str) -> Path:
    """Return the path of a file on this machine, or raise if the name is an address elsewhere."""
    if not name:
        raise UsageError(f"an empty file name: name a file, or {STANDARD} for a standard stream")
    if REMOTE.match(name):
        raise UsageError(
            f"{name}: only local files can be opened: download it first, or pipe it in as "
            f"{STANDARD}"
        )
    return Path(name)
