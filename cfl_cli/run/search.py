"""The search over settings: one setting after the other, then a test of where it ended.

The search starts from the given settings. It goes through them one at a time, tries the others at
each, and moves where the gain is more than its standard error, until nothing moves. No move may
make a CF clearly worse, however much the others gain.

Whatever looks best among many trials looks better than it is. So the end of the search is tested
against the start on rows that the search did not hide. Unless it wins there too, and clearly, the
search's last move is taken back, and so on; if nothing wins, the start stays.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Self, TypeAlias

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, ranks, sums_by
from cfl_cli.core.parallel import Engine
from cfl_cli.core.progress import Progress, Stage, Stages, Work, forecast
from cfl_cli.core.settings import AUTO, DEFAULT_GAMMA, Settings
from cfl_cli.encode.encode import Encoded
from cfl_cli.methods.graph import Rounds, judge_rounds
from cfl_cli.methods.graph.propagation import Graph
from cfl_cli.schema.edit import Value
from cfl_cli.trust import heldout
from cfl_cli.trust.intervals import Gain

Score: TypeAlias = Callable[[Settings], Floats | None]  # hidden rows × CFs; None: no time for it

# What is tried, in this order; the start's own value is always tried too.
CHOICES: Mapping[str, tuple[Value, ...]] = {
    "iterations": (AUTO,),
    "k": (5, 10, 20, 30, 40, 50),
    "gamma": (0.0, 0.1, 0.25, 0.5, 1.0, AUTO),
    "ridge": (0.01, 0.1, 0.3, 1.0, 3.0),
}
PASSES = 3  # at most, over all of them
MOVES = 1.0  # standard errors of a gain that the search follows
CLEAR = 2.5  # … of one that is not by chance, even in the best of a few tests
_TESTS = 4  # at most
_LEAST_ROWS = 30  # hidden for a test; with fewer, the standard error itself is by chance
TRIALS = Stage("trials", Work.TRIALS, "trying settings")
TESTING = Stage("tests", Work.TRIALS, "testing the best settings")


@dataclass(frozen=True)
class Trial:
    settings: dict[str, Value]  # those in CHOICES
    score: float
    gain: Gain  # over the start


@dataclass(frozen=True)
class SearchResult:
    tried: Mapping[Settings, Floats]
    path: tuple[Settings, ...]  # where it moved from the start
    complete: bool

    def place(self, settings: Settings) -> int:
        return list(self.tried).index(settings)

    @property
    def trials(self) -> tuple[Trial, ...]:
        start = next(iter(self.tried.values()))
        return tuple(
            Trial(tuned(settings), float(scores.mean()), gain(scores, start))
            for settings, scores in self.tried.items()
        )


def search(
    start: Settings,
    choices: Mapping[str, Sequence[Value]],
    score: Score,
    *,
    progress: Progress = lambda *_: None,
) -> SearchResult:
    """Try the choices for one setting after the other, from the start, until nothing moves.

    The trials to come, as progress has them, are those of this pass, and of one more if it moved.
    """
    tried: dict[Settings, Floats] = {}

    def around(place: Settings, name: str) -> list[Settings]:
        return [place, *(place.override(**{name: value}) for value in choices[name])]

    def attempt(settings: Settings, ahead: int) -> bool:
        if settings not in tried:
            progress(TRIALS, len(tried), len(tried) + 1 + ahead)
            scores = score(settings)
            if scores is None:
                return False
            tried[settings] = scores
            progress(TRIALS, len(tried), len(tried) + ahead)
        return True

    attempt(start, len({option for name in choices for option in around(start, name)} - {start}))
    here, path = start, []
    for left in reversed(range(PASSES)):
        before = here
        for number, name in enumerate(choices):
            options = around(here, name)
            others = [*choices][number + 1 :] + ([*choices] if left and here != before else [])
            later = [it for other in others for it in around(here, other)]
            enough = all(
                attempt(option, len({*options[place + 1 :], *later} - {*tried, option}))
                for place, option in enumerate(options)
            )
            harmless = (it for it in options if it in tried and not harms(tried[it], tried[here]))
            best = max(harmless, key=lambda it: tried[it].mean())
            gained = gain(tried[best], tried[here])
            if gained.value > MOVES * gained.error:
                here = best
                path.append(here)
            if not enough:
                return SearchResult(tried, tuple(path), complete=False)
        if here == before:
            break
    return SearchResult(tried, tuple(path), complete=True)


def confirm(
    start: Settings,
    path: Sequence[Settings],
    score: Callable[[Settings], Floats],
    *,
    mutual: bool = False,
    may: Callable[[], bool] = lambda: True,
    progress: Progress = lambda *_: None,
) -> list[tuple[Settings, Gain, bool]]:
    """Test the end of a path against its start, then the place before, until one is better.

    Returns the tests. `may` is asked before all but the first.
    """
    tests: list[tuple[Settings, Gain, bool]] = []
    if not path:
        return tests
    progress(TESTING, 0, 2)
    first = score(start)
    for settings in [*reversed(path)][:_TESTS]:
        if tests and (tests[-1][2] or not may()):
            break
        progress(TESTING, len(tests) + 1, len(tests) + 2)
        scores = score(settings)
        gained = gain(scores, first, mutual=mutual)
        passed = is_clear(gained, rows=len(first)) and not harms(scores, first, mutual=mutual)
        tests.append((settings, gained, passed))
    progress(TESTING, len(tests) + 1, len(tests) + 1)
    return tests


def tuned(settings: Settings) -> dict[str, Value]:
    """Return the settings that the search chooses; a γ that is left open counts as the default."""
    open_gamma = {"gamma": DEFAULT_GAMMA} if settings.gamma is None else {}
    return {name: getattr(settings, name) for name in CHOICES} | open_gamma


def gain(one: Floats, other: Floats, *, mutual: bool = False) -> Gain:
    """Return by how much the first of two settings scores better on the same hidden rows.

    Where rows are hidden in turn, `mutual`, chance counts for more; see `heldout.judge`.
    """
    return _difference(one.mean(axis=1), other.mean(axis=1), mutual=mutual)


def harms(one: Floats, other: Floats, *, mutual: bool = False) -> bool:
    gains = (_difference(a, b, mutual=mutual) for a, b in zip(one.T, other.T, strict=True))
    return any(-gained.value > CLEAR * gained.error for gained in gains)


def is_clear(gained: Gain, *, rows: int) -> bool:
    return rows >= _LEAST_ROWS and gained.value > CLEAR * gained.error


def _difference(one: Floats, other: Floats, *, mutual: bool) -> Gain:
    plain = heldout.difference(one, other)
    return Gain.of(plain.value, float(plain.error * (np.sqrt(2) if mutual else 1)))


@dataclass
class Limit:
    seconds: float = inf
    trials: float = inf
    clock: Callable[[], float] = monotonic
    kept_back: Callable[[float], float] = lambda _: 0.0  # seconds, given a trial's
    times: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def elapsed(self) -> float:
        return self.clock() - self.began

    @property
    def left(self) -> float:
        return self.seconds - self.elapsed

    @property
    def longest(self) -> float:
        return max(self.times, default=0.0)

    def allows(self) -> bool:
        """Return whether another trial may begin; the first always may."""
        if not self.times:
            return True
        needed = self.longest + self.kept_back(self.longest)
        return len(self.times) < self.trials and needed <= self.left

    def time(self, trial: Callable[[], Floats]) -> Floats:
        began = self.clock()
        scores = trial()
        self.times.append(self.clock() - began)
        return scores


# Settings tried on some rows of a table, and how well they predict the hidden ones' cells.

_FOLDS = 5  # of which one is hidden in every trial
_ENOUGH = 2_000  # hidden rows to test a winner by; a small table hides several parts in turn


@dataclass(frozen=True)
class Folds:
    searching: Ints
    confirming: tuple[Ints, ...]

    @classmethod
    def of(cls, dealt: Ints, groups: Ints | None = None) -> Self:
        """Deal rows that are in a random order; with `groups`, of all rows, none of these is split.

        When more rows follow, those that are dealt already stay in their folds.
        """
        places = np.arange(len(dealt)) if groups is None else ranks(groups[dealt])
        first, *others = (np.sort(dealt[places % _FOLDS == fold]) for fold in range(_FOLDS))
        filled = [fold for fold in others if len(fold)]
        return cls(first, tuple(filled[:1] if len(first) >= _ENOUGH else filled))

    @property
    def mutual(self) -> bool:
        """Return whether a test hides rows in turn, so that each helps to judge the others."""
        return len(self.confirming) > 1

    @property
    def test_in_trials(self) -> int:
        """Return how many trials take about as long as the scores for a test."""
        return 1 + len(self.confirming)


class Trials:
    def __init__(self, encoded: Encoded, rows: Ints, workers: Engine) -> None:
        self.rows, self.workers = np.sort(rows), workers
        self.encoded = encoded.some(self.rows)
        self.graphs: dict[tuple[int, float], Graph] = {}  # of round one, by k and ridge
        self.spent: dict[Stage, float] = {}  # seconds, over all trials so far

    def judged(self, settings: Settings, folds: Folds) -> Floats:
        """Return the scores of the searching rows; what is `auto` the other half of them chooses."""
        stages = Stages()
        rounds, groups = self._rounds(settings, stages), self.encoded.groups
        rows = [np.searchsorted(self.rows, folds.searching)]
        _, hidden = judge_rounds(rounds, rows, groups=groups)
        for stage, seconds in stages.spent().items():
            self.spent[stage] = self.spent.get(stage, 0.0) + seconds
        return row_scores(self.encoded, hidden.rows, hidden.priors)

    def times_longer(self, rows: int) -> float:
        return forecast(self.spent, rows=len(self.rows), more=rows) / sum(self.spent.values())

    def tested(self, settings: Settings, folds: Folds) -> Floats:
        """Return the scores of the confirming rows; what is `auto` the searching ones choose."""
        rounds = self._rounds(settings, lambda *_: None)
        is_open = AUTO in (settings.iterations, settings.gamma, settings.method)
        searching = np.searchsorted(self.rows, folds.searching)
        choice = judge_rounds(rounds, [searching])[0] if is_open else rounds.unjudged()
        places = [np.searchsorted(self.rows, fold) for fold in folds.confirming]
        priors = [rounds.predict_hidden("confirmation", fold, choice) for fold in places]
        return row_scores(self.encoded, np.concatenate(places), np.vstack(priors))

    def _rounds(self, settings: Settings, progress: Progress) -> Rounds:
        known = self.encoded.features, self.encoded.known.evidence, self.encoded.known.blocks
        key = settings.k, settings.ridge
        rounds = Rounds(*known, settings, self.workers, progress, first=self.graphs.get(key))
        self.graphs[key] = rounds.first
        return rounds


def row_scores(encoded: Encoded, rows: Ints, priors: Floats) -> Floats:
    """Return what each hidden row adds to each CF's score, m × CFs; the mean is the score.

    Of rows that belong together there is one line, as they are one where gains are compared.
    """
    scores = []
    for block in encoded.blocks:
        cells = encoded.candidates[rows, block.columns]
        informative = ~cells.all(axis=1)
        if informative.any():
            of_cells = heldout.scores(priors[:, block.columns], cells, block.mechanism)
            weight = (len(block.values) - 1) / (~cells[informative]).sum(axis=1).mean()
            scores.append(np.zeros(len(rows)))
            scores[-1][informative] = weight * of_cells * (len(rows) / informative.sum())
    sums = sums_by(encoded.known.groups_of(rows), np.column_stack(scores))
    return sums * (len(sums) / len(rows))
