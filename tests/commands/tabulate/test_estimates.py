"""Estimates from cells against enumeration, closed forms and other ways to the same number."""

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from builders.real_tables import DATA

from cfl_cli.commands.tabulate import estimates
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.intervals import PooledEstimate
from cfl_cli.trust.shares import Lines, alike, shares

SHARES = {3: [0.5, 0.3, 0.2], 4: [0.4, 0.3, 0.2, 0.1]}
YES = [0.1, 0.5, 0.7, 0.2]  # P(y = yes | value)
WEIGHTS = [1.0, 2.0, 3.0, 1.5]


def mechanism(size, kind):
    rates = np.where(np.eye(size, dtype=bool), 0, WEIGHTS[:size])
    return Mechanism.of(
        size, rates / rates.sum(axis=1, keepdims=True) if kind == "declared" else None
    )


def sums(rows, weight=None, number=None):
    """Return the sums of lines of so many rows that are alike."""
    rows = np.asarray(rows, dtype=float)
    w = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=float)
    g = np.zeros(len(rows)) if number is None else np.asarray(number, dtype=float)
    parts = [rows, rows * w, rows * w**2, w, rows * w * g, rows * w**2 * g, rows * (w * g) ** 2]
    return np.column_stack(parts + [rows * w**4 * g**power for power in range(5)])


def every_cell(size, how):
    """Yield each value, cell of one to K−1 exclusions, its candidates and its probability."""
    for value, exclusions in product(range(size), range(1, size)):
        for cell in combinations(range(size), exclusions):
            left = np.array([place not in cell for place in range(size)])
            if not left[value]:
                continue
            likelihood, factor = how.scaled(left[None])
            chance = float(likelihood[0, value] * np.exp(factor[0])) / (size - 1)
            yield value, left, SHARES[size][value] * chance


@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize("kind", ["uniform", "declared"])
def test_over_all_cells_with_their_probabilities_every_estimate_is_the_truth(size, kind):
    how, truth = mechanism(size, kind), np.array(SHARES[size])
    cells, rows, yes, number = [], [], [], []
    for value, left, chance in every_cell(size, how):
        for answer in (0, 1):
            cells.append(left)
            rows.append(1e6 * chance * (YES[value] if answer else 1 - YES[value]))
            yes.append(answer)
            number.append(10 * value + answer)
    assert sum(rows) == pytest.approx(1e6)
    lines = Lines.of(np.array(cells), sums(rows, number=number), how)
    yes = np.array(yes, dtype=float)
    given = np.array(YES[:size])
    assert [one.value for one in shares(lines)] == pytest.approx(truth.tolist())
    of_value = estimates.of_value(lines, yes)
    assert [one.value for one in of_value] == pytest.approx(given.tolist())
    of_group = shares(lines.some(yes == 1))
    joint = truth * given
    assert [one.value for one in of_group] == pytest.approx((joint / joint.sum()).tolist())
    means = estimates.means(lines, 100.0)
    assert [one.value for one in means] == pytest.approx(
        (100 + 10 * np.arange(size) + given).tolist()
    )


@pytest.mark.parametrize("exclusions", [1, 2, 3])
def test_the_variance_of_a_share_and_its_worth_are_those_of_the_closed_form(exclusions):
    size, common, n = 4, np.array(SHARES[4]), 1e6
    left = [
        [place not in cell for place in range(size)]
        for cell in combinations(range(size), exclusions)
    ]
    cells = np.array(left)
    ways = np.array([common[one].sum() for one in cells])
    ways /= ways.sum()
    lines = Lines.of(cells, sums(n * ways), Mechanism(size))
    for share, found in zip(common, shares(lines), strict=True):
        variance = (1 - share) * ((size - 1) / exclusions - (1 - share)) / n
        assert found.error == pytest.approx(variance**0.5, rel=1e-5)
        row = share / ((size - 1) / exclusions - 1 + share)
        assert found.worth == pytest.approx(n * row, rel=1e-4)


def drawn(size, n, seed, kind="uniform"):
    random = np.random.default_rng(seed)
    values = random.choice(size, n, p=SHARES[size])
    exclusions = random.integers(0, 3, n)
    return values, mechanism(size, kind).draw(values, exclusions, random.random((n, size))), random


@pytest.mark.parametrize("kind", ["uniform", "declared"])
@pytest.mark.parametrize("grouped", [False, True])
def test_shares_have_the_interval_that_accuracies_have(kind, grouped):
    size, n = 4, 300
    _, cells, random = drawn(size, n, 1, kind)
    how, weights = mechanism(size, kind), (~cells).any(axis=1).astype(float)
    groups = random.integers(0, 80, n) if grouped else None
    kept = weights > 0
    lines = Lines.of(cells, sums(np.ones(n)), how, groups).some(kept)
    for value, found in enumerate(shares(lines)):
        measure = np.tile(np.eye(size)[value], (n, 1))
        pooled = PooledEstimate.of(measure, cells, weights, how)
        parts = PooledEstimate(
            *(getattr(pooled, it)[kept] for it in ("values", "highest", "lowest", "weights"))
        )
        pooled = PooledEstimate.joined([parts], None if groups is None else groups[kept])
        interval = pooled.interval(lines.reach)
        assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
        assert found.error**2 == pytest.approx(float(pooled.influence @ pooled.influence), rel=0.02)


def test_rows_that_are_alike_count_as_one_line():
    size, n = 3, 400
    values, cells, random = drawn(size, n, 2)
    number, yes = values * 2.0 + random.integers(0, 3, n), random.integers(0, 2, n)
    whole = Lines.of(cells, sums(np.ones(n), number=number), Mechanism(size)).some(
        (~cells).any(axis=1)
    )
    keys = np.column_stack([cells, number, yes])
    unique, counts = np.unique(keys, axis=0, return_counts=True)
    once = unique[:, :size].astype(bool)
    lines = Lines.of(once, sums(counts, number=unique[:, size]), Mechanism(size))
    lines, inside = lines.some((~once).any(axis=1)), unique[(~once).any(axis=1), size + 1]
    for one, other in zip(
        [
            *shares(whole),
            *estimates.means(whole, 0),
            *estimates.of_value(whole, yes[(~cells).any(axis=1)].astype(float)),
        ],
        [*shares(lines), *estimates.means(lines, 0), *estimates.of_value(lines, inside)],
        strict=True,
    ):
        assert (one.value, one.error, one.low) == pytest.approx(
            (other.value, other.error, other.low)
        )


def test_cells_put_together_say_the_same():
    _, cells, random = drawn(4, 200, 6)
    for groups in (None, random.integers(0, 50, 200)):
        whole = Lines.of(cells, sums(np.ones(200)), Mechanism(4), groups)
        lines = alike(cells, groups)
        for one, other in zip(
            shares(whole.some((~cells).any(axis=1))),
            shares(Lines.of(*lines[:2], Mechanism(4), lines[2])),
            strict=True,
        ):
            assert (one.value, one.error) == pytest.approx((other.value, other.error))


def test_copies_in_a_group_say_no_more_than_one_row():
    size, n = 3, 200
    _, cells, _ = drawn(size, n, 3)
    cells = cells[(~cells).any(axis=1)]
    n = len(cells)
    once = Lines.of(cells, sums(np.ones(n)), Mechanism(size), np.arange(n))
    twice = Lines.of(
        np.repeat(cells, 2, axis=0),
        sums(np.ones(2 * n)),
        Mechanism(size),
        np.repeat(np.arange(n), 2),
    )
    inside = (np.arange(n) % 3 == 0).astype(float)
    for one, other in (
        (shares(once), shares(twice)),
        (estimates.of_value(once, inside), estimates.of_value(twice, np.repeat(inside, 2))),
    ):
        assert [it.error for it in one] == pytest.approx([it.error for it in other])
        assert [it.low for it in one] == pytest.approx([it.low for it in other])


def test_fiellers_ends_are_where_the_difference_is_just_as_far_as_its_error():
    size, n = 3, 500
    _, cells, random = drawn(size, n, 4)
    cells = cells[(~cells).any(axis=1)]
    yes = random.integers(0, 2, len(cells)).astype(float)
    lines = Lines.of(cells, sums(np.ones(len(cells))), Mechanism(size))
    f = lines.values
    for value, found in enumerate(estimates.ratios(lines, (f * yes[:, None], None), (f, None))):
        reaches = []
        for end in (found.low, found.high):
            u = f[:, value] * (yes - end)
            reaches.append(abs(u.sum()) / (u.std(ddof=1) * len(u) ** 0.5))
        assert reaches[0] == pytest.approx(reaches[1])
        assert 1.96 <= reaches[0] < 2.0


def test_a_value_that_may_be_absent_has_no_ratio():
    cells = np.ones((90, 3), dtype=bool)
    cells[np.arange(90), np.arange(90) % 2] = False  # the third is never ruled out …
    cells[:45] = ~np.eye(3, dtype=bool)[[2] * 45]  # … but in half of the cells
    lines = Lines.of(cells, sums(np.ones(90)), Mechanism(3))
    found = estimates.of_value(lines, (np.arange(90) % 2).astype(float))
    assert shares(lines)[2].value == pytest.approx(0)
    assert found[2].value is None


def test_a_band_holds_what_a_bias_does():
    """Value 0 is ruled out twice as readily as others: its share seems smaller than it is."""
    size, n, bias = 4, 40_000, 2.0
    random = np.random.default_rng(5)
    values = random.choice(size, n, p=SHARES[size])
    rates = np.where(np.eye(size, dtype=bool), 0, [bias, 1, 1, 1])
    how = Mechanism.of(size, rates / rates.sum(axis=1, keepdims=True))
    cells = how.draw(values, np.ones(n, dtype=int), random.random((n, size)))
    lines = Lines.of(cells, sums(np.ones(n)), Mechanism(size))
    off = shares(lines)[0]
    assert off.high < SHARES[size][0]
    for share, band in zip(
        SHARES[size], estimates.banded(lines, cells, Mechanism(size), bias), strict=True
    ):
        assert band.low < share < band.high
    wide = estimates.banded(Lines.of(cells, sums(np.ones(n)), how), cells, how, 1.5)
    assert all(band.low < share < band.high for share, band in zip(SHARES[size], wide, strict=True))


NIGERIA = DATA / "other" / "randomized-response-nigeria.csv"


def forced_response(answers):
    """Return lines of noisy answers: the truth with 2/3, a forced yes or no with 1/6 each."""
    told = np.array([[5 / 6, 1 / 6], [1 / 6, 5 / 6]])
    counts = np.bincount(answers, minlength=2)
    values = np.linalg.inv(told)
    ones = np.ones((2, 2))
    table = sums(counts)
    lines = Lines(
        values,
        ones * values.max(),
        ones * values.min(),
        *table[:, :4].T,
        table[:, 4:7],
        table[:, 7:],
    )
    return shares(lines)[1]


def test_forced_response_has_its_closed_form():
    answers = np.array([1] * 340 + [0] * 660)
    found = forced_response(answers)
    assert found.value == pytest.approx((0.34 - 1 / 6) / (2 / 3))
    assert found.error == pytest.approx((0.34 * 0.66 / 999) ** 0.5 * 1.5)


@pytest.mark.skipif(not NIGERIA.exists(), reason="the table is not beside the project")
def test_the_survey_in_nigeria_has_the_published_share():
    answers = pl.read_csv(NIGERIA, null_values="NA")["rr.q1"].drop_nulls().cast(int).to_numpy()
    found = forced_response(answers)
    assert (round(found.value, 3), round(found.error, 3)) == (0.262, 0.014)
