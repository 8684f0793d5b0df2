"""How `cfl run` works: it drafts a schema, stops if that is doubtful, and runs the other commands."""

import shlex
from pathlib import Path

import typer

from cfl_cli.cli.inputs import sets_aside
from cfl_cli.cli.log import complain, note
from cfl_cli.cli.options import Values
from cfl_cli.cli.outputs import Outputs, deliver, text_target
from cfl_cli.cli.start import listen
from cfl_cli.commands.check.job import run_check
from cfl_cli.commands.impute.work import run_impute
from cfl_cli.commands.init.draft import BLURRED, doubts, drafted
from cfl_cli.core.messages import option
from cfl_cli.errors import PROBLEMS_SHOWN, ExitCode, Problem, UsageError
from cfl_cli.tables import formats
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import STANDARD, Place

_IMPUTED = "_imputed"
# Options that the schema cannot hold, or holds otherwise.
FOLLOWING = "method seed mode fail_on output_format input_format on_bad_row".split()
PRIVATE = (
    "the name sounds private. If the column was blurred on purpose, remove the first # of this "
    "line. If it may be inferred, run again with --overwrite and "
)


def run_all(
    data: str, out: str | None, given: Values, columns: Values, chosen: Values, how: Values
) -> None:
    listen()
    source = Place.to_read(data, how.get("input_format"))
    if source.path is None or out == STANDARD:
        text = "DATA is read more than once, and a schema is written beside OUT: {remedy}"
        raise UsageError(Problem("run-standard-stream", text, remedy="name files, not -"))
    if not columns.get("cf"):
        text = "{option}: name the columns that say what a value is not: {remedy}"
        facts = {"option": option("cf"), "remedy": f"cfl run {shlex.quote(data)} --cf COLUMN"}
        raise UsageError(Problem("run-no-cf", text, **facts))
    out = output_name(source.path, source.format) if out is None else out
    schema, overwrite = schema_name(out), given.get("overwrite", False)
    place = Place.to_write(out, how.get("output_format"))
    outputs = Outputs.of(place, None, reject=sets_aside(how))
    outputs.check(sources=[source.path], overwrite=overwrite)
    following = _following(data, schema, out, given | chosen | how)
    if not overwrite and tables.local(schema).exists():
        text = "{file}: already exists: {remedy}"
        redraft = option("overwrite", value=True)
        remedy = f"to go on with it, run {following}; to draft it anew, add {redraft}"
        raise UsageError(Problem("out-exists", text, file=schema, remedy=remedy))
    target = text_target(schema, [source.path, *outputs.paths], overwrite=overwrite)
    text, notes = drafted(source, columns, how, public=chosen.pop("infer", ()))
    deliver(text, target, overwrite=overwrite)
    if not given.get("quiet", False):
        note(*(f"{source.name}: {one}" for one in notes), event="drafted", file=source.name)
        note(f"{schema}: the schema of this run", event="schema", file=schema)
    if found := [*doubts(text)]:
        _stop(found, schema, following)
    settings = given | chosen
    run_check(data, schema, out, None, settings | {"quiet": True}, how, {})
    run_impute([data], schema, out, model=None, given=settings, what={}, how=how)


def output_name(path: Path, form: formats.Format) -> str:
    """Return DATA's name with _imputed, in the current folder; a format that is only read: CSV."""
    if form == formats.DATA_SET:
        return f"{path.name}{_IMPUTED}/"
    ending = "csv" if form.kind.is_only_read else str(form)
    return f"{path.name.partition('.')[0] or path.name}{_IMPUTED}.{ending}"


def schema_name(out: str) -> str:
    return f"{out.rstrip('/')}.schema.yml"


def _following(data: str, schema: str, out: str, given: Values) -> str:
    """Return the command that imputes by the schema, with the options that were given."""
    words = ["cfl", "impute", data, "--schema", schema, "--out", out]
    for name in FOLLOWING:
        if given.get(name) is not None:
            words += [str(option(name)), str(given[name])]
    return shlex.join(words)


def _stop(found: list[tuple[int, str, str]], schema: str, following: str) -> None:
    """Say what to decide in a draft, and how to go on, and exit."""
    problems = []
    for line, column, doubt in found:
        facts = {"file": schema, "line": line, "column": column, "what": doubt}
        text = "{file}: line {line}: {what}"
        if column:
            text = "{file}: line {line}: column {column!r}: {what}"
        if BLURRED.endswith(doubt):
            facts["what"] = PRIVATE
            facts["remedy"] = option("infer", column)
            text += "{remedy}"
        problems.append(Problem("draft-doubtful", text, **facts))
    complain(*problems[:PROBLEMS_SHOWN])
    if len(problems) > PROBLEMS_SHOWN:
        more = len(problems) - PROBLEMS_SHOWN
        complain(Problem("more", "and {number:,} more lines with # ?", number=more))
    note(
        "nothing was imputed: decide these lines of the schema, then run",
        f"  {following}",
        event="next",
        next=following,
    )
    raise typer.Exit(ExitCode.WRONG_INPUT)
