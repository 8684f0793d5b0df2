"""The work of `cfl gather`: the long table is read in blocks, whatever its size."""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from cfl_cli.cli.inputs import (
    sets_aside,
    signs_of,
    style_of,
    warn_of_rejects,
    without_words,
)
from cfl_cli.cli.log import note, warn
from cfl_cli.cli.options import Values
from cfl_cli.cli.outputs import Outputs, check_targets
from cfl_cli.cli.start import listen
from cfl_cli.commands.gather.asked import FHIR, Asked, read_values
from cfl_cli.commands.gather.job import Block, Wide, entry, gathered, schema_part, separated
from cfl_cli.commands.init.draft import DRAWN, draft_schema
from cfl_cli.core.messages import option
from cfl_cli.errors import DataError, Problem, UsageError
from cfl_cli.schema.model import TextFile, flow, key
from cfl_cli.tables import frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.csv_hints import title_above
from cfl_cli.tables.dialect import QUOTE, TextStyle
from cfl_cli.tables.sniff import sniff
from cfl_cli.tables.source import Source
from cfl_cli.tables.table import Blocks, Place, Table

_ROWS_AT_ONCE = 200_000
_HEAD = 1_000_000  # bytes that show how a text table is written
_LISTED = 60  # values that a message lists


def run_gather(
    data: str, out: str, given: Values, what: Values, how: Values, written: Values
) -> None:
    listen()
    overwrite = given.get("overwrite", False)
    asked, source, other = _read_what(data, what, how)
    target = Place.to_write(out, how.get("output_format"))
    outputs = Outputs.without_report(target, reject=False)
    sources = [source.path, *([other.path] if other else [])]
    schema = tables.local(written["schema_out"]) if "schema_out" in written else None
    outputs.check(sources=sources, overwrite=overwrite)
    if schema is not None:
        check_targets([*outputs.paths, schema], sources=sources, overwrite=overwrite)
    persons = _persons(other) if other else None
    with outputs.stream() as stream:
        with _opened(source, how) as long:
            asked = separated(asked, long.blocks())
            found = gathered(
                long.blocks(),
                asked,
                persons,
                persons_id=what.get("with_id"),
                name=source.name,
                persons_name=other.name if other else "",
            )
            style = style_of(how, target, source, long.table)
        tables.check_holds(Table(found.frame), target)
        text = schema_text(found, asked, style) if schema is not None else ""
        with replace(outputs, style=style).writing(stream=stream, overwrite=overwrite) as writer:
            writer.table.add(found.frame)
            writer.table.finish(beside={} if schema is None else {schema: text})
    if not given.get("quiet", False):
        warn_of_rejects(long.rejected, source)
        _tell(found, asked, target, schema)


def _read_what(data: str, what: Values, how: Values) -> tuple[Asked, Place, Place | None]:
    said = {name: one for name, one in what.items() if name not in ("with_", "with_id")}
    if "values" in said:
        said["values"] = read_values(said["values"])
    asked = Asked.of(**said)
    if "with_id" in what and "with_" not in what:
        text = "{option} needs {remedy}: add it, or leave {option} out"
        facts = {"option": option("with_id"), "remedy": option("with_")}
        raise UsageError(Problem("option-needs", text, **facts))
    usual = "jsonl" if asked.layout == FHIR and data == tables.STANDARD else None
    source = Place.to_read(data, how.get("input_format", usual))
    other = Place.to_read(what["with_"], option="--with") if "with_" in what else None
    if source.path is None and other is not None and other.path is None:
        text = "LONG and --with are both standard input: {remedy}"
        raise UsageError(Problem("stdin-twice", text, remedy="name a file for one"))
    return asked, source, other


# Reading: no schema says which columns are identifiers, so no message shows a word of a table.


@dataclass
class _Long:
    table: Table | Blocks
    rejected: int

    def blocks(self) -> Iterator[Block]:
        table = self.table
        parts = [table] if isinstance(table, Table) else table.blocks(_ROWS_AT_ONCE)
        with without_words(None, discreet=True):
            for one in parts:
                yield one.frame, one.first + 1


@contextmanager
def _opened(place: Place, how: Values) -> Iterator[_Long]:
    given = {name: sign for name, sign in signs_of(how, place).items() if sign is not None}
    aside = sets_aside(how)
    with ExitStack() as stack:
        with without_words(None, discreet=True):
            if place.path is None:  # which cannot be read twice
                table, _ = tables.read_sniffed(place, set_aside=aside, **given)
                long = _Long(table, len(table.rejects))
            else:
                signs = {**_sniffed(place, given), **given}
                blocks = stack.enter_context(tables.reading(place, set_aside=aside, **signs))
                long = _Long(blocks, blocks.rejected)
        yield long


def _sniffed(place: Place, given: Values) -> dict[str, str]:
    kind = place.format.kind
    if not kind.delimiter:
        return {}
    with Source.of(place) as source:
        head = b""
        for chunk in source.chunks():
            head += chunk
            if len(head) > _HEAD:
                cut = head.rfind(b"\n", 0, _HEAD) + 1 or len(head)
                wide = head.startswith((BOM_UTF16_LE, BOM_UTF16_BE))  # two bytes a character
                head = head[: cut + (cut & 1 if wide else 0)]
                break
    found = sniff(head, given, usual=kind.delimiter)
    if found.shape and not found.shape.first:
        raise DataError(title_above(place.name, found.shape.line))
    return found.dialect


def _persons(place: Place) -> pl.DataFrame:
    with without_words(None, discreet=True):
        table, _ = tables.read_sniffed(place)
        frame = frames.as_polars(table.frame, name=place.name)
    if table.mixed:
        note(f"{place.name}: columns with lists or objects left out: {', '.join(table.mixed)}")
    return frame.drop([*table.mixed])


# What is written beside the table, and what is said of it.


def schema_text(found: Wide, asked: Asked, style: TextStyle | None) -> str:
    """Return a draft of a schema for the wide table, in which ids and the CF are known."""
    file = None
    if style is not None:
        usual = {"delimiter": ",", "quote": QUOTE, "encoding": "utf-8"}
        signs = {name: getattr(style, name) for name in usual}
        file = TextFile(**{name: one for name, one in signs.items() if one != usual[name]})
    text = draft_schema(found.frame, cfs=[asked.cf], ignored=[], file=file, public=[asked.cf])
    known: dict[str, Mapping[str, object]] = {
        found.id: {"role": "identifier"},
        asked.cf: entry(found, asked),
    }
    lines = []
    for line in text.splitlines():
        name = next((one for one in known if line.startswith(f"  {key(one)}:")), None)
        if name is not None:
            line = f"  {key(name)}: {flow(known[name])}"
        elif line.strip() == DRAWN and "drawn" in known[asked.cf]:
            continue
        lines.append(line)
    return "\n".join(lines) + "\n"


def _tell(found: Wide, asked: Asked, target: Place, schema: Path | None) -> None:
    cells = ", ".join(
        f"{number:,} {kind}" for kind, number in found.found.cells.counts.items() if number
    )
    rows = f"{found.frame.height:,} rows from {found.found.rows:,}"
    facts: dict[str, Any] = {"file": target.name, "rows": found.frame.height, "cfs": [asked.cf]}
    note(f"{target.name}: {rows}; {asked.cf}: {cells}", event="gathered", **facts)
    note(*found.notes, event="note", file=target.name)
    warn(*found.warnings, event="warning", file=target.name)
    if schema is not None:
        said = f"{schema}: a draft of its schema: read every line"
        note(said, event="drafted", file=str(schema))
    elif len(found.found.cells.domain) <= _LISTED:
        note("in the schema:", *schema_part(found, asked).rstrip("\n").split("\n"))
    else:
        note(f"for a schema, add {option('schema_out', 'FILE')}")
