import numpy as np
import pytest

from cfl_cli.core.arrays import Fallback, most_confident, posterior

BLOCKS = np.array([0, 2])
COLUMNS = (slice(0, 2), slice(2, 5))


def by_bayes(prior, evidence, fallback):
    """The posterior of one row's one CF, value by value, and the mass."""
    joint = [p * e for p, e in zip(prior, evidence, strict=True)]
    mass = sum(joint)
    if mass > 0:
        return [each / mass for each in joint], mass
    if fallback is Fallback.PRIOR:
        return list(prior), mass
    return [e / sum(evidence) for e in evidence], mass


def case(kind, seed=0, n=50):
    """Priors and cells of two CFs; some priors rule out what the cell leaves."""
    rng = np.random.default_rng(seed)
    priors = np.hstack([rng.dirichlet(np.ones(size), size=n) for size in (2, 3)]).astype(kind)
    cells = rng.random((n, 5))
    cells[:, 0], cells[:, 2] = 1, 1
    cells[::2] = np.ceil(cells[::2] - 0.5)
    priors[::7, :2], cells[::7, :2] = [1, 0], [0, 1]
    priors[3::7, 2:], cells[3::7, 2:] = [0, 0, 1], [0.25, 1, 0]
    return priors, cells.astype(kind)


@pytest.mark.parametrize("fallback", Fallback)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_cells_are_applied_as_a_loop_over_rows_and_values_applies_them(fallback, kind):
    priors, cells = case(kind)
    close = {"rtol": 1e-5 if kind is np.float32 else 1e-12}
    found, mass = posterior(priors, cells, over=BLOCKS, fallback=fallback)
    assert found.dtype == mass.dtype == kind
    assert (mass == 0).sum() > 10
    for cf, block in enumerate(COLUMNS):
        rows = zip(priors[:, block], cells[:, block], strict=True)
        expected, left = zip(*(by_bayes(*row, fallback) for row in rows), strict=True)
        np.testing.assert_allclose(found[:, block], expected, **close)
        np.testing.assert_allclose(mass[:, cf], left, **close)
        one, own = posterior(priors[:, block], cells[:, block], over=1, fallback=fallback)
        np.testing.assert_allclose(one, expected, **close)
        np.testing.assert_allclose(own[:, 0], left, **close)
        turned, own = posterior(priors[:, block].T, cells[:, block].T, over=0, fallback=fallback)
        np.testing.assert_allclose(turned.T, expected, **close)
        np.testing.assert_allclose(own[0], left, **close)


def test_the_posterior_by_hand():
    priors = np.array([[0.25, 0.75, 0.25, 0.25, 0.5], [1, 0, 0.2, 0.2, 0.6]])
    cells = np.array([[1, 1, 0, 1, 0.5], [0, 1, 1, 1, 0]])
    expected = np.array([[0.25, 0.75, 0, 0.5, 0.5], [1, 0, 0.5, 0.5, 0]])
    found, mass = posterior(priors, cells, over=BLOCKS, fallback=Fallback.PRIOR)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(mass, [[1, 0.5], [0, 0.4]])
    # The second row's first cell rules out all that its prior allows.
    found, _ = posterior(priors, cells, over=BLOCKS, fallback=Fallback.CELL)
    expected[1, :2] = [0, 1]
    np.testing.assert_allclose(found, expected)


def test_a_cell_that_leaves_nothing_at_all_gives_no_confidence_to_fall_back_on():
    found, mass = posterior(
        np.array([[0.5, 0.5]]), np.zeros((1, 2)), over=1, fallback=Fallback.CELL
    )
    np.testing.assert_array_equal(found, [[0, 0]])
    np.testing.assert_array_equal(mass, [[0]])


@pytest.mark.parametrize("fallback", Fallback)
def test_the_answer_can_be_written_to_an_array_of_less_precision(fallback):
    priors, cells = case(np.float32)
    expected, left = posterior(priors, cells, over=BLOCKS, fallback=fallback)
    out = np.empty_like(priors)
    before = priors.copy()
    found, mass = posterior(priors, cells.astype(float), over=BLOCKS, fallback=fallback, out=out)
    assert found is out
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(mass, left, rtol=1e-6)
    np.testing.assert_array_equal(priors, before)


@pytest.mark.parametrize("shape", [(40,), (40, 6)])
def test_the_most_confident_value_is_the_posteriors_first(shape):
    rng = np.random.default_rng(1)
    prior = rng.dirichlet(np.ones(4), size=shape)
    likelihood = rng.integers(0, 3, size=(*shape, 4)) / 2
    likelihood[..., 3] = 0.5
    prior[::3] = [1, 0, 0, 0]
    likelihood[::3, ..., 0] = 0  # and nothing is left
    answers, confidences = most_confident(prior, likelihood)
    for place in np.ndindex(shape):
        expected, _ = by_bayes(prior[place], likelihood[place], Fallback.CELL)
        assert answers[place] == int(np.argmax(expected))
        assert confidences[place] == pytest.approx(max(expected))


def test_equal_values_go_by_their_order_and_nothing_at_all_has_no_confidence():
    prior = np.array([[0.2, 0.4, 0.4], [0.5, 0.5, 0.0]])
    answers, confidences = most_confident(prior, np.array([[1.0, 1, 1], [0, 0, 0]]))
    assert answers.tolist() == [1, 0]
    np.testing.assert_allclose(confidences, [0.4, 0])
