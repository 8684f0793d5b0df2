"""What a command leaves behind: the table, its report, the records set aside; or a text.

Whether it can write there is tried before the work, so that nothing is computed in vain.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import typer

from cfl_cli.cli.log import LOG, attention, columns_of, complain, is_terminal, note, print_out, warn
from cfl_cli.cli.pages import Page, render
from cfl_cli.cli.pages.screen import WIDTH, screen
from cfl_cli.core.messages import cells_filled, count, option
from cfl_cli.core.settings import RunSettings
from cfl_cli.errors import CflError, DataError, ExitCode, Problem, ResourceError, UsageError
from cfl_cli.models import Content, is_model
from cfl_cli.tables import files, formats
from cfl_cli.tables import table as tables
from cfl_cli.tables.checksums import TableContent
from cfl_cli.tables.dialect import TextStyle
from cfl_cli.tables.table import STANDARD, Place, Table, TableWriter, file_name
from cfl_cli.trust import verdict_on
from cfl_cli.trust.report import Report, Sources, failing

if TYPE_CHECKING:
    import polars as pl

    from cfl_cli.run.result import Model
    from cfl_cli.tables.table import Beside

# The table that a command writes, block by block, and in the end all that belongs beside it.


@dataclass
class OutputWriter:
    table: TableWriter
    report: Path | None  # the report's own file, if it gets one
    diagnostics: Place | None
    text: str = ""  # of a report that gets none

    def finish(
        self,
        report: Report,
        *,
        diagnostics: Any = None,
        then: Callable[[], object] | None = None,
    ) -> None:
        """Write the rest; `diagnostics` is a data frame. This must be the last call.

        `then` is done when all files are in their places. They go back if it fails.
        """
        beside: dict[Path, Beside] = {}
        place, sources = self.diagnostics, report.sources or Sources()
        if place and place.path:
            listed = beside[place.path] = tables.to_bytes(diagnostics, place)
            checksum = sha256(listed).hexdigest()
            name = file_name(place.path)
            sources = replace(sources, diagnostics=name, diagnostics_sha256=checksum)
            report = replace(report, sources=sources)
        whole = replace(report, content=self.table.content)
        if self.report:

            def noted(written: TableContent | None) -> str:
                return f"{replace(whole, content=written).to_json()}\n"

            beside[self.report] = noted
        else:
            self.text = f"{whole.to_json()}\n"
        # Time and memory differ from run to run; the table's bytes must not.
        embedded = replace(whole, timings={}, peak_memory_mb=None).to_json()
        self.table.finish(report=embedded, beside=beside, then=then)


FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_PLAIN = ("", ".txt")  # endings of names that promise no format


@dataclass(frozen=True)
class Outputs:
    table: Place
    report: Path | None  # the report's own file, if it gets one
    printed: bool  # the report goes to standard output
    rejects: Path | None  # for records that do not fit, if they are to be set aside
    diagnostics: Place | None = None  # which cells to look at, if that is wanted
    reports: bool = True  # there is a report, in a file or inside the table
    style: TextStyle | None = None  # of a text table

    @classmethod
    def of(
        cls, table: Place, report: str | None, *, reject: bool, diagnostics: str | None = None
    ) -> Self:
        listed = _side_file(diagnostics) if diagnostics is not None else None
        printed = report == STANDARD
        if printed and table.path is None:
            text = "OUT and {option} are both standard output: name a file for one"
            raise _refused("out-twice", text, option=option("report"))
        path = tables.local(report) if report and not printed else None
        if report is None and table.path is not None and not table.format.kind.embeds_report:
            path = tables.report_path(table.path)
        rejects = tables.rejects_path(table.path) if reject and table.path else None
        if reject and rejects is None:
            text = "{option} writes records to a file beside OUT: name a file, not -"
            raise _refused("option-needs-file", text, option=option("on_bad_row", "set-aside"))
        return cls(table, path, printed, rejects, listed)

    @classmethod
    def without_report(cls, table: Place, *, reject: bool) -> Self:
        return replace(cls.of(table, None, reject=reject), report=None, reports=False)

    @property
    def paths(self) -> list[Path]:
        listed = self.diagnostics.path if self.diagnostics else None
        paths = (self.table.path, self.report, self.rejects, listed)
        return [path for path in paths if path is not None]

    @property
    def near(self) -> Path | None:
        return self.table.path.resolve().parent if self.table.path else None

    def check(self, *, sources: list[Path | None], overwrite: bool) -> None:
        form = self.table.format
        if self.table.path is None and form.kind.is_binary and is_terminal(sys.stdout):
            text = "not writing binary {format} to a terminal: use --out FILE or a pipe"
            raise _refused("out-binary-terminal", text, format=form.kind.title)
        listed = self.diagnostics.path if self.diagnostics else None
        beside = [path for path in (self.rejects, listed) if path is not None]
        folder = self.table.path if self.table.format == formats.DATA_SET else None
        where: dict[str, Any] = {"files_only": beside, "folder": folder}
        check_targets(self.paths, sources=sources, overwrite=overwrite, **where)
        old = self.table.path and tables.report_path(self.table.path)
        if old and overwrite and any(_same(old, source) for source in sources):
            text = "{file}: this input file would be removed as an old report of {table}: choose another name for {table}"
            raise _refused("out-is-input", text, file=str(old), table=self.table.name)

    def stream(self) -> AbstractContextManager[IO[bytes] | None]:
        carries = self.printed or self.table.path is None
        return files.standard_output() if carries else nullcontext()

    @property
    def readable(self) -> Path | None:
        own = self.table.path and self.report == tables.report_path(self.table.path)
        inside = self.table.format.kind.embeds_report
        return self.table.path if own or (inside and not self.report) else self.report

    def write(
        self,
        frame: Any,
        source: Table,
        *,
        stream: IO[bytes] | None,
        overwrite: bool,
        staging: files.Staging | None = None,
    ) -> None:
        """Write a table without a report, whole or not at all; `staging` is as for `writing`."""
        with self.writing(stream=stream, overwrite=overwrite, staging=staging) as writer:
            writer.table.add(frame, source)
            writer.table.finish()

    @contextmanager
    def writing(
        self,
        *,
        stream: IO[bytes] | None,
        overwrite: bool,
        staging: files.Staging | None = None,
    ) -> Iterator[OutputWriter]:
        """Give a writer of the table and what belongs beside it.

        With a `staging` of other files all take their places together, and `remove_old` is the
        caller's to call.
        """
        with tables.writing(
            self.table,
            rejects=self.rejects,
            stream=stream,
            overwrite=overwrite,
            summed=self.reports,
            style=self.style,
            staging=staging,
        ) as table:
            writer = OutputWriter(table, self.report, self.diagnostics)
            yield writer
        if overwrite and staging is None:
            self.remove_old(rejected=table.rejected)
        if self.printed and stream is not None:
            stream.write(writer.text.encode())

    def remove_old(self, *, rejected: int) -> None:
        """Leave nothing of an earlier run beside the table."""
        unused = [self.rejects] if self.rejects and not rejected else []
        places = {path.resolve() for path in self.paths if path not in unused}
        old = self.table.path and tables.report_path(self.table.path)
        if old and old.resolve() not in places and not self.table.format.kind.embeds_report:
            with suppress(CflError, OSError):  # not a report of ours: let it be
                Report.from_json(files.read(old), name=str(old))
                old.unlink()
        if self.rejects and self.rejects.resolve() not in places and self.rejects.is_file():
            self.rejects.unlink()


def _refused(code: str, text: str, **facts: Any) -> UsageError:
    return UsageError(Problem(code, text, **facts))


def _unfit(code: str, target: Path, what: str, *, more: str = "", **facts: object) -> UsageError:
    text = f"{{file}}: {what}: {{remedy}}"
    shown = {name: str(fact) for name, fact in facts.items()}
    return _refused(code, text, file=str(target), remedy=f"choose another name{more}", **shown)


def _side_file(name: str) -> Place:
    if name == STANDARD:
        text = "{option} is a file beside OUT: name a file, not -"
        raise _refused("option-needs-file", text, option=option("diagnostics"))
    plain = tables.local(name).suffix.lower() in _PLAIN
    try:
        return Place.to_write(name, "csv" if plain else None)
    except UsageError:
        text = "{option}: unknown format: end the name in .csv, .parquet or .jsonl"
        raise _refused("out-format-unknown", text, option=option("diagnostics", name)) from None


def text_target(out: str, sources: list[Path | None], *, overwrite: bool) -> Path | None:
    """Return where a text that the user wants in `out` goes, or raise; None is standard output.

    `sources` are what it is made of; None is standard input.
    """
    if out == STANDARD:
        return None
    path = tables.local(out)
    check_targets([path], sources=sources, overwrite=overwrite)
    return path


def deliver(text: str, target: Path | None, *, overwrite: bool, utf8: bool = False) -> None:
    if target is None:
        print_out(text.encode() if utf8 else text)
    else:
        tables.write_text(text, target, overwrite=overwrite)


def drawn(page: Page[Any], form: str, target: Path | None) -> str:
    """Return a page in a format; for a terminal in its width, in color unless NO_COLOR is set."""
    width = columns_of(sys.stdout) if target is None else None
    return render(page, form, color=bool(width) and "NO_COLOR" not in os.environ, width=width)


def model_target(name: str) -> Path:
    if name == STANDARD:
        text = "{option} writes a file: name one, not -"
        raise _refused("option-needs-file", text, option=option("model"))
    return tables.local(name)


def check_targets(
    targets: list[Path],
    *,
    sources: list[Path | None],
    overwrite: bool,
    files_only: Sequence[Path] = (),
    folder: Path | None = None,
) -> None:
    """Raise unless every target can be written without harm to a source or to another target.

    A source of None is standard input; `files_only` are targets that cannot be standard output;
    `folder` is the one that is a folder of files.
    """
    for number, target in enumerate(targets):
        try:
            others = [*sources, *targets[:number]]
            place = target.resolve()
            where = place.parent
            inside = folder and target != folder and folder.resolve() in place.parents
            if inside:
                what = "is in {folder}, which is written as a whole"
                raise _unfit("out-in-folder", target, what, folder=folder)
            if any(_same(target, source) for source in sources):
                raise _unfit("out-is-input", target, "this is an input file")
            if any(_same(target, other) for other in targets[:number]):
                raise _unfit("out-is-input", target, "two outputs have this name")
            read = (one for one in others if one and one.is_dir())
            around = (one for one in read if one.resolve() in [where, *where.parents])
            for one in around:
                what = "is inside the input folder {folder}"
                raise _unfit("out-in-folder", target, what, folder=one)
            if target == folder:
                from cfl_cli.tables.folders import in_the_way  # few tables are folders

                for other in others:
                    if other and place in other.resolve().parents:
                        what = "the folder contains the input {folder}"
                        raise _unfit("out-in-folder", target, what, folder=other)
                if target.exists() and not target.is_dir():
                    raise _unfit("out-not-a-folder", target, "a file, not a folder")
                if target.exists() and (why := in_the_way(target)):
                    raise _unfit("out-folder-not-ours", target, "{why}", why=why)
            if not where.is_dir():
                text = "{file}: directory {folder} does not exist"
                raise _refused("out-no-directory", text, file=str(target), folder=str(where))
            if target.exists() and not target.is_file() and target != folder:
                more = "" if target in files_only else ", or - for standard output"
                raise _unfit("out-not-a-file", target, "not a regular file", more=more)
            if not overwrite:
                files.refuse_existing([target])
        except (OSError, RuntimeError) as error:  # a name too long, links in a circle
            text = "{file}: cannot be written: {cause}"
            raise _refused("file-unwritable", text, file=str(target), cause=str(error)) from error
    for target in {target.resolve().parent: target for target in reversed(targets)}.values():
        with tried(target, f"directory {target.resolve().parent} is not writable"):
            files.try_to_write(target)
    for target in targets:
        with tried(target, "you may not replace it: it belongs to another user, or is immutable"):
            files.try_to_replace(target)


@contextmanager
def tried(target: Path, forbidden: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in FORBIDDEN:
            raise _unfit("out-forbidden", target, "{why}", why=forbidden) from error
        do = "free some space, or choose another place" if error.errno in _FULL else ""
        text = "{file}: cannot be written: {cause}" + (": {remedy}" if do else "")
        cause = str(error.strerror or error)
        problem = Problem("file-unwritable", text, file=str(target), cause=cause, remedy=do)
        raise ResourceError(problem) from error


def _same(target: Path, other: Path | None) -> bool:
    try:
        if other is None:
            return sys.stdin is not None and os.path.samestat(
                target.stat(), os.fstat(sys.stdin.fileno())
            )
        if target.exists() and other.exists():
            return target.samefile(other)
        return target.resolve() == other.resolve()
    except (OSError, RuntimeError):  # the other one is broken, which its reader will say
        return False


# What a command says on stderr when it is done: what was written, and what to check.


def note_rejects(outputs: Outputs, rejected: int, source: Place) -> None:
    """Say where bad records are."""
    if rejected:
        bad = count(rejected, "bad record")
        attention(f"{outputs.rejects}: {bad} of {source.name} set aside")


def summarise_model(model: "Model", path: Path) -> None:
    rows = "features and confidences of the fitted rows"
    held = rows if model.keeps_rows else "no single rows"
    size = path.stat().st_size
    amount = f"{size / 1e3:,.0f} kB" if size < 1e6 else f"{size / 1e6:,.1f} MB"
    note(f"{path}: {amount}. The model contains {held}")


def summarise(report: Report, out: str, source: Path | None, *, fitted: bool = False) -> None:
    """Say what was imputed, or learned from, and what to check; `source` is where the report is."""
    if LOG.format == "json":
        warn(*report.warnings)
    else:
        warn(*_without_missing(report))
    rows, cfs = count(report.rows, "row"), count(len(report.columns), "CF")
    seconds = sum(report.timings.values())
    event = "fitted" if fitted else "applied" if report.batch else "imputed"
    facts = {"file": out, "rows": report.rows, "cfs": [*report], "seconds": round(seconds, 3)}
    if fitted:
        drawn = f" of {report.sample.of:,}, drawn at random" if report.sample else ""
        note(f"{out}: fitted to {rows}{drawn}, {cfs}", event=event, **facts)
    else:
        note(f"{out}: {rows}, {cfs} in {seconds:.1f} s", event=event, **facts)
    if LOG.format == "json":
        _log_verdicts(report, out)
        return
    if not fitted:
        note("To count values, use `cfl tabulate`: counts of imputed values are biased.")
    width = columns_of(sys.stderr) or WIDTH
    lines = screen(report, source=str(source) if source else None, width=width, rows=False)
    note(*lines.splitlines())


def _without_missing(report: Report) -> list[str]:
    """Return the warnings, with one line for all columns of which missing cells were filled in."""
    filled = {cells_filled(*one) for one in report.missing_cells.items()}
    if len(filled) < 3:
        return [*report.warnings]
    what = f"{len(filled):,} columns had missing cells, which were filled in: --details lists them"
    return [what, *(text for text in report.warnings if text not in filled)]


def _log_verdicts(report: Report, out: str) -> None:
    """Log the verdict of each CF, as data: text has the report."""
    for column in report.columns:
        found = verdict_on(column, report.rows)
        accuracy = column.estimated_accuracy
        note(
            f"{column.name}: {found.sentence}",
            event="verdict",
            file=out,
            rows=report.rows,
            cf=column.name,
            verdict=column.verdict,
            reasons=column.reasons,
            next=column.next,
            accuracy=accuracy and asdict(accuracy),
            flags=column.flags,
            action=column.action,
        )


def warned_of_rejects(report: Report, rejected: int, run: RunSettings) -> Report:
    """Return a report that warns if too many rows were set aside."""
    rows = report.rows + rejected
    if rejected <= run.max_set_aside * rows:
        return report
    share = f"{100 * rejected / rows:.3g} % of {rows:,} rows were set aside"
    limit = f"more than {100 * run.max_set_aside:.3g} %"
    warning = f"{share}, {limit}: all figures are about the remaining rows"
    return replace(report, warnings=(*report.warnings, warning))


def exit_if_failing(
    report: Report, run: RunSettings, *, rejected: int = 0, fitted: Report | None = None
) -> None:
    """Exit with code 3, and say why even if quiet, if the run is to fail on a flag of its report."""
    fail_on = "any" if run.fail_on_flag else run.fail_on
    if fail_on == "any" and rejected > run.max_set_aside * (report.rows + rejected):
        limit = option("max_set_aside", f"{run.max_set_aside:g}")
        complain(f"{count(rejected, 'row')} set aside, more than {limit} allows; exit code 3")
        raise typer.Exit(ExitCode.FLAGGED)
    if fail_on != "never" and (found := failing(report, fail_on, fitted=fitted)):
        named = ", ".join(f"{cf} ({', '.join(flags)})" for cf, flags in found.items())
        complain(f"flagged: {named}; exit code 3, because of {option('fail_on', fail_on)}")
        raise typer.Exit(ExitCode.FLAGGED)


# Reading what a run wrote: the report of a table or a model, and its diagnostics.

DIGITS = 12  # of a checksum in a message


def report_of(name: str) -> Report:
    if name != tables.STANDARD and is_model(tables.local(name)):
        text: str | bytes = Content.read(tables.local(name)).report
    elif name != tables.STANDARD and formats.is_schema(tables.local(name)):
        text = "{file}: this is a schema, not a report: {remedy}"
        remedy = "pass the OUT of `cfl impute`, or its report"
        raise DataError(Problem("report-is-schema", text, file=name, remedy=remedy))
    else:
        text = tables.read_report(name)
    return Report.from_json(text, name=name)


TYPED = "typed"  # the option by which numeric columns of a text table became numbers


def written_as(place: Place, report: Report | None = None) -> dict[str, Any]:
    """Return how a text table that cfl wrote is to be read, by the report beside it if none is given."""
    if place.path is None or not place.format.kind.delimiter:
        return {}
    if report is None:
        with suppress(CflError):  # there is none, or it is damaged
            report = report_of(str(tables.report_path(place.path)))
    said = dict(report.sources.writing) if report and report.sources else {}
    return {name: one for name, one in said.items() if name != TYPED}


def diagnosed(name: str, diagnostics: str | None) -> "tuple[Report, pl.DataFrame]":
    """Return a run's report and what its diagnostics list, from their file if it is named."""
    from cfl_cli.run.diagnostics import read  # loads polars, which help can do without

    report = report_of(name)
    sources = report.sources or Sources()
    place = _side_file(diagnostics or _listed_beside(name, sources, of_batch=bool(report.batch)))
    table = tables.read(place, checksum=True)
    listed = read(table.frame, name=place.name)
    cfs = [column.name for column in report.columns]
    recorded = sources.diagnostics_sha256
    if recorded not in (None, table.sha256):
        why = f" (SHA-256 {(table.sha256 or '')[:DIGITS]}…, recorded {(recorded or '')[:DIGITS]}…)"
    elif not (listed["cf"].is_in(cfs).all() and (listed["row"] <= report.rows).all()):
        why = ", because it lists other CFs or more rows"
    else:
        return report, listed
    text = "{file}: the diagnostics belong to a different run, not to {run}{why}: {remedy}"
    remedy = "name the right file with --diagnostics, or impute again"
    facts = {"run": name, "why": why}
    problem = Problem("diagnostics-of-another-run", text, file=place.name, remedy=remedy, **facts)
    raise DataError(problem)


def side_files(name: str) -> list[Path]:
    """Return the files beside a result that are read with it, whether or not they are there."""
    if name == tables.STANDARD:
        return []
    path = tables.local(name)
    beside = path.with_name(f"{path.name}.report.json")
    with suppress(CflError, OSError, ValueError):  # a name that no file has
        sources = report_of(name).sources
        if sources and sources.diagnostics:
            return [beside, path.with_name(Path(sources.diagnostics).name)]
    return [beside]


def _listed_beside(name: str, sources: Sources, *, of_batch: bool) -> str:
    file = sources.diagnostics
    if file is None and of_batch:
        code, text = (
            "diagnostics-of-batch",
            "{file}: `cfl apply` lists no cells to look at; {remedy}",
        )
        remedy = "in Python, `result.suspects` does"
    elif file is None:
        code, text = "diagnostics-missing", "{file}: the run wrote no diagnostics: {remedy}"
        remedy = "impute again with --diagnostics FILE"
    elif name == tables.STANDARD:
        text = "name the file with {remedy} if the report is standard input"
        way = option("diagnostics")
        raise UsageError(Problem("diagnostics-of-standard-input", text, remedy=way))
    elif file in ("", ".", "..") or "\0" in file or Path(file).name != file:
        code, text = (
            "report-damaged",
            (
                "{file}: not a report of cfl (sources.diagnostics: {value!r} is not the name of a "
                "file without folders): {remedy}"
            ),
        )
        remedy = "name the file with --diagnostics"
    else:
        return str(tables.local(name).with_name(file))
    raise DataError(Problem(code, text, file=name, value=file, remedy=remedy))
