"""What a run leaves behind: the table, its report if there is one, the records set aside."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Self

from cfl_cli.errors import CflError, UsageError
from cfl_cli.tables import files
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import STANDARD, Place, Table
from cfl_cli.trust.report import Report


@dataclass(frozen=True)
class Outputs:
    """Where everything goes."""

    table: Place
    report: Path | None  # the report's own file, if it gets one
    printed: bool  # the report goes to standard output
    rejects: Path | None  # for records that do not fit, if they are to be set aside

    @classmethod
    def of(cls, table: Place, report: str | None, *, reject: bool) -> Self:
        """Return where everything goes when the user says so much."""
        printed = report == STANDARD
        if printed and table.path is None:
            raise UsageError("OUT and --report are both standard output: name a file for one")
        path = tables.local(report) if report and not printed else None
        if report is None and table.path is not None and not table.format.embeds_report:
            path = tables.report_path(table.path)
        return cls(table, path, printed, _rejects(table, reject=reject))

    @classmethod
    def without_report(cls, table: Place, *, reject: bool) -> Self:
        """Return where everything goes when there is nothing to report."""
        return cls(table, None, printed=False, rejects=_rejects(table, reject=reject))

    @property
    def paths(self) -> list[Path]:
        """The files that a run may write."""
        return [path for path in (self.table.path, self.report, self.rejects) if path is not None]

    @property
    def streams(self) -> bool:
        """Whether standard output carries data."""
        return self.printed or self.table.path is None

    @property
    def readable(self) -> Path | None:
        """What `cfl report` can read."""
        return self.report or (self.table.path if self.table.format.embeds_report else None)

    def write(
        self,
        frame: Any,
        source: Table,
        report: Report | None = None,
        *,
        stream: IO[bytes] | None,
        overwrite: bool,
    ) -> None:
        """Write everything, whole or not at all."""
        # Time and memory differ from run to run; the table's bytes must not.
        embedded = replace(report, timings={}, peak_memory_mb=None).to_json() if report else None
        text = report.to_json() + "\n" if report else ""
        beside = {self.report: text} if self.report else {}
        if self.rejects and source.rejects:
            beside[self.rejects] = tables.rejects_text(source.rejects)
        tables.write(
            frame,
            self.table,
            report=embedded,
            source=source,
            beside=beside,
            stream=stream,
            overwrite=overwrite,
        )
        if overwrite:
            self._tidy(beside)
        if self.printed and stream is not None:
            stream.write(text.encode())

    def _tidy(self, written: dict[Path, str]) -> None:
        """Remove what an earlier run left beside the table and what is no longer true of it."""
        places = {path.resolve() for path in written}
        old = self.table.path and tables.report_path(self.table.path)
        if old and old.resolve() not in places and not self.table.format.embeds_report:
            with suppress(CflError, OSError):  # it is no report of ours: let it be
                Report.from_json(files.read(old), name=str(old))
                old.unlink()
        if self.rejects and self.rejects.resolve() not in places and self.rejects.is_file():
            self.rejects.unlink()


def _rejects(table: Place, *, reject: bool) -> Path | None:
    """Return where records that do not fit go, if they are to be set aside."""
    if not reject:
        return None
    if table.path is None:
        raise UsageError("--on-bad-row reject puts records beside OUT: name a file, not -")
    return tables.rejects_path(table.path)
