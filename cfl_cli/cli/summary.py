"""What a command says on stderr when it is done: what was written, and what to check."""

import codecs
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from cfl_cli.cli.outputs import Outputs
from cfl_cli.cli.streams import attention, note, warn
from cfl_cli.core.messages import count
from cfl_cli.schema.file import TextFile
from cfl_cli.tables.table import Place
from cfl_cli.trust.report import Report

if TYPE_CHECKING:
    from cfl_cli.jobs.kept import Kept


def note_rejects(outputs: Outputs, rejected: int, source: Place) -> None:
    """Say where bad records went, if there are any."""
    if rejected:
        bad = count(rejected, "bad record")
        attention(f"{outputs.rejects}: {bad} of {source.name} set aside")


def note_signs(target: Place, source: Place, file: TextFile | None) -> None:
    """Say that text is written as usual, if the table that was read is not."""
    sign = target.format.kind.delimiter
    if not sign or not source.format.kind.delimiter or file is None:
        return
    usual = (file.delimiter or sign, codecs.lookup(file.encoding or "utf-8").name)
    if usual != (sign, "utf-8"):
        between = "commas" if sign == "," else "tabs"
        note(f"{target.name}: text with {between} in UTF-8, whatever `file` in the schema says")


def summarise_model(model: "Kept", path: Path) -> None:
    """Say what was kept."""
    rows = (
        "features and confidences of the fitted rows"
        if model.keeps_rows
        else "nothing of any single row"
    )
    note(f"{path}: a model of {_size(path.stat().st_size)}, which holds {rows}")


def _size(size: int) -> str:
    """Return a number of bytes in the unit that suits it."""
    return f"{size / 1e3:,.0f} kB" if size < 1e6 else f"{size / 1e6:,.1f} MB"


def summarise_fit(report: Report, path: Path) -> None:
    """Say what was learned from and what to check; `path` is where the model is."""
    warn(*report.warnings)
    drawn = f" of {report.sample.of:,}, drawn at random" if report.sample else ""
    note(f"{path}: fitted to {report.rows:,} rows{drawn}, {count(len(report.columns), 'CF')}")
    _check_before_use(report, path)


def summarise(report: Report, out: str, source: Path | None) -> None:
    """Say what was imputed and what to check; `source` is where the report is."""
    warn(*report.warnings)
    cfs, seconds = count(len(report.columns), "CF"), sum(report.timings.values())
    note(f"{out}: {report.rows:,} rows, {cfs} in {seconds:.1f} s")
    _check_before_use(report, source)


def _check_before_use(report: Report, source: Path | None) -> None:
    """Say what to check; `source` is where the report is."""
    drifted = [column.name for column in report.columns if "drifted" in column.flags]
    if drifted:
        attention(f"new cells are predicted worse than those at fitting: {', '.join(drifted)}")
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
