"""What a command works with: the schema, the settings as everybody has them, the table."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cfl_cli.cli.log import LOG
from cfl_cli.cli.options import Values
from cfl_cli.cli.progress import Display
from cfl_cli.core.messages import count, quote
from cfl_cli.core.settings import RunSettings, Settings, override
from cfl_cli.errors import CflError, DataError, Problem, SchemaError, UsageError
from cfl_cli.run.arguments import ENGINE, INFER, Arguments
from cfl_cli.schema import yaml_text
from cfl_cli.schema.model import Schema, TextFile
from cfl_cli.tables import formats, frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.dialect import Fix
from cfl_cli.tables.formats import DELIMITED
from cfl_cli.tables.table import Blocks, Place, Table, read_options
from cfl_cli.trust.report import Sources

if TYPE_CHECKING:
    import polars as pl

    from cfl_cli.run.model import Kept

# What it means that a text table has other column names than the schema.


def check_names(
    names: Sequence[str], place: Place, signs: Mapping[str, str | None], schema: Schema
) -> None:
    """Raise if names are not the schema's: another sign separates them, or they are cells.

    An identifier that is spelled otherwise is refused, too: nothing else would notice, and messages
    could show its cells.
    """
    _check_identifiers(names, place, schema)
    used = {*schema.ordinary, *schema.complementary}
    kind = place.format.kind
    if used <= {*names} or not kind.delimiter:
        return
    from cfl_cli.tables.sniff import (
        DELIMITERS,  # noqa: PLC0415 — most names are right
        is_number,  # noqa: PLC0415 — most names are right
        shown,  # noqa: PLC0415 — most names are right
    )

    number = next((name for name in names if is_number(name)), None)
    if number is not None and signs.get("header") != "none" and not {*names} & {*schema.columns}:
        such = "" if schema.identifiers else f", such as {quote(number)}"  # it may be one of them
        raise DataError(
            f"{place.name}: line 1 looks like data{such}: add a header above "
            "it, a line that names the columns, or add --header none, also to `cfl init`",
            cause="file-header",
        )
    now = read_options(place, set_aside=False, **signs).dialect.get("delimiter", kind.delimiter)
    for sign in DELIMITERS:
        if used <= _cells_of(now.join(names), sign):
            do = Fix("delimiter", sign)
            raise DataError(
                f"{place.name}: line 1: {shown(sign)} separates the columns of the schema, not "
                f"{shown(now)}: {do}",
                cause="file-delimiter",
            )


def _check_identifiers(names: Sequence[str], place: Place, schema: Schema) -> None:
    others = {_bare(name): name for name in names if name not in schema.columns}
    for one in sorted(schema.identifiers.difference(names)):
        if near := others.get(_bare(one)):
            raise DataError(
                f"{place.name}: column {quote(one)} is an identifier in the schema but not in the "
                f"table (did you mean {quote(near)}?): give it the same name in both, or mark "
                f"{quote(near)} too"
            )


def _bare(name: str) -> str:
    """Return a name in small letters, without what is neither letter nor digit."""
    return "".join(filter(str.isalnum, name.casefold()))


def _cells_of(line: str, sign: str) -> set[str]:
    """Return the cells of a line that a sign separates; none if no line looks like this."""
    with suppress(csv.Error):  # such as a line break in a name
        return {*next(csv.reader([line], delimiter=sign), [])}
    return set()


# Keeps cells out of messages where a schema marks identifiers, which no message may show.

_TWICE = re.compile(
    r"(?<=: duplicate column) (?P<name>['\"].+?)(?=(?: in cells? [^'\"]+)?: rename one)"
)
_AGAIN = re.compile(r"(?<= is )(?P<name>['\"].+['\"]) again, and called ['\"].+['\"]")
_KEY = re.compile(r"(?<=: duplicate key) (?P<name>['\"].+['\"])")
_NAMES = ((_TWICE, ""), (_KEY, ""), (_AGAIN, "called as another, and renamed"))
_NUMBER = re.compile(r"(?<=: is )\S+(?= a number with a decimal comma)")
_GUESSED = re.compile(r"(encoding \S+ guessed) from ['\"].*['\"] \((\d[\d,]* cells?)\)")


@contextmanager
def without_words(schema: Schema | None) -> Iterator[None]:
    """Leave words of a file out of errors, if it has identifiers and the words may be theirs.

    These are words that cannot be decoded, and names of a header that the schema does not know:
    where there is no header they are cells.
    """
    if schema is None or not schema.identifiers:
        yield
        return
    with only_names(schema.columns):
        yield


@contextmanager
def only_names(known: Collection[str]) -> Iterator[None]:
    """Leave all words of a file out of errors but these names of columns."""
    try:
        yield
    except DataError as error:
        said = [
            without_cells(str(one), known) if one.code == "other" else one.redacted(known, known)
            for one in error.problems
        ]
        if [*map(str, said)] == [*map(str, error.problems)]:
            raise
        raise DataError(*said, more=error.more) from None


def without_cells(message: str | Problem, known: Collection[str]) -> str:
    """Return a message without numbers of a file, and without names of columns but the known."""
    if isinstance(message, Problem):
        return str(message.redacted(known, known))
    names = {quote(name) for name in known}
    message = _NUMBER.sub("a cell", message)
    for pattern, otherwise in _NAMES:
        found = pattern.search(message)
        if found and found["name"] not in names:
            message = pattern.sub(otherwise, message, count=1)
    return message


def may_mark_identifiers(text: str | None) -> bool:
    """Return whether the text of a schema, right or wrong, marks a column as an identifier.

    A word that is nearly that counts too; None is a schema that cannot be read.
    """
    return text is None or "ident" in text.casefold()


def without_guessed_words(text: str) -> str:
    """Return a draft, or a note about it, without the words that its encoding was guessed from."""
    return _GUESSED.sub(r"\1 by \2", text)


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


def with_table(sources: Sources, source: Place, how: Values, table: Table | Blocks) -> Sources:
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
    if what := formats.not_a_schema(tables.local(path)):
        if data not in (None, tables.STANDARD) and formats.is_schema(tables.local(data)):
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
    """Return the table at a place, in memory; with `checksum` it has that of its file."""
    options: dict[str, Any] = {"file": file, "may_set_aside": may_set_aside, "discreet": discreet}
    with open_table(place, how, schema, in_memory=True, **options) as table:
        whole = table.whole or table.empty
        return replace(whole, sha256=table.sha256()) if checksum else whole


@contextmanager
def open_table(
    place: Place,
    how: Values,
    schema: Schema | None = None,
    *,
    in_memory: bool,
    directory: Path | None = None,
    file: TextFile | None = None,
    may_set_aside: bool = False,
    discreet: bool = False,
) -> Iterator[Blocks]:
    """Give the table at a place; `how` says how a text table is written, else the schema does.

    It is one block `in_memory`, or stays on disk; what has to be copied goes to `directory`. Cells
    that should be looked at are named, unless they count as missing by the `schema`. `file` is what
    is known of a schema that cannot be read; `may_set_aside` says that the command has an option to
    set bad records aside, and `discreet` that no message may show a word of the table.
    """
    signs = signs_of(how, place, schema.file if schema else file)
    columns = columns_to_show(how, schema) if schema else ()
    aside = sets_aside(how) if may_set_aside else None
    where: dict[str, Any] = {"directory": directory, "in_memory": in_memory}
    with ExitStack() as stack:
        with only_names(()) if discreet else without_words(schema):
            table = stack.enter_context(
                tables.reading(place, set_aside=aside, columns=columns, **where, **signs)
            )
        if schema:
            check_names(table.columns, place, signs, schema)
            check_encoding(table, place, signs, how)
        warn_of_cells(table.empty, place, schema, discreet=discreet)
        if in_memory:
            yield table
        else:  # whose cells are read from here on
            with only_names(()) if discreet else without_words(schema):
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
    table: Table | Blocks, place: Place, signs: Mapping[str, str | None], how: Values
) -> None:
    """Raise if a table is UTF-8 and only the schema says otherwise, so that words are garbled."""
    encoding = signs["encoding"]
    if encoding is None or "encoding" in how:
        return
    from cfl_cli.tables import encodings  # noqa: PLC0415 — most tables need none

    words: Counter[bytes] = Counter()
    for column in _columns(table):
        texts = column.drop_nulls().unique(maintain_order=True)
        text = "\n".join(texts.filter(texts.str.contains(r"[^\x00-\x7f]")))
        encodings.words_in(text.encode(encoding, errors="ignore"), words)
    if words and encodings.mostly_utf8(words):
        raise DataError(
            f"{place.name}: this is UTF-8, but the schema says encoding: {encoding}: add "
            "--encoding utf-8, or correct `file` in the schema",
            cause="file-encoding",
        )


def _columns(table: Table | Blocks) -> "Iterator[pl.Series]":
    """Yield the columns of a table; those on disk are loaded one after the other."""
    whole = table.whole if isinstance(table, Blocks) else table
    if isinstance(table, Blocks) and whole is None:
        return (table[name] for name in table.columns)
    return frames.as_polars(whole.frame if whole else None).iter_columns()


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
    is_delimited = "delimiter" in place.format.kind.dialect
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
    entries = {**found.dialect, **given}
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
