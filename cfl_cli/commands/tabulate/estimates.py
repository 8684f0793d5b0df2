"""Shares, cross tables and means of a CF, from nothing but its cells: no model, no run.

With f(S, b) of `core.exclusions`, whose expectation is 1 if b is the value and 0 otherwise, and w
the weight of a row (1, unless the caller has a reason):

    P(x = b)            Σ w f_b / Σ w
    P(x = b | y = c)    the same, over the rows of group c
    P(y = c | x = b)    Σ w f_b 1[y = c] / Σ w f_b
    E[g | x = b]        Σ w f_b g / Σ w f_b
    P(x = a, z = b)     Σ w f_a f_b / Σ w        cells of two CFs, independent given both values

Rows that are alike in all that counts are one line, with the sums of w, w², w g, w² g and w² g² over
them: nothing else is needed. The sums of rows that belong together (`groups`) take the place of rows
in every variance. A share has the interval of `PooledEstimate.interval`. A ratio A/B has Fieller's:

    {r : (A − r B)² ≤ t² Var(A − r B)}      bounded if B is clearly above 0, else nothing is known

t is Student's, of as many degrees of freedom as the kurtosis of what rows count leaves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import LEVEL, Mechanism
from cfl_cli.trust.bias import inclusions, tilted
from cfl_cli.trust.intervals import NORMAL, wilson
from cfl_cli.trust.shares import UNKNOWN, CellEstimate, Lines, Row, shares, students, worth


def clearly(values: int) -> float:
    """Return by how many standard errors one of so many values must be above 0 to be there at all.

    Of K chance errors the largest is about √(2 log K) standard errors. Without that margin, most of
    the ratios that are known would be those of values whose share is high by chance.
    """
    return float(NORMAL + np.sqrt(2 * np.log(values)))


def ratios(
    lines: Lines, above: Row, below: Row, *, values: int = 0, step: Floats | None = None
) -> list[CellEstimate]:
    """Return A/B for each column, A and B the totals of what rows count.

    It is not known unless B is clearly above 0, for one of so many `values`. `step` is how far one row could
    move A at most: its square is added to the variance, as rows that would may not have been seen.
    """
    a, b = lines.total(*above), lines.total(*below)
    pairs = ((above, above), (above, below), (below, below))
    aa, ab, bb = (lines.covariance(*pair) for pair in pairs)
    aa = aa if step is None else aa + step**2
    found, clear = list[CellEstimate](), clearly(values or len(a))
    ratio = np.divide(a, b, out=np.zeros_like(a), where=b > 0)
    reach = students(lines.freedom((above[0] - ratio * below[0], above[1])))
    for j, value in enumerate(ratio.tolist()):
        z = float(reach[j])
        square, half, rest = (
            float(one)
            for one in (
                b[j] ** 2 - z**2 * bb[j],
                a[j] * b[j] - z**2 * ab[j],
                a[j] ** 2 - z**2 * aa[j],
            )
        )
        if b[j] <= clear * np.sqrt(max(bb[j], 0.0)) or square <= 0:
            found.append(UNKNOWN)
            continue
        root = float(np.sqrt(max(half**2 - square * rest, 0.0)))
        variance = float(aa[j] - 2 * value * ab[j] + value**2 * bb[j])
        error = float(np.sqrt(max(variance, 0.0)) / b[j])
        found.append(CellEstimate(value, error, (half - root) / square, (half + root) / square))
    return found


def of_value(lines: Lines, inside: Floats) -> list[CellEstimate]:
    """Return P(y = c | x = b) for each b; `inside`, m, is 1 for lines of group c."""
    step = lines.step((lines.highest - lines.lowest) * inside[:, None])
    above, below = (lines.values * inside[:, None], None), (lines.values, None)
    return [_as_share(one) for one in ratios(lines, above, below, step=step)]


def _as_share(found: CellEstimate) -> CellEstimate:
    if found.value is None or found.error is None:
        return found
    low, high = np.clip([found.low, found.high], 0, 1).tolist()
    if low == 0 and high == 1:  # which is no interval
        return UNKNOWN
    rows = worth(found.value, found.error, low, high)
    return CellEstimate(found.value, found.error, low, high, rows)


def means(lines: Lines, origin: float = 0.0, unit: float = 1.0) -> list[CellEstimate]:
    """Return E[g | x = b] for each b; the lines' g are counted from `origin`, in `unit`s."""
    values = lines.values
    found = ratios(lines, (np.zeros_like(values), values), (values, None))
    squares = lines.moments[:, 2] / np.where(lines.square > 0, lines.square, 1)  # of a row's g
    totals = lines.total(values)
    spread = (lines.weight * squares) @ values / np.where(totals > 0, totals, 1)
    made = []
    for one, square in zip(found, spread.tolist(), strict=True):
        if one.value is None or one.low is None or one.high is None:
            made.append(one)
            continue
        variance, error = square - one.value**2, one.error or 0.0
        rows = variance / error**2 if variance > 0 and error > 0 else None
        value, low, high = (origin + unit * it for it in (one.value, one.low, one.high))
        made.append(CellEstimate(value, unit * error, low, high, rows))
    return made


# Two CFs at once. Of the product of two f's a few rows may be as large as all others together, and
# may not have been seen: one largest step is added to every variance.


def joint(lines: Lines, other: Lines, place: int, reach: float) -> tuple[list[CellEstimate], bool]:
    """Return P(x = b, z = d) for each b, and if any is clearly below 0.

    `other` are the same rows' lines of the second CF, d is its value at `place`. `reach`: what
    counts as clearly.
    """
    total = float(lines.weight.sum())
    product, steps = _product(lines, other, place)
    values = lines.total(product) / total
    apart = product - values
    variance = np.maximum(lines.covariance((apart, None), (apart, None)), 0) / total**2
    errors = np.sqrt(variance + (steps / total) ** 2)
    below = bool((values + reach * errors < 0).any())
    found = []
    for value, error, plain in zip(values, errors, np.sqrt(variance), strict=True):
        ends = np.clip([value - lines.reach * error, value + lines.reach * error], 0, 1)
        low, high = ends.tolist()
        known = worth(float(value), float(plain), low, high)
        found.append(CellEstimate(float(value), float(plain), low, high, known))
    return found, below


def of_two(lines: Lines, other: Lines, place: int) -> tuple[list[CellEstimate], list[CellEstimate]]:
    """Return P(x = b | z = d) and P(z = d | x = b) for each b, with arguments as `joint` has."""
    product, step = _product(lines, other, place)
    pairs = product.shape[1] * other.values.shape[1]
    wholes = (np.repeat(other.values[:, [place]], product.shape[1], axis=1), lines.values)
    first, second = (
        [
            _as_share(one)
            for one in ratios(lines, (product, None), (whole, None), values=pairs, step=step)
        ]
        for whole in wholes
    )
    return first, second


def _product(lines: Lines, other: Lines, place: int) -> tuple[Floats, Floats]:
    """Return what each row counts, and how far one could move the total at most."""
    mine = np.maximum(np.abs(lines.highest), np.abs(lines.lowest))
    others = np.maximum(np.abs(other.highest), np.abs(other.lowest))[:, [place]]
    return lines.values * other.values[:, [place]], lines.step(mine * others)


# What a bias would do: some wrong values are ruled out up to ρ times as often as others.
#
# Under uniform exclusions b is ruled out with a probability from s/(s + ρ(K−1−s)) to
# ρs/(ρs + K−1−s) where it is wrong (`trust.bias`), so that with c the share of cells that rule it out
# π_b ∈ [1 − c (s + ρ(K−1−s))/s, 1 − c (ρs + K−1−s)/(ρs)]. Under another mechanism the expectation of
# f is off by Σ_c (M − Π)[v, c] Π⁻¹[c, b], M within the odds; the worst v counts.


def banded(lines: Lines, cells: Mask, mechanism: Mechanism, bias: float) -> list[CellEstimate]:
    """Return the shares' bands: from the low end of the least to the high end of the greatest."""
    ends = []
    sizes = (~cells).sum(axis=1)
    for least in (True, False):
        values, lowest, highest = lines.values.copy(), lines.lowest.copy(), lines.highest.copy()
        for size in np.unique(sizes[(sizes > 0) & (sizes < mechanism.exact)]):
            rows = sizes == size
            if mechanism.rates is None:
                chance = inclusions(mechanism.size, int(size), bias)[0 if least else 1]
                values[rows] = 1 - ~cells[rows] / chance
                lowest[rows], highest[rows] = 1 - 1 / chance, 1.0
            else:
                off = _off(mechanism, int(size), bias, least=least)
                for part in (values, lowest, highest):
                    part[rows] += off
        ends.append(shares(replace(lines, values=values, lowest=lowest, highest=highest)))
    return [
        CellEstimate(
            None,
            None,
            min(one.low or 0.0, other.low or 0.0),
            max(one.high or 0.0, other.high or 0.0),
        )
        for one, other in zip(*ends, strict=True)
    ]


def _off(mechanism: Mechanism, size: int, bias: float, *, least: bool) -> Floats:
    """Return how far the expectation of f may be off at most, for each value b."""
    inverse, chances = mechanism.inverse(size), mechanism.inclusion(size)
    if inverse is None:
        return np.zeros(mechanism.size)
    more, fewer = tilted(chances, bias) - chances, chances - tilted(chances, 1 / bias)
    sign = -1.0 if least else 1.0
    up, down = np.maximum(sign * inverse, 0), np.maximum(-sign * inverse, 0)
    return np.asarray(sign * (more @ up + fewer @ down).max(axis=0))


def band_of_value(
    bands: Sequence[Sequence[CellEstimate]], parts: Floats, group: int
) -> list[CellEstimate]:
    """Return the bands of P(y = group | x = b), from those of P(x = b | y) and the groups' shares."""
    low = np.array([[one.low or 0.0 for one in band] for band in bands]) * parts[:, None]
    high = np.array([[one.high or 0.0 for one in band] for band in bands]) * parts[:, None]
    found = []
    others = np.arange(len(parts)) != group
    for b in range(low.shape[1]):
        least, most = low[group, b], high[group, b]
        whole = least + high[others, b].sum(), most + low[others, b].sum()
        ends = [
            part / all_ if all_ > 0 else end
            for part, all_, end in zip((least, most), whole, (0.0, 1.0), strict=True)
        ]
        found.append(CellEstimate(None, None, float(ends[0]), float(ends[1])))
    return found


# When cells do not bear it.


def is_refuted(cells: Mask, counts: Floats, mechanism: Mechanism, *, tests: int = 1) -> bool:
    """Return whether some value is ruled out more often than the mechanism allows."""
    return bool(len(mechanism.too_often(cells, counts, level=LEVEL / tests)))


def precision(size: int, exclusions: Ints) -> Floats:
    """Return one over the variance of f of cells with so many exclusions, up to a factor.

    Every value is taken to have the share 1/K; a wrong share costs width, and no coverage.
    """
    rest = 1 - 1 / size
    return np.asarray(1 / (rest * ((size - 1) / np.maximum(exclusions, 1) - rest)))


# Rows that a person looked up: they hold whatever the mechanism.
#
# Of m rows drawn at random the value is known, t = 1[x = b], and of all n rows perhaps a confidence
# q. The prediction-powered estimate (PPI++) and its variance are
#
#     θ = mean_audit(t − λ q) + λ mean_all(q)     Var = Var(t − λ q)/m + λ² Var(q)/n
#     λ = Cov(t, q) / ((1 + m/n) Var(q))
#
# Of fewer than ten rows with the value, or without it, the normal interval does not hold: then it is
# Wilson's, of the looked-up rows only. Both estimates are combined by their variances only where
# exclusions are known to be drawn by design. Neither cells nor 300 looked-up rows notice if a value is
# ruled out 1.1 to 1.5 times as often as others. In simulations with K = 3, 10 to 80 % of the combined
# intervals held then, and 95 % of those of the looked-up rows.

LEAST_OF_A_VALUE = 10  # looked-up rows that have it, and that have not


@dataclass(frozen=True, eq=False)
class All:
    """The mean confidence of each value over all rows, its variance over rows, and how many."""

    mean: Floats  # K
    variance: Floats  # K
    rows: float


def looked_up(
    places: Ints, confidences: Floats | None, of_all: All | None, size: int
) -> list[CellEstimate]:
    """Return the shares among m looked-up rows, whose values have these places."""
    m = len(places)
    found = []
    for b in range(size):
        t = (places == b).astype(float)
        share = float(t.mean())
        few = min(t.sum(), m - t.sum()) < LEAST_OF_A_VALUE
        if few or confidences is None or of_all is None:
            interval = wilson(share, m)
            error = float(np.sqrt(share * (1 - share) / m))
            found.append(
                CellEstimate(share, None if few else error, interval.low, interval.high, float(m))
            )
            continue
        q = confidences[:, b]
        spread = (1 + m / of_all.rows) * float(of_all.variance[b])
        slope = float(np.cov(t, q)[0, 1]) / spread if spread > 0 else 0.0
        value = share + slope * (float(of_all.mean[b]) - float(q.mean()))
        variance = float((t - slope * q).var(ddof=1)) / m
        variance += slope**2 * float(of_all.variance[b]) / of_all.rows
        found.append(_normal(value, variance))
    return found


def _normal(value: float, variance: float) -> CellEstimate:
    error = float(np.sqrt(variance))
    low, high = np.clip([value - NORMAL * error, value + NORMAL * error], 0, 1).tolist()
    return CellEstimate(value, error, low, high, worth(value, error, low, high))


def of_looked_up_value(numbers: Floats, *, share: bool) -> CellEstimate:
    """Return the mean of numbers, or the share of ones, among looked-up rows of one value."""
    m = len(numbers)
    if m < LEAST_OF_A_VALUE:
        return UNKNOWN
    mean, error = float(numbers.mean()), float(numbers.std(ddof=1) / np.sqrt(m))
    if share:
        interval = wilson(mean, m)
        return CellEstimate(mean, error, interval.low, interval.high, float(m))
    reach = float(students(np.array(m - 1))) * error
    return CellEstimate(mean, error, mean - reach, mean + reach, float(m))


def put_together(cells: CellEstimate, audit: CellEstimate, *, share: bool) -> CellEstimate:
    """Return both estimates as one; of an audit with few rows of the value, the narrower one."""
    if cells.value is None or cells.low is None or cells.high is None:
        return audit
    if audit.value is None or audit.low is None or audit.high is None:
        return cells
    if not audit.error or not cells.error:
        return min(cells, audit, key=lambda one: (one.high or 0.0) - (one.low or 0.0))
    one, other = cells.error**-2, audit.error**-2
    value, variance = (one * cells.value + other * audit.value) / (one + other), 1 / (one + other)
    if share:
        return _normal(value, variance)
    # What known values would say is in proportion to the precision of either.
    rows = None if audit.worth is None else audit.worth * (one + other) / other
    error = float(np.sqrt(variance))
    return CellEstimate(value, error, value - NORMAL * error, value + NORMAL * error, rows)


def rows_to_look_up(share: float, error: float | None, width: float) -> int:
    """Return how many rows to look up for an interval of this width, beside the cells if they count.

    `error` is the standard error by the cells; None: they do not count.
    """
    wanted = (width / (2 * NORMAL)) ** -2
    known = 0.0 if not error else error**-2
    variance = max(share * (1 - share), 0.0)
    return int(np.ceil(max(wanted - known, 0.0) * variance))
