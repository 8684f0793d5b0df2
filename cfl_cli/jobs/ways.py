"""What else to try on a table: which OFs to leave out, which other ways of blurring there are."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from cfl_cli import estimators
from cfl_cli.core import draws
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.kinds import AUTO
from cfl_cli.core.methods import METHODS
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Expected, Stage, Work
from cfl_cli.jobs.cost import size_of
from cfl_cli.jobs.name_row import features_of
from cfl_cli.steps.encode import Encoded
from cfl_cli.steps.ordinary import FittedCategories
from cfl_cli.trust import coarser, disclosure

TRYING = Stage("tried", Work.TRIALS, "trying other ways of blurring")
MOST_ROWS, FEWEST_ROWS = 10_000, 2_000  # that a run is made on
ALL_ROWS = 150_000  # of all runs together
BOOST_ABOVE = 5_000  # rows
FOLDS, ONE_FOLD_ABOVE = 5, 5_000
MORE, FEWER = "one exclusion more", "one exclusion fewer"  # in each cell
BINS, MERGED = (8, 4), "rare categories merged"
Altered: TypeAlias = Callable[[Ints, int], Ints]  # the exclusions of cells, of a domain's size
Coarse: TypeAlias = Callable[[Encoded], Floats]


@dataclass(frozen=True, eq=False)
class Plan:
    """What is tried, on which rows, and by which settings."""

    rows: Ints
    settings: Settings
    left_out: Mapping[str, slice]  # the features of each OF
    coarse: Mapping[str, Coarse]  # by the way of blurring
    more: bool  # can cells have more exclusions?
    fewer: bool

    @property
    def runs(self) -> int:
        """Return how many runs are made: one of the table as it is, four for more exclusions."""
        return 1 + len(self.left_out) + len(self.coarse) + 4 * self.more + self.fewer

    def expected(self, encoded: Encoded) -> list[Expected]:
        """Return how long all runs take, more or less."""
        rows = len(self.rows)
        folds = FOLDS if rows <= ONE_FOLD_ABOVE else 1
        stages = estimators.load(self.settings.method).stages(
            replace(size_of(encoded), rows=rows), self.settings, folds=folds
        )
        return [Expected(TRYING, self.runs * sum(one.seconds for one in stages))]


def plan(encoded: Encoded, settings: Settings, rows: int | None) -> Plan | None:
    """Return what to try on `rows` rows, or as many as there is time for; None: nothing."""
    if rows == 0:
        return None
    ofs = features_of(encoded)
    made = Plan(
        np.arange(0),
        settings,
        ofs if len(ofs) > 1 else {},
        _coarser_ways(encoded),
        more=_can(encoded, disclosure.more),
        fewer=_can(encoded, disclosure.fewer),
    )
    most = rows or min(MOST_ROWS, max(FEWEST_ROWS, ALL_ROWS // made.runs))
    chosen = draws.some(len(encoded.features), most, draws.stream_of("risk"), settings.seed)
    return replace(made, rows=chosen, settings=_settings(settings, len(chosen)))


def counts_of(candidates: Mask) -> Ints:
    """Return how many values each cell rules out, n."""
    return np.asarray((~candidates).sum(axis=1))


def is_altered(candidates: Mask, altered: Altered) -> bool:
    """Return whether any cell would have another number of exclusions."""
    counts = counts_of(candidates)
    return bool((altered(counts, candidates.shape[1]) != counts).any())


def with_fewer(encoded: Encoded, seed: int) -> Mask:
    """Return the candidates with one exclusion taken back in each cell that has several, n × ΣK."""
    parts = []
    for block in encoded.blocks:
        cells = encoded.candidates[:, block.columns]
        counts = counts_of(cells)
        can = disclosure.fewer(counts, cells.shape[1]) < counts
        stream = draws.stream_of(f"risk fewer {block.name}")
        chance = draws.chances(np.arange(len(cells)), stream, seed)
        place = np.floor(chance * counts)  # of the exclusion that is taken back, among the cell's
        taken = (np.cumsum(~cells, axis=1) - 1 == place[:, None]) & ~cells
        parts.append(cells | (taken & can[:, None]))
    return np.hstack(parts)


def _can(encoded: Encoded, altered: Altered) -> bool:
    return any(is_altered(encoded.candidates[:, one.columns], altered) for one in encoded.blocks)


def _coarser_ways(encoded: Encoded) -> dict[str, Coarse]:
    """Return the ways of coarser OFs that make any difference."""
    ofs = features_of(encoded)
    of_texts = {
        name for name, fitted in encoded.ordinary.items() if isinstance(fitted, FittedCategories)
    }

    def in_bins(bins: int) -> Coarse:
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

    ways: dict[str, Coarse] = {}
    if len(of_texts) < len(ofs):
        ways |= {f"numbers in {bins} bins": in_bins(bins) for bins in BINS}
    if without_rare(encoded).shape[1] < encoded.features.shape[1]:
        ways[MERGED] = without_rare
    return ways


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
