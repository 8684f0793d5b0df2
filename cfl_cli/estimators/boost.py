"""Gradient boosting that is fitted to the exclusions alone (LightGBM).

For one CF, with scores z of a row's values, p = softmax(z) and e the evidence of its cell:

    loss       −log Σ_v p_v e_v
    gradient   p − r,  r = normalise(p ⊙ e): what EM would move the prior by
    curvature  h_j = c_s · p_j²/(K−1) · Σ_{b≠j} p_b/(1−p_b),  at most p_j (1 − p_j)
               c_s = s (K−1)/(K−s),  s the number of the cell's exclusions

The curvature is the expected squared gradient: exactly for one uniform exclusion, for an exact
cell, and for any number of exclusions where all values are as probable; an empty cell has none.

Boosting starts between uniform priors and what is known already: half way to the domain shares. It
goes on for as long as it gains on hidden cells, and then again on all cells for as many rounds.
There are three answers for each CF, blended by what their hidden cells favor:

    shallow   from the OFs, small trees
    deep      from the OFs, larger trees, each of which sees some of the features
    related   small trees, from the OFs and what the first two say of the row's *other* CFs; it
              starts a quarter of the way to what shallow says

What is said of CF B rests on the OFs and B's cells. So nothing of a row's cell of A reaches the
features that A is told by. Only the columns that the residuals of A have to do with are used.

A model is fitted in one thread, and CFs are fitted side by side.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Floats, Ints, Singles
from cfl_cli.core.blocks import entropies
from cfl_cli.core.known import LARGE, Known, all_but
from cfl_cli.core.log_score import log_scores
from cfl_cli.core.parallel import Workers
from cfl_cli.core.posterior import Fallback, posterior
from cfl_cli.errors import UsageError
from cfl_cli.estimators import blend
from cfl_cli.estimators.interface import (
    Estimate,
    Hidden,
    Method,
    Null,
    Origin,
    Progress,
    Size,
    apply_cells,
)

MOST_ROUNDS = 300
PATIENCE = 20  # rounds without a better score
LEAST_GAIN = 1e-3  # of the score over so many rounds, times (K − 1)/s; less is not worth the time
MOST_FEATURES = 32  # that a tree sees
HEAD_START = 0.5  # of the way to the domain shares, in logarithms
FURTHER_START = 0.25  # of the way to what shallow trees say from the OFs alone
RAREST = 0.25  # share at the start, times K: an estimate of 0 may be far off
L2 = 5.0
TINY = np.float32(1e-30)
FLATTEST = np.float32(1e-6)  # curvature of a row, at least
CERTAIN = 1e6  # c_s of an exact cell: its curvature is p (1 − p)
CLEAR = 2.5  # standard errors of a residual's covariance with a column that tells something
LEAST_NOISE = 1e-12  # of a column that does not vary
MOST_COLUMNS = 20  # of other CFs, among the features for one


@dataclass(frozen=True)
class Shape:
    """What trees are grown."""

    leaves: int
    rows: int  # in a leaf, at least; of a table below 20,000 rows, fewer in proportion
    rate: float
    columns: float  # share of the features that each tree sees


SHALLOW = Shape(leaves=7, rows=200, rate=0.1, columns=1.0)
DEEP = Shape(leaves=31, rows=100, rate=0.07, columns=0.7)
SHAPES = {"shallow": SHALLOW, "deep": DEEP, "related": SHALLOW}


def estimate(
    known: Known,
    method: Method,
    *,
    folds: Sequence[Ints],
    workers: Workers,
    progress: Progress,
) -> Estimate:
    """Fit every CF, as far as the rows of each of the `folds`, hidden, favor it."""
    bench = Bench(known, folds, method.seed, workers, progress)
    fits = bench.from_ofs("boosting", ["shallow", "deep"])
    blends = bench.blends(fits)
    confidences, _, _ = apply_cells(bench.priors(fits, blends), known)
    further = bench.from_others(confidences, fits)
    fits = [found + more for found, more in zip(fits, further, strict=True)]
    blends = bench.blends(fits)
    own, _, _ = apply_cells(_beside(found[0].priors for found in fits), known)
    return Estimate(
        *apply_cells(bench.priors(fits, blends), known),
        tuple(Origin("boost", found.parts([*SHAPES][: len(found.weights)])) for found in blends),
        Hidden(np.concatenate(folds), np.hstack([found.prior for found in blends])),
        _null(known, own, method, folds, workers, progress),
    )


def memory(size: Size, method: Method, *, jobs: int) -> float:  # noqa: ARG001
    """Return about how many bytes are held at the peak, those of the table left aside."""
    n, width, largest = size.rows, size.width, max(size.domains)
    features = n * (8 + 1) * (size.features + jobs * MOST_COLUMNS)  # and in bins
    fits = n * width * 4 * 3 * 2  # three of each CF: on the way, and in the end
    confidences = n * width * (1 + 4 * 8)
    return float(features + fits + confidences + jobs * n * largest * (8 + 6 * 4))


def _null(
    known: Known,
    own: Floats,
    method: Method,
    folds: Sequence[Ints],
    workers: Workers,
    progress: Progress,
) -> Null:
    """Compare what the OFs tell by shallow trees with what they tell of shuffled cells."""
    mixed = known.shuffled(method.seed)
    fits = Bench(mixed, folds[:1], method.seed, workers, progress).from_ofs(
        "boosting, shuffled cells", ["shallow"]
    )
    other, _, _ = apply_cells(_beside(found[0].priors for found in fits), mixed)
    entropy, shuffled = (entropies(at, known.blocks).mean(axis=0) for at in (own, other))
    return Null(entropy, shuffled, len(known))


@dataclass(frozen=True)
class Fitted:
    """What a model of one CF says of the rows, and what it says without the hidden ones' cells."""

    priors: Singles  # K × n
    without: tuple[Singles, ...]  # K × n for each fold: fitted while that was hidden


@dataclass(frozen=True)
class Target:
    """One CF that is to be told, with the values in rows as boosting needs them."""

    cf: int
    cells: Singles  # K × n: the evidence
    factors: Singles  # n: c_s
    telling: float  # s/(K − 1): how much of a value its cells tell, in the mean
    starts: tuple[
        Singles, ...
    ]  # K × 1 or n, where scores begin: while each fold is hidden; and last

    def applied_to(self, priors: Singles) -> Singles:
        """Return priors with the cells applied, K × n."""
        found, _ = posterior(priors, self.cells, over=0, fallback=Fallback.PRIOR)
        return found


class Bench:
    """Where the CFs of a table are fitted, each while some rows are hidden and then on all rows."""

    def __init__(
        self,
        known: Known,
        folds: Sequence[Ints],
        seed: int,
        workers: Workers,
        progress: Progress,
    ) -> None:
        self.known, self.folds, self.seed = known, folds, seed
        self.workers, self.progress = workers, progress
        self.lightgbm = lightgbm()
        shares = [known.shares(all_but(fold, len(known))) for fold in folds]
        shares.append(known.shares())
        self.targets = [
            _target(known, cf, [of_run[cf] for of_run in shares]) for cf in range(len(known.blocks))
        ]

    def from_ofs(self, stage: str, parts: Sequence[str]) -> list[list[Fitted]]:
        """Fit all CFs to the OFs, with trees of these shapes."""
        ofs = self._data(self.known.features)

        def fit(job: tuple[Target, Shape]) -> Fitted:
            target, shape = job
            return self._fit(target, [ofs] * len(target.starts), shape)

        jobs = [(target, SHAPES[part]) for target in self._largest_first for part in parts]
        return self._gather(jobs, self._each(stage, fit, jobs))

    def from_others(
        self, confidences: Floats, fits: Sequence[Sequence[Fitted]]
    ) -> list[list[Fitted]]:
        """Fit the CFs to the OFs and to what is said of the other CFs, where that tells anything.

        `confidences` must come from the OFs and each CF's own cells alone.
        """

        def fit(job: tuple[Target, Shape]) -> Fitted | None:
            target, shape = job
            others = np.ones(confidences.shape[1], dtype=bool)
            others[self.known.columns[target.cf]] = False
            told = confidences[:, others].astype(np.float32)
            found = fits[target.cf][0]
            priors = (*found.without, found.priors)
            runs = zip((*self.folds, None), priors, strict=True)
            used = [_telling(told, _residuals(target, prior, fold)) for fold, prior in runs]
            if not len(used[-1]):
                return None
            data = [self._data(np.hstack([self.known.features, told[:, of]])) for of in used]
            further = tuple(
                np.float32(FURTHER_START) * np.log(np.maximum(prior, TINY)) for prior in priors
            )
            return self._fit(replace(target, starts=further), data, shape)

        jobs = [(target, SHAPES["related"]) for target in self._largest_first]
        if len(jobs) == 1:
            return [[]]
        return self._gather(jobs, self._each("boosting from other CFs", fit, jobs))

    def blends(self, fits: Sequence[Sequence[Fitted]]) -> list[blend.Blend]:
        """Return how to blend the fits of each CF."""
        rows = np.concatenate(self.folds)
        return [
            blend.fit(
                [_foretold(found, self.folds) for found in of_cf],
                target.cells[:, rows].T.astype(float),
            )
            for target, of_cf in zip(self.targets, fits, strict=True)
        ]

    def priors(self, fits: Sequence[Sequence[Fitted]], blends: Sequence[blend.Blend]) -> Floats:
        """Return the blended priors of all rows, n × ΣK."""
        blended = []
        for of_cf, found in zip(fits, blends, strict=True):
            parts = [_beside([fitted.priors]) for fitted in of_cf]
            blended.append(blend.apply(parts, [found], [slice(None)]))
        return np.hstack(blended)

    @property
    def _largest_first(self) -> list[Target]:
        """Return the CFs so that no core waits for a large domain in the end."""
        return sorted(self.targets, key=lambda target: -len(target.cells))

    def _each(
        self,
        stage: str,
        fit: Callable[[tuple[Target, Shape]], Fitted | None],
        jobs: Sequence[tuple[Target, Shape]],
    ) -> Iterator[Fitted | None]:
        self.progress(stage, 0, len(jobs))
        for done, found in enumerate(self.workers.map(fit, jobs), start=1):
            self.progress(stage, done, len(jobs))
            yield found

    def _gather(
        self, jobs: Sequence[tuple[Target, Shape]], found: Iterator[Fitted | None]
    ) -> list[list[Fitted]]:
        """Return the fits of each CF, in the CFs' order."""
        fits: list[list[Fitted]] = [[] for _ in self.targets]
        for (target, _), fitted in zip(jobs, found, strict=True):
            fits[target.cf] += [] if fitted is None else [fitted]
        return fits

    def _data(self, features: npt.NDArray[np.floating]) -> Any:
        """Return features in LightGBM's bins."""
        options = {"verbose": -1, "num_threads": 1, "feature_pre_filter": False}
        return self.lightgbm.Dataset(features, params=options).construct()

    def _fit(self, target: Target, data: Sequence[Any], shape: Shape) -> Fitted:
        """Boost while each fold is hidden, then on all rows for as many rounds; data per run."""
        climbs = []
        for run, fold in enumerate(self.folds):
            climbs.append(Climb(target, run, fold))
            self._boost(climbs[-1], data[run], shape)
        last = Climb(target, len(self.folds), None)
        last.limit = round(sum(climb.rounds for climb in climbs) / len(climbs))
        self._boost(last, data[-1], shape)
        return Fitted(last.priors, tuple(climb.priors for climb in climbs))

    def _boost(self, climb: "Climb", data: Any, shape: Shape) -> None:
        size, n = climb.target.cells.shape
        if not any(data.feature_num_bin(column) > 1 for column in range(data.num_feature())):
            climb.stay()
            return
        rows = max(min(shape.rows, n * shape.rows // LARGE), 1)
        booster = self.lightgbm.Booster(
            {
                "objective": "none",
                "num_class": size,
                "learning_rate": shape.rate,
                "num_leaves": shape.leaves,
                "min_data_in_leaf": rows,
                # It counts rows by their curvature, and without this might split off none at all.
                "min_sum_hessian_in_leaf": 0.5 * rows * float(FLATTEST),
                "lambda_l2": L2,
                "feature_fraction": min(shape.columns, MOST_FEATURES / data.num_feature()),
                "boost_from_average": False,
                "feature_pre_filter": False,
                "seed": self.seed % 2**31,
                "deterministic": True,
                "force_row_wise": True,
                "num_threads": 1,
                "verbose": -1,
            },
            data,
        )
        with suppress(Enough):
            while not (self.workers.stopped or booster.update(fobj=climb)):
                pass


class Enough(Exception):  # noqa: N818 — not an error
    """Ends boosting."""


class Climb:
    """LightGBM's objective for one CF, and the priors at the best score, or after `limit` rounds.

    The cells of the rows in `fold` have no say; they are what is scored.
    """

    def __init__(self, target: Target, run: int, fold: Ints | None) -> None:
        self.target, self.fold = target, fold
        self.start = target.starts[run]
        self.seen = np.ones(target.cells.shape[1], dtype=np.float32)
        if fold is not None:
            self.seen[fold] = 0
        self.factors = target.factors / np.float32(len(target.cells) - 1)
        self.limit = MOST_ROUNDS
        self.scores: list[float] = []
        self.rounds = 0  # the best number of them, or the last
        self.priors = np.zeros_like(target.cells)

    def stay(self) -> None:
        """Go no further than the start: no feature varies, and LightGBM takes that for an error."""
        with suppress(Enough):
            self(np.zeros(self.target.cells.T.shape), None)

    def __call__(self, scores: Floats, _: object) -> tuple[Singles, Singles]:
        """Return the gradient and the curvature at these scores, both n × K, or call it enough."""
        p = scores.T.astype(np.float32)
        p += self.start
        p -= p.max(axis=0)
        np.exp(p, out=p)
        p /= p.sum(axis=0)
        self._look(p)
        gradient = p - self.target.applied_to(p)
        gradient *= self.seen
        rest = 1 - p
        odds = p / np.maximum(rest, np.finfo(np.float32).eps)
        curvature = odds.sum(axis=0) - odds
        curvature *= p
        curvature *= self.factors
        np.minimum(curvature, rest, out=curvature)
        curvature *= p
        np.maximum(curvature, FLATTEST, out=curvature)
        curvature *= self.seen
        return gradient.T, curvature.T

    def _look(self, p: Singles) -> None:
        done = len(self.scores)
        if self.fold is None:
            self.scores.append(0.0)
            self.rounds, self.priors = done, p
        else:
            told = log_scores(p[:, self.fold], self.target.cells[:, self.fold], over=0)
            self.scores.append(float(told.mean(dtype=float)))
            if done == 0 or self.scores[-1] > self.scores[self.rounds]:
                self.rounds, self.priors = done, p.copy()
            gain = self.scores[self.rounds] - self.scores[max(done - PATIENCE, 0)]
            if done >= PATIENCE and gain < LEAST_GAIN * self.target.telling:
                raise Enough
        if done == self.limit:
            raise Enough


def lightgbm() -> Any:
    """Return the package, or raise with how to install it."""
    try:
        return import_module("lightgbm")
    except ImportError:
        raise UsageError(
            "method boost needs LightGBM, which is not installed: pip install 'cfl-cli[boost]'"
        ) from None
    except OSError as error:  # its library lacks another one, of the system
        raise UsageError(
            f"method boost needs LightGBM, which does not load ({error}): install the OpenMP "
            "runtime, which is the package libgomp1 on Debian and libomp on macOS"
        ) from None


def _target(known: Known, cf: int, shares: Sequence[Floats]) -> Target:
    block = known.columns[cf]
    size = block.stop - block.start
    exclusions = (~known.candidates[:, block]).sum(axis=1)
    many = exclusions * (size - 1) / (size - exclusions)
    starts = [HEAD_START * np.log(np.maximum(of_run, RAREST / size)) for of_run in shares]
    return Target(
        cf,
        np.ascontiguousarray(known.evidence[:, block].T, dtype=np.float32),
        np.where(exclusions == size - 1, CERTAIN, many).astype(np.float32),
        float(exclusions.mean()) / (size - 1),
        tuple(of_run.astype(np.float32)[:, None] for of_run in starts),
    )


def _foretold(found: Fitted, folds: Sequence[Ints]) -> Floats:
    """Return what is said of the rows of all folds, each while it was hidden, m × K."""
    told = [prior[:, fold] for prior, fold in zip(found.without, folds, strict=True)]
    return np.hstack(told).T.astype(float)


def _beside(priors: Iterable[Singles]) -> Floats:
    """Return the priors of several CFs beside each other, n × ΣK."""
    return np.vstack(list(priors)).T.astype(float)


def _residuals(target: Target, prior: Singles, fold: Ints | None) -> Singles:
    """Return by how much cells pull priors, K × n; hidden cells do not."""
    pull = target.applied_to(prior) - prior
    if fold is not None:
        pull[:, fold] = 0
    return pull


def _telling(columns: Singles, residuals: Singles) -> Ints:
    """Return the columns, n × C, that residuals vary with more than by chance, strongest first."""
    # A constant column's mean is off by a rounding, and so would be the column from its mean.
    centered = np.where(np.ptp(columns, axis=0) > 0, columns - columns.mean(axis=0), 0)
    together = residuals @ centered
    noise = np.sqrt((residuals**2) @ (centered**2))
    strength = np.max(np.abs(together) / np.maximum(noise, LEAST_NOISE), axis=0)
    first = np.argsort(-strength, kind="stable")[:MOST_COLUMNS]
    return np.asarray(first[strength[first] > CLEAR])
