"""One power per CF makes confidences as right as they say: τ, found by hidden cells.

    confidence(v)^τ / Σ_u confidence(u)^τ                       τ < 1: flatter; τ > 1: sharper
    τ = argmax of Σ_cells log Σ_v p(v)^τ P(S | v) / Σ_v p(v)^τ  −  (log τ)² / (2 · WIDTH²)

p is the prior of a hidden cell S. Under uniform exclusions what is maximised is the mass that the
candidates have of p^τ. A power keeps the order of the values, so the answers stay what they are.

It is taken only if hidden cells confirm it: those of either half are predicted by the power of the
other half, and both together must be predicted better than without. (`calibrate` asks as well that
answers to them be right as nearly as often as their confidence says.) Else confidences stay as
they are.

Hidden cells are predicted from fewer cells than the answers, which are surer for that. A power
below 1 is right for both, or nearly. One above 1 could make them too sure: it is taken only so far
that the answers' mean confidence stays below what their accuracy is estimated to be.
"""

from collections.abc import Callable
from math import copysign, inf, sqrt

import numpy as np

from cfl_cli.core.arrays import LEAST_MASS, Floats, Ints, halves
from cfl_cli.core.exclusions import MUTUAL
from cfl_cli.methods.interface import Power
from cfl_cli.trust.heldout import HiddenCells
from cfl_cli.trust.intervals import Interval

# Brent's two searches along a line: for the least value of a function, and for where it is 0.
#
# Each goes by a curve through the points it has seen, and where that would not get it far by a fixed
# share of what is left. Step by step they are SciPy's `minimize_scalar(method="bounded")` and
# `brentq`, to the last digit; but to load `scipy.optimize` takes longer than a small table does.

_SHARE = 0.5 * (3 - sqrt(5.0))  # of what is left, by which a golden section goes on
_ROUNDING = sqrt(2.2e-16)  # of a place: no nearer can two values of a function be told apart
_MOST = 500  # steps


def minimize(function: Callable[[float], float], low: float, high: float) -> float:
    """Return about where the function is least between two places, to 1e-5."""
    best = second = third = low + _SHARE * (high - low)
    at_best = at_second = at_third = function(best)
    move = before = 0.0  # the last, and the one before it
    for _ in range(_MOST - 1):
        middle = 0.5 * (low + high)
        near = _ROUNDING * abs(best) + 1e-5 / 3
        if abs(best - middle) <= 2 * near - 0.5 * (high - low):
            break
        bent = False
        if abs(before) > near:  # a parabola through the three
            r = (best - second) * (at_best - at_third)
            q = (best - third) * (at_best - at_second)
            p = (best - third) * q - (best - second) * r
            q = 2 * (q - r)
            p, q = -p if q > 0 else p, abs(q)
            earlier, before = before, move
            bent = abs(p) < abs(0.5 * q * earlier) and q * (low - best) < p < q * (high - best)
            if bent:
                move = p / q
                place = best + move
                if place - low < 2 * near or high - place < 2 * near:
                    move = near if middle >= best else -near
        if not bent:
            before = (low if best >= middle else high) - best
            move = _SHARE * before
        step = max(abs(move), near)
        place = best + (step if move >= 0 else -step)
        at_place = function(place)
        if at_place <= at_best:
            low, high = (best, high) if place >= best else (low, best)
            third, at_third, second, at_second = second, at_second, best, at_best
            best, at_best = place, at_place
            continue
        low, high = (place, high) if place < best else (low, place)
        if at_place <= at_second or second == best:
            third, at_third, second, at_second = second, at_second, place, at_place
        elif at_place <= at_third or third in (best, second):
            third, at_third = place, at_place
    return best


def root(function: Callable[[float], float], low: float, high: float, *, within: float) -> float:
    """Return about where the function is 0, `within` so much; its signs at the ends must differ."""
    before, place = low, high
    at_before, at_place = function(before), function(place)
    if at_before == 0:
        return before
    other, at_other, move, last = before, at_before, 0.0, 0.0
    for _ in range(_MOST):
        if at_place == 0:
            break
        if (at_before > 0) != (at_place > 0):
            other, at_other = before, at_before
            move = last = place - before
        if abs(at_other) < abs(at_place):
            before, place, other = place, other, place
            at_before, at_place, at_other = at_place, at_other, at_place
        near = (within + 4 * 2.0**-52 * abs(place)) / 2
        half = (other - place) / 2
        if abs(half) < near:
            break
        curve = inf
        if abs(last) > near and abs(at_place) < abs(at_before):
            if before == other:
                curve = -at_place * (place - before) / (at_place - at_before)
            else:
                one = (at_before - at_place) / (before - place)
                two = (at_other - at_place) / (other - place)
                curve = -at_place * (at_other * two - at_before * one)
                curve /= two * one * (at_other - at_before)
        if 2 * abs(curve) < min(abs(last), 3 * abs(half) - near):
            last, move = move, curve
        else:
            last = move = half
        before, at_before = place, at_place
        place += move if abs(move) > near else copysign(near, half)
        at_place = function(place)
    return place


# Of log τ, a priori. 0.5 to 2 did about as well on tables of 500 rows and more; narrower ones leave
# small tables as overconfident as they are.
WIDTH = 1.0
_FLATTEST, SHARPEST = np.log(0.02), np.log(20.0)
_GRID = np.linspace(_FLATTEST, SHARPEST, 15)  # there may be several optima: the best is refined
_ENOUGH = 20_000  # hidden cells to find a power by
_TINY = np.finfo(float).tiny
UNRAISED = Power(1.0, (1.0, 1.0))  # confidences as they are


def raised(confidences: Floats, power: float) -> Floats:
    """Return confidences, n × K, raised to a power and scaled to sum to 1.

    What is above 0 stays above 0, what is 0 stays 0, and the largest of a row stays the largest.
    """
    if power == 1:
        return confidences
    relative = confidences / confidences.max(axis=1, keepdims=True)
    powers = np.where(relative > 0, np.maximum(relative**power, _TINY), 0.0)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def find_power(
    hidden: HiddenCells, confidences: Floats, answers: Ints, accuracy: Callable[[], Interval | None]
) -> Power | None:
    """Return the power of one CF, or None if its hidden cells say nothing.

    `confidences`, n × K, and `answers`, n, are those of all rows; `accuracy` is asked for that of
    the answers only if there is reason to make them surer.
    """
    places = np.flatnonzero(~hidden.cells.all(axis=1))
    if not len(places):
        return None
    stride = -(-len(places) // _ENOUGH)
    places = places[:: max(stride, 1) | 1]  # odd, or all that are left would be of one half
    logs, likelihood, worth = _to_fit(hidden, places)
    found = _fitted(logs, likelihood, worth)
    limit = 1.0
    if found > 1:
        estimated = accuracy()
        limit = _allowed(found, confidences, answers, estimated) if estimated else 1.0
    one = halves(len(hidden.prior), hidden.groups)[places]
    first, second = (min(_fitted(logs[own], likelihood[own], worth), limit) for own in (one, ~one))
    gained = 0.0
    for own, power in ((one, second), (~one, first)):
        cells = logs[own], likelihood[own]
        gained += float((_scores(*cells, np.log(power)) - _scores(*cells, 0.0)).sum())
    return Power(min(found, limit), (first, second)) if gained > 0 else UNRAISED


def sharpening(hidden: HiddenCells) -> float:
    """Return the power above 1 that predicts hidden cells best; 1: none does."""
    places = np.flatnonzero(~hidden.cells.all(axis=1))
    places = places[:: max(-(-len(places) // _ENOUGH), 1)]
    return max(_fitted(*_to_fit(hidden, places)), 1.0) if len(places) else 1.0


def by_other_half(prior: Floats, power: Power, groups: Ints | None = None) -> Floats:
    one = halves(len(prior), groups)
    priors = np.empty_like(prior)
    for own, other in ((one, 1), (~one, 0)):
        priors[own] = raised(prior[own], power.halves[other])
    return priors


def _to_fit(hidden: HiddenCells, places: Ints) -> tuple[Floats, Floats, float]:
    prior = hidden.prior[places]
    with np.errstate(divide="ignore"):
        logs = np.log(prior / prior.max(axis=1, keepdims=True))
    likelihood = hidden.mechanism.likelihood(hidden.cells[places])
    worth = (MUTUAL if hidden.mutual else 1.0) * hidden.effective_share  # in independent cells
    return logs, likelihood, worth


def _scores(logs: Floats, likelihood: Floats, log_power: float) -> Floats:
    powers = np.exp(np.exp(log_power) * logs)
    mass = np.einsum("ij,ij->i", powers, likelihood) / powers.sum(axis=1)
    return np.asarray(np.log(np.maximum(mass, LEAST_MASS)))


def _fitted(logs: Floats, likelihood: Floats, worth: float) -> float:
    """Return the power of cells, by log priors and by how likely each cell is, m × K."""

    def loss(log_power: float) -> float:
        fit = worth * float(_scores(logs, likelihood, log_power).sum())
        return (log_power / WIDTH) ** 2 / 2 - fit

    place = int(np.argmin([loss(log_power) for log_power in _GRID]))
    around = _GRID[max(place - 1, 0)], _GRID[min(place + 1, len(_GRID) - 1)]
    return float(np.exp(minimize(loss, *around)))


def _allowed(power: float, confidences: Floats, answers: Ints, accuracy: Interval) -> float:
    """Return how far confidences may be sharpened, from 1 to `power`.

    Their mean may come up to the accuracy that is estimated.
    """

    def excess(log_power: float) -> float:
        sharper = raised(confidences, float(np.exp(log_power)))
        return float(sharper[np.arange(len(answers)), answers].mean()) - accuracy.value

    if excess(0.0) >= 0:
        return 1.0
    if excess(np.log(power)) <= 0:
        return power
    return float(np.exp(root(excess, 0.0, np.log(power), within=1e-3)))
