"""Drafts a schema from a table: what its cells show, with the evidence and doubts as comments."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from cfl_cli.cli.inputs import sniff_table
from cfl_cli.cli.log import note, print_out
from cfl_cli.cli.options import Values
from cfl_cli.cli.outputs import deliver, text_target
from cfl_cli.cli.start import listen
from cfl_cli.commands.init import cfs as cf_guess
from cfl_cli.commands.init import columns as column_guess
from cfl_cli.commands.init.blocks import guess_blocks
from cfl_cli.commands.init.columns import (
    EITHER,
    IDENTIFIER,
    IGNORED,
    POINT,
    UNUSED,
    FileContext,
    Guess,
    Look,
    ordinary,
)
from cfl_cli.core.messages import did_you_mean, option, options, printable
from cfl_cli.errors import CflError, Problem, SchemaError, UsageError
from cfl_cli.methods.interface import TableSize
from cfl_cli.run.cost import why_graph
from cfl_cli.schema.model import Schema, TextFile, flow, json_schema, key, scalar
from cfl_cli.tables import frames, table
from cfl_cli.tables.frames import has_text, type_name
from cfl_cli.texts import identifiers, tally
from cfl_cli.texts.matching import as_text

_HEADER = """\
# A draft: read every line. The comments say what to check; delete them as you go.
#   role: ordinary       the cells say what the value is (OF)
#   role: complementary  the cells say what the value is not (CF); with cells: candidates, may be
#   role: ignore         an ID, a note, or what a later model will predict: not used
"""
NAMING = (
    "#   role: identifier     names a person or a thing: not used, and no message shows its cells\n"
)
MARKED = "#   # ?                  a guess that may be wrong: check these first\n"
EMPTY, _FEWEST = 0.8, 10  # share of a column's cells, and cells, that are worth a word if empty
# No blank behind the first sign: without it, the entry stands where those above it do.
BLURRED = (
    "#blurred: privacy  # ? the name sounds private; if the column was blurred for privacy, remove "
    "the first # of this line, and only runs that name it with --infer fill it in"
)
DRAWN = "# If you know how exclusions arose, add drawn: at-random (by software) or drawn: by-people"
AUTO_SAID = """\
# auto is usually the most accurate method. graph, the paper's method, is faster: choose it for a
# first look or when time is short. Only graph can be tuned.
settings: {method: auto}
"""
GROUPED = "rows with the same cell share exclusions, and are held out together"
GRAPH = "# graph, the paper's method, because "
GRAPH_SAID = """\
{why}.
# auto is usually more accurate: choose it if the table and the time allow.
settings: {{method: graph}}
"""
_NAMES = {"\t": "tab"}  # signs that are hard to read
_LISTS = (pl.List, pl.Array)
_PLAIN: Mapping[str, Mapping[str, Any]] = {
    "ordinary": {"role": "ordinary", "type": "numeric"},
    "complementary": {"role": "complementary"},
}


def draft_schema(
    frame: pl.DataFrame,
    *,
    cfs: Sequence[str],
    ignored: Sequence[str],
    file: TextFile | None = None,
    file_notes: Sequence[str] = (),
    public: Sequence[str] = (),
) -> str:
    """Return the text of a schema for the table.

    `file` is how a text file is written, None if the table comes from another kind of file;
    `file_notes` say how that was found, a doubtful one beginning with `?`. CFs that are `public`
    are not asked about, even if their names sound private.
    """
    _check_columns(frame, cfs, ignored)
    frame, repeated = _without_headers(frame)
    if repeated and file is None:
        file_notes = (*file_notes, f"? row {repeated[0]:,} repeats the header: delete it")
    guesses = _guesses(frame, cfs, ignored, semicolons=file is not None and file.delimiter == ";")
    guesses |= {name: replace(guesses[name], private=False) for name in public if name in guesses}
    why = why_graph(_size(frame, guesses), table=frames.size(frame)) if cfs else ""
    method = GRAPH_SAID.format(why=GRAPH + why) if why else AUTO_SAID
    text = _text(guesses, cfs, file, file_notes, method)
    if not _can_be_read(text, guesses):
        for name, guess in guesses.items():
            alone = {name: guess}
            if not _can_be_read(_text(alone, ["a CF"], None, ()), alone):
                role = guess.entry["role"]
                entry = _PLAIN[role] if role == "complementary" else IGNORED
                doubts = (*guess.doubts, "cfl could not draft this entry: write it yourself")
                guesses[name] = Guess(entry, guess.notes, doubts)
        text = _text(guesses, cfs, file, file_notes, method)
    group = _group(frame, text, guesses) if cfs else None
    return _text(guesses, cfs, file, file_notes, method, group) if group else text


def _text(
    guesses: Mapping[str, Guess],
    cfs: Sequence[str],
    file: TextFile | None,
    file_notes: Sequence[str],
    method: str = "",
    group: str | None = None,
) -> str:
    decimal: str | None = None
    signs_of = [guess.decimal for guess in guesses.values()]
    if file is not None:
        if signs_of.count(",") >= max(1, signs_of.count(".") + signs_of.count(POINT)):
            decimal = ","
        elif {".", EITHER} & {*signs_of}:
            decimal = "."
        file = file.model_copy(update={"decimal": decimal}) if decimal else file
    codes = Counter(code for guess in guesses.values() for code in guess.codes)
    values = {value for guess in guesses.values() for value in guess.values}
    shared = [code for code, n in codes.items() if n > 1 and code not in values]
    lines = [f"# {printable(note)}" for note in file_notes]
    if file is not None and (signs := file.model_dump(exclude_none=True)):
        lines.append(
            f"file: {flow({name: _NAMES.get(sign, sign) for name, sign in signs.items()})}"
        )
    lines += [f"missing: {flow(['', *shared])}  # cells that count as missing", "columns:"]
    for name, guess in guesses.items():
        comment = f"  # {printable(guess.comment)}" if guess.comment else ""
        entry = dict(guess.entry)
        needed = {POINT: ".", EITHER: decimal or "."}.get(guess.decimal or "", guess.decimal)
        if needed and needed != (decimal or (guess.decimal == POINT and ".")):
            entry["decimal"] = needed
        own = [*(code for code in guess.codes if code not in shared), *guess.own_codes]
        if own and entry["role"] not in UNUSED:
            entry["missing"] = own
        if guess.private:
            lines += [f"  {key(name)}:{comment}"]
            lines += [f"    {scalar(one)}: {flow(said)}" for one, said in entry.items()]
            lines.append(f"    {BLURRED}")
        else:
            lines.append(f"  {key(name)}: {flow(entry)}{comment}")
        if entry["role"] == "complementary" and "bins" not in entry and "cells" not in entry:
            lines.append(f"    {DRAWN}")
    if group is not None:
        lines.append(f"group: {scalar(group)}  # ? {GROUPED}")
    lines += method.splitlines()
    if not cfs:
        way = option("cf", "COLUMN")
        lines.append(f"# No column is a CF yet: run again with {way}, or change a role above.")
    text = "\n".join(["version: 1", *lines]) + "\n"
    naming = any(guess.entry == IDENTIFIER for guess in guesses.values())
    return _HEADER + (NAMING if naming else "") + (MARKED if "# ?" in text else "") + text


def _group(frame: pl.DataFrame, text: str, guesses: Mapping[str, Guess]) -> str | None:
    """Return the column whose equal cells name rows that share exclusions, if there is one."""
    left_out = [name for name, guess in guesses.items() if guess.entry["role"] in UNUSED]
    if all(frame[name].is_unique().all() for name in left_out if has_text(frame[name].dtype)):
        return None
    from cfl_cli.run.prepare import prepare  # loads slowly, and few tables need it

    try:
        schema = Schema.parse(text)
        found = prepare(frame, schema, schema.settings, name="table").findings
    except CflError:  # `cfl check` says what is wrong
        return None
    return next((one.column for one in found if one.code == "shared-cells"), None)


def _size(frame: pl.DataFrame, guesses: Mapping[str, Guess]) -> TableSize:
    """Return about what size the table has for a method, once it is encoded."""
    features, domains = 0, list[int]()
    for name, guess in guesses.items():
        match guess.entry:
            case {"role": "complementary", **entry}:
                domains.append(len(entry.get("values", ())) or 2)
            case {"type": "categorical"}:
                features += frame[name].n_unique()
            case {"role": "ordinary"}:
                features += 1
    return TableSize(len(frame), features, tuple(domains))


def _can_be_read(text: str, guesses: Mapping[str, Guess]) -> bool:
    roles = {guess.entry["role"] for guess in guesses.values()}
    lacking = [(role, entry) for role, entry in _PLAIN.items() if role not in roles]
    longest = max(map(len, guesses), default=0)
    more = [f"  {role}{'_' * longest}: {flow(entry)}\n" for role, entry in lacking]
    try:
        Schema.parse(text + "".join(more))
    except SchemaError:
        return False
    return True


def _without_headers(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[int]]:
    if not frame.width or any(kind != pl.String for kind in frame.dtypes):
        return frame, []
    first = (frame.to_series(0) == frame.columns[0]).fill_null(value=False)
    if not first.any():
        return frame, []
    same = pl.all_horizontal(pl.col(name).eq_missing(name) for name in frame.columns)
    repeats = frame.select(same.alias("it")).to_series()
    return frame.filter(~repeats), [row + 1 for row in repeats.arg_true().to_list()]


def _guesses(
    frame: pl.DataFrame, cfs: Sequence[str], ignored: Sequence[str], *, semicolons: bool
) -> dict[str, Guess]:
    looks = {
        column.name: Look.at(
            tally(as_text(column.fill_nan(None) if column.dtype.is_float() else column))
        )
        for column in frame.get_columns()
        if column.name not in ignored and has_text(column.dtype)
    }
    others = tuple(look.rest for name, look in looks.items() if name not in cfs)
    context = FileContext(others, semicolons)
    found = {}
    for column in frame.get_columns():
        name = column.name
        if name in ignored:
            found[name] = Guess(IGNORED)
        elif not name and name not in cfs:
            said = "no name, and a different value in every row: an index"
            doubt = "no name, and repeated cells: an index? if not, name it in the file"
            alone = column.is_unique().all()
            found[name] = Guess(IGNORED, (said,)) if alone else Guess(IGNORED, doubts=(doubt,))
        elif isinstance(column.dtype, _LISTS) and name in cfs:
            found[name] = cf_guess.of_lists(column)
        elif name not in looks:
            if isinstance(column.dtype, _LISTS) and _can_be_cf(column.dtype):
                doubt = f"lists; if they name what a value is not, run with {option('cf', name)}"
                found[name] = Guess(IGNORED, doubts=(doubt,))
            else:
                kind = type_name(column.dtype)
                found[name] = Guess(IGNORED, (f"holds {kind}, which cfl cannot compare",))
        elif name in cfs:
            blocks = guess_blocks(looks[name])
            found[name] = blocks or cf_guess.guess_cf(looks[name])
        elif column.dtype.is_temporal() and column.dtype != pl.Time and len(looks[name].rest) > 1:
            found[name] = Guess(ordinary("date"))
        else:
            found[name] = column_guess.guess_ordinary(looks[name], context)
        if name in looks:
            guess = _private(found[name], looks[name], is_cf=name in cfs)
            rest, used = looks[name].rest, guess.entry["role"] not in UNUSED
            cells = rest.empty + rest.cells
            is_value = "" in guess.entry.get("values", ())
            if used and not is_value and rest.empty >= EMPTY * cells and rest.empty >= _FEWEST:
                said = f"{rest.empty / cells:.0%} of the cells are empty: is it useful?"
                guess = replace(guess, doubts=(*guess.doubts, said))
            found[name] = guess
    return found


def _private(guess: Guess, look: Look, *, is_cf: bool) -> Guess:
    if is_cf:
        private = identifiers.says_private(look.name)
        return replace(guess, private=True) if private else guess
    different = len(look.rest) / max(look.rest.cells, 1)
    broken = guess.entry.get("type") == "numeric" and any("." in one for one in look.rest.texts)
    if len(look.rest) > 1 and not broken and guess.entry.get("type") != "date":
        if identifiers.says_identifier(look.name, different=different):
            return Guess(IDENTIFIER, ("the name suggests that it identifies people or things",))
        if guess.entry == IGNORED and (kind := identifiers.shape(look.rest)) is not None:
            return Guess(IDENTIFIER, (kind,))
    return guess


def _check_columns(frame: pl.DataFrame, cfs: Sequence[str], ignored: Sequence[str]) -> None:
    problems = []
    asked = [("cf", name) for name in cfs] + [("ignore", name) for name in ignored]
    for role, name in (one for one in asked if one[1] not in frame.columns):
        parts = [part.strip() for part in name.split(",")]
        facts: dict[str, Any] = {"option": option(role)}
        if len(parts) > 1 and all(part in frame.columns for part in parts):
            text = "{option}: name each column separately: {remedy}"
            problems.append(Problem("option-columns", text, **facts, remedy=options(role, parts)))
        else:
            text = "{option}: no column {column!r} in the table{near}"
            near = did_you_mean(name, frame.columns)
            problems.append(Problem("no-column", text, **facts, column=name, near=near))
    cf, ignore = option("cf"), option("ignore")
    text = "{option}: column {column!r} holds {kind}, not text or numbers"
    for name in cfs:
        if name in frame.columns and not _can_be_cf(kind := frame[name].dtype):
            facts = {"column": name, "kind": type_name(kind)}
            problems.append(Problem("column-type", text, option=cf, **facts))
    text = "{cf} and {ignore}: both name {column!r}; name it once"
    problems += [
        Problem("option-both", text, column=name, cf=cf, ignore=ignore)
        for name in cfs
        if name in ignored
    ]
    if problems:
        raise UsageError(*problems)


def _can_be_cf(kind: pl.DataType) -> bool:
    inner = kind.inner if isinstance(kind, _LISTS) else kind
    return isinstance(inner, pl.DataType) and has_text(inner)


# A first schema for a data frame: its text, with comments that say what to check.


def init(
    frame: Any,
    *,
    cf: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    name: str = "table",
) -> str:
    """Draft a schema for a table.

    Parameters
    ----------
    frame : polars.DataFrame, pandas.DataFrame or pyarrow.Table
    cf : str or list of str, optional
        Columns that say what a value is not.
    ignore : str or list of str, optional
        Columns to leave out. All other columns become ordinary columns, whose types are guessed.
    name : str, default "table"
        Name of the table in errors.

    Returns
    -------
    str
        The text of a schema, in YAML. Doubtful guesses are marked `# ?`. Write the text to a file,
        correct it, and load it.

    Raises
    ------
    UsageError
        The table has no such column.

    Examples
    --------
    With `table` as in `impute`:

    >>> print(*cfl_cli.init(table, cf="job").splitlines()[6:8], sep="\\n")
    columns:
      age: {role: ordinary, type: numeric}
    """
    cfs, ignored = ([one] if isinstance(one, str) else [*one] for one in (cf, ignore))
    return draft_schema(frames.as_polars(frame, name=name), cfs=cfs, ignored=ignored)


draft = init  # as it was called before 0.3


# The commands `cfl init` and `cfl schema`.


def run_init(data: str, out: str, given: Values, columns: Values, how: Values) -> None:
    listen()
    source = table.Place.to_read(data, how.get("input_format"))
    overwrite = given.get("overwrite", False)
    target = text_target(out, [source.path], overwrite=overwrite)
    text, notes = drafted(source, columns, how)
    note(*(f"{source.name}: {one}" for one in notes))
    deliver(text, target, overwrite=overwrite)


def drafted(
    source: table.Place, columns: Values, how: Values, *, public: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """Return the text of a schema for a table, and what to say of it."""
    frame, file, found = sniff_table(source, how)
    notes = [*found.notes()] if found else []
    text = draft_schema(
        frames.as_polars(frame),
        cfs=columns.get("cf", []),
        ignored=columns.get("ignore", []),
        file=file,
        file_notes=notes,
        public=public,
    )
    empty = (
        [] if len(frame) else ["no rows below the header, so no type could be guessed: add rows"]
    )
    if found and flow(IDENTIFIER) in text:  # whose words no note may show
        quiet = [*found.notes(words=False)]
        for shown, other in zip(notes, quiet, strict=True):
            text = text.replace(f"# {printable(shown)}", f"# {printable(other)}")
        notes = quiet
    notes += [line.removeprefix("# ") for line in text.splitlines() if line.startswith(GRAPH)]
    return text, [*empty, *(one.removeprefix("? ") for one in notes)]


def doubts(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the lines of a draft that hold a guess that may be wrong: number, column, doubt."""
    column = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("   "):
            column = line.strip().partition(":")[0] if line.startswith("  ") else ""
        _, mark, doubt = line.partition("# ? ")
        if mark and line != MARKED.rstrip():
            yield number, column, doubt


def print_schema() -> None:
    listen()
    print_out(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
