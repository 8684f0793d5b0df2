"""One power per CF makes confidences as right as they say: τ, found by hidden cells.

    confidence(v)^τ / Σ_u confidence(u)^τ                       τ < 1: flatter; τ > 1: sharper
    τ = argmax of Σ_cells log Σ_v p(v)^τ P(S | v) / Σ_v p(v)^τ  −  (log τ)² / (2 · WIDTH²)

p is the prior of a hidden cell S. Under uniform exclusions what is maximised is the mass that the
candidates have of p^τ. A power keeps the order of the values, so the answers stay what they are.

Hidden cells are predicted from fewer cells than the answers, which are surer for that. A power
below 1 is right for both, or nearly. One above 1 would make them too sure: it is taken only if it
predicts hidden cells clearly better, and only so far that the answers' mean confidence stays below
what their accuracy is estimated to be.
"""

from collections.abc import Callable

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.brent import least, root
from cfl_cli.core.groups import halves
from cfl_cli.core.log_score import log_of_mass
from cfl_cli.core.uniformity import MUTUAL
from cfl_cli.estimators.interface import Power
from cfl_cli.trust.heldout import difference
from cfl_cli.trust.hidden_cells import HiddenCells
from cfl_cli.trust.intervals import Interval

# Of log τ, a priori. 0.5 to 2 did about as well on tables of 500 rows and more; narrower ones leave
# small tables as overconfident as they are.
WIDTH = 1.0
FLATTEST, SHARPEST = np.log(0.02), np.log(20.0)
GRID = np.linspace(FLATTEST, SHARPEST, 15)  # there may be several optima: the best is refined
ENOUGH = 20_000  # hidden cells to find a power by
TINY = np.finfo(float).tiny


def raised(confidences: Floats, power: float) -> Floats:
    """Return confidences, n × K, raised to a power and scaled to sum to 1.

    What is above 0 stays above 0, what is 0 stays 0, and the largest of a row stays the largest.
    """
    if power == 1:
        return confidences
    relative = confidences / confidences.max(axis=1, keepdims=True)
    powers = np.where(relative > 0, np.maximum(relative**power, TINY), 0.0)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def find(
    hidden: HiddenCells,
    confidences: Floats,
    answers: Ints,
    *,
    accuracy: Callable[[], Interval | None],
) -> Power | None:
    """Return the power of one CF, or None if its hidden cells say nothing.

    `confidences`, n × K, and `answers`, n, are those of all rows; `accuracy` is asked for that of
    the answers only if there is reason to make them surer.
    """
    cells = _Cells.of(hidden)
    if not len(cells):
        return None
    found = cells.fit()
    limit = max(found, 1.0)
    if found > 1:
        gain = difference(cells.scores(np.log(found)), cells.scores(0.0))
        clear = gain.value * hidden.effective_share**0.5 > hidden.reach * gain.error
        limit = _allowed(found, confidences, answers, accuracy() if clear else None)
    one = halves(len(hidden.prior), hidden.groups)
    first, second = (min(cells.of_rows(own).fit(), limit) for own in (one, ~one))
    return Power(min(found, limit), (first, second))


def by_other_half(prior: Floats, power: Power, groups: Ints | None = None) -> Floats:
    """Return priors of hidden rows, m × K, raised to the power that the other half has found."""
    one = halves(len(prior), groups)
    priors = np.empty_like(prior)
    for own, other in ((one, 1), (~one, 0)):
        priors[own] = raised(prior[own], power.halves[other])
    return priors


class _Cells:
    """Hidden cells that are not empty: log priors, and how likely each cell is."""

    def __init__(self, logs: Floats, likelihood: Floats, places: Ints, worth: float) -> None:
        self.logs, self.likelihood, self.places = logs, likelihood, places
        self.worth = worth  # of a cell, in independent ones

    @classmethod
    def of(cls, hidden: HiddenCells) -> "_Cells":
        """Return them, or some of very many."""
        places = np.flatnonzero(~hidden.cells.all(axis=1))
        stride = -(-len(places) // ENOUGH)
        places = places[:: max(stride, 1) | 1]  # odd, or all that are left would be of one half
        prior = hidden.prior[places]
        with np.errstate(divide="ignore"):
            logs = np.log(prior / prior.max(axis=1, keepdims=True))
        likelihood = hidden.mechanism.likelihood(hidden.cells[places])
        worth = (MUTUAL if hidden.mutual else 1.0) * hidden.effective_share
        return cls(logs, likelihood, places, worth)

    def __len__(self) -> int:
        return len(self.places)

    def of_rows(self, rows: Mask) -> "_Cells":
        """Return those of some of the hidden rows."""
        own = rows[self.places]
        return _Cells(self.logs[own], self.likelihood[own], self.places[own], self.worth)

    def scores(self, log_power: float) -> Floats:
        """Return the log score of each cell."""
        powers = np.exp(np.exp(log_power) * self.logs)
        mass = np.einsum("ij,ij->i", powers, self.likelihood) / powers.sum(axis=1)
        return log_of_mass(mass)

    def fit(self) -> float:
        """Return the power that predicts the cells best, drawn towards 1 where they say little."""

        def loss(log_power: float) -> float:
            fit = self.worth * float(self.scores(log_power).sum())
            return (log_power / WIDTH) ** 2 / 2 - fit

        place = int(np.argmin([loss(log_power) for log_power in GRID]))
        around = GRID[max(place - 1, 0)], GRID[min(place + 1, len(GRID) - 1)]
        return float(np.exp(least(loss, *around)))


def _allowed(power: float, confidences: Floats, answers: Ints, accuracy: Interval | None) -> float:
    """Return how far confidences may be sharpened, from 1 to `power`.

    Their mean may come half-way between the accuracy that is estimated and its lower end.
    """
    if accuracy is None:
        return 1.0
    most = (accuracy.value + accuracy.low) / 2

    def excess(log_power: float) -> float:
        sharper = raised(confidences, float(np.exp(log_power)))
        return float(sharper[np.arange(len(answers)), answers].mean()) - most

    if excess(0.0) >= 0:
        return 1.0
    if excess(np.log(power)) <= 0:
        return power
    return float(np.exp(root(excess, 0.0, np.log(power), within=1e-3)))
