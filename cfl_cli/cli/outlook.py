"""How far a run is and how long it will still take, from the stages it expects and those it made.

    share = elapsed / (elapsed + left)
    left  = rest of the current stage + Σ over the stages to come of expected seconds · pace

The pace of a kind of work is what its stages took so far, divided by what was expected of that; of
a kind that has not been seen it is the pace of all stages. Until any pace has been seen, the share
is 0: how long the table took to read and encode says nothing of it.
"""

from collections.abc import Callable, Sequence

from cfl_cli.core.quick import dataclass
from cfl_cli.core.stages import Expected, Stage

MOST = 0.99  # share of a run that has not ended
LEAST = 0.01  # share of a stage from which it shows a pace: its first rows wait for what all need


@dataclass(frozen=True)
class Made:
    """A stage that was made."""

    stage: Stage
    expected: float  # seconds
    seconds: float


class Outlook:
    """What is known of a run's time while it goes on."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock, self.began = clock, clock()
        self.stage: Stage | None = None
        self.stage_began, self.stage_expected, self.stage_share = self.began, 0.0, 0.0
        self.made: tuple[Made, ...] = ()
        self.ahead: tuple[Expected, ...] = ()
        self.ended: float | None = None
        self._most = 0.0  # share so far: a run never goes back

    @property
    def elapsed(self) -> float:
        """Return the seconds since the run began."""
        return (self.clock() if self.ended is None else self.ended) - self.began

    @property
    def left(self) -> float:
        """Return about how many seconds are left."""
        if self.ended is not None:
            return 0.0
        return self._rest() + sum(one.seconds * self._pace(one.stage) for one in self.ahead)

    @property
    def share(self) -> float:
        """Return which share of the run is done."""
        if self.ended is not None:
            return 1.0
        elapsed = self.elapsed
        if self.is_known and elapsed > 0:
            self._most = max(self._most, min(elapsed / (elapsed + self.left), MOST))
        return self._most

    @property
    def is_known(self) -> bool:
        """Return whether any pace has been seen, so that the time left is more than a guess."""
        return bool(self._seen) or self.ended is not None

    @property
    def _seen(self) -> tuple[Made, ...]:
        """Return what was made so far, the current stage in part."""
        if self.stage and self.stage_expected and self.stage_share >= LEAST:
            part = Made(self.stage, self.stage_expected * self.stage_share, self._gone)
            return (*self.made, part)
        return self.made

    @property
    def _gone(self) -> float:
        """Return the seconds since the current stage began."""
        return self.clock() - self.stage_began

    def expect(self, stages: Sequence[Expected]) -> None:
        """Replace what is to come."""
        self.ahead = tuple(stages)

    def note(self, stage: Stage, done: int, total: int) -> None:
        """Take note that so much of a stage is done."""
        if stage != self.stage:
            self._begin(stage)
        self.stage_share = done / total if total else 0.0

    def end(self) -> None:
        """Take note that the run has ended."""
        self.ended = self.clock()

    def _begin(self, stage: Stage) -> None:
        now = self.clock()
        if self.stage is not None and self.stage_expected:
            last = Made(self.stage, self.stage_expected, now - self.stage_began)
            self.made = (*self.made, last)
        place = next((at for at, one in enumerate(self.ahead) if one.stage == stage), None)
        if place is None:
            self.stage_expected = self._as_others(stage)
        else:  # the stages before it were left out
            self.stage_expected = self.ahead[place].seconds
            self.ahead = self.ahead[place + 1 :]
        self.stage, self.stage_began, self.stage_share = stage, now, 0.0

    def _as_others(self, stage: Stage) -> float:
        """Return what to expect of a stage that nobody expected: as much as of others like it."""
        expected = [one.expected for one in self.made if one.stage.work is stage.work]
        return sum(expected) / len(expected) if expected else 0.0

    def _rest(self) -> float:
        """Return how long the current stage still takes."""
        if self.stage is None:
            return 0.0
        whole = self.stage_expected * self._pace(self.stage)
        if self.stage_share == 0:
            return max(whole - self._gone, 0.0)
        if not whole:
            whole = self._gone / self.stage_share
        return (1 - self.stage_share) * whole

    def _pace(self, stage: Stage) -> float:
        """Return how many times longer than expected such a stage takes."""
        seen = self._seen
        alike = [one for one in seen if one.stage.work is stage.work] or seen
        expected = sum(one.expected for one in alike)
        return sum(one.seconds for one in alike) / expected if expected else 1.0
