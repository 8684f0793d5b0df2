"""Chooses settings by hidden cells: a search on some rows, and a test of its winner on others.

    score  = mean over the CFs of (K − 1)/s · (mean over their hidden cells of log P(cell | prior))
    gain   = score of one trial − score of another, on the same hidden cells

K is the size of a CF's domain and s the mean number of its cells' exclusions: such a cell tells
about s/(K − 1) of what the value itself would. So weighted, a CF counts for as much as it would if
the values were known, and scores rank settings as the cross entropy of the answers does.

The search starts from the settings that the schema has. It goes through them one at a time, tries
the others at each, and moves where the gain is more than its standard error, until nothing moves.
No move may make a CF clearly worse, however much the others gain.
Whatever looks best among many trials looks better than it is. So the end of the search is tested
against the start on rows that the search did not hide. Unless it wins there too, and clearly, the
search's last move is taken back, and so on; if nothing wins, the start stays. A large table is
searched on a part of its rows, and the test made on all of them.

Hidden rows are drawn from the seed. The number of threads changes nothing; the clock decides only
how many trials are made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic
from typing import Any, Self, TypeAlias

import numpy as np

from cfl_cli.core import draws
from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.settings import RunSettings, Settings
from cfl_cli.errors import DataError, ResourceError, UsageError
from cfl_cli.estimators.graph import Rounds, judge
from cfl_cli.estimators.interface import Progress
from cfl_cli.estimators.methods import PARTS, method
from cfl_cli.jobs import footprint
from cfl_cli.jobs.impute import prepare
from cfl_cli.schema.model import Schema
from cfl_cli.steps.encode import Encoded
from cfl_cli.steps.propagate import Graph  # noqa: TC001 — an annotation like the others
from cfl_cli.tables import frames
from cfl_cli.trust import heldout
from cfl_cli.trust.intervals import Gain

Value: TypeAlias = int | float | str
Score: TypeAlias = Callable[[Settings], Floats | None]  # hidden rows × CFs; None: no time for it

# What is tried, in this order; what the start says is always among it.
CHOICES: Mapping[str, tuple[Value, ...]] = {
    "iterations": ("auto",),
    "k": (5, 10, 20, 30, 40, 50),
    "gamma": (0.0, 0.1, 0.25, 0.5, 1.0, "auto"),
    "ridge": (0.01, 0.1, 0.3, 1.0, 3.0),
}
PASSES = 3  # at most, over all of them
SAMPLE = 10_000  # rows that are searched on, if there are more
ENOUGH = 2_000  # hidden rows to test a winner by; a small table hides several parts in turn
MOVES = 1.0  # standard errors of a gain that the search follows
CLEAR = 2.5  # … of one that is not by chance, even in the best of a few tests
TESTS = 4  # at most
LEAST_ROWS = 30  # hidden for a test; with fewer, the standard error itself is by chance
BUDGET = 300.0  # seconds


@dataclass(frozen=True)
class Trial:
    """Settings that were tried, and how well they told the hidden cells."""

    settings: dict[str, Value]  # those in CHOICES
    score: float
    gain: Gain  # over the start


@dataclass(frozen=True)
class Test:
    """A trial's settings beside the start, on rows that the search did not hide."""

    trial: int  # its place among the trials
    gain: Gain
    passed: bool


@dataclass(frozen=True)
class Tuning:
    """What was tried, and what came of it."""

    trials: tuple[Trial, ...]  # in the order of trying; the first is the start
    tests: tuple[Test, ...]  # in the order of testing; none after one that was passed
    complete: bool  # False: time or trials ran out before the search had ended
    rows: int
    searched_rows: int  # so many of them were searched on
    tested_rows: int  # and the tests made on so many
    seconds: float
    warnings: tuple[str, ...]

    @property
    def chosen(self) -> Trial:
        """Return the trial whose settings to use."""
        passed = (test.trial for test in self.tests if test.passed)
        return self.trials[next(passed, 0)]


def tune(
    frame: Any,
    schema: Schema,
    *,
    name: str = "table",
    budget: float | None = None,
    trials: int | None = None,
    progress: Progress = lambda *_: None,
    jobs: int | None = None,
    max_memory: int | None = None,
    **settings: Any,
) -> Tuning:
    """Return which settings tell the hidden cells of `frame` best.

    `budget` is about how many seconds it may take, 300 unless `trials` says how many trials to
    make at most. The start is scored in any case. `settings` win over the schema's, as in `impute`.
    """
    start = schema.settings.override(**settings)
    limits = schema.run.override(jobs=jobs, max_memory=max_memory)
    if budget is None:
        budget = BUDGET if trials is None else inf
    limit = Limit(budget, inf if trials is None else trials)
    if start.method != "graph":
        raise UsageError(
            f"tune chooses settings of method graph, and the schema says {start.method}: take "
            "`method` out of it to tune"
        )
    encoded = prepare(frame, schema, start, name=name)
    table = frames.size(frame)
    footprint.check(encoded, start, table=table, jobs=limits.jobs, max_memory=limits.max_memory)
    n = len(encoded.features)
    dealt = draws.order(n, draws.TRIALS, start.seed)
    some = dealt[: max(SAMPLE, start.k + 1)]
    folds, all_folds = Folds.of(some), Folds.of(dealt)
    _check(encoded, folds, name=name)
    # How a trial's time grows when it is made on all rows; see plan.py.
    growth = (n / len(some)) ** 1.1
    on_all, on_some = growth * all_folds.test_in_trials, folds.test_in_trials
    with Workers(limits.jobs or available_cores()) as workers:
        bench = Bench(encoded, some, workers)
        limit.kept_back = lambda trial: (
            2 * trial * (on_all if 4 * trial * on_all <= limit.seconds else on_some)
        )

        def score(candidate: Settings) -> Floats | None:
            return limit.time(lambda: bench.judged(candidate, folds)) if limit.allows() else None

        choices = _possible(encoded, start, limits, rows=len(some), table=table)
        found = search(start, choices, score, progress=progress)
        if found.path and n > len(some) and limit.left >= 2 * limit.longest * on_all:
            bench, folds = Bench(encoded, dealt, workers), all_folds
            each = limit.longest * on_all
        else:
            each = limit.longest * on_some

        def test(candidate: Settings) -> Floats:
            return bench.tested(candidate, folds, progress)

        tests = confirm(start, found.path, test, mutual=folds.mutual, may=lambda: limit.left > each)
    return Tuning(
        trials=found.trials,
        tests=tuple(
            Test(found.place(settings), gained, passed) for settings, gained, passed in tests
        ),
        complete=found.complete,
        rows=n,
        searched_rows=len(some),
        tested_rows=len(bench.rows) if tests else 0,
        seconds=limit.elapsed,
        warnings=encoded.warnings,
    )


def confirm(
    start: Settings,
    path: Sequence[Settings],
    score: Callable[[Settings], Floats],
    *,
    mutual: bool = False,
    may: Callable[[], bool] = lambda: True,
) -> list[tuple[Settings, Gain, bool]]:
    """Test the end of a path against its start, then the place before, until one is better.

    Returns the tests. `may` is asked before all but the first.
    """
    tests: list[tuple[Settings, Gain, bool]] = []
    first = score(start) if path else None
    for settings in [*reversed(path)][:TESTS]:
        if first is None or (tests and (tests[-1][2] or not may())):
            break
        scores = score(settings)
        found = gain(scores, first, mutual=mutual)
        passed = is_clear(found, rows=len(first)) and not harms(scores, first, mutual=mutual)
        tests.append((settings, found, passed))
    return tests


def tuned(settings: Settings) -> dict[str, Value]:
    """Return the settings that are chosen here."""
    return {name: getattr(settings, name) for name in CHOICES}


def gain(one: Floats, other: Floats, *, mutual: bool = False) -> Gain:
    """Return by how much the first of two settings scores better on the same hidden rows.

    Where rows are hidden in turn, `mutual`, chance counts for more; see `heldout.judge`.
    """
    return _difference(one.mean(axis=1), other.mean(axis=1), mutual=mutual)


def harms(one: Floats, other: Floats, *, mutual: bool = False) -> bool:
    """Return whether the first of two settings is clearly worse for any CF."""
    found = (_difference(a, b, mutual=mutual) for a, b in zip(one.T, other.T, strict=True))
    return any(-of_cf.value > CLEAR * of_cf.error for of_cf in found)


def is_clear(found: Gain, *, rows: int) -> bool:
    """Return whether a gain is more than noise."""
    return rows >= LEAST_ROWS and found.value > CLEAR * found.error


def _difference(one: Floats, other: Floats, *, mutual: bool) -> Gain:
    found = heldout.difference(one, other)
    return Gain.of(found.value, float(found.error * (np.sqrt(2) if mutual else 1)))


@dataclass(frozen=True)
class Folds:
    """Rows that are hidden together: for the trials of the search, and to test its winner."""

    searching: Ints
    confirming: tuple[Ints, ...]

    @classmethod
    def of(cls, dealt: Ints) -> Self:
        """Deal rows that are in a random order.

        When more rows follow, those that are dealt already stay in their folds.
        """
        first, *others = (np.sort(dealt[part::PARTS]) for part in range(PARTS))
        return cls(first, tuple(others[:1] if len(first) >= ENOUGH else others))

    @property
    def mutual(self) -> bool:
        """Return whether a test hides rows in turn, so that each helps to judge the others."""
        return len(self.confirming) > 1

    @property
    def test_in_trials(self) -> int:
        """Return how many trials take about as long as the scores for a test."""
        return 1 + len(self.confirming)


class Bench:
    """Some rows of a table, on which settings are tried."""

    def __init__(self, encoded: Encoded, rows: Ints, workers: Workers) -> None:
        self.rows, self.workers = np.sort(rows), workers
        self.encoded = replace(
            encoded,
            features=encoded.features[self.rows],
            candidates=encoded.candidates[self.rows],
        )
        self.graphs: dict[tuple[int, float], Graph] = {}  # of round one, by k and ridge

    def judged(self, settings: Settings, folds: Folds) -> Floats:
        """Return the scores of the searching rows; what is `auto` is chosen by the same rows."""
        rounds = self._rounds(settings, lambda *_: None)
        _, hidden = judge(rounds, self._places([folds.searching]))
        return row_scores(self.encoded, hidden.rows, hidden.priors)

    def tested(self, settings: Settings, folds: Folds, progress: Progress) -> Floats:
        """Return the scores of the confirming rows; what is `auto` the searching ones choose."""
        rounds = self._rounds(settings, progress)
        is_open = "auto" in (settings.iterations, settings.gamma)
        searching = self._places([folds.searching])
        choice = judge(rounds, searching)[0] if is_open else rounds.unjudged()
        places = self._places(folds.confirming)
        told = [rounds.predict_hidden("confirmation", fold, choice) for fold in places]
        return row_scores(self.encoded, np.concatenate(places), np.vstack(told))

    def _rounds(self, settings: Settings, progress: Progress) -> Rounds:
        of_rounds = self.encoded.features, self.encoded.evidence, self.encoded.starts
        key = settings.k, settings.ridge
        first = self.graphs.get(key)
        rounds = Rounds(*of_rounds, method(settings), self.workers, progress, first=first)
        self.graphs[key] = rounds.first
        return rounds

    def _places(self, folds: Sequence[Ints]) -> list[Ints]:
        return [np.searchsorted(self.rows, fold) for fold in folds]


def row_scores(encoded: Encoded, rows: Ints, priors: Floats) -> Floats:
    """Return what each hidden row adds to each CF's score, m × CFs; the mean is the score."""
    scores = []
    for block in encoded.blocks:
        cells = encoded.candidates[rows, block.columns]
        telling = ~cells.all(axis=1)
        if telling.any():
            found = heldout.scores(priors[:, block.columns], cells, block.mechanism)
            weight = (len(block.values) - 1) / (~cells[telling]).sum(axis=1).mean()
            scores.append(np.zeros(len(rows)))
            scores[-1][telling] = weight * found * (len(rows) / telling.sum())
    return np.column_stack(scores)


@dataclass(frozen=True)
class Found:
    """What a search tried, and where it ended."""

    tried: Mapping[Settings, Floats]
    path: tuple[Settings, ...]  # where it moved from the start
    complete: bool

    def place(self, settings: Settings) -> int:
        """Return which trial it was that tried these settings."""
        return list(self.tried).index(settings)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Return the trials in the order of trying."""
        start = next(iter(self.tried.values()))
        return tuple(
            Trial(
                tuned(settings),
                float(scores.mean()),
                gain(scores, start),
            )
            for settings, scores in self.tried.items()
        )


def search(
    start: Settings,
    choices: Mapping[str, Sequence[Value]],
    score: Score,
    *,
    progress: Progress = lambda *_: None,
) -> Found:
    """Try the choices for one setting after the other, from the start, until nothing moves."""
    tried: dict[Settings, Floats] = {}

    def around(place: Settings, name: str) -> list[Settings]:
        return [place, *(place.override(**{name: value}) for value in choices[name])]

    def attempt(settings: Settings, ahead: int) -> bool:
        if settings not in tried:
            found = score(settings)
            if found is None:
                return False
            tried[settings] = found
            progress("trials", len(tried), len(tried) + ahead)
        return True

    attempt(start, sum(map(len, choices.values())))
    here, path = start, []
    for _ in range(PASSES):
        before = here
        for number, name in enumerate(choices):
            options = around(here, name)
            later = [it for other in [*choices][number + 1 :] for it in around(here, other)]
            enough = all(
                attempt(option, len({*options[place + 1 :], *later} - {*tried, option}))
                for place, option in enumerate(options)
            )
            harmless = (it for it in options if it in tried and not harms(tried[it], tried[here]))
            best = max(harmless, key=lambda it: tried[it].mean())
            found = gain(tried[best], tried[here])
            if found.value > MOVES * found.error:
                here = best
                path.append(here)
            if not enough:
                return Found(tried, tuple(path), complete=False)
        if here == before:
            break
    return Found(tried, tuple(path), complete=True)


@dataclass
class Limit:
    """How long trials may go on: seconds of a clock, and a number of trials."""

    seconds: float = inf
    trials: float = inf
    clock: Callable[[], float] = monotonic
    kept_back: Callable[[float], float] = lambda _: 0.0  # seconds, given a trial's
    times: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def elapsed(self) -> float:
        """Return the seconds gone by."""
        return self.clock() - self.began

    @property
    def left(self) -> float:
        """Return the seconds left."""
        return self.seconds - self.elapsed

    @property
    def longest(self) -> float:
        """Return how long a trial has taken at most."""
        return max(self.times, default=0.0)

    def allows(self) -> bool:
        """Return whether another trial may begin; the first always may."""
        if not self.times:
            return True
        needed = self.longest + self.kept_back(self.longest)
        return len(self.times) < self.trials and needed <= self.left

    def time(self, trial: Callable[[], Floats]) -> Floats:
        """Make a trial, and note how long it takes."""
        began = self.clock()
        found = trial()
        self.times.append(self.clock() - began)
        return found


def _possible(
    encoded: Encoded, start: Settings, limits: RunSettings, *, rows: int, table: int
) -> dict[str, tuple[Value, ...]]:
    """Return the choices that the table, its memory and its other settings leave."""

    def is_possible(name: str, value: Value) -> bool:
        if value == "auto":
            return start.folds != 0  # it chooses by hidden cells
        candidate = start.override(**{name: value})
        if candidate.k >= rows:
            return False
        try:
            footprint.check(
                encoded, candidate, table=table, jobs=limits.jobs, max_memory=limits.max_memory
            )
        except ResourceError:
            return False
        return True

    return {
        name: tuple(value for value in values if is_possible(name, value))
        for name, values in CHOICES.items()
    }


def _check(encoded: Encoded, folds: Folds, *, name: str) -> None:
    """Raise unless both the search and the test have cells to go by."""
    cells = [encoded.candidates[:, block.columns] for block in encoded.blocks]
    telling = np.any([~part.all(axis=1) for part in cells], axis=0)
    if not telling.any():
        raise DataError(f"{name}: every CF cell is empty: there is nothing to choose settings by")
    for rows in (folds.searching, np.concatenate(folds.confirming)):
        if not telling[rows].any():
            raise DataError(
                f"{name}: too few rows have CF cells that are not empty: some are needed to choose "
                "settings by, and others to test the choice"
            )
