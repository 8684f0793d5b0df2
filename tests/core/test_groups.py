"""Rows that belong together have one number, one sum and one half."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from cfl_cli.core.arrays import components, halves, linked, ranks, sums_by


def test_groups_are_counted_in_the_order_in_which_they_first_appear():
    np.testing.assert_array_equal(ranks(np.array([7, 3, 7, 9, 3])), [0, 1, 0, 2, 1])


def test_sums_are_those_of_each_group_and_without_groups_the_rows_themselves():
    numbers = np.array([1.0, 2.0, 4.0, 8.0])
    np.testing.assert_array_equal(sums_by(np.array([5, 2, 5, 5]), numbers), [13, 2])
    np.testing.assert_array_equal(
        sums_by(np.array([0, 1, 0, 1]), np.outer(numbers, [1, 10])), [[5, 50], [10, 100]]
    )
    assert sums_by(None, numbers) is numbers


def test_halves_take_turns_by_group():
    np.testing.assert_array_equal(halves(5), [True, False, True, False, True])
    groups = np.array([4, 4, 1, 8, 1, 8, 4])
    np.testing.assert_array_equal(halves(7, groups), [True, True, False, True, False, True, True])
    np.testing.assert_array_equal(halves(5, np.arange(5)), halves(5))


def test_links_join_rows_and_the_groups_they_are_in():
    alone = linked(5, np.array([3, 4]), np.array([1, 3]))
    np.testing.assert_array_equal(ranks(alone), [0, 1, 2, 1, 1])
    both = linked(6, np.array([3]), np.array([1]), np.array([0, 0, 1, 2, 2, 3]))
    np.testing.assert_array_equal(ranks(both), [0, 0, 1, 0, 0, 2])


def test_rows_that_are_linked_have_the_numbers_that_scipy_gives_them():
    rng = np.random.default_rng(0)
    for n, links in [(1, 0), (2, 1), (30, 12), (30, 25), (300, 290), (300, 2000)]:
        one, other = rng.integers(n, size=(2, links))
        table = coo_array((np.ones(links), (one, other)), shape=(n, n))
        expected = connected_components(table, directed=False)[1]
        np.testing.assert_array_equal(components(n, one, other), expected)


def test_a_long_chain_in_any_order_is_one():
    chain = np.random.default_rng(1).permutation(500)
    np.testing.assert_array_equal(components(500, chain[:-1], chain[1:]), 0)
