"""How a batch's cells are predicted beside those at fitting, counted by loops."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from builders.hidden_rows import case

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.drift import NONE_ALIKE, compare_cells
from cfl_cli.trust.heldout import HiddenCells
from cfl_cli.trust.reference import NO_FOLDS, Reference


def hidden(m, *, sizes=(1, 2), seed=0, **options):
    prior, _, cells, _ = case(Mechanism(4), m, seed, sizes=sizes)
    return HiddenCells(prior, cells, Mechanism(4), **options)


SHARES = np.array([0.4, 0.3, 0.2, 0.1])


def ratio(prior, cell):
    left = [sum(of[place] for place in range(4) if cell[place]) for of in (SHARES, prior)]
    return log(0.9 + 0.1 * (20 if left[0] >= 20 * left[1] else left[0] / left[1]))


def loss(prior, cell, low):
    return max((ratio(prior, cell) - low) / (log(0.9 + 0.1 * 20) - low), 0.0)


@pytest.mark.parametrize("mutual", [False, True])
def test_facts_are_those_of_a_loop_over_the_cells(mutual):
    fitted, new = hidden(900, mutual=mutual), hidden(60, sizes=(0, 1, 2, 3), seed=1)
    known = list(zip(fitted.prior, fitted.cells, strict=True))
    lows = {s: min(ratio(*row) for row in known if 4 - row[1].sum() == s) for s in (1, 2)}
    by_size = {s: [loss(*row, lows[s]) for row in known if 4 - row[1].sum() == s] for s in (1, 2)}
    means = {size: np.mean(found) for size, found in by_size.items()}
    rows = [
        (loss(prior, cell, lows[4 - cell.sum()]), 4 - cell.sum())
        for prior, cell in zip(new.prior, new.cells, strict=True)
        if 4 - cell.sum() in means  # neither empty nor exact, which no reference cell is
    ]
    reference = Reference.of([fitted], [SHARES])
    found = compare_cells(new, reference, 0).drift
    assert found.cells == len(rows) < 60
    assert found.loss == pytest.approx(np.mean([x for x, _ in rows]))
    assert found.loss_at_fitting == pytest.approx(np.mean([means[s] for _, s in rows]))
    assert found.limit == pytest.approx(np.mean([reference.limits(0)[s] for _, s in rows]))
    rises = [x - means[s] for x, s in rows]
    variance = np.var(rises, ddof=1) / len(rises)
    for size, of_size in by_size.items():
        share = sum(s == size for _, s in rows) / len(rows)
        variance += share**2 * np.var(of_size, ddof=1) / len(of_size) * (2 if mutual else 1)
    assert found.error == pytest.approx(sqrt(variance))


def test_nothing_alike_is_nothing_to_compare():
    reference = Reference.of([hidden(600, sizes=(1,)), None], [SHARES] * 2)
    assert compare_cells(hidden(50, sizes=(2,)), reference, 0).reason == NONE_ALIKE
    assert compare_cells(hidden(50, sizes=(0,)), reference, 0).drift is None
    nothing = compare_cells(hidden(50), reference, 1)
    assert (nothing.reason, nothing.evidence.cells, nothing.score_change) == (NO_FOLDS, 0, None)


def test_the_order_of_the_rows_does_not_matter_to_the_bit():
    reference, new = Reference.of([hidden(600)], [SHARES]), hidden(300, seed=1)
    order = np.random.default_rng(0).permutation(300)
    mixed = replace(new, prior=new.prior[order], cells=new.cells[order])
    one, other = (compare_cells(cells, reference, 0) for cells in (new, mixed))
    assert one.evidence == other.evidence
    assert (one.drift.loss, one.drift.limit) == (other.drift.loss, other.drift.limit)
