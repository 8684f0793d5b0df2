"""The bytes of a table as they come from its place, unpacked: in memory, or chunk by chunk.

A table that does not fit into memory is read more than once: to check it, then for its rows.
"""

import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self, cast

from cfl_cli.core import process
from cfl_cli.errors import DataError, file_problem
from cfl_cli.tables import files, formats
from cfl_cli.tables.encodings import exhaust
from cfl_cli.tables.files import Raw, reading, standard_input, writing
from cfl_cli.tables.formats import Format, Place, add_format

# Files without a name, for bytes that have to wait: what came through a pipe, or will go there.

CHUNK = 1 << 18  # bytes copied at once
NAME = "temporary file"  # what messages call it


@dataclass
class Spool:
    """A file without a name, for what has to wait: gone when it is closed, or with the process."""

    kept: IO[bytes]
    raw: Raw
    file: io.BufferedWriter

    @classmethod
    @contextmanager
    def create(cls, beside: Path | None = None) -> Iterator[Self]:
        """Give a new one on the disk of `beside`, or where the system keeps such files."""
        folder = beside.resolve().parent if beside else None
        with writing(NAME):
            kept = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 — closed below
        with kept:
            raw = Raw(os.dup(kept.fileno()))
            spool = cls(kept, raw, io.BufferedWriter(raw))
            try:
                yield spool
            finally:
                with suppress(OSError):
                    spool.file.close()

    def guarded(self) -> AbstractContextManager[None]:
        """Let an error say that this file could not be written."""
        return writing(NAME, self.raw)

    def finish(self) -> None:
        self.file.flush()
        self.raw.check()

    def again(self) -> IO[bytes]:
        """Return what was written, to be read from its beginning."""
        with self.guarded():
            self.finish()
        self.kept.seek(0)
        return self.kept


@contextmanager
def opened(path: Path | None) -> Iterator[IO[bytes]]:
    """Give a file, or standard input if there is no path, to be read as often as one likes.

    What comes through a pipe comes once; it is copied to a file without a name.
    """
    with ExitStack() as stack:
        with reading(path):
            if path is not None:
                file: IO[bytes] = stack.enter_context(path.open("rb"))
            else:
                file = standard_input()
            once = path is None or not file.seekable()
        if once:
            spool = stack.enter_context(Spool.create())
            while data := read_chunk(file, path):
                with spool.guarded():
                    spool.file.write(data)
            file = spool.again()
        yield file


def read_chunk(file: IO[bytes], path: Path | None) -> bytes:
    """Return the next bytes of an open file, or of standard input if there is no path."""
    with reading(path):
        return file.read(CHUNK)


LONGEST_MAGIC = formats.HEAD  # bytes that show how any file is packed, and its format


def roomy() -> int:
    """Return how many bytes of a table may be held at once; what is made of them needs room too."""
    return process.available() // 4


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Again(io.RawIOBase):
    """An open file that is read at a position of its own."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = os.pread(self.handle, len(buffer), self.at)
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        size = os.fstat(self.handle).st_size
        self.at = {os.SEEK_SET: 0, os.SEEK_CUR: self.at, os.SEEK_END: size}[whence] + offset
        return self.at


@dataclass(frozen=True)
class Source:
    """The bytes of a table, to be read as often as needed: in memory, or an open file."""

    file: IO[bytes] | None  # None: in memory
    place: Place
    head: bytes  # its first bytes
    state: tuple[int, int]  # its size and when it was last written to
    known: list[str] = field(default_factory=list)  # its checksum, once it was computed
    raw: bytes = b""  # in memory: the file as it is …
    data: bytes | None = None  # … and unpacked

    @classmethod
    @contextmanager
    def of(cls, place: Place, *, in_memory: bool = False) -> Iterator[Self]:
        """Give what is at a place, or raise if it begins like another format."""
        if in_memory:
            yield cls.held(files.read(place.path), place)
            return
        with opened(place.path) as file:
            head = file.read(LONGEST_MAGIC)
            _check_kind(head, place.format, name=place.name)
            yield cls(file, place, head, _state(file))

    @classmethod
    def held(cls, raw: bytes, place: Place) -> Self:
        """Return a table in the bytes of its file, or raise if they are of another format."""
        form, name = place.format, place.name
        _check_kind(raw, form, name=name)
        data = raw
        if form.packing is not None:
            data = formats.unpack(raw, form.packing, name=name, limit=roomy())
            _check_content(data, name=name)
        return cls(None, place, data[:LONGEST_MAGIC], (len(data), 0), raw=raw, data=data)

    @property
    def name(self) -> str:
        return self.place.name

    def again(self) -> IO[bytes]:
        """Return the file from its beginning, whoever else is reading it at some other position."""
        if self.file is None:
            return io.BytesIO(self.data or b"")
        return cast("IO[bytes]", Again(self.file.fileno()))

    def chunks(self) -> Iterator[bytes]:
        packing = self.place.format.packing
        if self.data is not None:
            yield self.data
        elif packing is None:
            yield from self._file_bytes()
        else:
            chunks = formats.unpacked(self.again(), packing, name=self.name)
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
        if self.file is not None and _state(self.file) != self.state:
            raise changed_error(self.name)

    def sha256(self) -> str:
        """Return the checksum of the file as it is, packed or not."""
        if not self.known and self.file is None:
            self.known.append(sha256_of(self.raw))
        elif not self.known:
            exhaust(self._file_bytes())
        self.check_unchanged()
        return self.known[0]

    def _file_bytes(self) -> Iterator[bytes]:
        file = self.again()
        made = None if self.known else hashlib.sha256()
        while chunk := read_chunk(file, self.place.path):
            if made is not None:
                made.update(chunk)
            yield chunk
        if made is not None:
            self.known[:] = [made.hexdigest()]


def changed_error(name: str) -> DataError:
    """Return that a file was written to while it was read."""
    what, remedy = "changed while it was read", "try again when it is complete"
    return DataError(file_problem("file-changed", name, what, remedy))


def _state(file: IO[bytes]) -> tuple[int, int]:
    facts = os.fstat(file.fileno())
    return facts.st_size, facts.st_mtime_ns


def _check_kind(data: bytes, form: Format, *, name: str) -> None:
    expected = formats.NAMES[form.packing] if form.packing else form.kind.title
    title = _title(data)
    if data.startswith(formats.OLE):
        what = "this is an old Excel file (.xls) or one with a password"
        raise DataError(file_problem("excel-old", name, what, formats.SAVE_AS))
    if data.startswith(formats.ZIP) and not (formats.kind_of(data) or form.kind.is_only_read):
        found: tuple[str, str] | None = "a ZIP archive", "unpack it first"
    elif title not in {None, expected}:
        packed = formats.packing_of(data)
        kind = form.kind if packed else formats.kind_of(data) or form.kind
        inside = packed and form.kind.packs_itself
        way_out = "unpack it first" if inside else add_format(str(Format(kind, packed)))
        found = str(title), way_out
    else:
        found = _foreign(data[: formats.HEAD], form) if title is None else None
    if found:
        what = f"this is {found[0]}, not {expected}"
        raise DataError(file_problem("file-other-format", name, what, found[1]))


def _foreign(head: bytes, form: Format) -> tuple[str, str] | None:
    if form.kind.is_only_read:  # whose reader says it
        return None
    found = formats.seen_in(head)
    is_text = formats.is_text(head) or found is not None
    if form.packing:
        return ("text", add_format(form.kind.name)) if is_text else None
    if form.kind.name == "jsonl":
        if formats.looks_delimited(head):
            return "CSV", add_format("csv")
        return None if found and "JSON" in found[0] else found
    if form.kind.is_binary and found is None and is_text:
        line = head.partition(b"\n")[0]
        return "text", add_format("tsv" if line.count(b"\t") > line.count(b",") else "csv")
    return found


def _check_content(data: bytes, *, name: str) -> None:
    if title := _title(data):
        what = f"contains {title} data"
        raise DataError(file_problem("file-packed-twice", name, what, "unpack it first"))


def _title(data: bytes) -> str | None:
    if packed := formats.packing_of(data):
        return formats.NAMES[packed]
    kind = formats.kind_of(data)
    return kind.title if kind else None
