"""The bytes of a table as they come from its place, unpacked: all at once, or chunk by chunk.

A table that is read in blocks is gone through more than once: to check it, then for its rows.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Self

from cfl_cli.core import budget
from cfl_cli.errors import DataError
from cfl_cli.tables import compression, files, formats, spool
from cfl_cli.tables.encodings import exhaust
from cfl_cli.tables.formats import Format
from cfl_cli.tables.place import Place

LONGEST_MAGIC = 16  # bytes that show how any file is packed, and its format


def roomy() -> int:
    """Return how many bytes of a table may be held at once; what is made of them needs room too."""
    return budget.available() // 4


def whole(place: Place) -> bytes:
    """Return the table's own bytes, or raise if they are those of another format."""
    data, form, name = files.read(place.path), place.format, place.name
    _check_kind(data, form, name=name)
    if form.packing is None:
        return data
    data = compression.unpack(data, form.packing, name=name, limit=roomy())
    _check_content(data, name=name)
    return data


@dataclass(frozen=True)
class Source:
    """An open file with a table, to be gone through as often as one likes."""

    file: IO[bytes]
    place: Place
    head: bytes  # its first bytes
    state: tuple[int, int]  # its size and when it was last written to

    @classmethod
    @contextmanager
    def of(cls, place: Place) -> Iterator[Self]:
        """Give what is at a place, or raise if it begins like another format."""
        with spool.opened(place.path) as file:
            head = file.read(LONGEST_MAGIC)
            _check_kind(head, place.format, name=place.name)
            yield cls(file, place, head, _state(file))

    @property
    def name(self) -> str:
        """What messages call the table."""
        return self.place.name

    def chunks(self) -> Iterator[bytes]:
        """Yield the table's own bytes from the beginning."""
        packing = self.place.format.packing
        if packing is None:
            yield from self._raw()
        else:
            self.file.seek(0)
            chunks = compression.unpacked(self.file, packing, name=self.name)
            head = b""
            for chunk in chunks:
                if len(head) < LONGEST_MAGIC:
                    head += chunk[:LONGEST_MAGIC]
                    if _title(head):
                        exhaust(chunks)
                    _check_content(head, name=self.name)
                yield chunk
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """Raise if somebody wrote to the file since it was opened."""
        if _state(self.file) != self.state:
            raise DataError(
                f"{self.name}: changed while it was read: try again when it is complete"
            )

    def sha256(self) -> str:
        """Return the checksum of the file as it is, packed or not."""
        checksum = hashlib.sha256()
        for chunk in self._raw():
            checksum.update(chunk)
        return checksum.hexdigest()

    def _raw(self) -> Iterator[bytes]:
        self.file.seek(0)
        while chunk := spool.chunk(self.file, self.place.path):
            yield chunk


def _state(file: IO[bytes]) -> tuple[int, int]:
    facts = os.fstat(file.fileno())
    return facts.st_size, facts.st_mtime_ns


def _check_kind(data: bytes, form: Format, *, name: str) -> None:
    """Raise if the bytes begin like those of another format."""
    expected = compression.NAMES[form.packing] if form.packing else form.kind.title
    if _title(data) not in {None, expected}:
        raise DataError(f"{name}: this is {_title(data)}, not {expected}: {_way_out(data, form)}")


def _check_content(data: bytes, *, name: str) -> None:
    """Raise if what was packed is packed again, or a format that is never packed."""
    if _title(data):
        raise DataError(f"{name}: contains {_title(data)} data: unpack it first")


def _title(data: bytes) -> str | None:
    """Return what to call the compression or the format that the first bytes show, if they do."""
    if packed := compression.packing_of(data):
        return compression.NAMES[packed]
    kind = formats.kind_of(data)
    return kind.title if kind else None


def _way_out(data: bytes, form: Format) -> str:
    packed = compression.packing_of(data)
    if packed and form.kind.packs_itself:
        return "unpack it first"
    kind = form.kind if packed else formats.kind_of(data) or form.kind
    return f"add --input-format {Format(kind, packed)}"
