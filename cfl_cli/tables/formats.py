"""The formats of tables by name: `.csv.gz` is CSV, compressed with gzip.

A new format is one entry in `KINDS` and the module named there, with the functions of
`codec.Codec`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from cfl_cli.core.messages import did_you_mean, quote
from cfl_cli.errors import UsageError

Packing = Literal["gz", "zst"]

PARQUET, ENCRYPTED = b"PAR1", b"PARE"  # how files begin
ARROW, FEATHER_1 = b"ARROW1", b"FEA1"


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


KINDS = {
    kind.name: kind
    for kind in (
        FileKind(
            "csv",
            "CSV",
            "csv",
            frozenset({"delimiter", "quote", "encoding"}),
            ",",
            minds_cells=True,
        ),
        FileKind(
            "tsv",
            "TSV",
            "csv",
            frozenset({"delimiter", "quote", "encoding"}),
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
    )
}
ALIASES = {"feather": "arrow", "ndjson": "jsonl"}


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
            f"{', '.join(FORMATS)}"
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
    raise UsageError(
        f"{path}: unknown format: end the name in .{', .'.join(FORMATS)}, or add {option}"
    )


def kind_of(data: bytes) -> FileKind | None:
    """Return the format that the first bytes of a table show, if they do."""
    return next((kind for kind in KINDS.values() if data.startswith(kind.magic)), None)


def _without_alias(parts: Sequence[str]) -> list[str]:
    return [ALIASES.get(part, part) for part in parts]
