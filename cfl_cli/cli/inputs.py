"""What a command works with: the schema, the settings as everybody has them, the table."""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

import polars as pl

from cfl_cli.cli.log import LOG
from cfl_cli.cli.options import FULL, Values
from cfl_cli.cli.outputs import TYPED, written_as
from cfl_cli.core.messages import count, option
from cfl_cli.core.settings import RunSettings, Settings, override
from cfl_cli.encode.cells import with_numbers
from cfl_cli.errors import CflError, DataError, Problem, SchemaError, UsageError, UserText
from cfl_cli.run import Arguments
from cfl_cli.schema import yaml_text
from cfl_cli.schema.model import Schema, TextFile
from cfl_cli.tables import encodings, formats, frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.csv import unencodable
from cfl_cli.tables.dialect import NONE, QUOTE, Dialect, Fix, TextStyle, checked, word
from cfl_cli.tables.formats import DELIMITED
from cfl_cli.tables.table import Blocks, Place, Table, read_options
from cfl_cli.texts.numbers import looks_like_number
from cfl_cli.trust.report import Sources

if TYPE_CHECKING:
    from cfl_cli.run.result import Model
    from cfl_cli.tables.sniff import Sniffed

# What it means that a text table has other column names than the schema.


def check_columns(
    names: Sequence[str], place: Place, signs: Mapping[str, str | None], schema: Schema
) -> None:
    """Raise if names are not the schema's: another sign separates them, or they are cells.

    An identifier that is spelled otherwise is refused, too: nothing else would notice, and messages
    could show its cells.
    """

    def bare(name: str) -> str:
        return "".join(filter(str.isalnum, name.casefold()))

    others = {bare(name): name for name in names if name not in schema.columns}
    for one in sorted(schema.identifiers.difference(names)):
        if near := others.get(bare(one)):
            text = (
                "{file}: column {column!r} is an identifier in the schema but not in the table "
                "(did you mean {near!r}?): give it the same name in both, or mark {near!r} too"
            )
            place_of = {"file": place.name, "column": one}
            raise DataError(Problem("column-identifier-misspelled", text, **place_of, near=near))
    used = {*schema.ordinary, *schema.complementary}
    kind = place.format.kind
    if used <= {*names} or not kind.delimiter:
        return
    from cfl_cli.tables import sniff  # most names are right

    number = next((name for name in names if looks_like_number(name)), None)
    if number is not None and signs.get("header") != "none" and not {*names} & {*schema.columns}:
        such = "" if schema.identifiers else ", such as {value!r}"  # it may be one of them
        raise DataError(
            Problem(
                "file-header",
                f"{{file}}: line {{line}} looks like data{such}: {{remedy}}",
                file=place.name,
                line=1,
                value=UserText(number),
                remedy="add a header above it, a line that names the columns, or add --header "
                "none, also to `cfl init`",
            )
        )
    now = read_options(place, set_aside=False, **signs).dialect.get("delimiter", kind.delimiter)
    for sign in sniff.DELIMITERS:
        cells = set[str]()
        with suppress(csv.Error):  # such as a line break in a name
            cells = {*next(csv.reader([now.join(names)], delimiter=sign), [])}
        if used <= cells:
            text = (
                "{file}: line {line}: {sign} separates the columns of the schema, not {now}: "
                "{remedy}"
            )
            facts: dict[str, Any] = {
                "sign": sniff.shown_sign(sign),
                "now": sniff.shown_sign(now),
                "remedy": Fix("delimiter", sign),
            }
            raise DataError(Problem("file-delimiter", text, file=place.name, line=1, **facts))


# Texts of a table stay out of messages where its schema marks identifiers.


@contextmanager
def without_words(schema: Schema | None, *, discreet: bool = False) -> Iterator[None]:
    """Redact the texts of a table in errors, if its schema has identifiers and they may be theirs.

    `discreet`: even if there is no schema that says so.
    """
    try:
        yield
    except DataError as error:
        if not discreet and not (schema and schema.identifiers):
            raise
        problems = (_redacted(one, schema) for one in error.problems)
        raise DataError(*problems, more=error.more) from None


def _redacted(problem: Problem, schema: Schema | None) -> Problem:
    """Return a problem without texts that may be an identifier's cells; None: no schema is known.

    A sentence without fields may hold anything, and is left out as a whole.
    """
    if not any(one for _, one, *_ in Formatter().parse(problem.text)):
        return Problem(
            problem.code, "a problem with the table, in words that may be an identifier's"
        )
    columns, identifiers = (schema.columns, schema.identifiers) if schema else ((), ())
    return problem.redacted(columns, identifiers)


WRITTEN_OTHERWISE = {"file-delimiter", "file-encoding"}  # causes: a text is not as it was read


@dataclass(frozen=True)
class Inputs(Arguments):
    sources: Sources = field(default_factory=Sources)  # what is known of the schema's file


def load(path: str, given: Values, text: str | None = None, *, data: str | None = None) -> Inputs:
    """Return the schema in a file, or in the file's `text`, and its settings; those given win.

    `data` is the table that goes with it, which may have been taken for it.
    """
    local = tables.local(path)
    try:
        text = yaml_text.file_text(local) if text is None else text
        schema = Schema.parse(text, path)
    except SchemaError:  # which may hold cells, if it is a table
        check_is_schema(path, data)
        raise
    settings, run = override(schema.settings, schema.run, given)
    if given.get("budget") is not None and settings.method != "auto":
        text = "{option} needs {remedy}: add it, or leave {option} out"
        remedy = option("method", "auto")
        raise UsageError(Problem("option-needs", text, option=option("budget"), remedy=remedy))
    LOG.verbose, LOG.format = run.verbose, run.log_format
    checksum = sha256(text.encode()).hexdigest()
    sources = Sources(schema=tables.file_name(local), schema_sha256=checksum)
    return Inputs(schema, settings, run, sources)


def with_table(
    sources: Sources,
    source: Place,
    how: Values,
    table: Table | Blocks,
    style: TextStyle | None = None,
) -> Sources:
    """Return where a result came from, with the table; `how` it was read is what was given.

    `style` is that of the text table that is written.
    """
    columns = table if isinstance(table, Table) else table.empty
    checksum = table.source.sha256() if isinstance(table, Blocks) else table.sha256
    reading = {name: value for name, value in how.items() if name not in OF_OUTPUT}
    reading |= {"sheet": source.sheet} if source.sheet else {}
    name = tables.file_name(source.path)
    renamed = {one.now: one.name for one in columns.renamed}
    writing = style.recorded() if style else {}
    writing |= {TYPED: "yes"} if how.get(TYPED) else {}
    found: dict[str, Any] = {"reading": reading, "renamed": renamed, "writing": writing}
    return replace(sources, table=name, table_sha256=checksum, **found)


OF_OUTPUT = {"output_format", "output_delimiter", "output_encoding", "digits", "typed"}


def typing_of(how: Values, target: Place, schema: Schema) -> Callable[[Any], Any]:
    """Return what makes numbers of the numeric columns of a text table, if that is wanted."""
    if not how.get("typed"):
        return lambda frame: frame
    if not target.format.kind.is_binary:
        text = "{option} does not apply to {file}, which is {format}"
        facts = {"option": option("typed"), "format": str(target.format)}
        raise UsageError(Problem("option-other-format", text, file=target.name, **facts))
    numeric = [name for name, one in schema.ordinary.items() if one.type == "numeric"]
    return lambda frame: with_numbers(frame, numeric, schema)


MOST_SHORT = 15  # digits that a number can be rounded to; with more it is written as it is
SHORT = 6  # digits of a confidence in a text format, unless others are asked for


def digits_of(how: Values, target: Place) -> int | None:
    """Return how many significant digits confidences have in OUT; None: all of them."""
    given = how.get("digits")
    if given is None:
        return None if target.format.kind.is_binary else SHORT
    return None if given == FULL or given > MOST_SHORT else int(given)


def style_of(
    how: Values, target: Place, source: Place, table: Table | Blocks, file: TextFile | None = None
) -> TextStyle | None:
    """Return how OUT is written: as was asked, as DATA was read, as the schema's `file` says.

    A delimiter is kept within a format: .tsv has tabs, and .csv made of it commas. None: OUT is no
    text with delimiters.
    """
    kind = target.format.kind
    asked = {name: how.get(f"output_{name}") for name in ("delimiter", "encoding")}
    if not kind.delimiter:
        for name, given in asked.items():
            if given is not None:
                text = "{option} does not apply to {file}, which is {format}"
                facts = {"option": option(f"output_{name}"), "format": str(target.format)}
                raise UsageError(Problem("option-other-format", text, file=target.name, **facts))
        return None
    read = (table if isinstance(table, Table) else table.empty).dialect
    if read is None:
        words = {name: getattr(file, name) for name in DELIMITED} if file else {}
        given_words = {name: one for name, one in words.items() if one is not None}
        read = Dialect.of(checked(given_words), delimiter=kind.delimiter)
    elif source.format.kind is not kind:
        read = read._replace(delimiter=kind.delimiter)
    delimiter = word("delimiter", asked["delimiter"]) if asked["delimiter"] else read.delimiter
    quote = read.quote if read.quote not in (None, delimiter) else QUOTE
    if delimiter == quote:
        text = "{option}: {value!r} is the quote character of the table: choose another"
        given_as = option("output_delimiter")
        raise UsageError(Problem("option-same", text, option=given_as, value=delimiter))
    return TextStyle(delimiter, quote or QUOTE, asked["encoding"] or read.encoding)


def check_style(style: TextStyle | None, target: Place, schema: Schema) -> None:
    """Raise before the work if values of a domain do not exist in the encoding of OUT."""
    if style is None:
        return
    for value in (value for cf in schema.complementary.values() for value in cf.values or ()):
        try:
            value.encode(style.encoding)
        except UnicodeEncodeError as error:
            raise unencodable(target.name, style.encoding, value[error.start]) from None


def check_is_schema(path: str, data: str | None = None) -> None:
    """Raise if a file is a table, a model or something else that is surely not a schema.

    So it is said if `data`, the table that goes with it, is the schema.
    """
    if what := formats.not_a_schema(tables.local(path)):
        if data not in (None, tables.STANDARD) and formats.is_schema(tables.local(data)):
            text = (
                "{file}: this is a schema, and {schema} {what}: swap them: {schema} --schema {file}"
            )
            problem = Problem("swapped", text, file=str(data), schema=path, what=what)
            raise UsageError(problem) from None
        text = "{file}: this is {what}, not a schema: {remedy}"
        remedy = (
            "pass the schema (YAML) with --schema and the table as DATA; `cfl init DATA` drafts one"
        )
        problem = Problem("schema-not-one", text, file=path, what=what, remedy=remedy)
        raise SchemaError(problem) from None


def read_output(place: Place, file: TextFile | None = None) -> Table:
    """Return a table that `impute` wrote, as its report says, or else the schema's `file`."""
    signs = written_as(place)
    try:
        return tables.read(place, **signs)
    except DataError as error:
        if error.code not in WRITTEN_OTHERWISE:
            raise
        said = {name: one for name, one in signs_of({}, place, file).items() if one is not None}
        if said and not signs:
            with suppress(DataError):
                return tables.read(place, **said)
        text = "{file}: not a text table as `cfl impute` writes it: {remedy}"
        remedy = "pass its OUT, not DATA, and leave its report beside it"
        raise DataError(Problem("out-not-ours", text, file=place.name, remedy=remedy)) from error


def read_table(
    place: Place,
    how: Values,
    schema: Schema | None = None,
    *,
    checksum: bool = False,
    **options: Any,
) -> Table:
    """Return a table, whose cells fit into memory; `options` are those of `open_table`."""
    with open_table(place, how, schema, in_memory=True, **options) as table:
        whole = table.whole or table.empty
        return replace(whole, sha256=table.source.sha256()) if checksum else whole


def read_reference(what: Values, schema: Schema, how: Values) -> Any:
    """Return the table of other rows whose values are known; None: there is none."""
    if "reference" not in what:
        return None
    return read_table(Place.to_read(what["reference"]), how, schema).frame


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
    by_cells: bool = True,
    discreet: bool = False,
) -> Iterator[Blocks]:
    """Give the table at a place; `how` says how a text table is written, else the schema does.

    It is one block `in_memory`, or stays on disk; what has to be copied goes to `directory`. Cells
    that should be looked at are named, unless they count as missing by the `schema`. `file` is what
    is known of a schema that cannot be read; `may_set_aside` says that the command has an option to
    set bad records aside, rows whose cells do not fit the schema too unless `by_cells` is false, and
    `discreet` that no message may show a word of the table.
    """
    signs = signs_of(how, place, schema.file if schema else file)
    columns = columns_to_show(how, schema) if schema else ()
    aside = sets_aside(how) if may_set_aside else None
    where: dict[str, Any] = {"directory": directory, "in_memory": in_memory}
    with ExitStack() as stack:
        with without_words(schema, discreet=discreet):
            table = stack.enter_context(
                tables.reading(place, set_aside=aside, columns=columns, **where, **signs)
            )
        if schema:
            check_columns(table.columns, place, signs, schema)
            if signs["encoding"] and "encoding" not in how:
                check_encoding(table, place, signs["encoding"])
        warn_of_cells(table.empty, place, schema, discreet=discreet)
        if schema and signs["header"] == NONE:
            first = table.whole or next(iter(table.tables()), table.empty)
            warn_of_names(first, place, signs)
        if schema and aside and by_cells:
            from cfl_cli.encode.set_aside import setting_aside  # few runs do

            table = setting_aside(table, schema)
        if in_memory:
            yield table
        else:  # whose cells are read from here on
            with without_words(schema, discreet=discreet):
                yield table


def unreadable(data: str, how: Values, schema: str) -> CflError | None:
    """Return why a table cannot be read, where that does not hang on a schema that is wrong."""
    file: TextFile | None = None
    text: str | None = None
    with suppress(CflError):
        text = yaml_text.file_text(tables.local(schema))
        match yaml_text.read_yaml(text, name=schema).data:
            case {"file": dict(entries)}:
                file = TextFile(**entries)
            case dict():
                file = TextFile()
    try:
        place = Place.to_read(data, how.get("input_format"))
        # A schema that cannot be read, and a word that is nearly that, may mark an identifier.
        discreet = text is None or "ident" in text.casefold()
        read_table(place, how, file=file, may_set_aside=True, discreet=discreet)
    except CflError as error:
        hangs_on_it = file is None and error.code in WRITTEN_OTHERWISE
        return None if hangs_on_it else error
    return None


def columns_to_show(how: Values, schema: Schema) -> tuple[str, ...]:
    """Return the columns that show how a table is written: CFs, which all have; none if given."""
    said = DELIMITED & {*how}
    return () if said else tuple(schema.complementary)


def check_encoding(table: Table | Blocks, place: Place, encoding: str) -> None:
    """Raise if a table is UTF-8 and only the schema says otherwise, so that words are garbled."""
    words: Counter[bytes] = Counter()
    whole = table.whole if isinstance(table, Blocks) else table
    columns: Iterable[pl.Series]
    if isinstance(table, Blocks) and whole is None:
        columns = (table[name] for name in table.columns)
    else:
        columns = frames.as_polars(whole.frame if whole else None).iter_columns()
    for column in columns:
        texts = column.drop_nulls().unique(maintain_order=True)
        text = "\n".join(texts.filter(texts.str.contains(r"[^\x00-\x7f]")))
        encodings.words_in(text.encode(encoding, errors="ignore"), words)
    if words and encodings.mostly_utf8(words):
        text = "{file}: this is UTF-8, but the schema says encoding: {encoding}: {remedy}"
        remedy = "add --encoding utf-8, or correct `file` in the schema"
        facts = {"encoding": encoding}
        raise DataError(Problem("file-encoding", text, file=place.name, remedy=remedy, **facts))


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
    for note in table.notes:
        what, column = note.message, note.column
        if schema is not None and column is not None:
            used = column in {*schema.ordinary, *schema.complementary}
            if not used or note.text in schema.missing_in(column):
                continue
            entry = schema.ordinary.get(column)
            if entry and (
                entry.type in ("numeric", "date") or (entry.values is not None and not model)
            ):
                continue
        if discreet or (schema and schema.identifiers):
            what = _redacted(what, schema)
        LOG.warning(f"{place.name}: {what}")


def signs_of(how: Values, place: Place, file: TextFile | None = None) -> Values:
    """Return how a text table is written, as far as it was given or the schema's `file` says it."""
    is_delimited = "delimiter" in place.format.kind.dialect
    said = {name: getattr(file, name) for name in DELIMITED} if file and is_delimited else {}
    return {name: how.get(name) or said.get(name) for name in sorted(DELIMITED)}


def sniff_table(place: Place, how: Values) -> "tuple[Any, TextFile | None, Sniffed | None]":
    given = {name: sign for name, sign in signs_of(how, place).items() if sign is not None}
    table, found = tables.read_sniffed(place, set_aside=sets_aside(how), **given)
    warn_of_cells(table, place, None)
    warn_of_rejects(len(table.rejects), place)
    warn_of_names(table, place, given)
    return table.frame, TextFile(**{**found.dialect, **given}) if found else None, found


_HEAD, _FEWEST = 1000, 8  # rows that show whether the first one is the header


def warn_of_names(table: Table, place: Place, signs: Values) -> None:
    """Warn if the first row of a table that is read without a header looks like one."""
    head = frames.as_polars(table.frame[:_HEAD]) if signs.get("header") == NONE else pl.DataFrame()
    if head.height < _FEWEST:
        return
    names = [str(cell or "").strip() for cell in head.row(0)]
    if "" in names or len({*names}) < len(names) or any(map(looks_like_number, names)):
        return
    below = [column[1:].drop_nulls().to_list() for column in head.iter_columns()]
    others = [
        len({*cells}) <= len(cells) / 2 or all(map(looks_like_number, cells)) for cells in below
    ]
    again = any(name in cells for name, cells in zip(names, below, strict=True))
    if not again and 2 * sum(others) > len(names):  # other columns may differ in every row
        what = "the first record looks like the names of the columns, and is read as a row"
        LOG.warning(f"{place.name}: {what}: leave out --header none if it is the header")


def warn_of_rejects(rejected: int, place: Place) -> None:
    if rejected:  # and no file takes them
        LOG.warning(f"{place.name}: {count(rejected, 'bad record')} left out")


def of_model(model: "Model", given: Values) -> tuple[Settings, RunSettings]:
    """Return the settings with which a model is applied; those given win over the model's.

    What its schema names as files are those of the fitted table.
    """
    files = dict.fromkeys(("report", "diagnostics")) | {"overwrite": False}
    settings, run = override(model.settings, model.schema.run.replaced(files), given)
    LOG.verbose, LOG.format = run.verbose, run.log_format
    return settings, run


def sets_aside(how: Values) -> bool:
    return how.get("on_bad_row") == "set-aside"
