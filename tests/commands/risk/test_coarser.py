import numpy as np
import pytest

from cfl_cli.commands.risk.disclosure import binned, merged


def test_numbers_become_the_means_of_bins_of_about_equally_many_rows_scaled_again():
    numbers = np.array([[9.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    # The bins' means are 1.5, 3.5 and 7; a table that holds these is scaled from 0 to 1.
    assert binned(numbers, 3).ravel() == pytest.approx(np.array([5.5, 0, 0, 2, 2, 5.5]) / 5.5)


def test_a_column_in_one_bin_says_nothing():
    assert binned(np.full((3, 1), 0.7), 4).tolist() == [[0.0]] * 3


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
