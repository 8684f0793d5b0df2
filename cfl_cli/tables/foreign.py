"""What a file is that is not the table, or the schema, that it should be: by its first bytes."""

import re
from pathlib import Path

from cfl_cli.core.quick import dataclass
from cfl_cli.tables import compression, formats

HEAD = 512  # bytes that show what a file is
EXPORT = "export the table as CSV or Parquet"
AS_TABLE = "pass it with --{}, and a table as DATA"
HEADER = re.compile(rb'"?[^\W\d][^\n{}\[\]:#]*[,;\t|][^\n{}\[\]:]*\r?(\n|\Z)')


@dataclass(frozen=True)
class Foreign:
    """What a file is, and what to do about it."""

    what: str
    way_out: str


BEGINNINGS: tuple[tuple[bytes, Foreign], ...] = (
    (rb"%PDF", Foreign("a PDF file", EXPORT)),
    (rb"SQLite format 3\0", Foreign("an SQLite database", EXPORT)),
    (rb"\x89HDF", Foreign("an HDF5 file", EXPORT)),
    (rb"\x89PNG|\xff\xd8\xff", Foreign("a picture", "pass the table itself")),
    (rb"\$FL[23]", Foreign("an SPSS file", EXPORT)),
    (rb"<stata_dta>", Foreign("a Stata file", EXPORT)),
    (rb"\x80[\x04\x05]\x95", Foreign("a Python pickle", "write it with to_parquet")),
    (rb'[\s\S]{4}\0{4}\{"', Foreign("a model", AS_TABLE.format("model"))),
    (
        rb"\s*<(?i:!doctype html|html)",
        Foreign("a web page", "download the table itself, which may need a login"),
    ),
    (rb"\s*<\?xml", Foreign("XML", EXPORT)),
    (
        rb"(?:#[^\n]*\n|\s)*version:\s*\d[\s\S]*\n(columns|missing|file):",
        Foreign("a schema", AS_TABLE.format("schema")),
    ),
    (rb'\{"[^\n]*\}\r?\n', Foreign("JSON Lines", "add --input-format jsonl")),
    (
        rb'\s*\[\s*[\[{]|\s*\{\s*"',
        Foreign("one JSON document", "write one object per line, as .jsonl"),
    ),
)


def seen_in(head: bytes) -> Foreign | None:
    """Return what the first bytes show that is not a table of ours, or one of text; else None."""
    return next((found for start, found in BEGINNINGS if re.match(start, head)), None)


def looks_delimited(head: bytes) -> bool:
    """Return whether the first line looks like the header of a CSV file."""
    return HEADER.match(head.removeprefix(b"\xef\xbb\xbf")) is not None and b"\0" not in head


def is_text(head: bytes) -> bool:
    """Return whether the bytes look like text at all."""
    return bool(head) and not re.search(rb"[\0-\x08\x0e-\x1f]", head)


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
    """Return whether a file begins like a schema."""
    found = seen_in(head_of(path))
    return found is not None and found.what == "a schema"


def not_a_schema(path: Path) -> str | None:
    """Return what a file is that is surely not a schema; None: it may be one."""
    head = head_of(path)
    if packing := compression.packing_of(head):
        return f"a file packed by {compression.NAMES[packing]}"
    if kind := formats.kind_of(head):
        return f"a table ({kind.title})"
    found = seen_in(head)
    if found and found.what not in ("a schema", "one JSON document"):
        return found.what
    return "a table (CSV)" if looks_delimited(head) else None
