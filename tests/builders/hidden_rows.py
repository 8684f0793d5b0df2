"""Rows whose cells are hidden, with values that are known: what judging them should give."""

from dataclasses import astuple

import numpy as np
from builders.cells import in_full, skewed

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.heldout import HiddenCells, judge
from cfl_cli.trust.intervals import Interval


def case(mechanism, m, seed=0, *, sizes=(1,), sharpness=3.0):
    """Rows whose values follow their priors: priors, values, cells, domain shares."""
    rng = np.random.default_rng(seed)
    shares = np.sort(rng.dirichlet(np.ones(mechanism.size)))[::-1]
    prior = rng.dirichlet(shares * sharpness + 0.05, size=m)
    chances = rng.random((m, 1))
    values = np.minimum((np.cumsum(prior, axis=1) < chances).sum(axis=1), mechanism.size - 1)
    exclusions = rng.choice(sizes, size=m)
    hidden = mechanism.draw(values, exclusions, rng.random((m, mechanism.size)))
    return prior, values, hidden, shares


def stubborn(prior, likelihood):
    shape = np.broadcast_shapes(prior.shape, likelihood.shape)
    answers = np.broadcast_to(prior.argmax(axis=-1), shape[:-1])
    return answers, np.broadcast_to(prior.max(axis=-1), shape[:-1])


class World:
    """Rows with priors that are surer than they should be, and what the final answers are worth.

    The worth is counted on many rows whose values are known, with no formula of the module.
    """

    def __init__(self, mechanism, sizes, *, sharpness=3.0, surer=1.5, seed=0, rows=100_000):
        self.mechanism, self.sizes = mechanism, sizes
        self.random = np.random.default_rng(seed)
        self.shares = np.sort(self.random.dirichlet(np.ones(mechanism.size)))[::-1]
        self.true = self.random.dirichlet(self.shares * sharpness + 0.02, size=2000)
        self.prior = self.true**surer / (self.true**surer).sum(axis=1, keepdims=True)
        prior, values, self.table = self.draw(rows)
        likelihood = mechanism.likelihood(self.table)
        joint = prior * likelihood
        self.confidences = joint.max(axis=1) / joint.sum(axis=1)
        self.right = joint.argmax(axis=1) == values
        self.open = self.table.sum(axis=1) > 1
        commonest = (self.shares * likelihood).argmax(axis=1) == values
        kept = self.confidences >= 0.7
        self.truth = {
            "accuracy": self.right.mean(),
            "commonest": commonest.mean(),
            "gain": self.right.mean() - commonest.mean(),
            "confident": self.right[kept].mean(),
            "overconfidence": (self.confidences - self.right)[self.open].mean(),
        }

    def draw(self, m):
        rows = self.random.integers(0, len(self.true), m)
        chances = self.random.random((m, 1))
        values = (np.cumsum(self.true[rows], axis=1) < chances).sum(axis=1)
        values = np.minimum(values, self.mechanism.size - 1)
        exclusions = np.resize(self.sizes, m)
        chances = self.random.random((m, self.mechanism.size))
        return self.prior[rows], values, self.mechanism.draw(values, exclusions, chances)

    def judge(self, m):
        prior, _, hidden = self.draw(m)
        hidden_cells = HiddenCells(prior, hidden, self.mechanism)
        return judge(hidden_cells, self.table, shares=self.shares, min_confidences=[0.7])

    def study(self, m, times):
        """Judge again and again; return the intervals' numbers, times × 3, of each estimate."""
        found = {name: [] for name in self.truth}
        for _ in range(times):
            judged = self.judge(m)
            for name in ("accuracy", "commonest", "gain"):
                found[name].append(astuple(getattr(judged, name)))
            confident = judged.confident_accuracies[0] or Interval(np.nan, 0, 1)
            found["confident"].append(astuple(confident))
            found["overconfidence"].append(astuple(judged.calibration.overconfidence))
        return {name: np.array(numbers) for name, numbers in found.items()}


# Far enough from uniform to matter, and not so far that it takes crowds of rows to show anything.
LEANING = Mechanism.of(5, 0.6 * in_full(5).rates + 0.4 * skewed(5).rates)
WORLDS = {
    "one exclusion": (Mechanism(4), (1,)),
    "mixed": (Mechanism(5), (0, 1, 1, 1, 2, 4)),
    "large domain": (Mechanism(12), (1, 1, 1, 11)),
    "mechanism": (LEANING, (1,)),
    "mechanism, mixed": (LEANING, (0, 1, 2, 2, 4)),
}
