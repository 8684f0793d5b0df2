"""The formats of tables by name: `.csv.gz` is CSV, compressed with gzip.

A new format is one entry in `KINDS` and the module named there, with the functions of
`codec.Codec`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from cfl_cli.core.messages import did_you_mean, quote
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import UsageError

Packing = Literal["gz", "zst"]

PARQUET, ENCRYPTED = b"PAR1", b"PARE"  # how files begin
ARROW, FEATHER_1 = b"ARROW1", b"FEA1"
ZIP, OLE = b"PK\x03\x04", bytes.fromhex("d0cf11e0a1b11ae1")
ODS = b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"  # its first part, as it is stored
OOXML = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/", b"customXml/")  # one of xlsx
NOT_READ = ("xls", "xlsb", "fods", "numbers")  # spreadsheets, but not ones whose traps can be seen
SAVE_AS = "open it and save it as .xlsx, or as CSV UTF-8"

OUTPUT_OPTION = "--output-format"
DELIMITED = frozenset(  # the options that say how text with delimiters is written
    {
        *("delimiter", "quote", "encoding", "escape", "line_end"),
        *("header", "skip_lines", "rename_columns", "trim_cells", "ragged"),
    }
)


@dataclass(frozen=True)
class FileKind:
    """A format before compression."""

    name: str  # how the names of its files end
    title: str  # what messages call it
    module: str  # in this room: reads and writes it
    signs: frozenset[str] = frozenset()  # the options that say how its text is written
    delimiter: str = ""  # between cells, unless an option says otherwise
    magic: tuple[bytes, ...] = ()  # how its files begin, if always in the same way
    minds_cells: bool = False  # it has no form for some cells of types that it has a form for
    embeds_report: bool = False  # its files can carry a report
    is_binary: bool = False  # not for terminals
    packs_itself: bool = False  # compressed inside, so not as a whole
    is_only_read: bool = False


KINDS = {
    kind.name: kind
    for kind in (
        FileKind(
            "csv",
            "CSV",
            "csv",
            DELIMITED,
            ",",
            minds_cells=True,
        ),
        FileKind(
            "tsv",
            "TSV",
            "csv",
            DELIMITED,
            "\t",
            minds_cells=True,
        ),
        FileKind("jsonl", "JSON Lines", "jsonl", frozenset({"encoding"}), minds_cells=True),
        FileKind(
            "parquet",
            "Parquet",
            "columnar",
            magic=(PARQUET, ENCRYPTED),
            embeds_report=True,
            is_binary=True,
            packs_itself=True,
        ),
        FileKind(
            "arrow",
            "Arrow",
            "columnar",
            magic=(ARROW, FEATHER_1),
            embeds_report=True,
            is_binary=True,
            packs_itself=True,
        ),
        FileKind("xlsx", "Excel", "excel", is_binary=True, packs_itself=True, is_only_read=True),
        FileKind(
            "ods", "OpenDocument", "excel", is_binary=True, packs_itself=True, is_only_read=True
        ),
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

    @property
    def embeds_report(self) -> bool:
        """Whether the table carries its report inside."""
        return self.kind.embeds_report


# A table that is a folder; no ending and no option names it, but that it is one, or a / does.
DATA_SET = Format(
    FileKind(
        "parquet",
        "a folder of Parquet files",
        "data_set",
        embeds_report=True,
        is_binary=True,
        packs_itself=True,
    )
)

FORMATS = {
    str(form := Format(kind, packing)): form
    for kind in KINDS.values()
    for packing in (None, *get_args(Packing))
    if not (kind.packs_itself and packing)
}


def by_name(name: str, *, option: str) -> Format:
    """Return the format that an option names."""
    kind, *rest = name.lower().removeprefix(".").split(".")
    form = FORMATS.get(".".join([ALIASES.get(kind, kind), *rest]))
    if form is None:
        raise UsageError(
            f"{option}: unknown format {quote(name)}{did_you_mean(name, FORMATS)}: name one of "
            f"{', '.join(_for(option))}"
        )
    return form


def of_path(path: Path, *, option: str) -> Format:
    """Return the format that a file's name ends in, or raise if there is none."""
    parts = path.name.lower().split(".")[1:]
    for last in (parts[-2:], parts[-1:]):
        form = FORMATS.get(".".join(_without_alias(last)))
        if form is not None:
            return form
    inside = _without_alias(parts[-2:-1])
    if parts and parts[-1] in get_args(Packing) and inside and inside[0] in KINDS:
        title = KINDS[inside[0]].title  # one that packs itself, or it would be in FORMATS
        raise UsageError(f"{path}: {title} is compressed inside: unpack the file first")
    if parts and parts[-1] in NOT_READ:
        raise UsageError(f"{path}: .{parts[-1]} is not read: {SAVE_AS}")
    raise UsageError(f"{path}: unknown format: end the name in {_endings(option)}, or add {option}")


def _endings(option: str) -> str:
    """Return how the name of a file may end, as messages show it."""
    kinds = {form.kind.name: form.kind for form in map(FORMATS.__getitem__, _for(option))}
    packed = ", .".join(name for name, kind in kinds.items() if not kind.packs_itself)
    others = ", .".join(name for name, kind in kinds.items() if kind.packs_itself)
    return f".{packed} (also with .gz or .zst), .{others}"


def _for(option: str) -> list[str]:
    """Return the formats that an option can name."""
    written = option == OUTPUT_OPTION
    return [name for name, form in FORMATS.items() if not (written and form.kind.is_only_read)]


def kind_of(data: bytes) -> FileKind | None:
    """Return the format that the first bytes of a table show, if they do."""
    if data.startswith(ZIP):
        return _zipped(data)
    return next((kind for kind in KINDS.values() if data.startswith(kind.magic)), None)


def _zipped(data: bytes) -> FileKind | None:
    """Return the spreadsheet that a ZIP archive is, as its first part shows, if it does."""
    first = data[30 : 30 + int.from_bytes(data[26:28], "little")]
    if data[30:].startswith(ODS):
        return KINDS["ods"]
    return KINDS["xlsx"] if first.startswith(OOXML) else None


def _without_alias(parts: Sequence[str]) -> list[str]:
    return [ALIASES.get(part, part) for part in parts]
