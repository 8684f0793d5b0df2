"""Progress on stderr: a live line on a terminal, plain lines elsewhere, nothing for quick work."""

import sys
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0  # seconds of work before anything is shown
UNITS = {"neighbors": "rows", "weights": "rows", "propagation": "steps"}  # of quick work
INTERVAL = 5.0  # seconds between plain lines within one stage


class Display:
    """A progress callback that shows itself on stderr within a `with` block."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.began = self.spoke = self.stage_began = monotonic()
        self.stage = ""
        self.bar: Progress | None = None
        self.task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take note that `done` of the stage's `total` rows or steps are done."""
        now = monotonic()
        if stage != self.stage:
            self.stage, self.stage_began = stage, now
        if self.quiet or now - self.began < PATIENCE:
            return
        seconds = now - self.stage_began
        if sys.stderr.isatty():
            self._redraw(stage, done, total, _speed(stage, done, seconds))
        elif now - self.spoke >= INTERVAL or (done == total and seconds >= PATIENCE):
            self.spoke = now
            print(_line(stage, done, total, seconds), file=sys.stderr, flush=True)  # noqa: T201 — its job

    def _redraw(self, stage: str, done: int, total: int, speed: str) -> None:
        from rich.console import Console  # noqa: PLC0415 — on a terminal only, and then there is time
        from rich.progress import (  # noqa: PLC0415 — the same
            BarColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        if self.bar is None:
            self.bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TextColumn("{task.percentage:>3.0f}% {task.fields[speed]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self.bar.start()
        if self.task is None or self.bar.tasks[self.task].description != stage:
            if self.task is not None:
                self.bar.update(self.task, visible=False)
            self.task = self.bar.add_task(stage, total=total, speed=speed)
        self.bar.update(self.task, completed=done, total=total, speed=speed)


def _speed(stage: str, done: int, seconds: float) -> str:
    kind = stage.rpartition(" ")[2]
    if kind not in UNITS:  # trials and models, which take seconds each
        return ""
    return f"{done / seconds:,.0f} {UNITS[kind]}/s" if done and seconds > 0 else ""


def _line(stage: str, done: int, total: int, seconds: float) -> str:
    if done == total:
        facts = [f"{total:,} in {seconds:.1f} s"]
    else:
        facts = [f"{done:,} of {total:,}"]
        facts += [f"{seconds * (total - done) / done:.0f} s left"] if done else []
    return f"{stage}: {', '.join(filter(None, [*facts, _speed(stage, done, seconds)]))}"
