"""Reading what a run wrote: the report of a table or a model, and its diagnostics."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cfl_cli.cli.outputs import side_file
from cfl_cli.core.messages import option
from cfl_cli.errors import CflError, DataError, Problem, UsageError
from cfl_cli.models import Content, is_model
from cfl_cli.tables import formats
from cfl_cli.tables import table as tables
from cfl_cli.trust.report import Report, Sources

if TYPE_CHECKING:
    import polars as pl

DIGITS = 12  # of a checksum in a message


def report_of(name: str) -> Report:
    """Return the report of a table, of a model, or in a file of its own."""
    if name != tables.STANDARD and is_model(tables.local(name)):
        text: str | bytes = Content.read(tables.local(name)).report
    elif name != tables.STANDARD and formats.is_schema(tables.local(name)):
        raise DataError(
            Problem(
                "report-is-schema",
                "{file}: this is a schema, not a report: {remedy}",
                file=name,
                remedy="pass the OUT of `cfl impute`, or its report",
            )
        )
    else:
        text = tables.read_report(name)
    return Report.from_json(text, name=name)


def diagnosed(name: str, diagnostics: str | None) -> "tuple[Report, pl.DataFrame]":
    """Return a run's report and what its diagnostics list, from their file if it is named."""
    from cfl_cli.run.diagnostics import read  # loads polars, which help can do without

    report = report_of(name)
    sources = report.sources or Sources()
    place = side_file(diagnostics or str(_beside(name, sources, is_batch=report.batch is not None)))
    table = tables.read(place, checksum=True)
    listed = read(table.frame, name=place.name)
    cfs = [column.name for column in report.columns]
    recorded = sources.diagnostics_sha256
    if recorded not in (None, table.sha256):
        why = f" (SHA-256 {(table.sha256 or '')[:DIGITS]}…, recorded {(recorded or '')[:DIGITS]}…)"
    elif not (listed["cf"].is_in(cfs).all() and (listed["row"] <= report.rows).all()):
        why = ", as it lists other CFs or more rows"
    else:
        return report, listed
    raise DataError(
        Problem(
            "diagnostics-of-another-run",
            "{file}: not the diagnostics of the run that wrote {run}{why}: {remedy}",
            file=place.name,
            run=name,
            why=why,
            remedy="name the right file with --diagnostics, or impute again",
        )
    )


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


def _beside(name: str, sources: Sources, *, is_batch: bool) -> Path:
    file = sources.diagnostics
    if file is None and is_batch:
        raise DataError(
            Problem(
                "diagnostics-of-batch",
                "{file}: `cfl apply` lists no cells to look at; {remedy}",
                file=name,
                remedy="in Python, `result.suspects` does",
            )
        )
    if file is None:
        raise DataError(
            Problem(
                "diagnostics-missing",
                "{file}: its run wrote no diagnostics: {remedy}",
                file=name,
                remedy="impute again with --diagnostics FILE",
            )
        )
    if name == tables.STANDARD:
        raise UsageError(
            Problem(
                "diagnostics-of-standard-input",
                "name the file with {remedy} if the report is standard input",
                remedy=option("diagnostics"),
            )
        )
    if file in ("", ".", "..") or "\0" in file or Path(file).name != file:
        raise DataError(
            Problem(
                "report-damaged",
                "{file}: not a report of cfl (sources.diagnostics: {value!r} is not the name of a "
                "file without folders): {remedy}",
                file=name,
                value=file,
                remedy="name the file with --diagnostics",
            )
        )
    return tables.local(name).with_name(file)
