"""The two halves of `cfl audit`: rows to check go out, checked rows come back."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from shlex import quote as shell_quote
from typing import Any, TypeAlias

from cfl_cli.cli.checked import read_looked_up
from cfl_cli.cli.inputs import Inputs, load, read_output, read_table, sets_aside, style_of
from cfl_cli.cli.log import LOG, note, warn
from cfl_cli.cli.options import Values
from cfl_cli.cli.outputs import (
    Outputs,
    check_targets,
    deliver,
    drawn,
    log_verdicts,
    note_rejects,
    text_target,
)
from cfl_cli.cli.pages import Field as AnyField
from cfl_cli.cli.pages import Page, interval_text
from cfl_cli.cli.pages.report import audit_notes, flat_audit
from cfl_cli.cli.start import listen
from cfl_cli.commands.audit import job
from cfl_cli.commands.audit.job import DRAW, ROW, Audited, Output, no_more_missing, write_back
from cfl_cli.core.messages import CALLER, Caller, count, option, printable
from cfl_cli.core.settings import RunSettings, Settings, override
from cfl_cli.errors import DataError, Problem, UsageError
from cfl_cli.schema.model import Schema
from cfl_cli.tables import files
from cfl_cli.tables import table as tables
from cfl_cli.tables.dialect import YES, TextStyle
from cfl_cli.tables.formats import DATA_SET
from cfl_cli.tables.table import STANDARD, Place, Table
from cfl_cli.trust.report import WIDTH, Audit, Report

# The page of an audit: a line for each CF, then what the numbers leave open.

_Line: TypeAlias = tuple[str, Audit]  # the CF's name
_Field: TypeAlias = AnyField[_Line]

_FIELDS = (
    _Field("CF", lambda line: printable(line[0]), folds=True, style=lambda _: "bold"),
    _Field("answers", lambda line: f"{line[1].answers:,}", right=True),
    _Field("checked", lambda line: f"{line[1].checked:,}", right=True),
    _Field("correct", lambda line: f"{line[1].right:,}", right=True),
    _Field("accuracy", lambda line: interval_text(line[1].accuracy)),
    _Field("estimated", lambda line: interval_text(line[1].estimate)),
    _Field(
        "valid",
        lambda line: {None: "-", True: "yes", False: "no"}[line[1].estimate_held],
        style=lambda line: "yellow" if line[1].estimate_held is False else "",
    ),
)


def page(audited: Audited) -> Page[_Line]:
    lines = [*audited.audits.items()]
    notes = [f"{printable(cf)}: {note}" for cf, one in lines for note in audit_notes(one)]
    notes += [f"{printable(cf)}: no imputed value was checked." for cf in audited.unchecked]
    files = ", ".join(audited.files)
    notes += [
        f"{printable(cf)}: not audited, because {files} lacks its column." for cf in audited.absent
    ]
    more = [f"{audit.more_rows:,} ({printable(cf)})" for cf, audit in lines if audit.more_rows]
    if more:
        notes.append(f"For an interval {WIDTH:g} wide, check about {', '.join(more)} more rows.")
    if audited.larger:
        drawn, seed = option("draw", audited.larger.rows), option("seed", audited.larger.seed)
        python = CALLER.get() is Caller.PYTHON
        notes.append(
            f"To extend the draw: {drawn}{',' if python else ''} {seed} includes the rows that you "
            f"already checked, as long as {'the result' if python else 'OUT'} stays the same. Check "
            f"the new rows, then pass both {'tables' if python else 'files'} with {option('checked')}."
        )
    notes.append(
        "The accuracy is that of all imputed values in the table, including exact cells. It does "
        "not depend on how cells were filled in."
    )
    notes += [
        f"{printable(cf)}: the estimate before the audit was {audit.estimate_was}. Do not rely on "
        "the report's other figures for this CF."
        for cf, audit in lines
        if audit.estimate_was
    ]
    return Page(
        title=f"{count(audited.rows, 'row')}, {count(len(lines), 'CF')} audited",
        fields=_FIELDS,
        facts=lines,
        notes=notes,
        records=[{"name": cf, **flat_audit(audit)} for cf, audit in lines],
        json=audited.to_json(),
    )


_VALUES_SHOWN = 20  # of a domain
READING_BACK = {"checked", "into", "checked_format", "checked_encoding", "into_format"}


@dataclass(frozen=True)
class _Asked:
    answers: str
    out: str | None
    options: Values
    given: Values

    def __post_init__(self) -> None:
        draw = {"draw", "key", "show_answers"} & {*self.options}
        check = READING_BACK & {*self.options}
        named = self.options.get("checked", [])
        facts = {}
        if self.answers == STANDARD:
            code, text = "option-needs-file", "OUT: name a file, not -: {remedy}"
            facts = {"remedy": "its report is read, too"}
        elif not {"draw", "checked"} & {*self.options}:
            code = "option-missing"
            text = "add --draw N to draw rows to check, or --checked FILE to read them back"
        elif draw and check:
            code, text = "option-conflict", "{one} and {other} do not go together: {remedy}"
            one, other = (f"--{min(names).replace('_', '-')}" for names in (draw, check))
            remedy = "draw rows, fill them in, then read them back"
            facts = {"one": one, "other": other, "remedy": remedy}
        elif draw and self.options.get("format", "table") != "table":
            code, text = "option-conflict", "--format: applies to the result of the audit: {remedy}"
            facts = {"remedy": "for rows to check, use --output-format"}
        elif "into" in self.options and "schema" not in self.options:
            code = "option-needs-other"
            text = "--into needs --schema, whose `exact` mark is written into the cells"
        elif "into" in self.options and self.out is None:
            code, text = "option-needs-other", "--into needs --out FILE, to write the table"
        elif len({*named}) < len(named):
            code, text = "option-repeated", "--checked: names the same file twice"
        elif self.options.get("report") == STANDARD:
            code, text = "option-needs-file", "--report: name a file, not -"
        else:
            return
        raise UsageError(Problem(code, text, **facts))

    @cached_property
    def inputs(self) -> Inputs | None:
        schema = self.options.get("schema")
        return load(schema, self.given) if schema else None

    @property
    def schema(self) -> Schema | None:
        return self.inputs.schema if self.inputs else None

    @cached_property
    def settings(self) -> tuple[Settings, RunSettings]:
        if self.inputs:
            return self.inputs.settings, self.inputs.limits
        chosen, run = override(Settings(), RunSettings(), self.given)
        LOG.verbose, LOG.format = run.verbose, run.log_format
        return chosen, run

    @cached_property
    def place(self) -> Place:
        return Place.to_read(self.answers, self.options.get("input_format"))

    @cached_property
    def table(self) -> Table:
        return read_output(self.place, self.schema.file if self.schema else None)

    def output(self) -> Output:
        asked = self.options.get("report")
        source = asked if asked and files.exists(tables.local(asked)) else self.answers
        path = self.place.path
        if source == self.answers and path and not self.place.format.kind.embeds_report:
            beside = tables.report_path(path)
            if files.exists(path) and not files.exists(beside):
                text = "{file}: no report: expected {name} beside it, or add --report FILE"
                raise DataError(Problem("report-missing", text, file=path, name=beside.name))
        report = Report.from_json(tables.read_report(source), name=source)
        return job.read_answers(self.table.frame, report, self.schema, name=self.place.name)

    @property
    def own_files(self) -> list[Path | None]:
        out, named = self.place.path, self.options.get("report")
        beside = [out, tables.report_path(out)] if out else []
        return [*beside, *([tables.local(named)] if named else [])]

    @property
    def sources(self) -> list[Path | None]:
        named = [*self.options.get("checked", []), self.options.get("into")]
        paths = [None if name == STANDARD else tables.local(name) for name in named if name]
        if paths.count(None) > 1:
            text = "only one of the files can be standard input: {remedy}"
            raise UsageError(Problem("stdin-twice", text, remedy="name the others"))
        schema = self.options.get("schema")
        return [*paths, *([tables.local(schema)] if schema else [])]


def _draw(asked: _Asked) -> None:
    settings, run = asked.settings
    target = Place.to_write(asked.out or STANDARD, asked.options.get("output_format"))
    outputs = Outputs.without_report(target, reject=False)
    outputs.check(sources=[*asked.own_files, *asked.sources], overwrite=run.overwrite)
    outputs = replace(outputs, style=style_of(asked.options, target, target, Table(None)))
    with outputs.stream() as stream:
        rows = job.draw(
            asked.output(),
            asked.options["draw"],
            cfs=asked.options.get("cf", []),
            keys=asked.options.get("key", []),
            show_answers=asked.options.get("show_answers", False),
            seed=settings.seed,
        )
        tables.check_holds(Table(rows.frame), target)
        outputs.write(rows.frame, Table(rows.frame), stream=stream, overwrite=run.overwrite)
    if run.quiet:
        return
    cfs = count(len(rows.answers), "CF")
    note(
        f"{target.name}: {rows.frame.height:,} of {rows.of:,} rows drawn, {cfs} to fill in",
        event="drawn",
        file=target.name,
        rows=rows.frame.height,
        cfs=[one.cf for one in rows.answers],
    )
    for answers in rows.answers:
        more = len(answers.values) - _VALUES_SHOWN
        rest = f" and {more:,} more" if more > 0 else ""
        values = ", ".join(answers.values[:_VALUES_SHOWN]) + rest
        if answers.is_whole:
            said = f"values of {answers.cf}: {values}"
        else:
            said = f"values imputed for {answers.cf}: {values} (--schema FILE lists all)"
        note(printable(said), event="values", cf=answers.cf, values=[*answers.values])
    options = {**asked.options, "checked_format": asked.options.get("output_format")}
    words = ["cfl", "audit", asked.answers, "--checked", target.name if target.path else "FILE"]
    for name in ("checked_format", "schema", "report", "input_format"):
        if options.get(name):
            words += [f"--{name.replace('_', '-')}", options[name]]
    for cf in options.get("cf", []):
        words += ["--cf", cf]
    note(
        f"fill in the true values, leave unknown ones empty, and keep {ROW} and {DRAW}",
        f"then: {' '.join(map(shell_quote, words))}",
        event="next",
        next=" ".join(map(shell_quote, words)),
    )


def _read_back(asked: _Asked) -> None:
    _, run = asked.settings
    sources, into = asked.sources, asked.options.get("into")
    report = _report_place(asked, sources)
    text_out = None if into else asked.out
    target = text_target(
        text_out or STANDARD, [*sources, *asked.own_files], overwrite=run.overwrite
    )
    merged = None
    if into:
        place = Place.to_write(str(asked.out), asked.options.get("output_format"))
        merged = Outputs.without_report(place, reject=sets_aside(asked.options))
        merged.check(sources=[*sources, *asked.own_files], overwrite=run.overwrite)
    output = asked.output()
    audited = job.audit(
        output,
        {name: _checked(name, asked.options) for name in asked.options["checked"]},
        cfs=asked.options.get("cf", []),
        missing_in=asked.schema.missing_in if asked.schema else no_more_missing,
    )
    shown = drawn(page(audited), asked.options.get("format", "table"), target)
    said: list[Callable[[], object]] = []
    with files.Staging(overwrite=run.overwrite, updated=[report]) as staging:
        if merged and asked.schema:
            said = _write_back(asked, asked.schema, merged, output, audited, staging)
        if target is not None:
            with staging.file(target) as file:
                file.write(shown.encode())
        text = audited.report.to_json()
        if report == asked.place.path:
            table = asked.table
            tables.write(table.frame, asked.place, report=text, source=table, staging=staging)
        else:
            with staging.file(report) as file:
                file.write(f"{text}\n".encode())
    for say in said:
        say()
    if target is None and (merged is None or merged.table.path is not None):
        deliver(shown, None, overwrite=run.overwrite)
    if not run.quiet:
        updated = f"{report}: updated; see `cfl report {shell_quote(str(report))}`"
        note(updated, event="audited", file=str(report))
        if LOG.format == "json":
            log_verdicts(audited.report, str(report))
        note(*_next_step(asked, merged, audited), event="next")


def _next_step(asked: _Asked, merged: Outputs | None, audited: Audited) -> Iterator[str]:
    schema = asked.schema
    if merged and merged.table.path:
        words = ["cfl", "impute", merged.table.name, "--schema", asked.options["schema"]]
        if "output_format" in asked.options:
            words += ["--input-format", asked.options["output_format"]]
        words += _as_written(merged.style, schema)
        yield f"next: {' '.join(map(shell_quote, words))} --out OUT2"
    elif merged is None and (
        schema is None or any(schema.complementary[cf].exact for cf in audited.audits)
    ):
        file = shell_quote(asked.options["schema"]) if schema else "S"
        yield (
            f"next: add --into DATA --schema {file} --out DATA2 to write the values back as "
            "exact cells; the next run learns from them"
        )


def _as_written(style: TextStyle | None, schema: Schema | None) -> list[str]:
    """Return the options that read a text table where the schema's `file` says other ones."""
    if schema is None or style is None:
        return []
    file, usual = schema.file, TextStyle(",")
    names: dict[str, str] = {"\t": "tab"}
    return (
        [
            word
            for name, sign in style._asdict().items()
            if sign != (getattr(file, name) or getattr(usual, name))
            for word in (f"--{name}", str(names.get(sign, sign)))
        ]
        + (["--escape", "none"] if file.escape not in (None, "none") else [])
        + ["--no-trim-cells"] * (file.trim_cells == YES)
    )


def _checked(name: str, options: Values) -> Any:
    encoding = options.get("checked_encoding")
    place = Place.to_read(name, options.get("checked_format"), option="--checked-format")
    return read_looked_up(place, ROW, encoding=encoding, option="checked_encoding")


def _report_place(asked: _Asked, sources: list[Path | None]) -> Path:
    named, out = asked.options.get("report"), asked.place.path
    if named:
        path = tables.local(named)
    elif out is not None and not asked.place.format.kind.embeds_report:
        path = tables.report_path(out)
    else:
        path = tables.local(asked.answers)
    others = [*sources, *([out] if named else [])]
    whole = path if asked.place.format == DATA_SET and path == out else None
    check_targets([path], sources=others, overwrite=True, files_only=[path], folder=whole)
    return path


def _write_back(
    asked: _Asked,
    schema: Schema,
    merged: Outputs,
    output: Output,
    audited: Audited,
    staging: files.Staging,
) -> list[Callable[[], object]]:
    """Stage the table with the values written back; return what is to be done when it is there."""
    run = asked.settings[1]
    source = Place.to_read(
        asked.options["into"], asked.options.get("into_format"), option="--into-format"
    )
    with merged.stream() as stream:
        table: Table = read_table(source, asked.options, schema, may_set_aside=True)
        tables.check_holds(table, merged.table)
        style = style_of(asked.options, merged.table, source, table, schema.file)
        merged = replace(merged, style=style)
        frame, written = write_back(table.frame, output, audited.checked, schema, name=source.name)
        merged.write(frame, table, stream=stream, overwrite=run.overwrite, staging=staging)
    rejected = len(table.rejects)
    steps: list[Callable[[], object]] = []
    if run.overwrite:
        steps.append(partial(merged.remove_old, rejected=rejected))
    if run.quiet:
        return steps
    cells = ", ".join(f"{number:,} of {cf}" for cf, number in written.items())
    rows = f"{merged.table.name}: {len(table.frame):,} rows, exact cells: {cells}"
    steps += [partial(note_rejects, merged, rejected, source), partial(note, printable(rows))]
    wrong = sum(audit.contradicted or 0 for audit in audited.audits.values())
    if wrong:
        steps.append(partial(warn, f"{count(wrong, 'cell')} had ruled out the true value"))
    return steps


def run_audit(answers: str, out: str | None, given: Values, options: Values) -> None:
    listen()
    (_read_back if "checked" in options else _draw)(_Asked(answers, out, options, given))
