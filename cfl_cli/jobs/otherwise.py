"""What an attacker would learn without an OF, or if cells and OFs were blurred otherwise.

without an OF, coarser OFs   the method is run again, and judged by the same hidden cells
more or fewer exclusions     values are drawn from the confidences and blurred both ways, and
                             the method is run on both: see `with_learning` of `disclosure`
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from cfl_cli.core import draws
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.kinds import AUTO
from cfl_cli.core.methods import METHODS
from cfl_cli.core.parallel import Engine
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress, Stage, Work
from cfl_cli.estimators.interface import Power
from cfl_cli.jobs.learn import Learned
from cfl_cli.jobs.name_row import features_of
from cfl_cli.jobs.prepare import run
from cfl_cli.steps.encode import Encoded
from cfl_cli.steps.ordinary import FittedCategories
from cfl_cli.trust import coarser, disclosure
from cfl_cli.trust.calibrate import calibrate, raised_to
from cfl_cli.trust.disclosure import Prospect
from cfl_cli.trust.facts import CalibratedFacts, ColumnFacts
from cfl_cli.trust.hidden_cells import HiddenCells
from cfl_cli.trust.intervals import Interval

TRYING = Stage("tried", Work.JUDGE, "trying other ways of blurring")
MOST_ROWS, FEWEST_ROWS = 10_000, 2_000  # that a run is made on
ALL_ROWS = 150_000  # of all runs together
FOLDS, ONE_FOLD_ABOVE = 5, 5_000
BOOST_ABOVE = 5_000  # rows
Powers: TypeAlias = tuple[Power | None, ...] | None
MORE, FEWER = "one more exclusion in each cell", "one exclusion fewer in each cell"
BINS = (8, 4)


@dataclass(frozen=True)
class Otherwise:
    """What another way of blurring would do."""

    way: str
    change: Interval  # of the share of rows inferred right
    inferred_right: float
    sure_share: float


@dataclass(frozen=True)
class Tried:
    """What was tried, for each CF."""

    rows: int
    method: str
    without: Mapping[str, Sequence[Interval]]  # by OF: the change, per CF
    otherwise: Sequence[Sequence[Otherwise]]  # per CF; the shares are changes too


def try_others(
    learned: Learned,
    known: Sequence[bool],
    *,
    rows: int | None,
    engine: Engine,
    progress: Progress,
) -> Tried | None:
    """Return what leaving out and blurring otherwise would change; None: it was not to be tried.

    `known` says of each CF whether its accuracy is known: if none is, nothing is tried. `rows` is
    how many rows to try on.
    """
    if rows == 0 or not any(known):
        return None
    whole = learned.encoded
    ofs = features_of(whole)
    left_out = [*ofs] if len(ofs) > 1 else []
    ways = _coarser_ways(whole)
    exclusions = _exclusions(whole)
    runs = 1 + len(left_out) + len(ways) + 1 + len(exclusions)
    chosen = draws.some(
        len(whole.features), rows or _rows(runs), draws.stream_of("risk"), learned.settings.seed
    )
    trial = _Trial(whole.some(chosen), _settings(learned.settings, len(chosen)), engine, progress)
    trial.runs = runs
    now = trial.facts(trial.encoded)
    prospects = [_prospect(facts) for facts in now]

    def changes(features: Floats) -> tuple[list[Interval], list[float]]:
        then = [_prospect(one) for one in trial.facts(replace(trial.encoded, features=features))]
        pairs = [*zip(now, prospects, then, strict=True)]
        return (
            [disclosure.change(_hidden(facts), one, other) for facts, one, other in pairs],
            [float((other.sure - one.sure).mean()) for _, one, other in pairs],
        )

    without = {name: changes(_without(trial.encoded.features, ofs[name]))[0] for name in left_out}
    otherwise: list[list[Otherwise]] = [[] for _ in whole.blocks]
    simulated = trial.simulated(learned.estimate.confidences[chosen], exclusions)
    for (way, _), of_cfs in zip(exclusions.items(), simulated, strict=True):
        for number, change in enumerate(of_cfs):
            facts = _facts(learned, number)
            counts = _counts(facts.candidates)
            altered = exclusions[way](counts, facts.candidates.shape[1])
            if facts.hidden_cells is None or (altered == counts).all():
                continue
            here, there = _prospect(facts), _prospect(facts, altered)
            own = disclosure.change(_hidden(facts), here, there)
            share = len(chosen) / len(whole.features)
            sure = float((there.sure - here.sure).mean())
            whole_change = disclosure.with_learning(own, change, share=share)
            otherwise[number].append(Otherwise(way, whole_change, 0.0, sure))
    for way, coarse in ways.items():
        found, sure_changes = changes(coarse(trial.encoded))
        for number, (change_, sure) in enumerate(zip(found, sure_changes, strict=True)):
            otherwise[number].append(Otherwise(way, change_, 0.0, sure))
    return Tried(len(chosen), trial.settings.method, without, otherwise)


class _Trial:
    """Runs a method on some rows, encoded in one way or another."""

    def __init__(
        self, encoded: Encoded, settings: Settings, engine: Engine, progress: Progress
    ) -> None:
        self.encoded, self.settings = encoded, settings
        self.engine, self.progress = engine, progress
        self.runs, self.done = 1, 0
        self.powers: Powers = None  # of the first run
        dealt = draws.folds(len(encoded.features), FOLDS, settings.seed, encoded.groups)
        self.folds = dealt if len(encoded.features) <= ONE_FOLD_ABOVE else dealt[:1]

    def facts(self, encoded: Encoded) -> list[ColumnFacts]:
        """Return what a run shows of each CF."""
        self.progress(TRYING, self.done, self.runs)
        self.done += 1
        engine = self.engine.within(f"tried {self.done}")
        found = run(
            encoded,
            self.settings,
            folds=self.folds,
            progress=lambda *_: None,
            engine=engine,
            fit=False,
        )
        kind = ColumnFacts
        if METHODS[self.settings.method].calibrated:
            # One power for all runs: each its own would differ by chance more than they do.
            if self.powers is None:
                self.powers = calibrate(encoded, found, jobs=self.engine.jobs).powers
            found = raised_to(self.powers or (), encoded, found)
            kind = CalibratedFacts
        return [kind(encoded, found, number) for number in range(len(encoded.blocks))]

    def simulated(
        self, confidences: Floats, exclusions: Mapping[str, Callable[[Ints, int], Ints]]
    ) -> list[list[float]]:
        """Return what more or fewer exclusions change where values are drawn from confidences.

        For each way of blurring, the change for each CF of the share of rows inferred right.
        """
        if not exclusions:
            self.done += 1
            return []
        places = np.arange(len(confidences))
        values = []
        for block in self.encoded.blocks:
            stream = draws.stream_of(f"risk {block.name}")
            chance = draws.chances(places, stream, self.settings.seed)[:, None]
            up_to = np.cumsum(confidences[:, block.columns], axis=1)
            values.append((up_to > chance * up_to[:, -1:]).argmax(axis=1))

        def shares(altered: Callable[[Ints, int], Ints]) -> list[float]:
            cells, counts = [], []
            for block, true in zip(self.encoded.blocks, values, strict=True):
                own = self.encoded.candidates[:, block.columns]
                counts.append(altered(_counts(own), own.shape[1]))
                stream = draws.stream_of(f"risk {block.name}") + 1
                chances = np.column_stack(
                    [
                        draws.chances(places, stream + place, self.settings.seed)
                        for place in range(own.shape[1])
                    ]
                )
                cells.append(block.mechanism.draw(true, counts[-1], chances))
            found = self.facts(replace(self.encoded, candidates=np.hstack(cells)))
            return [
                _right(facts, count, true)
                for facts, count, true in zip(found, counts, values, strict=True)
            ]

        now = shares(lambda counts, _: counts)
        return [
            [there - here for here, there in zip(now, shares(altered), strict=True)]
            for altered in exclusions.values()
        ]


def _right(facts: ColumnFacts, counts: Ints, true: Ints) -> float:
    """Return the share of hidden rows that are inferred right, given their true values."""
    hidden = facts.estimate.hidden
    assert hidden is not None  # noqa: S101 — every run here hides rows
    right = _prospect(facts, counts).right
    return float(right[np.arange(len(right)), true[hidden.rows]].mean())


def _facts(learned: Learned, number: int) -> ColumnFacts:
    kind = ColumnFacts if learned.estimate.powers is None else CalibratedFacts
    return kind(learned.encoded, learned.estimate, number)


def _prospect(facts: ColumnFacts, counts: Ints | None = None) -> Prospect:
    own = _counts(facts.candidates) if counts is None else counts
    return disclosure.prospect(_hidden(facts), own, rule=facts.rule)


def _hidden(facts: ColumnFacts) -> HiddenCells:
    cells = facts.hidden_cells
    assert cells is not None  # noqa: S101 — every run here hides rows
    return cells


def _counts(candidates: Mask) -> Ints:
    return np.asarray((~candidates).sum(axis=1))


def _exclusions(encoded: Encoded) -> dict[str, Callable[[Ints, int], Ints]]:
    """Return which numbers of exclusions can be tried: fewer only where cells have several."""
    found: dict[str, Callable[[Ints, int], Ints]] = {}
    for way, altered in ((MORE, disclosure.more), (FEWER, disclosure.fewer)):
        cells = (encoded.candidates[:, block.columns] for block in encoded.blocks)
        if any((altered(_counts(one), one.shape[1]) != _counts(one)).any() for one in cells):
            found[way] = altered
    return found


def _coarser_ways(encoded: Encoded) -> dict[str, Callable[[Encoded], Floats]]:
    """Return the ways of coarser OFs that make any difference."""
    ofs = features_of(encoded)
    of_texts = {
        name for name, fitted in encoded.ordinary.items() if isinstance(fitted, FittedCategories)
    }

    def in_bins(bins: int) -> Callable[[Encoded], Floats]:
        def coarse(of: Encoded) -> Floats:
            features = of.features.copy()
            for name, own in ofs.items():
                if name not in of_texts:
                    features[:, own] = coarser.binned(of.features[:, own], bins)
            return features

        return coarse

    def without_rare(of: Encoded) -> Floats:
        parts = []
        for name, own in ofs.items():
            part = of.features[:, own]
            merged = coarser.merged(part) if name in of_texts and part.shape[1] > 1 else None
            parts.append(part if merged is None else merged)
        return np.hstack(parts)

    ways: dict[str, Callable[[Encoded], Floats]] = {}
    if len(of_texts) < len(ofs):
        ways |= {f"numbers in {bins} bins": in_bins(bins) for bins in BINS}
    if without_rare(encoded).shape[1] < encoded.features.shape[1]:
        ways[f"categories of {coarser.RARE:.0%} or less merged"] = without_rare
    return ways


def _without(features: Floats, own: slice) -> Floats:
    return np.ascontiguousarray(np.delete(features, own, axis=1))


def _rows(runs: int) -> int:
    return min(MOST_ROWS, max(FEWEST_ROWS, ALL_ROWS // runs))


def _settings(settings: Settings, rows: int) -> Settings:
    """Return the settings of runs on so many rows.

    Of many, auto is little better than boost alone; of few, graph's first round is quicker.
    """
    changed: dict[str, object] = {"k": min(settings.k, max(rows // 2, 1)), "budget": None}
    if settings.method == AUTO:
        changed["method"] = "boost" if rows > BOOST_ABOVE else "graph"
    if METHODS[str(changed.get("method", settings.method))].second_round:
        changed["gamma"] = 0.0  # a second round does harm where few rows are distinct
    return settings.replaced(changed)
