"""How `cfl run` works: it drafts a schema, stops if that is doubtful, and runs the other commands.

A schema that is there and that it would not draft may have been edited, and is used as it is.
"""

import shlex
from collections.abc import Sequence
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
from cfl_cli.schema.model import Schema
from cfl_cli.schema.yaml_text import file_text
from cfl_cli.tables import formats
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import STANDARD, Place

_IMPUTED = "_imputed"
# Options that the schema cannot hold, or holds otherwise.
FOLLOWING = "method seed mode fail_on output_format input_format on_bad_row".split()
PRIVATE = (
    "the name sounds private. If the column was blurred on purpose, remove the first # of this "
    "line. If it may be inferred, {remedy}"
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
    # A schema that is there is used or drafted again, but no link to nothing is followed.
    path = tables.local(schema)
    target = text_target(
        schema, [source.path, *outputs.paths], overwrite=path.exists() or not path.is_symlink()
    )
    infer, quiet = chosen.pop("infer", ()), given.get("quiet", False)
    text, notes = drafted(source, columns, how, public=infer)
    unedited = {text, drafted(source, columns, how)[0]} if infer else {text}
    edited = _edited(schema, unedited)
    if edited is None:
        deliver(text, target, overwrite=True)
        said = f"{schema}: the schema of this run"
    else:
        chosen |= _of_edited(schema, edited, columns, infer)
        text, notes = edited, []
        said = f"{schema}: kept and used, because it differs from a new draft; delete it to draft it anew"
    if not quiet:
        note(*(f"{source.name}: {one}" for one in notes), event="drafted", file=source.name)
        note(said, event="schema", file=schema, drafted=edited is None)
    if found := [*doubts(text)]:
        _stop(found, schema, following, edited=edited is not None)
    settings = given | chosen
    run_check(data, schema, out, None, settings | {"quiet": True}, how, {})
    run_impute([data], schema, out, model=None, given=settings, what={}, how=how)


def _edited(schema: str, drafts: set[str]) -> str | None:
    """Return the text of a schema that is there and that no run would draft; None: there is none."""
    path = tables.local(schema)
    if not path.exists():
        return None
    text = file_text(path)
    return None if text in drafts else text


def _of_edited(schema: str, text: str, columns: Values, infer: Sequence[str]) -> Values:
    """Return the settings that go with an edited schema, or raise if the options contradict it."""
    own = Schema.parse(text, schema)
    wrong = [(cf, "no CF") for cf in columns["cf"] if cf not in own.complementary]
    used = {**own.complementary, **own.ordinary}
    wrong += [(one, "not ignored") for one in columns.get("ignore", ()) if one in used]
    if wrong:
        text = "{file}: column {column!r} is {what} in this schema, which may have been edited: {remedy}"
        remedy = "correct it, or delete the file to draft it anew"
        code, facts = "run-other-schema", {"file": schema, "remedy": remedy}
        raise UsageError(*(Problem(code, text, column=it, what=so, **facts) for it, so in wrong))
    blurred = [one for one in infer if one in own.blurred]
    return {"infer": blurred} if blurred else {}


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


def _stop(found: list[tuple[int, str, str]], schema: str, following: str, *, edited: bool) -> None:
    """Say what to decide in a draft, and how to go on, and exit."""
    problems = []
    for line, column, doubt in found:
        facts = {"file": schema, "line": line, "column": column, "what": doubt}
        text = "{file}: line {line}: {what}"
        if column:
            text = "{file}: line {line}: column {column!r}: {what}"
        if BLURRED.endswith(doubt):
            again = f"run again with {option('infer', column, pasted=True)}"
            facts["remedy"] = "delete the line" if edited else again
            text = text.replace("{what}", PRIVATE)
        problems.append(Problem("draft-doubtful", text, **facts))
    complain(*problems[:PROBLEMS_SHOWN])
    if len(problems) > PROBLEMS_SHOWN:
        more = len(problems) - PROBLEMS_SHOWN
        complain(Problem("more", "and {number:,} more lines with # ?", number=more))
    decide = "decide these lines of the schema, then run"
    if edited:
        decide = "decide these lines, delete their `# ?` comments and run again, or run"
    note(
        f"nothing was imputed: {decide}",
        f"  {following}",
        event="next",
        next=following,
    )
    raise typer.Exit(ExitCode.WRONG_INPUT)
