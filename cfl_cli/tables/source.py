"""The bytes of a table as they come from its place, unpacked: in memory, or chunk by chunk.

A table that does not fit into memory is read more than once: to check it, then for its rows.
"""

import hashlib
import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self, cast

from cfl_cli.core import process
from cfl_cli.core.system import read_at
from cfl_cli.errors import DataError, Problem, UsageError, file_problem
from cfl_cli.tables import files, formats
from cfl_cli.tables.encodings import exhaust
from cfl_cli.tables.files import Raw, read_errors, standard_input, write_errors
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
        with write_errors(NAME):
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
        return write_errors(NAME, self.raw)

    def finish(self) -> None:
        self.file.flush()
        self.raw.check()

    def again(self) -> IO[bytes]:
        with self.guarded():
            self.finish()
        self.kept.seek(0)
        return self.kept


@contextmanager
def _opened(path: Path | None) -> Iterator[IO[bytes]]:
    """Give a file, or standard input if there is no path, to be read as often as one likes.

    What comes through a pipe comes once; it is copied to a file without a name.
    """
    with ExitStack() as stack:
        with read_errors(path):
            if path is not None:
                file: IO[bytes] = stack.enter_context(path.open("rb"))
            else:
                file = standard_input()
            once = path is None or not file.seekable()
        if once:
            spool = stack.enter_context(Spool.create())
            while data := _read_chunk(file, path):
                with spool.guarded():
                    spool.file.write(data)
            file = spool.again()
        yield file


def _read_chunk(file: IO[bytes], path: Path | None) -> bytes:
    with read_errors(path):
        return file.read(CHUNK)


LONGEST_MAGIC = formats.HEAD  # bytes that show how any file is packed, and its format


def roomy() -> int:
    """Return how many bytes of a table may be held at once; what is made of them needs room too."""
    return process.allowance().size // 4


# Files of a few kB that unpack to gigabytes take minutes and are never tables.

UNPACKED = 256_000_000  # bytes that any file may unpack to
EXPANSION = 100  # times its size that a larger one may; those of spreadsheets are below 40
_VARIABLE = "CFL_MAX_EXPANSION"


def refuse_expansion(name: str, packed: int, unpacked: int) -> None:
    """Raise if what unpacks to so many bytes is too small to be a table."""
    most = EXPANSION
    if given := os.environ.get(_VARIABLE):
        if not re.fullmatch("[1-9][0-9]{0,8}", given):
            text = "{option}: expected a whole number above 0, found {value!r}"
            raise UsageError(Problem("setting-wrong", text, option=_VARIABLE, value=given))
        most = int(given)
    if unpacked > max(UNPACKED, most * packed):
        times = unpacked // max(packed, 1) + 1
        what = f"{packed:,} bytes unpack to {unpacked / 1e6:,.0f} MB, which looks like damage or an attack"
        remedy = f"if it is correct, set the environment variable {_VARIABLE}={times}"
        raise DataError(file_problem("file-expands", name, what, remedy))


@dataclass(eq=False)
class _Again(io.RawIOBase):
    handle: int
    at: int = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = read_at(self.handle, len(buffer), self.at)
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        size = os.fstat(self.handle).st_size
        self.at = {os.SEEK_SET: 0, os.SEEK_CUR: self.at, os.SEEK_END: size}[whence] + offset
        return self.at


@dataclass(frozen=True)
class Source:
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
        form, name = place.format, place.name
        if in_memory:
            data = raw = files.read(place.path)
            _check_kind(raw, form, name=name)
            if form.packing is not None:
                data = formats.unpack(raw, form.packing, name=name, limit=roomy())
                _check_content(data, name=name)
            yield cls(None, place, data[:LONGEST_MAGIC], (len(data), 0), raw=raw, data=data)
            return
        with _opened(place.path) as file:
            head = file.read(LONGEST_MAGIC)
            _check_kind(head, form, name=name)
            yield cls(file, place, head, _state(file))

    @property
    def name(self) -> str:
        return self.place.name

    def again(self) -> IO[bytes]:
        """Return the file from its beginning, whoever else is reading it at some other position."""
        if self.file is None:
            return io.BytesIO(self.data or b"")
        return cast("IO[bytes]", _Again(self.file.fileno()))

    def chunks(self) -> Iterator[bytes]:
        packing = self.place.format.packing
        if self.data is not None:
            yield self.data
        elif packing is None:
            yield from self._file_bytes()
        else:
            chunks = formats.unpack_chunks(self.again(), packing, name=self.name)
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
        if self.file is not None and _state(self.file) != self.state:
            raise changed_error(self.name)

    def sha256(self) -> str:
        """Return the checksum of the file as it is, packed or not."""
        if not self.known and self.file is None:
            self.known.append(hashlib.sha256(self.raw).hexdigest())
        elif not self.known:
            exhaust(self._file_bytes())
        self.check_unchanged()
        return self.known[0]

    def _file_bytes(self) -> Iterator[bytes]:
        file = self.again()
        made = None if self.known else hashlib.sha256()
        while chunk := _read_chunk(file, self.place.path):
            if made is not None:
                made.update(chunk)
            yield chunk
        if made is not None:
            self.known[:] = [made.hexdigest()]


def changed_error(name: str) -> DataError:
    what, remedy = "changed while it was read", "try again when it is complete"
    return DataError(file_problem("file-changed", name, what, remedy))


def _state(file: IO[bytes]) -> tuple[int, int]:
    facts = os.fstat(file.fileno())
    return facts.st_size, facts.st_mtime_ns


def _check_kind(data: bytes, form: Format, *, name: str) -> None:
    expected = formats.NAMES[form.packing] if form.packing else form.kind.title
    title, kind, found = _title(data), form.kind, None
    if data.startswith(formats.OLE):
        what = "this is an old Excel file (.xls) or one with a password"
        raise DataError(file_problem("excel-old", name, what, formats.SAVE_AS))
    if data.startswith(formats.ZIP) and not (formats.kind_seen(data) or kind.has_sheets):
        found = "a ZIP archive", "unpack it first"
    elif title not in {None, expected}:
        packed = formats.packing_of(data)
        shown = kind if packed else formats.kind_seen(data) or kind
        inside = packed and kind.packs_itself
        way_out = "unpack it first" if inside else add_format(str(Format(shown, packed)))
        found = str(title), way_out
    elif title is None and not kind.has_sheets:  # whose reader says it
        head = data[: formats.HEAD]
        found = formats.seen_in(head)
        is_text = found or (head and not re.search(rb"[\0-\x08\x0e-\x1f]", head))
        if form.packing:
            found = ("text", add_format(kind.name)) if is_text else None
        elif kind.name == "jsonl" and formats.looks_delimited(head):
            found = "CSV", add_format("csv")
        elif kind.name == "jsonl" and found and "JSON" in found[0]:
            found = None
        elif kind.is_binary and found is None and is_text:
            line = head.partition(b"\n")[0]
            way_out = "tsv" if line.count(b"\t") > line.count(b",") else "csv"
            found = "text", add_format(way_out)
    if found:
        ours = found[0] in (formats.HISTORY, formats.REPORT)  # which is JSON as well
        what = f"this is {found[0]}, not {'a table' if ours else expected}"
        raise DataError(file_problem("file-other-format", name, what, found[1]))


def _check_content(data: bytes, *, name: str) -> None:
    if title := _title(data):
        what = f"contains {title} data"
        raise DataError(file_problem("file-packed-twice", name, what, "unpack it first"))


def _title(data: bytes) -> str | None:
    if packed := formats.packing_of(data):
        return formats.NAMES[packed]
    kind = formats.kind_seen(data)
    return kind.title if kind else None
