"""Progress of a whole run on stderr: a bar on a terminal, lines elsewhere, none if it is quick."""

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cfl_cli.cli.log import LOG, Log
from cfl_cli.cli.outlook import Outlook
from cfl_cli.core.leaving import farewell
from cfl_cli.core.messages import count
from cfl_cli.core.stages import Expected, Stage
from cfl_cli.core.team import Team

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.table import Table

PATIENCE = 1.0  # seconds of work before anything is shown
INTERVAL = 5.0  # seconds between lines
BAR = 14  # columns: in 80 of them there is room for every stage


class Display:
    """A progress callback that shows itself on stderr within a `with` block."""

    def __init__(
        self, *, quiet: bool, log: Log = LOG, clock: Callable[[], float] = monotonic
    ) -> None:
        self.quiet, self.log, self.clock = quiet, log, clock
        self.outlook = Outlook(clock)
        self.spoke: float | None = None  # when the last line was written
        self.live: Live | None = None
        self.team: Team | None = None
        self.stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.outlook.end()
        if self.live is not None:
            self.stack.close()
            self.live.stop()
        elif self.spoke is not None and kind is None:
            self.log.progress("done", f"100 % of the run in {_time(self.outlook.elapsed)}")

    def expect(self, stages: Sequence[Expected]) -> None:
        """Take note of all stages that are to come."""
        self.outlook.expect(stages)

    def meet(self, team: Team) -> None:
        """Take note of who is at work, beside this process."""
        self.team = team

    def tell(self, text: str) -> None:
        """Say something that is worth knowing while a run lasts."""
        if not self.quiet:
            self.log.note(text)

    def __call__(self, stage: Stage, done: int, total: int) -> None:
        """Take note that `done` of the stage's `total` rows, steps or models are done."""
        self.outlook.note(stage, done, total)
        if self.quiet or self.outlook.elapsed < PATIENCE:
            return
        if self.log.format == "text" and sys.stderr.isatty():
            if self.live is None:
                self.live = _start_bar(self.outlook, self.team)
                self.stack.enter_context(farewell(self.live.stop))  # the cursor is hidden
        elif self.spoke is None or self.clock() - self.spoke >= INTERVAL:
            self.spoke = self.clock()
            left = f", about {_left(self.outlook)}" if self.outlook.is_known else ""
            workers = len(self.team.at_work) if self.team else 0
            who = f", {count(workers, 'worker')}" if workers else ""
            share = f"{100 * self.outlook.share:.0f} % of the run"
            self.log.progress(str(stage), f"{share}{left}{who}")


def _start_bar(outlook: Outlook, team: Team | None) -> "Live":
    """Show a bar that reads the outlook whenever it is drawn, and who is at work below it."""
    from rich.console import Console  # noqa: PLC0415 — on a terminal only, and then there is time
    from rich.live import Live  # noqa: PLC0415 — the same

    def drawn() -> "RenderableType":
        return _bar(outlook) if team is None else _with_team(_bar(outlook), team)

    live = Live(get_renderable=drawn, console=Console(stderr=True), transient=True)
    live.start()
    return live


def _with_team(bar: "Table", team: Team) -> "RenderableType":
    """Return the bar, and below it who is at work."""
    from rich.console import Group  # noqa: PLC0415 — the same
    from rich.text import Text  # noqa: PLC0415 — the same

    return Group(bar, Text(team.in_words(), no_wrap=True, overflow="ellipsis"))


def _bar(outlook: Outlook) -> "Table":
    """Return the bar, the share that is done, the time left and the stage, in one line."""
    from rich.progress_bar import ProgressBar  # noqa: PLC0415 — the same
    from rich.table import Table  # noqa: PLC0415 — the same

    row = Table.grid(padding=(0, 1))
    for _ in range(3):
        row.add_column(no_wrap=True)
    row.add_column(no_wrap=True, overflow="ellipsis")
    row.add_row(
        ProgressBar(total=1.0, completed=outlook.share, width=BAR),
        f"{100 * outlook.share:3.0f} %",
        f"{_left(outlook) if outlook.is_known else '':>11}",
        str(outlook.stage),
    )
    return row


def _left(outlook: Outlook) -> str:
    return f"{_time(outlook.left)} left"


def _time(seconds: float) -> str:
    """Return a time, no more exact than an estimate is."""
    if seconds < 100:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
