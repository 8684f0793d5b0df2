"""Gradient boosting that is fitted to the exclusions alone.

Boosting starts between uniform priors and what is known already: half way to the domain shares, as
far as these are clear of chance. Where a CF has many values and few cells, noise in the shares would
cost more rounds than they save. It goes on for as long as it gains on hidden cells, all folds beside each other (see `interface`), and then
again on all cells for as many rounds.
There are three answers for each CF, blended by what their hidden cells favor:

    shallow   from the OFs, small trees
    deep      from the OFs, larger trees, each of which sees some of the features
    related   small trees, from the OFs and what the first two say of the row's *other* CFs; it
              starts a quarter of the way to what shallow says

What is said of CF B rests on the OFs and B's cells. So nothing of a row's cell of A reaches the
features that A is predicted from. Only columns that A's residuals vary with are used.

A model is fitted in one thread, and CFs are fitted side by side.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import (
    Fallback,
    Floats,
    Ints,
    Mask,
    Singles,
    columns,
    entropies,
    log_scores,
    posterior,
)
from cfl_cli.core.dataset import Known, all_but
from cfl_cli.core.parallel import Engine
from cfl_cli.core.progress import Expected, Progress, Stage, Work
from cfl_cli.core.settings import AUTO, Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.errors import Problem, UsageError
from cfl_cli.methods import blend
from cfl_cli.methods.interface import (
    Answer,
    Course,
    Estimate,
    Fitted,
    Folds,
    Hidden,
    Layout,
    Method,
    Moves,
    Null,
    Origin,
    TableSize,
    answer_in_blocks,
    apply_cells,
    parts_of,
    without_each,
)
from cfl_cli.methods.trees import GrownTrees, contributions, grown, none_grown, restore_trees

# What boosting minimises: how improbable one CF's cells are under its scores.
#
# With scores z of a row's values, p = softmax(z) and e the evidence of its cell:
#
#     loss       −log Σ_v p_v e_v
#     gradient   p − r,  r = normalise(p ⊙ e): what EM would move the prior by
#     curvature  h_j = c_s · p_j²/(K−1) · Σ_{b≠j} p_b/(1−p_b),  at most p_j (1 − p_j)
#                c_s = s (K−1)/(K−s),  s the number of the cell's exclusions
#
# The curvature is the expected squared gradient: exactly for one uniform exclusion, for an exact
# cell, and for any number of exclusions where all values are as probable; an empty cell has none.

MOST_ROUNDS = 300
PATIENCE = 4  # rounds without a better score …
SLOW = 0.5  # … after so many for each value, before which a CF of many values may hardly gain
# Steps are alike for some rounds, and then grow with the number of rounds. So a CF of many values,
# whose cells say little each, does not take hundreds of them.
EVEN = 8
FASTEST = 5.0  # times the first step, at most
LEAST_GAIN = 1e-3  # of the score over so many rounds, times (K − 1)/s; less is not worth the time
HEAD_START = 0.5  # of the way to the domain shares, in logarithms
_RAREST = 0.25  # share at the start, times K: an estimate of 0 may be far off
FLATTEST = np.float32(1e-6)  # curvature of a row, at least
CERTAIN = 1e6  # c_s of an exact cell: its curvature is p (1 − p)


@dataclass(frozen=True)
class BoostTarget:
    """One CF to predict; values are rows here, as boosting needs them."""

    cf: int
    cells: Singles  # K × n: the evidence
    factors: Singles  # n: c_s
    information: float  # s/(K − 1), the mean over the cells: 1 if all are exact
    # Per run, K × 1 or n, where scores begin: while each fold is hidden, and last on all rows.
    starts: tuple[Singles, ...]

    @classmethod
    def of(cls, known: Known, cf: int, shares: Sequence[Floats]) -> Self:
        """Return a CF of a table; `shares` are its domain shares in each run."""
        block = known.columns[cf]
        size = block.stop - block.start
        how, cells = known.mechanisms[cf], known.candidates[:, block]
        exclusions = (~cells).sum(axis=1)
        factors = exclusions * (size - 1) / (size - exclusions)
        if how.noisy:  # the same for any likelihood: K (K−1) Σ (p − 1/K)²
            factors = how.information(cells) * (size - 1) ** 2
        starts = [HEAD_START * np.log(np.maximum(run, _RAREST / size)) for run in shares]
        return cls(
            cf,
            np.ascontiguousarray(known.evidence[:, block].T, dtype=np.float32),
            np.where(exclusions == how.exact, CERTAIN, factors).astype(np.float32),
            float(how.information(cells).mean() if how.noisy else exclusions.mean() / (size - 1)),
            tuple(run.astype(np.float32)[:, None] for run in starts),
        )

    def applied_to(self, priors: Singles) -> Singles:
        posteriors, _ = posterior(priors, self.cells, over=0, fallback=Fallback.PRIOR)
        return posteriors

    def residuals(self, priors: Singles, fold: Ints | None) -> Singles:
        """Return by how much cells pull priors, K × n; the hidden cells of `fold` do not."""
        pull = self.applied_to(priors) - priors
        if fold is not None:
            pull[:, fold] = 0
        return pull


class _Seen(Exception):  # noqa: N818 — not an error
    """The priors of the last round are known, and no gradient is wanted."""


class BoostObjective:
    """LightGBM's objective for one CF, and the priors that it was last asked about.

    The cells of the rows in `fold` have no say.
    """

    def __init__(self, target: BoostTarget, run: int, fold: Ints | None) -> None:
        self.target = target
        self.start = target.starts[run]
        self.seen = np.ones(target.cells.shape[1], dtype=np.float32)
        if fold is not None:
            self.seen[fold] = 0
        self.factors = target.factors / np.float32(len(target.cells) - 1)
        self.priors = np.zeros_like(target.cells)
        self.done = 0  # rounds
        self.last = False  # is this round the last?

    def __call__(self, scores: Floats, _: object) -> tuple[Singles, Singles]:
        p = self.priors = priors_of(scores.T, self.start)
        if self.last:
            raise _Seen
        gradient = p - self.target.applied_to(p)
        # A leaf's value is proportional to its gradient: this lengthens the step.
        gradient *= self.seen * np.float32(min(max(self.done / EVEN, 1.0), FASTEST))
        self.done += 1
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


def priors_of(scores: Floats, start: Singles) -> Singles:
    """Return the priors of scores, K × n, added to where they begin, K × 1 or n: their softmax."""
    p = np.array(scores, dtype=np.float32, order="C")
    p += start
    p -= p.max(axis=0)
    np.exp(p, out=p)
    total = p[0].copy()
    for of_value in p[1:]:  # one by one: numpy adds those of a single row in another order
        total += of_value
    p /= total
    return p


class HiddenRounds:
    """Chooses the rounds of one CF, for which the folds are boosted beside each other.

    Each fold is hidden from one of the objectives. See `rounds`.
    """

    def __init__(self, target: BoostTarget, folds: Folds, groups: Ints | None) -> None:
        self.target = target
        self.objectives = [BoostObjective(target, run, fold) for run, fold in enumerate(folds)]
        self.parts = [(fold, folds[fold][rows]) for fold, rows in parts_of(folds, groups)]
        least = LEAST_GAIN * target.information
        fewest = PATIENCE + round(SLOW * len(target.cells))
        self.all, *self.of_others = (
            Course(PATIENCE, least, fewest=fewest, most=MOST_ROUNDS)
            for _ in range(1 + len(self.parts))
        )
        self.best = [np.zeros_like(target.cells) for _ in folds]  # priors of each fold, K × n
        self.of_parts = [np.zeros_like(target.cells)[:, rows] for _, rows in self.parts]

    @property
    def ended(self) -> bool:
        return self.all.ended and all(course.ended for course in self.of_others)

    def look(self) -> None:
        """Judge what the objectives have come to, all after as many rounds."""
        of_parts = []
        for fold, rows in self.parts:
            priors = self.objectives[fold].priors[:, rows]
            logs = log_scores(priors, self.target.cells[:, rows], over=0)
            of_parts.append([float(logs.sum(dtype=float)), float(len(rows))])
        sums = np.array(of_parts).reshape(-1, 2)
        every, count = sums.sum(axis=0).tolist()
        alone = len(self.best) == 1
        if self.all.add(every / count) and alone:
            self.best[0] = self.objectives[0].priors
        for part, (score, cells) in enumerate(without_each(sums).tolist()):
            if self.of_others[part].add(score / max(cells, 1.0)):
                fold, rows = self.parts[part]
                priors = self.objectives[fold].priors
                self.of_parts[part] = priors[:, rows]
                if not alone:
                    self.best[fold] = priors

    def priors(self) -> tuple[Singles, ...]:
        """Return what is said of all rows, K × n for each fold, while that was hidden."""
        for (fold, rows), own in zip(self.parts, self.of_parts, strict=True):
            self.best[fold][:, rows] = own
        return tuple(self.best)


# How boosting grows its trees: LightGBM, in one thread and from a seed.

FULL_LEAVES = 20_000  # rows from which on leaves hold as many as their shape says
LEAST_LEAF = 20  # rows in a leaf, however few there are
MOST_FEATURES = 32  # that a tree sees
_WIDE = 64  # features, from which on a table is wide
ROWS_OF_A_BIN = 32  # at least about so many, unless there are too few bins then
FEWEST_BINS, FEWEST_IF_WIDE, MOST_BINS = 63, 15, 255  # the last is LightGBM's own limit
L2 = 3.0


@dataclass(frozen=True)
class _Shape:
    leaves: int
    rows: int  # in a leaf, at least; of a table below FULL_LEAVES rows, fewer in proportion
    rate: float
    columns: float  # share of the features that each tree sees


SHALLOW = _Shape(leaves=4, rows=200, rate=0.14, columns=1.0)
DEEP = _Shape(leaves=31, rows=100, rate=0.14, columns=0.7)


class Trees:
    """Grows trees until the objective stops it, or the workers are stopped."""

    def __init__(self, seed: int, workers: Engine) -> None:
        self.seed, self.workers = seed, workers
        self.lightgbm = lightgbm()

    def bins(self, features: npt.NDArray[np.floating]) -> Any:
        options = {
            "verbose": -1,
            "num_threads": 1,
            "feature_pre_filter": False,
            "max_bin": bins_of(*features.shape),
        }
        return self.lightgbm.Dataset(features, params=options).construct()

    def model(self, objective: BoostObjective, data: Any, shape: _Shape) -> "Model":
        size, n = objective.target.cells.shape
        if not any(data.feature_num_bin(column) > 1 for column in range(data.num_feature())):
            # LightGBM takes that for an error: go no further than the start.
            return Model(objective, None, self.workers)
        rows = max(min(shape.rows, n * shape.rows // FULL_LEAVES), LEAST_LEAF)
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
                # The same trees, whichever it is: by columns a small table's sums take less time.
                "force_col_wise": n < FULL_LEAVES,
                "force_row_wise": n >= FULL_LEAVES,
                "num_threads": 1,
                "verbose": -1,
            },
            data,
        )
        return Model(objective, booster, self.workers)


class Model:
    """What grows round by round; without a booster it has no trees."""

    def __init__(self, objective: BoostObjective, booster: Any, workers: Engine) -> None:
        self.objective, self.booster, self.workers = objective, booster, workers
        self.grows = True

    def next_round(self) -> None:
        """Let the objective see the round that is reached, and add one, as far as there is any."""
        if self.booster is None:
            size, n = self.objective.target.cells.shape
            self.objective(np.zeros((n, size)), None)
            self.grows = False
        elif self.grows and not self.workers.stopped:
            self.grows = not self.booster.update(fobj=self.objective)

    def grow(self, rounds: int) -> GrownTrees:
        size = len(self.objective.target.cells)
        for _ in range(rounds):
            self.next_round()
        with suppress(_Seen):
            self.objective.last = True
            self.next_round()
        return trees_of(self.booster, size)


def bins_of(rows: int, features: int) -> int:
    """Return how many bins a feature has at most.

    A split between two bins of few rows is hardly better founded than the next one. A small wide
    table spends nearly all its time on looking for them.
    """
    fewest = FEWEST_IF_WIDE if features >= _WIDE else FEWEST_BINS
    return min(max(rows // ROWS_OF_A_BIN, fewest), MOST_BINS)


def trees_of(booster: Any, size: int) -> GrownTrees:
    return none_grown(size) if booster is None else grown(booster.model_to_string(), size)


def lightgbm() -> Any:
    try:
        return import_module("lightgbm")
    except ImportError:
        text = "method boost needs LightGBM, which is not installed: {remedy}"
        remedy = "reinstall cfl-cli (pip install --force-reinstall cfl-cli)"
        raise UsageError(Problem("method-package-missing", text, remedy=remedy)) from None
    except OSError as error:  # its library lacks another one, of the system
        text = "method boost needs LightGBM, which does not load ({error}): {remedy}"
        remedy = "install the OpenMP runtime, which is the package libgomp1 on Debian and libomp on macOS"
        problem = Problem("method-package-broken", text, error=str(error), remedy=remedy)
        raise UsageError(problem) from None


# What boosting has learned of one CF: its trees, and how they are blended.

FURTHER_START = 0.25  # of the way to what shallow trees say from the OFs alone
_TINY = np.float32(1e-30)
_ZERO = -106.0  # at most, the logarithm of what is 0 in single precision


@dataclass(frozen=True, eq=False)
class Related:
    """The trees of one CF that see what is said of others."""

    trees: GrownTrees
    columns: Ints  # of all confidences, those that it sees beside the OFs


@dataclass(frozen=True, eq=False)
class BoostedCf:
    start: Singles  # K × 1: where scores begin
    shallow: GrownTrees
    deep: GrownTrees
    first: Floats  # the weights of these two, …
    related: Related | None
    weights: Floats  # … and of all

    def state(self) -> State:
        arrays: dict[str, npt.NDArray[Any]] = {
            "start": self.start[:, 0],
            "first": self.first,
            "weights": self.weights,
        }
        parts = {"shallow": self.shallow.state(), "deep": self.deep.state()}
        if self.related is not None:
            arrays["columns"] = self.related.columns
            parts["related"] = self.related.trees.state()
        return State(arrays, parts=parts)


def further_start(shallow: Singles) -> Singles:
    """Return where the scores of `related` begin, K × n, given what shallow trees say."""
    return np.float32(FURTHER_START) * np.log(np.maximum(shallow, _TINY))


# How far each OF and each other CF moved what boosting says of one row.
#
#     score(v) = base(v) + Σ_f of_features(f, v) + Σ_c of_others(c, v)      prior = softmax(score)
#
# A blend is a weighted sum of logarithms, and each part's logarithms are, but for a constant, scores
# of trees added to where they begin. So the Shapley values of the trees (see `tree_shap`) add up:
#
#     shallow, deep   start + scores from the OFs
#     related         a quarter of shallow's, and scores from the OFs and other CFs' confidences
#
# Where other CFs' confidences themselves come from is another question: an OF has a say in these.
#
# Priors are computed in single precision, and a part of a blend counts as at least FLOOR. What that
# changes goes into the base, so that the softmax is the prior to the last digits; but the prior of a
# part that answers alone sums to 1 in single precision only, and a softmax exactly. The change is a
# rounding, unless a part is below FLOOR: then the base is more for that value than what would be said
# of a row of which nothing is known.
#
# A softmax does not change if all of a CF's scores move alike: means over the values are taken off.


def moves_of(of_cf: BoostedCf, features: Floats, confidences: Floats, prior: Floats) -> Moves:
    """Return the moves of one CF.

    Of one row: its features, d; what is first said of all CFs, ΣK; and the CF's prior, K.
    """
    size, d = len(prior), len(features)
    base, moves = np.zeros(size), np.zeros((d, size))
    others = np.zeros((len(confidences), size))
    of_shallow, of_deep, of_related = (*of_cf.weights, 0.0)[:3]
    # What shallow says counts in its own right, and as where `related` begins.
    for trees, weight in (
        (of_cf.shallow, of_shallow + FURTHER_START * of_related),
        (of_cf.deep, of_deep),
    ):
        if weight:
            begins, by_feature = contributions(trees, features)
            base += weight * (of_cf.start[:, 0] + begins)
            moves += weight * by_feature
    if of_cf.related is not None and of_related:
        seen = confidences[of_cf.related.columns].astype(np.float32)
        begins, by_feature = contributions(of_cf.related.trees, np.concatenate([features, seen]))
        base += of_related * begins
        moves += of_related * by_feature[:d]
        others[of_cf.related.columns] = of_related * by_feature[d:]
    # What makes the prior of the scores. A value whose prior is 0 stays as improbable as it is, or
    # becomes so: such a prior is one too small for single precision, of a part that answers alone.
    scores = base + moves.sum(axis=0) + others.sum(axis=0)
    logs = scores - scores.max()
    logs -= np.log(np.exp(logs).sum())
    base += np.log(prior, out=np.minimum(logs, _ZERO), where=prior > 0) - logs
    return Moves(*(each - each.mean(axis=-1, keepdims=True) for each in (base, moves, others)))


# What boosting has learned: trees for each CF, and how they are blended.
#
#     shallow, deep   trees of the OFs: priors by softmax(start + scores)
#     first           their blend; with the rows' own cells applied, it says what other CFs are told
#     related         trees of the OFs and of that, for other CFs' values: they start a quarter of
#                     the way to what shallow says
#     prior           the blend of the three
#
# So the prior of a CF depends on a row's OFs and its cells of other CFs.

_FURTHEST = np.float32(1e3)  # of a start from 0: they are halves of logarithms of shares


@dataclass(frozen=True, eq=False)
class FittedBoost(Fitted):
    cfs: tuple[BoostedCf, ...]

    def answer(self, rows: Known, workers: Engine) -> Answer:
        evidence = rows.evidence

        def priors(some: slice) -> Floats:
            return self._said(rows.features[some], evidence[some], rows.blocks)[1]

        return answer_in_blocks(priors, rows, workers)

    def _said(self, features: Floats, cells: Floats | Mask, blocks: Ints) -> tuple[Floats, Floats]:
        parts = [
            [priors_of(own.scores(features), of_cf.start) for own in (of_cf.shallow, of_cf.deep)]
            for of_cf in self.cfs
        ]
        first = beside(parts, [of_cf.first for of_cf in self.cfs])
        confidences, _ = posterior(first, cells, over=blocks, fallback=Fallback.CELL)
        for of_cf, of_ofs in zip(self.cfs, parts, strict=True):
            if of_cf.related is not None:
                others = confidences[:, of_cf.related.columns].astype(np.float32)
                scores = of_cf.related.trees.scores(np.hstack([features, others]))
                of_ofs.append(priors_of(scores, further_start(of_ofs[0])))
        return confidences, beside(parts, [of_cf.weights for of_cf in self.cfs])

    def moves(
        self,
        row: Known,
        *,
        blank: Floats | None = None,
        ofs: Sequence[slice] = (),
        cfs: Collection[int] | None = None,
    ) -> tuple[Moves | None, ...]:
        """Return for each CF how far each OF and each other CF moved what is said of one row.

        None for those that are not among `cfs`; see `interface.Moving`.
        """
        confidences, priors = self._said(row.features, row.evidence, row.blocks)
        return tuple(
            moves_of(of_cf, row.features[0], confidences[0], priors[0, block])
            if cfs is None or cf in cfs
            else None
            for cf, (of_cf, block) in enumerate(zip(self.cfs, row.columns, strict=True))
        )

    def state(self) -> State:
        return State(parts={f"{cf}": own.state() for cf, own in enumerate(self.cfs)})


def beside(parts: Sequence[Sequence[Singles]], weights: Sequence[Floats]) -> Floats:
    """Return the blends of the parts of each CF, K × n each, beside each other: n × ΣK."""
    return np.hstack(
        [
            blend.blended([part.T.astype(float) for part in own], how)
            for own, how in zip(parts, weights, strict=True)
        ]
    )


CLEAR = 2.5  # standard errors of a residual's covariance with an informative column
LEAST_NOISE = 1e-12  # of a column that does not vary
MOST_COLUMNS = 20  # of other CFs, among the features for one
FOLDS = (
    5  # that are boosted beside each other, of a table whose number of rows is below FULL_LEAVES
)
GROWING = 8 + 8 + 2 * 4 + 4  # bytes of each row and value: scores twice, slopes and priors
LIGHTGBM, TREES = 45e6, 0.7e6  # bytes of the package, and of the trees for one value
FROM_OFS = Stage("boosting", Work.BOOSTING, "growing trees")
FROM_CFS = Stage("boosting from other CFs", Work.BOOSTING, "growing trees from other CFs")
_ON_SHUFFLED = Stage("boosting, shuffled cells", Work.BOOSTING, "growing trees on shuffled cells")
USUAL_ROUNDS = 40  # of full trees, as many bytes as 17 to 63 on Bank and Adult
_RUN_SECONDS = {FROM_OFS: 1.3e-6, FROM_CFS: 0.7e-6, _ON_SHUFFLED: 0.3e-6}  # per row and value


_SHAPES = {"shallow": SHALLOW, "deep": DEEP, "related": SHALLOW}


class BoostMethod(Method):
    def estimate(
        self, known: Known, settings: Settings, *, folds: Folds, workers: Engine, progress: Progress
    ) -> Estimate:
        """Fit every CF, as far as the rows of each of the `folds`, hidden, favor it."""
        fitter = Fitter(known, folds, settings.seed, workers, progress)
        fits = fitter.from_ofs(FROM_OFS, ["shallow", "deep"])
        first = fitter.blends(fits)
        confidences, _, _ = apply_cells(blended_priors(fits, first), known)
        further = fitter.from_others(confidences, fits)
        fits = [of_cf + more for of_cf, more in zip(fits, further, strict=True)]
        blends = fitter.blends(fits)
        null = None
        if self.compared:  # with what trees of the OFs make of cells that say nothing
            mixed = known.shuffled(settings.seed)
            on_mixed = Fitter(mixed, folds[:1], settings.seed, workers, progress)
            others = on_mixed.from_ofs(_ON_SHUFFLED, ["shallow"])
            means = []
            for of_table, cells in ((fits, known), (others, mixed)):
                shallow = np.vstack([of_cf[0].priors for of_cf in of_table]).T.astype(float)
                said, _, _ = apply_cells(shallow, cells)
                means.append(entropies(said, known.blocks).mean(axis=0))
            null = Null(means[0], means[1], len(known))

        kept = []
        for own, target, one, every in zip(fits, fitter.targets, first, blends, strict=True):
            trees, deep, *related = own
            seeing = (Related(fit.trees, fit.columns) for fit in related if fit.columns is not None)
            grown_of = trees.trees, deep.trees, one.weights, next(seeing, None)
            kept.append(BoostedCf(target.starts[-1], *grown_of, every.weights))
        names = [*_SHAPES]
        return Estimate(
            *apply_cells(blended_priors(fits, blends), known),
            tuple(Origin("boost", of_cf.parts(names[: len(of_cf.weights)])) for of_cf in blends),
            Hidden(np.concatenate(folds), np.hstack([of_cf.prior for of_cf in blends])),
            null,
            fitted=FittedBoost(tuple(kept)),
        )

    def restore(self, state: State, layout: Layout) -> FittedBoost:
        cfs, blocks = [], np.cumsum([0, *layout.domains[:-1]])
        for cf, own in enumerate(columns(blocks, layout.width)):
            kept, size = state.part(f"{cf}"), own.stop - own.start
            start = kept.array("start", np.float32, size)
            if (np.abs(start) > _FURTHEST).any():
                raise StateError("array 'start' holds scores that no share can have")
            shallow, deep = (
                restore_trees(kept.part(name), values=size, features=layout.features)
                for name in ("shallow", "deep")
            )
            related = None
            if "related" in kept.parts:
                used = kept.places("columns", layout.width, None)
                if ((used >= own.start) & (used < own.stop)).any():
                    text = "array 'columns' holds columns of the CF that is predicted from them"
                    raise StateError(text)
                many = layout.features + len(used)
                trees = restore_trees(kept.part("related"), values=size, features=many)
                related = Related(trees, used)
            first = kept.array("first", np.float64, 2)
            weights = kept.array("weights", np.float64, 2 if related is None else 3)
            for name, array in (("first", first), ("weights", weights)):
                blend.check_weights(name, array)
            cfs.append(BoostedCf(start[:, None], shallow, deep, first, related, weights))
        return FittedBoost(tuple(cfs))

    def model_bytes(self, size: TableSize, settings: Settings) -> float:
        leaves = sum(shape.leaves for shape in _SHAPES.values())
        return float(USUAL_ROUNDS * size.width * leaves * (8 + 4 + 4 + 4 + 8 + 4))

    def memory(self, size: TableSize, settings: Settings, *, jobs: int) -> float:
        n, width, largest = size.rows, size.width, max(size.domains)
        features = n * (8 + 1) * (size.features + jobs * MOST_COLUMNS)  # and in bins
        fits = n * width * 4 * 3 * 2  # three of each CF: on the way, and in the end
        confidences = n * width * (1 + 4 * 8)
        trees = LIGHTGBM + width * TREES
        if settings.folds == AUTO:
            beside = FOLDS if n <= FULL_LEAVES else 1
        else:
            beside = max(settings.folds, 1)
        growing = jobs * n * largest * (beside * GROWING + 4 * 4)
        return float(features + fits + confidences + growing) + trees

    def stages(self, size: TableSize, settings: Settings, *, folds: int) -> list[Expected]:
        runs = {FROM_OFS: folds + 1, FROM_CFS: folds + 1, _ON_SHUFFLED: min(folds, 1) + 1}
        if len(size.domains) == 1:
            del runs[FROM_CFS]
        if not self.compared:
            del runs[_ON_SHUFFLED]
        return [
            Expected.of(stage, size.rows, _RUN_SECONDS[stage] * count * size.width)
            for stage, count in runs.items()
        ]


@dataclass(frozen=True)
class _Fit:
    priors: Singles  # K × n
    without: tuple[Singles, ...]  # K × n for each fold: fitted while that was hidden
    trees: GrownTrees  # fitted to all rows
    columns: Ints | None = None  # of all confidences, those that trees see beside the OFs


class Fitter:
    """Fits the CFs of a table, each while some rows are hidden and then on all rows."""

    def __init__(
        self, known: Known, folds: Folds, seed: int, workers: Engine, progress: Progress
    ) -> None:
        self.known, self.folds = known, folds
        self.workers, self.progress = workers, progress
        self.trees = Trees(seed, workers)
        shares = [known.clear_shares(all_but(fold, len(known))) for fold in folds]
        shares.append(known.clear_shares())
        self.targets = [
            BoostTarget.of(known, cf, [run[cf] for run in shares])
            for cf in range(len(known.blocks))
        ]
        self.largest_first = sorted(self.targets, key=lambda target: -len(target.cells))

    def from_ofs(self, stage: Stage, parts: Sequence[str]) -> list[list[_Fit]]:
        ofs = self.trees.bins(self.known.features)

        def fit(job: tuple[BoostTarget, _Shape]) -> _Fit:
            target, shape = job
            return self._fit(target, [ofs] * len(target.starts), shape)

        jobs = [(target, _SHAPES[part]) for target in self.largest_first for part in parts]
        return self._each(stage, fit, jobs)

    def from_others(self, confidences: Floats, fits: Sequence[Sequence[_Fit]]) -> list[list[_Fit]]:
        """Fit the CFs to the OFs and to what is said of the other CFs, where that is informative.

        `confidences` must come from the OFs and each CF's own cells alone.
        """

        def fit(job: tuple[BoostTarget, _Shape]) -> _Fit | None:
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

        jobs = [(target, _SHAPES["related"]) for target in self.largest_first]
        if len(jobs) == 1:
            return [[]]
        return self._each(FROM_CFS, fit, jobs)

    def blends(self, fits: Sequence[Sequence[_Fit]]) -> list[blend.Blend]:
        rows = np.concatenate(self.folds)
        groups, blends = self.known.groups_of(rows), []
        for target, of_cf in zip(self.targets, fits, strict=True):
            hidden = (
                [prior[:, fold] for prior, fold in zip(fitted.without, self.folds, strict=True)]
                for fitted in of_cf
            )
            priors = [np.hstack(of_folds).T.astype(float) for of_folds in hidden]
            cells = target.cells[:, rows].T.astype(float)
            blends.append(blend.fit(priors, cells, groups=groups))
        return blends

    def _each(
        self,
        stage: Stage,
        fit: Callable[[tuple[BoostTarget, _Shape]], _Fit | None],
        jobs: Sequence[tuple[BoostTarget, _Shape]],
    ) -> list[list[_Fit]]:
        fits: list[list[_Fit]] = [[] for _ in self.targets]
        done, total = 0, sum(len(target.cells) for target, _ in jobs)  # a tree for each value
        self.progress(stage, 0, total)
        for (target, _), fitted in zip(jobs, self.workers.map(fit, jobs), strict=True):
            done += len(target.cells)
            self.progress(stage, done, total)
            fits[target.cf] += [] if fitted is None else [fitted]
        return fits

    def _fit(self, target: BoostTarget, data: Sequence[Any], shape: _Shape) -> _Fit:
        hidden = HiddenRounds(target, self.folds, self.known.groups)
        runs = zip(hidden.objectives, data, strict=False)
        models = [self.trees.model(objective, bins, shape) for objective, bins in runs]
        while not (hidden.ended or self.workers.stopped):
            for model in models:
                model.next_round()
            hidden.look()
            if not any(model.grows for model in models):
                break
        last = BoostObjective(target, len(self.folds), None)
        trees = self.trees.model(last, data[-1], shape).grow(hidden.all.best)
        return _Fit(last.priors, hidden.priors(), trees)


def blended_priors(fits: Sequence[Sequence[_Fit]], blends: Sequence[blend.Blend]) -> Floats:
    return beside([[fit.priors for fit in of_cf] for of_cf in fits], [by.weights for by in blends])


def informative_columns(columns: Singles, residuals: Singles) -> Ints:
    """Return the columns, n × C, that residuals vary with more than by chance, strongest first."""
    # A constant column's mean is off by a rounding, and so would be the column from its mean.
    centered = np.where(np.ptp(columns, axis=0) > 0, columns - columns.mean(axis=0), 0)
    together = residuals @ centered
    noise = np.sqrt((residuals**2) @ (centered**2))
    strength = np.max(np.abs(together) / np.maximum(noise, LEAST_NOISE), axis=0)
    first = np.argsort(-strength, kind="stable")[:MOST_COLUMNS]
    return np.asarray(first[strength[first] > CLEAR])
