import numpy as np
from builders.cells import probability, skewed
from builders.known import table

from cfl_cli.core.dataset import Known, all_but
from cfl_cli.core.exclusions import Mechanism


def small():
    """Four rows, two CFs of 2 and 3 values; the last row's cells are empty."""
    cells = ["01 110", "10 011", "11 101", "11 111"]
    candidates = np.array([[c == "1" for c in row.replace(" ", "")] for row in cells])
    mechanisms = (Mechanism(2), Mechanism(3))
    return Known(np.arange(8.0).reshape(4, 2), candidates, np.array([0, 2]), mechanisms)


def test_under_uniform_exclusions_the_evidence_is_the_candidates():
    known = small()
    assert known.evidence is known.candidates
    assert known.columns == [slice(0, 2), slice(2, 5)]
    assert len(known) == 4


def test_under_a_mechanism_the_evidence_is_how_likely_each_cell_is():
    mechanism = skewed(4)
    known, _ = table(0, 30, mechanisms=[Mechanism(3), mechanism], exclusions=(0, 1, 2, 3))
    np.testing.assert_array_equal(known.evidence[:, :3], known.candidates[:, :3])
    for cell, found in zip(known.candidates[:, 3:], known.evidence[:, 3:], strict=True):
        excluded = np.flatnonzero(~cell)
        likely = np.array([probability(mechanism, excluded, value) for value in range(4)])
        np.testing.assert_allclose(found, likely / likely.max())


def test_some_rows_are_known_as_they_were_among_all():
    known, _ = table(1, 20, mechanisms=[skewed(3), Mechanism(4)])
    assert known.evidence.shape == (20, 7)  # and is kept
    rows = np.array([3, 5, 11])
    some = known.some(rows)
    np.testing.assert_array_equal(some.features, known.features[rows])
    np.testing.assert_array_equal(some.evidence, known.evidence[rows])
    assert some.mechanisms == known.mechanisms


def test_shuffled_cells_are_the_same_cells_with_evidence_of_their_own():
    known, _ = table(3, 50, mechanisms=[skewed(3), Mechanism(4)])
    before, mixed = known.evidence, known.shuffled(seed=0)
    np.testing.assert_array_equal(mixed.features, known.features)
    np.testing.assert_array_equal(
        np.sort(mixed.candidates, axis=0), np.sort(known.candidates, axis=0)
    )
    assert known.evidence is before
    assert (mixed.evidence != before).any()


def test_shares_by_hand_from_all_rows_and_from_some():
    known = small()
    first, second = known.shares()
    np.testing.assert_allclose(first, [0.5, 0.5])
    np.testing.assert_allclose(second, [1 / 3] * 3)  # each is ruled out by one of three cells
    first, second = known.shares(np.array([True, False, True, False]))
    np.testing.assert_allclose(first, [0, 1])
    np.testing.assert_allclose(second, [1, 0, 0])  # 1 − 2 · 0, and 1 − 2 · 1/2 of the others


def test_where_no_cell_tells_anything_all_shares_are_alike():
    first, second = small().shares(np.array([False, False, False, True]))
    np.testing.assert_allclose(first, [0.5, 0.5])
    np.testing.assert_allclose(second, [1 / 3] * 3)
    nobody = np.zeros(4, dtype=bool)
    np.testing.assert_allclose(small().shares(nobody)[1], [1 / 3] * 3)


def test_all_rows_but_some():
    np.testing.assert_array_equal(all_but(np.array([0, 2]), 4), [False, True, False, True])
    np.testing.assert_array_equal(all_but(np.array([], dtype=int), 2), [True, True])
