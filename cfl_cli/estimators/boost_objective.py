"""What boosting minimises: how improbable one CF's cells are under its scores.

With scores z of a row's values, p = softmax(z) and e the evidence of its cell:

    loss       −log Σ_v p_v e_v
    gradient   p − r,  r = normalise(p ⊙ e): what EM would move the prior by
    curvature  h_j = c_s · p_j²/(K−1) · Σ_{b≠j} p_b/(1−p_b),  at most p_j (1 − p_j)
               c_s = s (K−1)/(K−s),  s the number of the cell's exclusions

The curvature is the expected squared gradient: exactly for one uniform exclusion, for an exact
cell, and for any number of exclusions where all values are as probable; an empty cell has none.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Singles
from cfl_cli.core.known import Known
from cfl_cli.core.log_score import log_scores
from cfl_cli.core.posterior import Fallback, posterior
from cfl_cli.core.quick import dataclass

MOST_ROUNDS = 300
PATIENCE = 20  # rounds without a better score
LEAST_GAIN = 1e-3  # of the score over so many rounds, times (K − 1)/s; less is not worth the time
HEAD_START = 0.5  # of the way to the domain shares, in logarithms
RAREST = 0.25  # share at the start, times K: an estimate of 0 may be far off
FLATTEST = np.float32(1e-6)  # curvature of a row, at least
CERTAIN = 1e6  # c_s of an exact cell: its curvature is p (1 − p)


@dataclass(frozen=True)
class Target:
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
        exclusions = (~known.candidates[:, block]).sum(axis=1)
        factors = exclusions * (size - 1) / (size - exclusions)
        starts = [HEAD_START * np.log(np.maximum(run, RAREST / size)) for run in shares]
        return cls(
            cf,
            np.ascontiguousarray(known.evidence[:, block].T, dtype=np.float32),
            np.where(exclusions == size - 1, CERTAIN, factors).astype(np.float32),
            float(exclusions.mean()) / (size - 1),
            tuple(run.astype(np.float32)[:, None] for run in starts),
        )

    def applied_to(self, priors: Singles) -> Singles:
        """Return priors with the cells applied, K × n."""
        posteriors, _ = posterior(priors, self.cells, over=0, fallback=Fallback.PRIOR)
        return posteriors

    def residuals(self, priors: Singles, fold: Ints | None) -> Singles:
        """Return by how much cells pull priors, K × n; the hidden cells of `fold` do not."""
        pull = self.applied_to(priors) - priors
        if fold is not None:
            pull[:, fold] = 0
        return pull


class StopBoosting(Exception):  # noqa: N818 — not an error
    """Ends boosting."""


class BoostObjective:
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
        with suppress(StopBoosting):
            self(np.zeros(self.target.cells.T.shape), None)

    def __call__(self, scores: Floats, _: object) -> tuple[Singles, Singles]:
        """Return the gradient and the curvature at these scores, both n × K, or stop boosting."""
        p = priors_of(scores.T, self.start)
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
        """Score the hidden cells, and keep the priors that predict them best."""
        done = len(self.scores)
        if self.fold is None:
            self.scores.append(0.0)
            self.rounds, self.priors = done, p
        else:
            logs = log_scores(p[:, self.fold], self.target.cells[:, self.fold], over=0)
            self.scores.append(float(logs.mean(dtype=float)))
            if done == 0 or self.scores[-1] > self.scores[self.rounds]:
                self.rounds, self.priors = done, p.copy()
            gain = self.scores[self.rounds] - self.scores[max(done - PATIENCE, 0)]
            if done >= PATIENCE and gain < LEAST_GAIN * self.target.information:
                raise StopBoosting
        if done == self.limit:
            raise StopBoosting


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
