import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.core.parallel import Own, leaned_on, shifted


def test_rows_beyond_a_slice_are_numbered_after_it():
    beyond, near = leaned_on(slice(2, 5), np.array([9, 3, 0, 9, 2, 4]))
    assert beyond.tolist() == [0, 9]
    assert near.tolist() == [4, 1, 3, 4, 0, 2]


@given(st.integers(0, 8), st.integers(1, 4), st.lists(st.integers(0, 11)))
def test_numbers_anew_mean_the_same_rows(start, size, near):
    rows = slice(start, start + size)
    beyond, anew = leaned_on(rows, np.array(near, dtype=np.int32))
    assert [[*range(start, rows.stop), *beyond.tolist()][one] for one in anew.tolist()] == near
    assert len(beyond) == len({one for one in near if not start <= one < rows.stop})


def test_what_a_process_has_for_itself_travels_empty():
    sent = pickle.dumps(Own({1: 2}))
    assert pickle.loads(sent) == {}
    assert shifted(slice(3, 5), -3) == slice(0, 2)
