"""Progress of a whole run on stderr: a bar on a terminal, lines elsewhere, none if it is quick."""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from html import escape
from time import monotonic
from typing import TYPE_CHECKING, Any

from cfl_cli.cli.log import LOG, Log
from cfl_cli.core.messages import count
from cfl_cli.core.process import farewell
from cfl_cli.core.progress import Expected, Progress, Stage, Team
from cfl_cli.run import silent

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

_MOST = 0.99  # share of a run that has not ended
_LEAST = 0.01  # share of a stage from which it shows a pace: its first rows wait for what all need


class Outlook:
    """How far a run is and how long it will still take.

        share = elapsed / (elapsed + left)
        left  = pace · (rest of the current stage + expected seconds of the stages to come)

    The pace is what the stages took so far, divided by what was expected of them. Until any was
    seen, the share is 0: how long the table took to read and encode says nothing of it. Where
    nothing new was heard for a while, it will go on for at least half as long as that while.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock, self.began = clock, clock()
        self.stage: Stage | None = None
        self.stage_began, self.stage_expected, self.stage_share = self.began, 0.0, 0.0
        self.ahead: tuple[Expected, ...] = ()
        self.heard = self.began  # when a stage began, or more of it was done
        self.ended: float | None = None
        self._expected, self._took = 0.0, 0.0  # seconds of the stages that were made
        self._most = 0.0  # share so far: a run never goes back

    def look(self) -> tuple[float, float, bool]:
        """Return the share that is done, the seconds left, and if these are more than a guess."""
        if self.ended is not None:
            return 1.0, 0.0, True
        now = self.clock()
        gone = now - self.stage_began if self.stage else 0.0
        expected, took = self._expected, self._took
        if self.stage_expected and self.stage_share >= _LEAST:  # the current one in part
            expected += self.stage_expected * self.stage_share
            took += now - self.stage_began
        pace = took / expected if expected else 1.0  # how many times longer than expected
        whole = pace * self.stage_expected
        if self.stage_share:
            rest = (1 - self.stage_share) * (whole or gone / self.stage_share)
        else:
            rest = max(whole - gone, gone / 2)
        left = rest + pace * sum(one.seconds for one in self.ahead)
        left = max(left, (now - self.heard) / 2)
        elapsed = now - self.began
        if expected and elapsed > 0:
            self._most = max(self._most, min(elapsed / (elapsed + left), _MOST))
        return self._most, left, bool(expected)

    def expect(self, stages: Sequence[Expected]) -> None:
        """Take the stages to come, of which the first may be the current one."""
        self.ahead = tuple(stages)
        if self.ahead and self.ahead[0].stage == self.stage:
            self.stage_expected, self.ahead = self.ahead[0].seconds, self.ahead[1:]

    def note(self, stage: Stage, done: int, total: int) -> None:
        if stage != self.stage:
            now = self.clock()
            if self.stage_expected:
                self._expected += self.stage_expected
                self._took += now - self.stage_began
            place = next((at for at, one in enumerate(self.ahead) if one.stage == stage), None)
            self.stage_expected = 0.0 if place is None else self.ahead[place].seconds
            if place is not None:  # the stages before it were left out
                self.ahead = self.ahead[place + 1 :]
            self.stage, self.stage_began, self.heard = stage, now, now
        share = done / total if total else 0.0
        if share != self.stage_share:
            self.stage_share, self.heard = share, self.clock()


PATIENCE = 1.0  # seconds of work before anything is shown
_INTERVAL = 5.0  # seconds between lines
_BAR = 14  # columns: in 80 of them there is room for every stage


def shown_progress(
    shown: "type[Display] | None" = None, *, quiet: bool
) -> AbstractContextManager[Progress]:
    """Give the progress of a run; of a quiet one, nothing is foreseen and nothing is shown."""
    return nullcontext(silent) if quiet else (shown or Display)()


def progress_in_python() -> AbstractContextManager[Progress]:
    """Give the progress of a call from Python: a bar in a notebook or on a terminal, else none."""
    notebook = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(notebook, "kernel"):
        return NotebookBar()
    return Bar() if sys.stderr is not None and sys.stderr.isatty() else nullcontext(silent)


class Display(AbstractContextManager["Display"]):
    def __init__(self, *, log: Log = LOG, clock: Callable[[], float] = monotonic) -> None:
        self.log, self.clock = log, clock
        self.outlook = Outlook(clock)
        self.spoke: float | None = None  # when the last line was written
        self.live: Live | None = None
        self.team: Team | None = None
        self.stack = ExitStack()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        ended = self.outlook.ended = self.clock()
        if self.live is not None:
            self.stack.close()
            self.live.stop()
        elif self.spoke is not None and kind is None:
            took = in_time(ended - self.outlook.began)
            facts: dict[str, Any] = {"event": "progress", "share": 1.0, "seconds_left": 0}
            self.log.say("info", f"100 % of the run in {took}", stage="done", **facts)

    def expect(self, stages: Sequence[Expected]) -> None:
        self.outlook.expect(stages)

    def meet(self, team: Team) -> None:
        self.team = team

    def tell(self, text: str) -> None:
        self.log.note(text)

    def __call__(self, stage: Stage, done: int, total: int) -> None:
        self.outlook.note(stage, done, total)
        if self.clock() - self.outlook.began < PATIENCE:
            return
        if self.log.format == "text" and sys.stderr.isatty():
            if self.live is None:
                self.live = _start_bar(self.outlook, self.team)
                self.stack.enter_context(farewell(self.live.stop))  # the cursor is hidden
        elif self.spoke is None or self.clock() - self.spoke >= _INTERVAL:
            self.spoke = self.clock()
            share, left, known = self.outlook.look()
            about = f", about {in_time(left)} left" if known else ""
            workers = len(self.team.at_work) if self.team else 0
            who = f", {count(workers, 'worker')}" if workers else ""
            said = f"{100 * share:.0f} % of the run{about}{who}"
            facts: dict[str, Any] = {"event": "progress", "share": round(share, 3)}
            facts["seconds_left"] = round(left) if known else None
            self.log.say("info", said, stage=str(stage), **facts)


class Bar(Display):
    """Progress of a call from Python: a bar and no messages."""

    def tell(self, text: str) -> None:
        pass


class NotebookBar(Bar):
    """A bar below the cell of a notebook, which goes when the cell is done."""

    shown: Any = None  # a handle of IPython

    def __call__(self, stage: Stage, done: int, total: int) -> None:
        self.outlook.note(stage, done, total)
        now = self.clock()
        if now - max(self.outlook.began, self.spoke or 0.0) < PATIENCE:
            return
        self.spoke = now
        share, left, known = self.outlook.look()
        about = f"{in_time(left)} left, " if known else ""
        self._show(
            f'<progress value="{share:.3f}"></progress> {100 * share:.0f} %, '
            f"{about}{escape(str(self.outlook.stage))}"
        )

    def __exit__(self, *_: object) -> None:
        if self.shown is not None:
            self._show("")

    def _show(self, text: str) -> None:
        from IPython.display import HTML, display  # there is a notebook

        if self.shown is None:
            self.shown = display(HTML(text), display_id=True)
        else:
            self.shown.update(HTML(text))


def _start_bar(outlook: Outlook, team: Team | None) -> "Live":
    from rich import console, live, progress_bar, table, text  # on a terminal: there is time

    def drawn() -> "RenderableType":
        share, left, known = outlook.look()
        row = table.Table.grid(padding=(0, 1))
        for _ in range(3):
            row.add_column(no_wrap=True)
        row.add_column(no_wrap=True, overflow="ellipsis")
        row.add_row(
            progress_bar.ProgressBar(total=1.0, completed=share, width=_BAR),
            f"{100 * share:3.0f} %",
            f"{f'{in_time(left)} left' if known else '':>11}",
            str(outlook.stage),
        )
        if team is None:
            return row
        return console.Group(row, text.Text(team.in_words(), no_wrap=True, overflow="ellipsis"))

    stderr = console.Console(stderr=True)
    bar = live.Live(get_renderable=drawn, console=stderr, transient=True)
    bar.start()
    return bar


def in_time(seconds: float) -> str:
    if seconds < 100:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
