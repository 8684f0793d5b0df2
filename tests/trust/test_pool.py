"""Rubin's rules, against numbers that mice 3.15 gives and by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from cfl_cli import UsageError, pool


def fit(value, error, **facts):
    return SimpleNamespace(params={"x": value}, bse={"x": error}, **facts)


def test_by_hand():
    found = pool([fit(1.0, 0.5), fit(2.0, 0.5), fit(3.0, 0.5)])
    (line,) = found.rows(named=True)
    assert line["term"] == "x"
    assert line["estimate"] == 2
    assert line["se"] == pytest.approx(np.sqrt(0.25 + 4 / 3))
    assert line["missing"] == pytest.approx((4 / 3) / (0.25 + 4 / 3))
    assert line["df"] == pytest.approx(2 / line["missing"] ** 2, rel=1e-6)
    assert line["low"] < 0 < line["high"]


def test_degrees_of_freedom_are_those_of_barnard_and_rubin():
    """As `mice::pool.scalar(c(1, 1.3, 0.8), c(.04, .05, .045), n = 30, k = 2)` has them."""
    fits = [(1.0, 0.04), (1.3, 0.05), (0.8, 0.045)]
    found = pool([fit(value, np.sqrt(squared), df_resid=28) for value, squared in fits])
    assert found["df"][0] == pytest.approx(3.099757429, rel=1e-9)
    assert found["se"][0] ** 2 == pytest.approx(0.1294444444, rel=1e-9)


def test_results_may_be_pairs_or_have_covariances_and_numbers_of_rows():
    cov = np.array([[0.04, 0.01], [0.01, 0.09]])
    objects = [
        SimpleNamespace(params=np.array(one), cov_params=lambda: cov, nobs=50)
        for one in ([1.0, 2.0], [1.2, 1.9])
    ]
    pairs = [(one.params, cov) for one in objects]
    several, plain = pool(objects), pool(pairs)
    columns = ["term", "estimate", "se", "missing"]
    assert several.select(columns).equals(plain.select(columns))
    assert several["term"].to_list() == ["0", "1"]
    assert (several["df"] < plain["df"]).all()


def test_draws_that_all_agree_leave_the_error_of_the_fit():
    (line,) = pool([fit(1.0, 0.5, df_resid=1e9)] * 2).rows(named=True)
    assert (line["se"], line["missing"]) == (0.5, 0)
    assert line["high"] == pytest.approx(1 + 1.96 * 0.5, abs=1e-3)


@pytest.mark.parametrize("fits", [[], [fit(1.0, 1.0)], [fit(1.0, 1.0), ([1.0, 2.0], [0.1, 0.1])]])
def test_one_result_or_different_ones_are_refused(fits):
    with pytest.raises(UsageError) as error:
        pool(fits)
    assert error.value.code == "pool-fits"


@pytest.mark.parametrize(
    "fits",
    [
        None,
        [1, 2],
        "ab",
        [([1.0, 2.0], [1.0])] * 2,
        [([1.0], [-1.0])] * 2,
        [([1.0], [float("nan")])] * 2,
    ],
)
def test_what_is_no_result_of_a_model_is_refused(fits):
    with pytest.raises(UsageError, match="expected results of a model, or pairs"):
        pool(fits)
