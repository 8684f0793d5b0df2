"""Tables whose truth is known, published in other ways; and whether the figures of `risk` hold."""

import numpy as np
import polars as pl
import pytest

from benchmarks.risk.__main__ import QUICK, run, summary
from benchmarks.risk.cases import Case, blurred
from benchmarks.risk.made import FAMILIES, made

# Of all figures at 95 %, those of a table not being independent: two tables' worth of luck.
LEAST_HELD = 0.88


@pytest.fixture
def case():
    excluded = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 0]], dtype=bool)
    ofs = {"x": pl.Series("x", [4.0, 1.0, None, 3.0]), "t": pl.Series("t", ["p", "p", "q", "r"])}
    return Case("four", ofs, {"cf": np.array([0, 3, 1, 3])}, {"cf": excluded})


def test_cells_are_written_as_the_schema_has_them(case):
    assert case.frame["cf"].to_list() == ["v1|v2", "v2", "", "v0|v1|v2"]
    assert case.schema.complementary["cf"].separator == "|"


def test_a_further_exclusion_is_never_the_true_value(case):
    for seed in range(20):
        more = case.with_more(np.random.default_rng(seed)).excluded["cf"]
        assert more.sum(axis=1).tolist() == [3, 2, 0, 3]  # the last one is exact already
        assert not more[np.arange(4), case.truth["cf"]].any()
        assert (more | case.excluded["cf"]).sum() == more.sum()


def test_one_exclusion_fewer_only_where_there_are_several(case):
    fewer = case.with_fewer(np.random.default_rng(0)).excluded["cf"]
    assert fewer.sum(axis=1).tolist() == [1, 1, 0, 3]
    assert not (fewer & ~case.excluded["cf"]).any()


def test_numbers_become_means_of_their_bins_and_missing_ones_stay(case):
    assert case.binned(2).ofs["x"].to_list() == [3.5, 1.0, None, 3.5]  # the median is 3


def test_rare_categories_become_one():
    texts = pl.Series("t", ["p"] * 58 + ["q", "r"])
    true = np.arange(60) % 3
    cells = blurred("", {"t": texts}, {"cf": true}, np.random.default_rng(0), exclusions={"cf": 1})
    assert cells.merged().ofs["t"].to_list() == ["p"] * 58 + ["other"] * 2
    assert not cells.excluded["cf"][np.arange(60), true].any()


def test_a_made_table_is_the_same_for_the_same_seed():
    one, other = made(3, seed=5), made(3, seed=5)
    assert one.frame.equals(other.frame)
    assert not one.frame.equals(made(3, seed=6).frame)


@pytest.mark.slow
def test_nearly_all_figures_hold_on_a_table_of_each_family():
    tables = (made(number, seed=77, rows=400) for number in range(len(FAMILIES)))
    lines = run(tables, **QUICK)
    assert len(lines) > 100
    assert np.mean([line.holds for line in lines]) >= LEAST_HELD, [*summary(lines)]
