"""Some rows of a stream, the same however it is cut."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.core.draws import JUDGED, draw
from cfl_cli.run.fit import Sample, compact


def drawn(cuts, *, size, seed=3):
    sample = Sample(size, seed)
    first = 0
    for length in cuts:
        numbers = np.arange(first, first + length)
        sample.add(pl.DataFrame({"x": numbers}), squares=numbers**2)
        first += length
    return sample.drawn()


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(1, 40))
def test_the_rows_are_those_with_the_smallest_random_numbers_however_the_stream_is_cut(cuts, size):
    (rows, cells, arrays), n = drawn(cuts, size=size), sum(cuts)
    keys = draw(np.arange(n), JUDGED, 3)
    expected = np.sort(np.argsort(keys)[:size])
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(cells["x"], expected)
    np.testing.assert_array_equal(arrays["squares"], expected**2)


def test_all_rows_of_a_short_stream_are_there():
    np.testing.assert_array_equal(drawn([3, 0, 4], size=10)[0], np.arange(7))


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_never_more_than_twice_the_rows_and_a_block_are_held(cut):
    sample = Sample(20, 0)
    for _ in range(1000 // cut):
        sample.add(pl.DataFrame({"x": np.zeros(cut)}))
        assert len(sample) <= 40


def test_texts_of_rows_that_are_gone_are_not_held():
    sample = Sample(50, 0)
    for _ in range(100):
        sample.add(pl.DataFrame({"x": ["text" * 50] * 500}))
    assert sample.drawn()[1].estimated_size() < 50 * 300
    assert compact(pl.DataFrame({"x": ["text" * 50] * 500})[:2]).estimated_size() < 1000


@pytest.mark.parametrize("cuts", [[30], [7, 0, 11, 12]])
def test_rows_that_are_left_out_never_stay(cuts):
    sample, first = Sample(10, 3), 0
    sample.left_out = np.array([0, 6, 7, 20, 29])
    for length in cuts:
        sample.add(pl.DataFrame({"x": np.arange(first, first + length)}))
        first += length
    others = np.setdiff1d(np.arange(30), sample.left_out)
    expected = np.sort(others[np.argsort(draw(others, JUDGED, 3))[:10]])
    assert sample.drawn()[1]["x"].to_list() == expected.tolist()
