from dataclasses import replace

import numpy as np
import pytest
from builders.known import run
from builders.learned import (
    assert_alike,
    assert_no_prior_sees_its_own_cell,
    assert_rows_are_answered_by_themselves,
    broken,
    copied,
    layout_of,
    related,
)

from cfl_cli.core.draws import folds
from cfl_cli.core.state import StateError
from cfl_cli.methods import net
from cfl_cli.methods.net import Net, NetPerCf


@pytest.fixture(scope="module")
def table():
    return related()


@pytest.fixture(scope="module")
def estimate(table):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(net, "STEPS", 60)
        return run("net", table, folds=folds(len(table), 3, seed=0)[:1])


def dense(layers, inputs):
    """The scores of one row, in double precision."""
    one, one_bias, two, two_bias, last, last_bias = (layer.astype(float) for layer in layers)
    first = np.maximum(inputs @ one + one_bias, 0)
    return np.maximum(first @ two + two_bias, 0) @ last + last_bias


def test_the_rows_that_were_fitted_are_answered_as_they_were_estimated(table, estimate, workers):
    answer = estimate.fitted.answer(table, workers)
    np.testing.assert_array_equal(answer.confidences, estimate.confidences)
    fitted = estimate.fitted
    for row in range(3):
        inputs = fitted.inputs.of(table.features[[row]])[0].astype(float)
        for look, block in zip(fitted.net.looks, table.columns, strict=True):
            odds = np.exp(dense(fitted.net.nets[look].layers, inputs)[block])
            np.testing.assert_allclose(answer.priors[row, block], odds / odds.sum(), rtol=1e-4)


def test_a_row_is_answered_by_itself(table, estimate, workers):
    assert_rows_are_answered_by_themselves(estimate.fitted, table, workers)


def test_no_prior_of_a_new_row_sees_any_cell(estimate, workers):
    assert not assert_no_prior_sees_its_own_cell(estimate.fitted, related(40, seed=1), workers)


def test_what_was_kept_answers_to_the_bit(table, estimate, workers):
    restored = net.NetMethod().restore(copied(estimate.fitted.state()), layout_of(table))
    new = related(50, seed=2)
    assert_alike(restored.answer(new, workers), estimate.fitted.answer(new, workers))


def test_states_that_no_network_can_have_left_are_refused(table, estimate):
    for _, state in broken(estimate.fitted.state()):
        with pytest.raises(StateError):
            net.NetMethod().restore(state, layout_of(table))


def test_only_the_networks_at_the_cfs_looks_are_kept(estimate):
    assert len(estimate.fitted.net.nets) == len({*estimate.fitted.net.looks.tolist()})


def test_networks_of_cfs_that_are_not_asked_for_are_left_aside(table, estimate):
    *layers, last, bias = estimate.fitted.net.nets[0].layers
    cfs = len(table.blocks)
    nets = tuple(Net((*layers, last * np.float32(1 + cf), bias)) for cf in range(cfs))
    fitted = replace(estimate.fitted, net=NetPerCf(nets, np.arange(cfs)))
    row, ofs = table.some(np.array([4])), [slice(of, of + 1) for of in range(3)]
    blank = np.full(table.features.shape[1], 0.5)
    every = fitted.moves(row, blank=blank, ofs=ofs)
    for cf in range(cfs):
        assert fitted.net.only([cf]).nets == (nets[cf],)
        found = fitted.moves(row, blank=blank, ofs=ofs, cfs=[cf])
        assert [own is None for own in found] == [other != cf for other in range(cfs)]
        np.testing.assert_array_equal(found[cf].base, every[cf].base)
        np.testing.assert_array_equal(found[cf].of_features, every[cf].of_features)
