import numpy as np
import pytest

from cfl_cli.methods.graph import neighbors
from cfl_cli.methods.graph.neighbors import Pairs, by_row, joined, measure, squares


def test_lengths_and_distances_by_hand():
    points = np.array([[0.0, 0], [3, 4], [3, 0]])
    np.testing.assert_array_equal(squares(points), [0, 25, 9])
    one, other = np.array([0, 1, 2, 2]), np.array([1, 2, 0, 2])
    np.testing.assert_array_equal(measure(points, one, other), [5, 4, 3, 0])


@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_how_many_are_measured_at_once_does_not_change_a_digit(at_once, monkeypatch):
    rng = np.random.default_rng(0)
    points, one, other = rng.random((20, 6)), rng.integers(20, size=50), rng.integers(20, size=50)
    expected = [np.sqrt(sum((points[i] - points[j]) ** 2)) for i, j in zip(one, other, strict=True)]
    whole = measure(points, one, other)
    monkeypatch.setattr(neighbors, "CELLS_AT_ONCE", at_once)
    np.testing.assert_array_equal(measure(points, one, other), whole)
    np.testing.assert_allclose(whole, expected, rtol=1e-12)


def test_pairs_are_ordered_by_the_asked_point_and_otherwise_stay_as_they_were():
    found = by_row(np.array([2, 0, 2, 1]), np.array([5, 6, 7, 8]), np.array([0.5, 0.6, 0.7, 0.8]))
    assert found.row.tolist() == [0, 1, 2, 2]
    assert found.point.tolist() == [6, 8, 5, 7]
    assert found.distance.tolist() == [0.6, 0.8, 0.5, 0.7]


def test_the_second_of_a_pair_may_be_of_other_points():
    others = np.array([[3, 4], [0, 1]], dtype=np.float32)
    found = measure(np.zeros((1, 2)), np.array([0, 0]), np.array([1, 0]), others=others)
    np.testing.assert_array_equal(found, [1, 5])


def test_pairs_of_parts_are_joined_to_those_of_all():
    one = Pairs(np.array([0, 1]), np.array([5, 6]), np.array([0.5, 0.6]))
    two = Pairs(np.array([0]), np.array([7]), np.array([0.7]))
    found = joined([one, two], [slice(0, 3), slice(3, 4)])
    np.testing.assert_array_equal(found.row, [0, 1, 3])
    np.testing.assert_array_equal(found.point, [5, 6, 7])
    np.testing.assert_array_equal(found.distance, [0.5, 0.6, 0.7])
