"""Brent's two searches along a line: for the least value of a function, and for where it is 0.

Each goes by a curve through the points it has seen, and where that would not get it far by a fixed
share of what is left. Step by step they are SciPy's `minimize_scalar(method="bounded")` and
`brentq`, to the last digit; but to load `scipy.optimize` takes longer than a small table does.
"""

from collections.abc import Callable
from math import copysign, inf, sqrt

SHARE = 0.5 * (3 - sqrt(5.0))  # of what is left, by which a golden section goes on
ROUNDING = sqrt(2.2e-16)  # of a place: no nearer can two values of a function be told apart
MOST = 500  # steps


def least(function: Callable[[float], float], low: float, high: float) -> float:
    """Return about where the function is least between two places, to 1e-5."""
    best = second = third = low + SHARE * (high - low)
    at_best = at_second = at_third = function(best)
    move = before = 0.0  # the last, and the one before it
    for _ in range(MOST - 1):
        middle = 0.5 * (low + high)
        near = ROUNDING * abs(best) + 1e-5 / 3
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
                    move = _signed(near, middle - best)
        if not bent:
            before = (low if best >= middle else high) - best
            move = SHARE * before
        place = best + _signed(max(abs(move), near), move)
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
    for _ in range(MOST):
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


def _signed(size: float, number: float) -> float:
    """Return a size with the sign of a number, and of 0 that of 1."""
    return size if number >= 0 else -size
