import numpy as np
import pytest

from cfl_cli.trust.coarser import binned, merged


def test_numbers_become_the_means_of_bins_of_about_equally_many_rows():
    numbers = np.array([[4.0], [1.0], [2.0], [3.0]])
    assert binned(numbers, 2).ravel().tolist() == [3.5, 1.5, 1.5, 3.5]


def test_equal_numbers_stay_equal():
    numbers = np.array([[0.0]] * 5 + [[1.0]] * 5)
    assert binned(numbers, 4).ravel().tolist() == [0.0] * 5 + [1.0] * 5


def test_rare_categories_become_one_and_lie_as_far_apart_as_so_many_do():
    one_hot = np.eye(4)[[0] * 50 + [1] * 48 + [2, 3]] / 2
    coarse = merged(one_hot)
    assert coarse.shape == (100, 3)
    assert coarse[98].tolist() == coarse[99].tolist() == pytest.approx([0, 0, 1 / np.sqrt(3)])


def test_one_rare_category_alone_stays():
    assert merged(np.eye(3)[[0] * 50 + [1] * 49 + [2]]) is None
