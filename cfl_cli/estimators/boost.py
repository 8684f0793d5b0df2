"""Gradient boosting that is fitted to the exclusions alone.

Boosting starts between uniform priors and what is known already: half way to the domain shares. It
goes on for as long as it gains on hidden cells, and then again on all cells for as many rounds.
There are three answers for each CF, blended by what their hidden cells favor:

    shallow   from the OFs, small trees
    deep      from the OFs, larger trees, each of which sees some of the features
    related   small trees, from the OFs and what the first two say of the row's *other* CFs; it
              starts a quarter of the way to what shallow says

What is said of CF B rests on the OFs and B's cells. So nothing of a row's cell of A reaches the
features that A is predicted from. Only columns that A's residuals vary with are used.

A model is fitted in one thread, and CFs are fitted side by side.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Singles
from cfl_cli.core.blocks import entropies
from cfl_cli.core.known import Known, all_but
from cfl_cli.core.parallel import Engine
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Expected, Progress, Stage, Work
from cfl_cli.estimators import blend, boost_fitted
from cfl_cli.estimators.boost_fitted import FittedBoost, beside
from cfl_cli.estimators.boost_objective import BoostObjective, Target
from cfl_cli.estimators.boost_trees import DEEP, SHALLOW, Shape, Trees, forest_of
from cfl_cli.estimators.boosted_cf import BoostedCf, Related, further_start
from cfl_cli.estimators.forest import Forest
from cfl_cli.estimators.interface import (
    Estimate,
    Hidden,
    Null,
    Origin,
    Size,
    apply_cells,
)

CLEAR = 2.5  # standard errors of a residual's covariance with an informative column
LEAST_NOISE = 1e-12  # of a column that does not vary
MOST_COLUMNS = 20  # of other CFs, among the features for one
LIGHTGBM, TREES = 45e6, 0.7e6  # bytes of the package, and of the trees for one value
FROM_OFS = Stage("boosting", Work.BOOSTING, "growing trees")
FROM_CFS = Stage("boosting from other CFs", Work.BOOSTING, "growing trees from other CFs")
ON_SHUFFLED = Stage("boosting, shuffled cells", Work.BOOSTING, "growing trees on shuffled cells")
USUAL_ROUNDS = 40  # of full trees, as many bytes as 17 to 63 on Bank and Adult
RUN_SECONDS = {FROM_OFS: 3.2e-6, FROM_CFS: 1.5e-6, ON_SHUFFLED: 0.6e-6}  # per row and value


SHAPES = {"shallow": SHALLOW, "deep": DEEP, "related": SHALLOW}



def estimate(
    known: Known,
    settings: Settings,
    *,
    folds: Sequence[Ints],
    workers: Engine,
    progress: Progress,
) -> Estimate:
    """Fit every CF, as far as the rows of each of the `folds`, hidden, favor it."""
    fitter = Fitter(known, folds, settings.seed, workers, progress)
    fits = fitter.from_ofs(FROM_OFS, ["shallow", "deep"])
    first = fitter.blends(fits)
    confidences, _, _ = apply_cells(blended_priors(fits, first), known)
    further = fitter.from_others(confidences, fits)
    fits = [of_cf + more for of_cf, more in zip(fits, further, strict=True)]
    blends = fitter.blends(fits)
    shallow, _, _ = apply_cells(_beside(of_cf[0].priors for of_cf in fits), known)
    return Estimate(
        *apply_cells(blended_priors(fits, blends), known),
        tuple(Origin("boost", of_cf.parts([*SHAPES][: len(of_cf.weights)])) for of_cf in blends),
        Hidden(np.concatenate(folds), np.hstack([of_cf.prior for of_cf in blends])),
        _null(known, shallow, settings, folds, workers, progress),
        fitted=FittedBoost(
            tuple(
                _kept(of_cf, target.starts[-1], one.weights, all_parts.weights)
                for of_cf, target, one, all_parts in zip(
                    fits, fitter.targets, first, blends, strict=True
                )
            )
        ),
    )


def model_bytes(size: Size, settings: Settings) -> float:  # noqa: ARG001 — as all have it
    """Return about how many bytes are kept of what is fitted."""
    leaves = sum(shape.leaves for shape in SHAPES.values())
    return float(USUAL_ROUNDS * size.width * leaves * (8 + 4 + 4 + 4 + 8 + 4))


def memory(size: Size, settings: Settings, *, jobs: int) -> float:  # noqa: ARG001 — as all have it
    """Return about how many bytes are held at the peak, those of the table left aside."""
    n, width, largest = size.rows, size.width, max(size.domains)
    features = n * (8 + 1) * (size.features + jobs * MOST_COLUMNS)  # and in bins
    fits = n * width * 4 * 3 * 2  # three of each CF: on the way, and in the end
    confidences = n * width * (1 + 4 * 8)
    trees = LIGHTGBM + width * TREES
    return float(features + fits + confidences + jobs * n * largest * (8 + 6 * 4)) + trees


def stages(size: Size, settings: Settings, *, folds: int) -> list[Expected]:  # noqa: ARG001 — as all have it
    """Return what `estimate` is going to do, and about how long each stage takes."""
    runs = {FROM_OFS: folds + 1, FROM_CFS: folds + 1, ON_SHUFFLED: min(folds, 1) + 1}
    if len(size.domains) == 1:
        del runs[FROM_CFS]
    return [
        Expected.of(stage, size.rows, RUN_SECONDS[stage] * count * size.width)
        for stage, count in runs.items()
    ]


def _null(
    known: Known,
    shallow: Floats,
    settings: Settings,
    folds: Sequence[Ints],
    workers: Engine,
    progress: Progress,
) -> Null:
    """Compare the shallow trees' confidences with those of trees fitted to shuffled cells."""
    mixed = known.shuffled(settings.seed)
    fits = Fitter(mixed, folds[:1], settings.seed, workers, progress).from_ofs(
        ON_SHUFFLED, ["shallow"]
    )
    other, _, _ = apply_cells(_beside(of_cf[0].priors for of_cf in fits), mixed)
    entropy, shuffled = (entropies(each, known.blocks).mean(axis=0) for each in (shallow, other))
    return Null(entropy, shuffled, len(known))


@dataclass(frozen=True)
class Fit:
    """What a model of one CF says of the rows, and what it says without the hidden ones' cells."""

    priors: Singles  # K × n
    without: tuple[Singles, ...]  # K × n for each fold: fitted while that was hidden
    trees: Forest  # fitted to all rows
    columns: Ints | None = None  # of all confidences, those that trees see beside the OFs


class Fitter:
    """Fits the CFs of a table, each while some rows are hidden and then on all rows."""

    def __init__(
        self,
        known: Known,
        folds: Sequence[Ints],
        seed: int,
        workers: Engine,
        progress: Progress,
    ) -> None:
        self.known, self.folds = known, folds
        self.workers, self.progress = workers, progress
        self.trees = Trees(seed, workers)
        shares = [known.shares(all_but(fold, len(known))) for fold in folds]
        shares.append(known.shares())
        self.targets = [
            Target.of(known, cf, [run[cf] for run in shares]) for cf in range(len(known.blocks))
        ]

    def from_ofs(self, stage: Stage, parts: Sequence[str]) -> list[list[Fit]]:
        """Fit all CFs to the OFs, with trees of these shapes."""
        ofs = self.trees.bins(self.known.features)

        def fit(job: tuple[Target, Shape]) -> Fit:
            target, shape = job
            return self._fit(target, [ofs] * len(target.starts), shape)

        jobs = [(target, SHAPES[part]) for target in self._largest_first for part in parts]
        return self._gather(jobs, self._each(stage, fit, jobs))

    def from_others(self, confidences: Floats, fits: Sequence[Sequence[Fit]]) -> list[list[Fit]]:
        """Fit the CFs to the OFs and to what is said of the other CFs, where that is informative.

        `confidences` must come from the OFs and each CF's own cells alone.
        """

        def fit(job: tuple[Target, Shape]) -> Fit | None:
            target, shape = job
            own = self.known.columns[target.cf]
            of_others = np.delete(np.arange(confidences.shape[1]), own)
            others = confidences[:, of_others].astype(np.float32)
            shallow = fits[target.cf][0]
            priors = (*shallow.without, shallow.priors)
            runs = zip((*self.folds, None), priors, strict=True)
            used = [
                informative_columns(others, target.residuals(prior, fold)) for fold, prior in runs
            ]
            if not len(used[-1]):
                return None
            data = [
                self.trees.bins(np.hstack([self.known.features, others[:, columns]]))
                for columns in used
            ]
            further = tuple(further_start(prior) for prior in priors)
            fitted = self._fit(replace(target, starts=further), data, shape)
            return replace(fitted, columns=of_others[used[-1]])

        jobs = [(target, SHAPES["related"]) for target in self._largest_first]
        if len(jobs) == 1:
            return [[]]
        return self._gather(jobs, self._each(FROM_CFS, fit, jobs))

    def blends(self, fits: Sequence[Sequence[Fit]]) -> list[blend.Blend]:
        """Return how to blend the fits of each CF."""
        rows = np.concatenate(self.folds)
        return [
            blend.fit(
                [_hidden_priors(fitted, self.folds) for fitted in of_cf],
                target.cells[:, rows].T.astype(float),
                groups=self.known.groups_of(rows),
            )
            for target, of_cf in zip(self.targets, fits, strict=True)
        ]

    @property
    def _largest_first(self) -> list[Target]:
        """Return the CFs so that no core waits for a large domain in the end."""
        return sorted(self.targets, key=lambda target: -len(target.cells))

    def _each(
        self,
        stage: Stage,
        fit: Callable[[tuple[Target, Shape]], Fit | None],
        jobs: Sequence[tuple[Target, Shape]],
    ) -> Iterator[Fit | None]:
        sizes = [len(target.cells) for target, _ in jobs]  # a tree of its own for each value
        self.progress(stage, 0, sum(sizes))
        done = 0
        for size, fitted in zip(sizes, self.workers.map(fit, jobs), strict=True):
            done += size
            self.progress(stage, done, sum(sizes))
            yield fitted

    def _gather(
        self, jobs: Sequence[tuple[Target, Shape]], results: Iterator[Fit | None]
    ) -> list[list[Fit]]:
        """Return the fits of each CF, in the CFs' order."""
        fits: list[list[Fit]] = [[] for _ in self.targets]
        for (target, _), fitted in zip(jobs, results, strict=True):
            fits[target.cf] += [] if fitted is None else [fitted]
        return fits

    def _fit(self, target: Target, data: Sequence[Any], shape: Shape) -> Fit:
        """Boost while each fold is hidden, then on all rows for as many rounds; data per run."""
        hidden = []
        for run, fold in enumerate(self.folds):
            hidden.append(BoostObjective(target, run, fold))
            self.trees.grow(hidden[-1], data[run], shape)
        last = BoostObjective(target, len(self.folds), None)
        last.limit = round(sum(objective.rounds for objective in hidden) / len(hidden))
        booster = self.trees.grow(last, data[-1], shape)
        trees = forest_of(booster, len(target.cells))
        return Fit(last.priors, tuple(objective.priors for objective in hidden), trees)


def blended_priors(fits: Sequence[Sequence[Fit]], blends: Sequence[blend.Blend]) -> Floats:
    """Return the blended priors of all rows, n × ΣK."""
    return beside(
        [[fitted.priors for fitted in of_cf] for of_cf in fits], [how.weights for how in blends]
    )


def _kept(fits: Sequence[Fit], start: Singles, first: Floats, weights: Floats) -> BoostedCf:
    """Return what is kept of one CF."""
    shallow, deep, *further = fits
    related = None
    for fitted in further:
        if fitted.columns is not None:
            related = Related(fitted.trees, fitted.columns)
    return BoostedCf(start, shallow.trees, deep.trees, first, related, weights)


def _hidden_priors(fitted: Fit, folds: Sequence[Ints]) -> Floats:
    """Return the priors of the rows of all folds, each while it was hidden, m × K."""
    hidden = [prior[:, fold] for prior, fold in zip(fitted.without, folds, strict=True)]
    return np.hstack(hidden).T.astype(float)


def _beside(priors: Iterable[Singles]) -> Floats:
    """Return the priors of several CFs beside each other, n × ΣK."""
    return np.vstack(list(priors)).T.astype(float)


def informative_columns(columns: Singles, residuals: Singles) -> Ints:
    """Return the columns, n × C, that residuals vary with more than by chance, strongest first."""
    # A constant column's mean is off by a rounding, and so would be the column from its mean.
    centered = np.where(np.ptp(columns, axis=0) > 0, columns - columns.mean(axis=0), 0)
    together = residuals @ centered
    noise = np.sqrt((residuals**2) @ (centered**2))
    strength = np.max(np.abs(together) / np.maximum(noise, LEAST_NOISE), axis=0)
    first = np.argsort(-strength, kind="stable")[:MOST_COLUMNS]
    return np.asarray(first[strength[first] > CLEAR])
