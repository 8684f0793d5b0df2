"""What a table's name says of its format: `.csv.gz` is CSV, packed with gzip."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from cfl_cli.core.messages import did_you_mean, quote
from cfl_cli.errors import UsageError

Kind = Literal["csv", "tsv", "jsonl", "parquet", "arrow"]
Packing = Literal["gz", "zst"]

DELIMITERS = {"csv": ",", "tsv": "\t"}
# How files begin.
PARQUET, ENCRYPTED = b"PAR1", b"PARE"
ARROW, FEATHER_1 = b"ARROW1", b"FEA1"
ALIASES: dict[str, Kind] = {"feather": "arrow", "ndjson": "jsonl"}


@dataclass(frozen=True)
class Format:
    """How a table is written: its kind, and how the whole of it is compressed."""

    kind: Kind
    packing: Packing | None = None

    def __str__(self) -> str:
        return ".".join(filter(None, [self.kind, self.packing]))

    @property
    def separated(self) -> bool:
        """Whether cells stand between delimiters."""
        return self.kind in DELIMITERS

    @property
    def embeds_report(self) -> bool:
        """Whether the table carries its report inside."""
        return self.kind in {"parquet", "arrow"}


# Parquet and Arrow are compressed inside, if at all.
FORMATS = {
    str(form): form
    for kind in get_args(Kind)
    for packing in (None, *get_args(Packing))
    if not ((form := Format(kind, packing)).embeds_report and packing)
}


def by_name(name: str, *, option: str) -> Format:
    """Return the format that an option names."""
    kind, *rest = name.lower().removeprefix(".").split(".")
    form = FORMATS.get(".".join([ALIASES.get(kind, kind), *rest]))
    if form is None:
        raise UsageError(
            f"{option}: {quote(name)} is none of {', '.join(FORMATS)}{did_you_mean(name, FORMATS)}"
        )
    return form


def of_path(path: Path, *, option: str) -> Format:
    """Return the format that a file's name says, or raise if it says none."""
    parts = path.name.lower().split(".")[1:]
    for last in (parts[-2:], parts[-1:]):
        form = FORMATS.get(".".join(_without_alias(last)))
        if form is not None:
            return form
    inside = _without_alias(parts[-2:-1])
    if parts and parts[-1] in get_args(Packing) and inside and inside[0] in get_args(Kind):
        raise UsageError(f"{path}: {inside[0].title()} is compressed inside: unpack the file first")
    raise UsageError(
        f"{path}: the name says no format that cfl knows: end it in .{', .'.join(FORMATS)}, "
        f"or give {option}"
    )


def kind_of(data: bytes) -> Kind | None:
    """Return the format that the first bytes of a table give away, if they do."""
    if data.startswith((PARQUET, ENCRYPTED)):
        return "parquet"
    return "arrow" if data.startswith((ARROW, FEATHER_1)) else None


def _without_alias(parts: Sequence[str]) -> list[str]:
    return [ALIASES.get(part, part) for part in parts]
