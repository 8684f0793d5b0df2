"""What a command works with: the schema, the settings as everybody has them, the table."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cfl_cli.cli.discreet import may_mark_identifiers, only_names, without_cells, without_words
from cfl_cli.cli.given import Values
from cfl_cli.cli.log import LOG
from cfl_cli.cli.other_names import check_names
from cfl_cli.cli.progress import Display
from cfl_cli.core.messages import count
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import RunSettings, Settings, override
from cfl_cli.errors import CflError, DataError, SchemaError, UsageError
from cfl_cli.jobs.arguments import ENGINE, INFER, Arguments
from cfl_cli.schema import yaml_text
from cfl_cli.schema.file import TextFile
from cfl_cli.schema.model import Schema
from cfl_cli.tables import foreign, frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.blocks import BLOCK, Blocks
from cfl_cli.tables.formats import DELIMITED
from cfl_cli.tables.table import Place, StoredTable, Table
from cfl_cli.trust.report import Sources

if TYPE_CHECKING:  # loads slowly
    import polars as pl

    from cfl_cli.jobs.kept import Kept

WRITTEN_OTHERWISE = {"file-delimiter", "file-encoding"}  # causes: a text is not as it was read
Learned = TypeVar("Learned")


@dataclass(frozen=True)
class Inputs:
    """A schema, and the settings that it and the user ask for."""

    schema: Schema
    settings: Settings
    run: RunSettings
    sources: Sources = field(default_factory=Sources)  # what is known of the schema's file

    @property
    def limits(self) -> dict[str, Any]:
        """Return what a job must know of how it is run."""
        return {name: getattr(self.run, name) for name in ("jobs", "max_memory", *ENGINE, *INFER)}

    def arguments(self, *, samples: bool = False) -> Arguments:
        """Return the same for a job; with `samples` it may draw rows."""
        where = {name: getattr(self.run, name) for name in (*ENGINE, *INFER)}
        return Arguments.read(
            self.schema,
            {**where, **self.settings.as_dict()},
            jobs=self.run.jobs,
            max_memory=self.run.max_memory,
            engines=True,
            samples=samples,
            infers=True,
        )

    def learn(
        self, job: Callable[..., Learned], table: Table, source: Place, how: Values, **more: object
    ) -> Learned:
        """Return what a job makes of a table, which it learns from with these settings."""
        with Display(quiet=self.run.quiet) as display:
            return job(
                table.frame,
                self.schema,
                name=source.name,
                progress=display,
                sources=with_table(self.sources, source, how, table),
                **self.limits,
                **more,
                **self.settings.as_dict(),
            )


def load(path: str, given: Values, text: str | None = None, *, data: str | None = None) -> Inputs:
    """Return the schema in a file, or in the file's `text`, and its settings; those given win.

    `data` is the table that goes with it, which may have been taken for it.
    """
    local = tables.local(path)
    check_is_schema(path, data)
    text = yaml_text.text_of(local) if text is None else text
    schema = Schema.parse(text, path)
    settings, run = override(schema.settings, schema.run, given)
    if given.get("budget") is not None and settings.method != "auto":
        raise UsageError("--budget goes with --method auto: add it, or leave --budget out")
    LOG.verbose, LOG.format = run.verbose, run.log_format
    checksum = sha256(text.encode()).hexdigest()
    return Inputs(
        schema, settings, run, Sources(schema=tables.name_of(local), schema_sha256=checksum)
    )


def with_table(
    sources: Sources, source: Place, how: Values, table: Table | StoredTable | Blocks
) -> Sources:
    """Return where a result came from, with the table; `how` it was read is what was given."""
    columns = table if isinstance(table, Table) else table.empty
    checksum = table.sha256() if isinstance(table, Blocks) else table.sha256
    reading = {name: value for name, value in how.items() if name != "output_format"}
    reading |= {"sheet": source.sheet} if source.sheet else {}
    name = tables.name_of(source.path)
    renamed = {one.now: one.name for one in columns.renamed}
    return replace(sources, table=name, table_sha256=checksum, reading=reading, renamed=renamed)


def check_is_schema(path: str, data: str | None = None) -> None:
    """Raise if a file is a table, a model or something else that is surely not a schema.

    So it is said if `data`, the table that goes with it, is the schema.
    """
    if what := foreign.not_a_schema(tables.local(path)):
        if data not in (None, tables.STANDARD) and foreign.is_schema(tables.local(data)):
            raise UsageError(
                f"{data}: this is a schema, and {path} {what}: swap them: {path} --schema {data}",
                cause="swapped",
            )
        raise SchemaError(
            f"{path}: this is {what}, not a schema: pass the schema (YAML) with --schema and the "
            "table as DATA; `cfl init DATA` drafts one"
        )


def read_output(place: Place) -> Table:
    """Return a table that `impute` wrote: text with commas, in UTF-8, whatever a schema says."""
    try:
        return tables.read(place)
    except DataError as error:
        if error.cause not in WRITTEN_OTHERWISE:
            raise
        raise DataError(
            f"{place.name}: not written by `cfl impute`, whose text tables have commas and are in "
            "UTF-8: pass its OUT, not DATA"
        ) from error


def read_table(
    place: Place,
    how: Values,
    schema: Schema | None = None,
    *,
    checksum: bool = False,
    file: TextFile | None = None,
    may_set_aside: bool = False,
    discreet: bool = False,
) -> Table:
    """Return the table at a place; `how` says how a text table is written, else the schema does.

    Cells that should be looked at are named, unless they count as missing by the `schema`. `file`
    is what is known of a schema that cannot be read; `may_set_aside` says that the command has an
    option to set bad records aside, and `discreet` that no message may show a word of the table.
    """
    signs = signs_of(how, place, schema.file if schema else file)
    columns = columns_to_show(how, schema) if schema else ()
    aside = sets_aside(how) if may_set_aside else None
    with only_names(()) if discreet else without_words(schema):
        table = tables.read(place, set_aside=aside, checksum=checksum, columns=columns, **signs)
    if schema:
        check_names(frames.names(table.frame), place, signs, schema)
        check_encoding(table, place, signs, how)
    warn_of_cells(table, place, schema, discreet=discreet)
    return table


@contextmanager
def stored_table(
    place: Place,
    how: Values,
    schema: Schema,
    *,
    directory: Path | None = None,
    may_set_aside: bool = False,
) -> Iterator[StoredTable]:
    """Give the table at a place with its cells on disk; it is read and warned of as `read_table`.

    What has to be copied goes to `directory`.
    """
    signs = signs_of(how, place, schema.file)
    columns = columns_to_show(how, schema)
    aside = sets_aside(how) if may_set_aside else None
    with (
        without_words(schema),
        tables.stored(
            place, rows=BLOCK, set_aside=aside, columns=columns, directory=directory, **signs
        ) as table,
    ):
        check_names(table.columns, place, signs, schema)
        check_encoding(table, place, signs, how)
        warn_of_cells(table.empty, place, schema)
        yield table


def unreadable(data: str, how: Values, schema: str) -> CflError | None:
    """Return why a table cannot be read, where that does not hang on a schema that is wrong."""
    file: TextFile | None = None
    text: str | None = None
    with suppress(CflError):
        text = yaml_text.text_of(tables.local(schema))
        match yaml_text.read(text, name=schema).data:
            case {"file": dict(entries)}:
                file = TextFile(**entries)
            case dict():
                file = TextFile()
    try:
        place = Place.to_read(data, how.get("input_format"))
        discreet = may_mark_identifiers(text)
        read_table(place, how, file=file, may_set_aside=True, discreet=discreet)
    except CflError as error:
        hangs_on_it = file is None and error.cause in WRITTEN_OTHERWISE
        return None if hangs_on_it else error
    return None


def columns_to_show(how: Values, schema: Schema) -> tuple[str, ...]:
    """Return the columns that show how a table is written: CFs, which all have; none if given."""
    said = DELIMITED & {*how}
    return () if said else tuple(schema.complementary)


def check_encoding(
    table: Table | StoredTable, place: Place, signs: Mapping[str, str | None], how: Values
) -> None:
    """Raise if a table is UTF-8 and only the schema says otherwise, so that words are garbled."""
    encoding = signs["encoding"]
    if encoding is None or "encoding" in how:
        return
    from cfl_cli.tables import guess_encoding  # noqa: PLC0415 — most tables need none

    words: Counter[bytes] = Counter()
    for column in _columns(table):
        texts = column.drop_nulls().unique(maintain_order=True)
        text = "\n".join(texts.filter(texts.str.contains(r"[^\x00-\x7f]")))
        guess_encoding.words_in(text.encode(encoding, errors="ignore"), words)
    if words and guess_encoding.mostly_utf8(words):
        raise DataError(
            f"{place.name}: this is UTF-8, but the schema says encoding: {encoding}: add "
            "--encoding utf-8, or correct `file` in the schema",
            cause="file-encoding",
        )


def _columns(table: Table | StoredTable) -> "Iterator[pl.Series]":
    """Yield the columns of a table; those on disk are loaded one after the other."""
    if isinstance(table, StoredTable):
        return (table[name] for name in table.columns)
    return frames.as_polars(table.frame).iter_columns()


def warn_of_cells(
    table: Table,
    place: Place,
    schema: Schema | None,
    *,
    model: bool = False,
    discreet: bool = False,
) -> None:
    """Name cells that should be looked at, such as formulas that failed.

    Where their text cannot be a value, they are a problem, and named as such later. A `model`
    takes texts that it does not know for other values. `discreet`: without any word of the table.
    """
    known = schema.columns if schema else ()
    discreet = discreet or bool(schema and schema.identifiers)
    for note in table.notes:
        if (
            schema is None
            or note.column is None
            or (
                note.column in {*schema.ordinary, *schema.complementary}
                and note.text not in schema.missing_in(note.column)
                and not _is_refused(note.column, schema, model=model)
            )
        ):
            message = without_cells(note.message, known) if discreet else note.message
            LOG.warning(f"{place.name}: {message}")


def _is_refused(column: str, schema: Schema, *, model: bool) -> bool:
    """Return whether an OF has only numbers, dates, or values that the schema lists."""
    entry = schema.ordinary.get(column)
    if entry is None:
        return False
    return entry.type in ("numeric", "date") or (entry.values is not None and not model)


def signs_of(how: Values, place: Place, file: TextFile | None = None) -> dict[str, str | None]:
    """Return how a text table is written, as far as it was given or the schema's `file` says it."""
    is_delimited = "delimiter" in place.format.kind.signs
    said = {name: getattr(file, name) for name in DELIMITED} if file and is_delimited else {}
    return {name: how.get(name) or said.get(name) for name in sorted(DELIMITED)}


@dataclass(frozen=True)
class Found:
    """A table, how its file is written if it is text, and the evidence for that."""

    table: Table
    file: TextFile | None
    notes: tuple[str, ...]


def read_sniffed(place: Place, how: Values) -> Found:
    """Return the table at a place, and what was found out about a text that `how` does not say."""
    given = {name: sign for name, sign in signs_of(how, place).items() if sign is not None}
    table, found = tables.read_sniffed(place, set_aside=sets_aside(how), **given)
    warn_of_cells(table, place, None)
    warn_of_rejects(len(table.rejects), place)
    if found is None:
        return Found(table, None, ())
    entries = {**found.signs, **given}
    return Found(table, TextFile(**entries), tuple(found.notes()))


def warn_of_rejects(rejected: int, place: Place) -> None:
    """Say that bad records are left out, where no file takes them."""
    if rejected:
        LOG.warning(f"{place.name}: {count(rejected, 'bad record')} left out")


def of_model(model: "Kept", given: Values) -> tuple[Settings, RunSettings]:
    """Return the settings with which a model is applied; those given win over the model's.

    What its schema names as files are those of the fitted table.
    """
    files = dict.fromkeys(("report", "diagnostics")) | {"overwrite": False}
    settings, run = override(model.settings, model.schema.run.replaced(files), given)
    LOG.verbose, LOG.format = run.verbose, run.log_format
    return settings, run


def sets_aside(how: Values) -> bool:
    """Return whether bad records are set aside rather than refused."""
    return how.get("on_bad_row") == "set-aside"
