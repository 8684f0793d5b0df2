"""The stages of a run: what kind of work each is, and how long it takes on more rows.

    seconds on n rows = seconds on m rows · ((n + fixed) / (m + fixed)) ^ power

`fixed` and `power` belong to the kind of work: `fixed` is the work that does not depend on the
rows, counted in rows.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from time import perf_counter
from typing import Any, Literal, Self, TypeAlias

from cfl_cli.core.messages import count

# Who works for a run beside this process, as progress shows it.

FEW = 6  # workers that are shown one by one


@dataclass
class Team:
    """The workers of a run, by whatever names them; one thread notes, others look."""

    at_work: set[str] = field(default_factory=set)  # those that have a task, or had one last
    tasks: Counter[str] = field(default_factory=Counter)  # that each has done

    def in_words(self) -> str:
        """Return how many there are, and what each has done; nothing before there are any."""
        done = [self.tasks[name] for name in sorted(self.at_work.copy())]
        if not done:
            return ""
        each = ", ".join(f"{tasks:,}" for tasks in done)
        if len(done) > FEW:
            each = f"{min(done):,} to {max(done):,} each"
        return f"{count(len(done), 'worker')}, tasks done: {each}"


class Work(Enum):
    ENCODE = "encode"
    NEIGHBORS = "neighbors"
    WEIGHTS = "weights"
    PROPAGATION = "propagation"
    BOOSTING = "boosting"
    NETWORK = "network"
    FOREST = "forest"
    JUDGE = "judge"
    DECODE = "decode"
    TRIALS = "trials"


# Set by the processor time of Bank's rows: from 2,000 to all 45,211 it grew 18, 20, 14 and 3.8
# times for these four, and 24 times for propagation. The forecast of a whole run from 2,000 rows
# was 1.22 (15,000 rows) and 0.98 (45,211) times what the run took for graph, 1.13 and 0.96 for
# boost, 1.00 and 1.03 for net. Boosting grows as many trees for few rows as for many, and the
# network is trained for as many steps.
GROWTH = {  # power, fixed
    Work.NEIGHBORS: (1.1, 1500),
    Work.WEIGHTS: (1.0, 500),
    Work.BOOSTING: (1.0, 1500),
    Work.NETWORK: (1.0, 13_000),
}


def amount(work: Work, rows: int) -> float:
    """Return how much work of a kind some rows make, in a unit of its own."""
    power, fixed = GROWTH.get(work, (1.0, 0))
    return float((rows + fixed) ** power)


@dataclass(frozen=True)
class Stage:
    name: str  # as the report's timings call it
    work: Work
    words: str = ""  # as people read it, if not by its name

    def __str__(self) -> str:
        return self.words or self.name


@dataclass(frozen=True)
class Expected:
    """A stage that is to come, and about how long it takes on two common cores."""

    stage: Stage
    seconds: float

    @classmethod
    def of(cls, stage: Stage, rows: int, unit: float) -> Self:  # seconds for a unit of its work
        return cls(stage, unit * amount(stage.work, rows))


Progress: TypeAlias = Callable[[Stage, int, int], None]  # stage, done, total


def heard_by(progress: Progress, what: Literal["expect", "meet", "tell"]) -> Callable[[Any], None]:
    """Return how to let a callback know more, if it can; otherwise nobody hears it.

    The stages that it may `expect`; the team at work, for it to `meet`; what to `tell` people.
    """
    hear: Callable[[Any], None] = getattr(progress, what, lambda _: None)
    return hear


@dataclass(eq=False)
class Stages:
    """A progress callback that also takes the time of every stage."""

    progress: Progress = lambda *_: None
    clock: Callable[[], float] = perf_counter
    began: list[tuple[Stage, float]] = field(default_factory=list)

    def __call__(self, stage: Stage, done: int, total: int) -> None:
        if not self.began or self.began[-1][0] != stage:
            self.began.append((stage, self.clock()))
        self.progress(stage, done, total)

    def spent(self) -> dict[Stage, float]:
        """Return how many seconds each stage took; the last one ends now."""
        ends = [*(moment for _, moment in self.began), self.clock()][1:]
        times: dict[Stage, float] = {}
        for (stage, moment), end in zip(self.began, ends, strict=True):
            times[stage] = times.get(stage, 0.0) + end - moment
        return times

    def seconds(self) -> dict[str, float]:
        return {stage.name: round(time, 3) for stage, time in self.spent().items()}


def forecast(spent: Mapping[Stage, float], *, rows: int, more: int) -> float:
    """Return how many seconds a run on `more` rows takes, given the stages of one on `rows`."""
    return sum(
        seconds * amount(stage.work, more) / amount(stage.work, rows)
        for stage, seconds in spent.items()
    )
