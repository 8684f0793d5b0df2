"""The table that a command writes, block by block, and in the end all that belongs beside it."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfl_cli.core.quick import dataclass
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import Place, Table, TableWriter, name_of
from cfl_cli.tables.written import TableContent
from cfl_cli.trust.report import Report, Sources

if TYPE_CHECKING:
    from cfl_cli.tables.table_writer import Beside


@dataclass
class Writer:
    """Writes a table in blocks, with all that belongs beside it."""

    table: TableWriter
    report: Path | None  # the report's own file, if it gets one
    diagnostics: Place | None
    final_report: Report | None = None  # as it is in the end

    @property
    def text(self) -> str:
        """Return the text of the report; nothing if there is none."""
        return self.final_report.to_json() + "\n" if self.final_report else ""

    def add(self, frame: Any, source: Table) -> None:
        """Write further rows; `source` is the block that they were made from."""
        self.table.add(frame, source)

    def finish(self, report: Report | None, *, diagnostics: Any = None) -> None:
        """Write the rest; `diagnostics` is a data frame. This must be the last call."""
        beside: dict[Path, Beside] = {}
        place = self.diagnostics
        if report and place and place.path:
            listed = tables.to_bytes(diagnostics, place)
            beside[place.path] = listed
            report = replace(report, sources=with_diagnostics(report.sources, place.path, listed))
        embedded = None
        if report:
            report = replace(report, content=self.table.content)
            self.final_report = report
            # Time and memory differ from run to run; the table's bytes must not.
            embedded = replace(report, timings={}, peak_memory_mb=None).to_json()
        if self.report and report:
            whole = report
            beside[self.report] = lambda written: self._noted(whole, written)
        self.table.finish(report=embedded, beside=beside)

    def _noted(self, report: Report, written: TableContent | None) -> str:
        """Return the text of a report that has a file of its own, and names that of the table."""
        self.final_report = replace(report, content=written)
        return self.text


def with_diagnostics(sources: Sources | None, path: Path, data: bytes) -> Sources:
    """Return where a result came from, with the file of its diagnostics."""
    checksum = sha256(data).hexdigest()
    return replace(sources or Sources(), diagnostics=name_of(path), diagnostics_sha256=checksum)
