"""The reference of a model: its limits, and that nothing but a reference is taken for one."""

import copy
import json
from math import exp, log, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from builders.hidden_rows import case

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.state import StateError
from cfl_cli.trust.heldout import HiddenCells
from cfl_cli.trust.reference import LEAST, LEVEL, NO_FOLDS, TOO_FEW, Reference


def hidden(m, *, sizes=(1,), size=4, seed=0, **options):
    prior, _, cells, _ = case(Mechanism(size), m, seed, sizes=sizes)
    return HiddenCells(prior, cells, Mechanism(size), **options)


def reference(*cells):
    """The reference of CFs whose shares are those by their own cells."""
    shares = [
        np.full(4, 0.25) if of is None else of.mechanism.shares(of.cells).prior for of in cells
    ]
    return Reference.of(cells, shares)


def losses(known):
    """The losses of cells with one exclusion, on the scale from the lowest T of them."""
    shares, found = known.mechanism.shares(known.cells).prior, []
    for prior, cell in zip(known.prior, known.cells, strict=True):
        likelier = shares[cell].sum() / max(prior[cell].sum(), 1e-300)
        found.append(log(0.9 + 0.1 * min(likelier, 20)))
    low = min(found)
    return (np.array(found) - low) / (log(0.9 + 0.1 * 20) - low), low


def test_a_limit_is_that_of_its_formula():
    known = hidden(900, mutual=True)
    made = reference(known, known, known)
    [of] = made.columns[0].sizes
    x, low = losses(known)
    n, z = len(x), NormalDist().inv_cdf(1 - LEVEL / 3)
    variance, step = x.var(ddof=1) / n, ((x**2).sum() + 1) / (x.sum() + 1)
    assert (of.exclusions, of.cells, of.low) == (1, 900, pytest.approx(low))
    assert of.loss == pytest.approx(x.mean())
    assert of.loss_variance == pytest.approx(variance)
    found = made.limits(0)[1]
    further = found - x.mean()
    assert further**2 == pytest.approx(z**2 * 2 * (variance + step * further / n))
    # A bit more than without the last term, and much more than the mean.
    assert x.mean() + z * sqrt(2 * variance) < found < x.mean() + 1.3 * z * sqrt(2 * variance)


def test_cells_without_any_loss_have_a_limit_above_0():
    sure = HiddenCells(
        np.tile([1.0, 0.0, 0.0], (500, 1)), np.tile([True, True, False], (500, 1)), Mechanism(3)
    )
    limit = reference(sure).limits(0)[1]
    assert exp(-500 * limit) < LEVEL  # of losses that are 1, none is seen so rarely


def test_limits_hold_the_true_mean_as_often_as_promised():
    # Losses of 0 or 1 with a mean of 0.01 are the worst case for a normal law.
    rng = np.random.default_rng(0)
    n, rate, beyond = 500, 0.01, 0
    drawn, counts = np.unique(rng.binomial(n, rate, 20_000), return_counts=True)
    for hits, times in zip(drawn, counts, strict=True):
        prior = np.zeros((n, 3))
        prior[:, 0], prior[:hits] = 1.0, [0.0, 0.0, 1.0]
        cells = HiddenCells(prior, np.tile([True, True, False], (n, 1)), Mechanism(3))
        found = Reference.of([cells], [np.full(3, 1 / 3)])
        beyond += times * (found.limits(0)[1] < rate)
    assert beyond <= 20_000 * LEVEL


def test_every_number_of_exclusions_has_its_own_and_few_cells_have_none():
    known = hidden(1000, sizes=(1, 1, 1, 2))
    counts = np.bincount((~known.cells).sum(axis=1))
    rare = HiddenCells(known.prior[:500], known.cells[:500], known.mechanism)
    assert counts[2] >= LEAST > np.bincount((~rare.cells).sum(axis=1))[2]
    assert list(reference(known).limits(0)) == [1, 2]
    assert list(reference(rare).limits(0)) == [1]
    none = reference(hidden(199), None)
    assert [column.reason for column in none.columns] == [TOO_FEW, NO_FOLDS]
    assert none.limits(0) == none.limits(1) == {}


def test_copies_leave_the_limit_where_it_was():
    alone = hidden(400)
    thrice = HiddenCells(
        np.tile(alone.prior, (3, 1)),
        np.tile(alone.cells, (3, 1)),
        alone.mechanism,
        groups=np.tile(np.arange(400), 3),
    )
    one, three = (reference(cells).limits(0)[1] for cells in (alone, thrice))
    assert three == pytest.approx(one, rel=0.01)


def test_facts_survive_json():
    made = reference(hidden(900, sizes=(1, 2), mutual=True), hidden(100), None)
    again = Reference.from_facts(json.loads(json.dumps(made.facts())), [4, 4, 4])
    assert again == made


FACTS = json.loads(json.dumps(reference(hidden(600, sizes=(1, 2)), None).facts()))
SIZE = "columns", 0, "sizes", 0


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ((), []),
        (("columns",), {}),
        (("columns",), []),
        (("columns", 0), None),
        (("columns", 0, "more"), 1),
        (("columns", 0, "mutual"), 1),
        (("columns", 0, "reason"), NO_FOLDS),
        (("columns", 1, "reason"), None),
        (("columns", 1, "reason"), "\x1b[31m"),
        (("columns", 0, "sizes"), []),
        (("columns", 0, "shares"), None),
        (("columns", 0, "shares"), "abcd"),
        (("columns", 0, "shares"), [0.5, 0.5]),
        (("columns", 1, "shares"), [0.5, 0.6, 0.0, 0.0]),
        (("columns", 1, "shares"), [1.5, -0.5, 0.0, 0.0]),
        (("columns", 1, "shares"), [float("nan"), 0.5, 0.5, 0.0]),
        (("columns", 1, "shares"), [1, 0, 0, 0]),
        ((*SIZE, "low"), 0.1),
        ((*SIZE, "low"), -0.2),  # below log 0.9
        ((*SIZE, "exclusions"), 0),
        ((*SIZE, "exclusions"), 2),  # twice
        ((*SIZE, "exclusions"), 4),  # of four values
        ((*SIZE, "exclusions"), 1.0),
        ((*SIZE, "exclusions"), True),
        ((*SIZE, "cells"), 199),
        ((*SIZE, "cells"), 10**400),
        ((*SIZE, "independent"), 0.0),
        ((*SIZE, "independent"), 1e9),
        ((*SIZE, "loss"), float("nan")),
        ((*SIZE, "loss"), -0.1),
        ((*SIZE, "loss"), 1.5),
        ((*SIZE, "loss"), "0.1"),
        ((*SIZE, "loss_squares"), 0.9),
        ((*SIZE, "loss_variance"), float("inf")),
        ((*SIZE, "expected"), 2),
        ((*SIZE, "score"), 0.1),
        ((*SIZE, "score_variance"), -1.0),
    ],
)
def test_what_no_model_can_have_kept_is_refused(place, value):
    facts = copy.deepcopy(FACTS)
    if not place:
        facts = value
    else:
        *path, last = place
        part = facts
        for name in path:
            part = part[name]
        part[last] = value
    with pytest.raises(StateError):
        Reference.from_facts(facts, [4, 4])
