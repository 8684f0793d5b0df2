"""The formats of tables by name: `.csv.gz` is CSV, compressed with gzip.

A new format is one entry in `KINDS` and the module named there, with the functions of
`codec.Codec`.
"""

import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from errno import ENOENT
from pathlib import Path
from typing import IO, Any, Literal, Self, cast, get_args

from cfl_cli.core import system
from cfl_cli.core.messages import did_you_mean
from cfl_cli.errors import (
    DataError,
    Problem,
    ResourceError,
    UsageError,
    cause_of,
    file_problem,
    system_problem,
)
from cfl_cli.tables import files
from cfl_cli.tables.dialect import OPTIONS

Packing = Literal["gz", "zst"]

PARQUET, ENCRYPTED = b"PAR1", b"PARE"  # how files begin
ARROW, FEATHER_1 = b"ARROW1", b"FEA1"
ZIP, OLE = b"PK\x03\x04", bytes.fromhex("d0cf11e0a1b11ae1")
ODS = b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"  # its first part, as it is stored
OOXML = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/", b"customXml/")  # one of xlsx
NOT_READ = ("xls", "xlsb", "fods", "numbers")  # spreadsheets, but not ones whose traps can be seen
ANEW = "copy or export it again"
NO_ROOM = "needs more memory than is available: the file is too large, or damaged"
SAVE_AS = "open it and save it as .xlsx, or as CSV UTF-8"

_OUTPUT_OPTION = "--output-format"
DELIMITED = frozenset(OPTIONS)  # the options that say how text with delimiters is written


@dataclass(frozen=True)
class FileKind:
    name: str  # how the names of its files end
    title: str  # what messages call it
    module: str  # in this room: reads and writes it
    dialect: frozenset[str] = frozenset()  # the options that say how its text is written
    delimiter: str = ""  # between cells, unless an option says otherwise
    magic: tuple[bytes, ...] = ()  # how its files begin, if always in the same way
    minds_cells: bool = False  # it has no form for some cells of types that it has a form for
    embeds_report: bool = False  # its files can carry a report
    is_binary: bool = False  # not for terminals
    packs_itself: bool = False  # compressed inside, so not as a whole
    is_only_read: bool = False
    has_sheets: bool = False  # of which one is the table
    most_rows: int | None = None  # that its files hold


_COLUMNAR: dict[str, Any] = {"embeds_report": True, "is_binary": True, "packs_itself": True}
_BOOK: dict[str, Any] = {"is_binary": True, "packs_itself": True, "has_sheets": True}
KINDS = {
    kind.name: kind
    for kind in (
        FileKind("csv", "CSV", "csv", DELIMITED, ",", minds_cells=True),
        FileKind("tsv", "TSV", "csv", DELIMITED, "\t", minds_cells=True),
        FileKind("jsonl", "JSON Lines", "jsonl", frozenset({"encoding"}), minds_cells=True),
        FileKind("parquet", "Parquet", "columnar", magic=(PARQUET, ENCRYPTED), **_COLUMNAR),
        FileKind("arrow", "Arrow", "columnar", magic=(ARROW, FEATHER_1), **_COLUMNAR),
        FileKind("xlsx", "Excel", "excel", minds_cells=True, most_rows=(1 << 20) - 1, **_BOOK),
        FileKind("ods", "OpenDocument", "excel", is_only_read=True, **_BOOK),
    )
}
ALIASES = {"feather": "arrow", "ndjson": "jsonl", "xlsm": "xlsx"}


@dataclass(frozen=True)
class Format:
    """How a table is written: its kind, and how the whole of it is compressed."""

    kind: FileKind
    packing: Packing | None = None

    def __str__(self) -> str:
        return ".".join(filter(None, [self.kind.name, self.packing]))


# A table that is a folder; no ending and no option names it, but that it is one, or a / does.
DATA_SET = Format(FileKind("parquet", "a folder of Parquet files", "folders", **_COLUMNAR))

FORMATS = {
    str(form := Format(kind, packing)): form
    for kind in KINDS.values()
    for packing in (None, *get_args(Packing))
    if not (kind.packs_itself and packing)
}


def by_name(name: str, *, option: str) -> Format:
    kind, *rest = name.lower().removeprefix(".").split(".")
    form = FORMATS.get(".".join([ALIASES.get(kind, kind), *rest]))
    if form is None:
        meant, remedy = did_you_mean(name, FORMATS), ", ".join(_for(option))
        facts = {"option": option, "value": name, "meant": meant, "remedy": remedy}
        text = "{option}: unknown format {value!r}{meant}: name one of {remedy}"
        raise UsageError(Problem("format-unknown", text, **facts))
    return form


def of_path(path: Path, *, option: str) -> Format:
    parts = [ALIASES.get(part, part) for part in path.name.lower().split(".")[1:]]
    for last in (parts[-2:], parts[-1:]):
        form = FORMATS.get(".".join(last))
        if form is not None:
            return form
    if option != _OUTPUT_OPTION and not files.exists(path):
        missing = FileNotFoundError(ENOENT, os.strerror(ENOENT), str(path))
        if cause_of(missing) != missing.strerror:  # a file has a similar name
            raise DataError(system_problem(path, "read", missing))
    end, inside, name = (parts or [""])[-1], parts[-2:-1], str(path)
    if end in get_args(Packing) and inside and inside[0] in KINDS:
        title = KINDS[inside[0]].title  # one that packs itself, or it would be in FORMATS
        what, remedy = f"{title} is compressed inside", "unpack the file first"
        raise _refused("file-packed-twice", name, what, remedy)
    if end in NOT_READ:
        raise _refused("excel-not-read", name, f".{end} is not read", SAVE_AS)
    kinds = {form.kind.name: form.kind for form in map(FORMATS.__getitem__, _for(option))}
    packed = ", .".join(name for name, kind in kinds.items() if not kind.packs_itself)
    others = ", .".join(name for name, kind in kinds.items() if kind.packs_itself)
    endings = f".{packed} (also with .gz or .zst), .{others}"
    remedy = f"end the name in {endings}, or add {option}"
    raise _refused("format-unknown", name, "unknown format", remedy)


def _refused(code: str, name: str, what: str, remedy: str) -> UsageError:
    return UsageError(file_problem(code, name, what, remedy))


def add_format(name: str) -> str:
    return f"add --input-format {name}"


def _for(option: str) -> list[str]:
    written = option == _OUTPUT_OPTION
    return [name for name, form in FORMATS.items() if not (written and form.kind.is_only_read)]


def kind_seen(data: bytes) -> FileKind | None:
    if not data.startswith(ZIP):
        return next((kind for kind in KINDS.values() if data.startswith(kind.magic)), None)
    first = data[30 : 30 + int.from_bytes(data[26:28], "little")]  # the archive's first part
    if data[30:].startswith(ODS):
        return KINDS["ods"]
    return KINDS["xlsx"] if first.startswith(OOXML) else None


# gzip and Zstandard around a whole file.
#
# Zstandard is the standard library's of Python 3.14, not pyarrow's: pyarrow writes no checksum, so
# that 142 of 200 flipped bits in a file of its own passed unnoticed (here: none).

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK = 1 << 18
MAGIC: dict[Packing, bytes] = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd"}
_CHECKED: dict[int, int] = {zstd.CompressionParameter.checksum_flag: 1}  # gzip always has one
NAMES: dict[str, str] = {"gz": "gzip", "zst": "Zstandard"}


def unpack(data: bytes, packing: Packing, *, name: str, limit: int) -> bytes:
    """Return what was packed, or raise if it is damaged or larger than `limit` bytes."""
    chunks, size = [], 0
    for chunk in unpack_chunks(io.BytesIO(data), packing, name=name):
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            mb = f"{limit / 1e6:,.0f} MB"
            what = f"unpacks to more than {mb}, too much for the memory of this machine"
            remedy = "unpack it on a larger machine, or split it"
            raise ResourceError(file_problem("file-too-large", name, what, remedy))
    return b"".join(chunks)


def unpack_chunks(file: IO[bytes], packing: Packing, *, name: str) -> Iterator[bytes]:
    size = 0
    try:
        with gzip.open(file) if packing == "gz" else zstd.open(file) as inner:
            while chunk := inner.read(CHUNK):
                size += len(chunk)
                yield chunk
    except EOFError:
        what = f"the {NAMES[packing]} file is cut short"
    except (OSError, zlib.error, zstd.ZstdError):
        what = f"not a well-formed {NAMES[packing]} file"
    else:
        if size or file.tell():
            return
        what = f"not a well-formed {NAMES[packing]} file: it is empty"
    raise DataError(file_problem("file-malformed", name, what)) from None


def packing_of(data: bytes) -> Packing | None:
    return next((packing for packing, magic in MAGIC.items() if data.startswith(magic)), None)


@contextmanager
def pack_into(file: IO[bytes], packing: Packing | None) -> Iterator[IO[bytes]]:
    """Give a file whose content reaches `file` packed, the same bytes for the same content."""
    if packing is None:
        yield file
        return
    if packing == "gz":
        packer = cast("IO[bytes]", gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
    else:
        packer = cast("IO[bytes]", zstd.ZstdFile(file, "wb", options=_CHECKED))
    with packer, _Even(packer) as inner:
        yield cast("IO[bytes]", inner)


@dataclass(eq=False)
class _Even(io.RawIOBase):
    """Passes on what is written in chunks of one size, so that only the content can count."""

    file: IO[bytes]
    held: bytearray = field(default_factory=bytearray)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self.held += view
        whole = len(self.held) // CHUNK * CHUNK
        for start in range(0, whole, CHUNK):
            self.file.write(self.held[start : start + CHUNK])
        del self.held[:whole]
        return len(view)

    def close(self) -> None:
        if not self.closed and not self.file.closed:
            self.file.write(self.held)
        super().close()


# What a file is that is not the table, or the schema, that it should be: by its first bytes.

HEAD = 512  # bytes that show what a file is
_EXPORT = "export the table as CSV or Parquet"
_AS_TABLE = "pass it with --{}, and a table as DATA"
_HEADER = re.compile(rb'"?[^\W\d][^\n{}\[\]:#]*[,;\t|][^\n{}\[\]:]*\r?(\n|\Z)')
_SCHEMA = rb"(?:#[^\n]*\n|\s)*version:\s*\d[\s\S]*\n(columns|missing|file):"
_SHOWN = "pass a table; `cfl report{}` shows this file"
HISTORY, REPORT, PAGE = "a history of batches", "a report", "a page of cfl"
_LOGIN = "download the table itself, which may need a login"
_BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (  # what a file is, and what to do
    (rb"%PDF", "a PDF file", _EXPORT),
    (rb"SQLite format 3\0", "an SQLite database", _EXPORT),
    (rb"\x89HDF", "an HDF5 file", _EXPORT),
    (rb"\x89PNG|\xff\xd8\xff", "a picture", "pass the table itself"),
    (rb"\$FL[23]", "an SPSS file", _EXPORT),
    (rb"<stata_dta>", "a Stata file", _EXPORT),
    (rb"\x80[\x04\x05]\x95", "a Python pickle", "write it with to_parquet"),
    (rb'[\s\S]{4}\0{4}\{"', "a model", _AS_TABLE.format("model")),
    (
        rb'\s*<!DOCTYPE html>[\s\S]*name="generator" content="cfl',
        PAGE,
        "pass a table; browsers show the page",
    ),
    (rb"\s*<(?i:!doctype html|html)", "a web page", _LOGIN),
    (rb"\s*<\?xml", "XML", _EXPORT),
    (_SCHEMA, "a schema", _AS_TABLE.format("schema")),
    (
        rb'\{"version": \d+, "cfl_version": "[^"]*", "model": "',
        HISTORY,
        _SHOWN.format(" --history"),
    ),
    (rb'\s*\{\s*"cfl_version": "', REPORT, _SHOWN.format("")),
    (rb'\{"[^\n]*\}\r?\n', "JSON Lines", "add --input-format jsonl"),
    (rb'\s*\[\s*[\[{]|\s*\{\s*"', "one JSON document", "write one object per line, as .jsonl"),
)


def seen_in(head: bytes) -> tuple[str, str] | None:
    return next(((what, do) for start, what, do in _BEGINNINGS if re.match(start, head)), None)


def looks_delimited(head: bytes) -> bool:
    return _HEADER.match(head.removeprefix(b"\xef\xbb\xbf")) is not None and b"\0" not in head


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file; none if it cannot be read, which its reader says."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except (OSError, ValueError):
        return b""


def not_a_model(path: Path) -> str | None:
    """Return what a file is that is passed for a model: a schema or a table; None: neither."""
    return "a schema" if is_schema(path) else not_a_schema(path)


def is_schema(path: Path) -> bool:
    return (seen_in(head_of(path)) or ("",))[0] == "a schema"


def not_a_history(head: bytes) -> str | None:
    """Return what a file is that is passed for a history; None: it may be one."""
    if kind := kind_seen(head):
        return f"a table ({kind.title})"
    found = (seen_in(head) or ("",))[0]
    if found in ("", HISTORY, "JSON Lines", "one JSON document"):
        return "a table (CSV)" if looks_delimited(head) else None
    return found


def not_a_schema(path: Path) -> str | None:
    """Return what a file is that is surely not a schema; None: it may be one."""
    head = head_of(path)
    if packing := packing_of(head):
        return f"a file packed by {NAMES[packing]}"
    if kind := kind_seen(head):
        return f"a table ({kind.title})"
    found = seen_in(head)
    if found and found[0] not in ("a schema", "one JSON document"):
        return found[0]
    return "a table (CSV)" if looks_delimited(head) else None


# Where a table is or will be: the name that the user gave, and its format.

STANDARD = "-"
MANIFEST = "_cfl_manifest.json"  # is in every folder that cfl writes
REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True)
class Place:
    path: Path | None  # None: a standard stream
    name: str  # what messages call it
    format: Format
    sheet: str | None = None  # of a book, if it is named

    @classmethod
    def to_read(cls, name: str, form: str | None = None, *, option: str = "--input-format") -> Self:
        """Return the place of a table that the user names, `-` for standard input.

        `book.xlsx#Sheet` names a sheet, unless there is a file with that name: the file ends where
        an existing one does, or else where a book's name does, as both may hold a `#`. `option` is
        the one that `form`, the name of its format, was given with.
        """
        splits = []
        if "#" in name and not files.exists(Path(name)):
            for found in re.finditer("#", name):
                book = name[: found.start()]
                ending = (form or book.rpartition(".")[2]).lower()
                kind = KINDS.get(ALIASES.get(ending, ending))
                if book and kind and kind.has_sheets:
                    splits.append((book, name[found.end() :]))
        if not splits:
            return cls._of(name, form, stream="standard input", option=option)
        there = (split for split in splits if files.exists(Path(split[0])))
        book, sheet = next(there, splits[0])
        place = cls._of(book, form, stream="standard input", option=option)
        return replace(place, name=name, sheet=sheet)

    @classmethod
    def to_write(cls, name: str, form: str | None = None) -> Self:
        place = cls._of(name, form, stream="standard output", option=_OUTPUT_OPTION)
        kind = place.format.kind
        if kind.is_only_read:
            raise only_read(kind, place.name)
        if place.path is not None and place.path.suffix.lower() == ".xlsm":
            what, remedy = "cfl does not write workbooks with macros", "end the name in .xlsx"
            raise _refused("format-only-read", place.name, what, remedy)
        return place

    @classmethod
    def _of(cls, name: str, form: str | None, *, stream: str, option: str) -> Self:
        given = by_name(form, option=option) if form else None
        written = option == _OUTPUT_OPTION
        if name == STANDARD:
            return cls(None, stream, given or FORMATS["csv"])
        path = local(name)
        names_folder = system.is_folder_name(name)
        is_set = names_folder or files.exists(path / MANIFEST if written else path)
        if is_set and (written or names_folder or path.is_dir()):
            if given not in (None, FORMATS["parquet"]):
                what, remedy = "a folder holds Parquet files", f"leave {option} out"
                raise _refused("folder-format", name, what, remedy)
            return cls(path, name, DATA_SET)
        try:
            return cls(path, name, given or of_path(path, option=option))
        except UsageError as error:
            if files.exists(path) and path.is_dir():
                remedy = (
                    "name a file in it, or add a / at its end to write a folder of Parquet files"
                )
                raise _refused("folder-as-file", str(path), "a directory", remedy) from None
            if written and "." not in path.name:
                problem = error.problems[0]
                remedy = f"{problem.remedy}; {name}/ is a folder of Parquet files"
                raise UsageError(problem.changed(remedy=remedy)) from None
            head, what = b"" if written else head_of(path), ""
            if kind := kind_seen(head):
                what, remedy = f"this is {kind.title}", add_format(kind.name)
            elif head.startswith(ZIP):
                what, remedy = "a ZIP archive", "unpack it first"
            elif found := seen_in(head):
                what, remedy = f"this is {found[0]}, not a table", found[1]
            if what:
                raise _refused("file-other-format", str(path), what, remedy) from error
            raise


def only_read(kind: FileKind, name: str) -> UsageError:
    what, do = f"{kind.title} is only read", "write .xlsx, .csv or .parquet"
    return _refused("format-only-read", name, what, do)


def file_name(path: Path | None) -> str:
    """Return a file's name without its folder, as text that any file can hold; - has no path."""
    return os.fsencode(path.name).decode(errors="replace") if path else STANDARD


def local(name: str) -> Path:
    """Return the path of a file on this machine, or raise if the name is an address elsewhere."""
    if not name:
        remedy = f"name a file, or {STANDARD} for a standard stream"
        raise UsageError(Problem("file-name", "an empty file name: {remedy}", remedy=remedy))
    if REMOTE.match(name):
        remedy = f"download it first, or pipe it in as {STANDARD}"
        raise _refused("file-remote", name, "only local files can be opened", remedy)
    path = Path(name)
    if system.is_device(path):
        what = "Windows keeps this name for a device"
        raise _refused("file-name", name, what, "choose another name")
    if path.name not in ("", ".."):  # as . and .. have no name to put another beside
        return path
    if not path.resolve().name:
        raise _refused("file-name", name, "not a file", "name one")
    return path.resolve()
