"""What a command leaves behind: the table, its report, the records set aside; or a text.

Whether it may write there is asked before the work, so that nothing is computed in vain.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Self

from cfl_cli.cli.show import render
from cfl_cli.cli.show.page import Page
from cfl_cli.cli.streams import is_terminal, print_out
from cfl_cli.errors import CflError, UsageError
from cfl_cli.tables import files
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import STANDARD, Place, Table, TableWriter
from cfl_cli.trust.report import Report

LIST_ENDINGS = ("", ".csv", ".txt")  # of names that promise no format but CSV


@dataclass(frozen=True)
class Outputs:
    """Where everything goes."""

    table: Place
    report: Path | None  # the report's own file, if it gets one
    printed: bool  # the report goes to standard output
    rejects: Path | None  # for records that do not fit, if they are to be set aside
    suspects: Path | None = None  # the list of suspect cells, if it is wanted

    @classmethod
    def of(
        cls, table: Place, report: str | None, *, reject: bool, suspects: str | None = None
    ) -> Self:
        """Return where everything goes where the user says so."""
        listed = _list(suspects) if suspects is not None else None
        printed = report == STANDARD
        if printed and table.path is None:
            raise UsageError("OUT and --report are both standard output: name a file for one")
        path = tables.local(report) if report and not printed else None
        if report is None and table.path is not None and not table.format.embeds_report:
            path = tables.report_path(table.path)
        return cls(table, path, printed, _rejects(table, reject=reject), listed)

    @classmethod
    def without_report(cls, table: Place, *, reject: bool) -> Self:
        """Return where everything goes when there is no report."""
        return cls(table, None, printed=False, rejects=_rejects(table, reject=reject))

    @property
    def paths(self) -> list[Path]:
        """The files that a run may write."""
        paths = (self.table.path, self.report, self.rejects, self.suspects)
        return [path for path in paths if path is not None]

    @property
    def streams(self) -> bool:
        """Whether standard output carries data."""
        return self.printed or self.table.path is None

    def check(self, *, sources: list[Path | None], overwrite: bool) -> None:
        """Raise unless everything can be written without harm to a source; None is stdin."""
        form = self.table.format
        if self.table.path is None and form.kind.is_binary and is_terminal(sys.stdout):
            raise UsageError(
                f"not writing binary {form.kind.title} to a terminal: use --out FILE or a pipe"
            )
        files_only = [path for path in (self.rejects, self.suspects) if path is not None]
        check_targets(self.paths, sources=sources, overwrite=overwrite, files_only=files_only)
        old = self.table.path and tables.report_path(self.table.path)
        if old and overwrite and any(_same(old, source) for source in sources):
            raise UsageError(
                f"{old}: is read, but would be removed as an old report of {self.table.name}: name "
                "another file"
            )

    @contextmanager
    def stream(self) -> Iterator[IO[bytes] | None]:
        """Give standard output for data alone, if it carries any."""
        if not self.streams:
            yield None
            return
        with files.standard_output() as stream:
            yield stream

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
        suspects: str = "",
        stream: IO[bytes] | None,
        overwrite: bool,
    ) -> None:
        """Write everything, whole or not at all; `suspects` is the list's text."""
        with self.writing(stream=stream, overwrite=overwrite) as writer:
            writer.add(frame, source)
            writer.finish(report, suspects=suspects)

    @contextmanager
    def writing(self, *, stream: IO[bytes] | None, overwrite: bool) -> Iterator["Writer"]:
        """Give what writes everything, block by block; it is in place when the block has ended."""
        with tables.writing(
            self.table, rejects=self.rejects, stream=stream, overwrite=overwrite
        ) as table:
            writer = Writer(self, table)
            yield writer
        if overwrite:
            written = [path for path in (self.report, self.suspects) if path is not None]
            if self.rejects and table.rejected:
                written.append(self.rejects)
            self._tidy(written)
        if self.printed and stream is not None:
            stream.write(writer.text.encode())

    def _tidy(self, written: Sequence[Path]) -> None:
        """Remove what an earlier run left beside the table and what is no longer true of it."""
        places = {path.resolve() for path in written}
        old = self.table.path and tables.report_path(self.table.path)
        if old and old.resolve() not in places and not self.table.format.embeds_report:
            with suppress(CflError, OSError):  # not a report of ours: let it be
                Report.from_json(files.read(old), name=str(old))
                old.unlink()
        if self.rejects and self.rejects.resolve() not in places and self.rejects.is_file():
            self.rejects.unlink()


@dataclass
class Writer:
    """Writes a table in blocks, with all that belongs beside it."""

    outputs: Outputs
    table: TableWriter
    text: str = ""  # of the report

    def add(self, frame: Any, source: Table) -> None:
        """Write further rows; `source` is the block that they were made from."""
        self.table.add(frame, source)

    def finish(self, report: Report | None, *, suspects: str = "") -> None:
        """Write the rest; `suspects` is the list's text. This must be the last call."""
        # Time and memory differ from run to run; the table's bytes must not.
        embedded = replace(report, timings={}, peak_memory_mb=None).to_json() if report else None
        self.text = report.to_json() + "\n" if report else ""
        beside = {self.outputs.report: self.text} if self.outputs.report else {}
        if self.outputs.suspects:
            beside[self.outputs.suspects] = suspects
        self.table.finish(report=embedded, beside=beside)


def _list(name: str) -> Path:
    """Return where the list of suspect cells goes, or raise if its name promises another format."""
    if name == STANDARD:
        raise UsageError("--suspects writes a file beside OUT: name a file, not -")
    path = tables.local(name)
    if path.suffix.lower() not in LIST_ENDINGS:
        raise UsageError(f"--suspects {name}: suspects are written as CSV: end the name in .csv")
    return path


def _rejects(table: Place, *, reject: bool) -> Path | None:
    """Return where records that do not fit go, if they are to be set aside."""
    if not reject:
        return None
    if table.path is None:
        raise UsageError(
            "--on-bad-row set-aside writes records to a file beside OUT: name a file, not -"
        )
    return tables.rejects_path(table.path)


def text_target(out: str, sources: list[Path | None], *, overwrite: bool) -> Path | None:
    """Return where a text that the user wants in `out` goes, or raise; None is standard output.

    `sources` are what it is made of; None is standard input.
    """
    if out == STANDARD:
        return None
    path = tables.local(out)
    check_targets([path], sources=sources, overwrite=overwrite)
    return path


def deliver(text: str, target: Path | None, *, overwrite: bool) -> None:
    """Write `text` where `text_target` said."""
    if target is None:
        print_out(text)
    else:
        tables.write_text(text, target, overwrite=overwrite)


def drawn(page: Page[Any], form: str, target: Path | None) -> str:
    """Return a page in a format; for a terminal in its width, in color unless NO_COLOR is set."""
    terminal = target is None and is_terminal(sys.stdout)
    return render(
        page,
        form,
        color=terminal and "NO_COLOR" not in os.environ,
        width=os.get_terminal_size(sys.stdout.fileno()).columns if terminal else None,
    )


def model_target(name: str) -> Path:
    """Return where a model goes, or raise: it is a file of its own."""
    if name == STANDARD:
        raise UsageError("--model writes a file: name one, not -")
    return tables.local(name)


def check_targets(
    targets: list[Path],
    *,
    sources: list[Path | None],
    overwrite: bool,
    files_only: Sequence[Path] = (),
) -> None:
    """Raise unless every target can be written without harm to a source or to another target.

    A source of None is standard input; `files_only` are targets that cannot be standard output.
    """
    for number, target in enumerate(targets):
        try:
            others = [*sources, *targets[:number]]
            way_out = "" if target in files_only else ", or - for standard output"
            _check_target(target, others, overwrite=overwrite, way_out=way_out)
        except (OSError, RuntimeError) as error:  # a name too long, links in a circle
            raise UsageError(f"{target}: cannot be written: {error}") from error


def _check_target(
    target: Path, others: list[Path | None], *, overwrite: bool, way_out: str
) -> None:
    folder = target.resolve().parent
    if any(_same(target, other) for other in others):
        raise UsageError(f"{target}: would be read and written, or written twice: name another")
    if not folder.is_dir():
        raise UsageError(f"{target}: directory {folder} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{target}: directory {folder} is not writable: name another")
    if target.exists() and not target.is_file():
        raise UsageError(f"{target}: not a regular file: name another{way_out}")
    if not overwrite:
        files.refuse_existing([target])


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
