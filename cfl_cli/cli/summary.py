"""What a command says on stderr when it is done: what was written, and what to check."""

from pathlib import Path
from shlex import quote

from cfl_cli.cli.outputs import Outputs
from cfl_cli.cli.streams import attention, note, warn
from cfl_cli.core.messages import count
from cfl_cli.tables.table import Place, Table
from cfl_cli.trust.report import Report


def note_rejects(outputs: Outputs, table: Table, source: Place) -> None:
    """Say where bad records went, if there are any."""
    if table.rejects:
        bad = count(len(table.rejects), "bad record")
        attention(f"{outputs.rejects}: {bad} of {source.name} set aside")


def summarise(report: Report, out: str, source: Path | None) -> None:
    """Say what was imputed and what to check; `source` is where the report is."""
    warn(*report.warnings)
    cfs, seconds = count(len(report.columns), "CF"), sum(report.timings.values())
    note(f"{out}: {report.rows:,} rows, {cfs} in {seconds:.1f} s")
    doubtful = [
        column.name
        for column in report.columns
        if column.estimated_accuracy is None and "exclusions-not-uniform" in column.flags
    ]
    if doubtful:
        attention(
            f"accuracy not known, exclusions are not random (audit it): {', '.join(doubtful)}"
        )
    flagged = [column.name for column in report.columns if column.flagged]
    if flagged:
        what = "kept as observed" if report.kept else "check before use"
        see = f"; see `cfl report {quote(str(source))}`" if source else ""
        attention(f"flagged, {what}: {', '.join(flagged)}{see}")
