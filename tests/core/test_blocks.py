import numpy as np
import pytest

from cfl_cli.core.arrays import best, columns, entropies, normalise, sizes, spread, start, totals

BLOCKS = np.array([0, 3])


def test_blocks_are_summed_spread_and_scaled_one_by_one():
    mass = np.array([[1.0, 1, 2, 0, 0, 0, 0], [0, 0, 0, 1, 2, 3, 4]])
    assert list(sizes(BLOCKS, 7)) == [3, 4]
    assert columns(BLOCKS, 7) == [slice(0, 3), slice(3, 7)]
    np.testing.assert_array_equal(totals(mass, BLOCKS), [[4, 0], [0, 10]])
    np.testing.assert_array_equal(
        spread(np.array([[5.0, 6.0]]), BLOCKS, 7), [[5, 5, 5, 6, 6, 6, 6]]
    )
    np.testing.assert_array_equal(normalise(mass, BLOCKS, out=mass), [[4, 0], [0, 10]])
    np.testing.assert_allclose(mass, [[0.25, 0.25, 0.5, 0, 0, 0, 0], [0, 0, 0, 0.1, 0.2, 0.3, 0.4]])


def test_entropy_is_shannons_with_the_natural_log():
    rows = np.array([[1, 0, 0, 0.25, 0.25, 0.25, 0.25], [0.7, 0.2, 0.1, 0.5, 0.5, 0, 0]])
    # −0.7 ln 0.7 − 0.2 ln 0.2 − 0.1 ln 0.1 = 0.249672 + 0.321888 + 0.230259
    expected = [[0, np.log(4)], [0.801819, np.log(2)]]
    np.testing.assert_allclose(entropies(rows, BLOCKS), expected, atol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_blocks_are_scaled_as_a_loop_over_rows_and_values_scales_them(kind):
    mass = np.random.default_rng(0).random((30, 7)).astype(kind)
    mass[::4, :3] = 0
    out = np.empty_like(mass)
    total = normalise(mass, BLOCKS, out=out)
    assert total.dtype == kind
    for row in range(30):
        for cf, block in enumerate((range(3), range(3, 7))):
            whole = sum(float(mass[row, value]) for value in block)
            assert total[row, cf] == pytest.approx(whole, rel=1e-6)
            for value in block:
                assert out[row, value] == pytest.approx(mass[row, value] / (whole or 1), rel=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_cf_may_be_scaled_along_an_axis(axis):
    mass = np.array([[1.0, 3, 0, 0], [2, 2, 0, 4], [0, 0, 0, 0]])
    turned = mass.T if axis == 0 else mass
    out = np.empty_like(turned)
    total = normalise(turned, axis, out=out)
    expected = [[0.25, 0.75, 0, 0], [0.25, 0.25, 0, 0.5], [0, 0, 0, 0]]
    np.testing.assert_array_equal(out.T if axis == 0 else out, expected)
    np.testing.assert_array_equal(total.reshape(-1), [4, 8, 0])
    assert total.ndim == 2


def test_at_the_start_all_candidates_are_alike_or_as_likely_as_the_evidence_has_it():
    candidates = np.array([[1, 0, 1, 1, 1, 1, 1], [0, 0, 1, 0, 1, 1, 0]], dtype=bool)
    expected = [[0.5, 0, 0.5, 0.25, 0.25, 0.25, 0.25], [0, 0, 1, 0, 0.5, 0.5, 0]]
    np.testing.assert_array_equal(start(candidates, BLOCKS), expected)
    likelihood = np.array([[1, 0.5, 0.5, 1, 0, 0, 0.25]])
    np.testing.assert_allclose(start(likelihood, BLOCKS), [[0.5, 0.25, 0.25, 0.8, 0, 0, 0.2]])


def test_the_most_confident_candidate_is_the_first_of_equals_and_never_ruled_out():
    confidences = np.array([[0.2, 0.4, 0.4], [0.9, 0.1, 0.0], [0.0, 0.0, 0.0]])
    candidates = np.array([[True, True, True], [False, True, True], [False, False, True]])
    assert best(confidences, candidates).tolist() == [1, 1, 2]
