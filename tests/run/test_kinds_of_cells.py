"""From cells of each kind to answers and a report."""

import numpy as np
import polars as pl
import pytest

import cfl_cli
from cfl_cli.run import apart

VALUES = [*"abcd"]
TREE = {"ab": ["a", "b"], "cd": ["c", "d"]}


def table(cells, n):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, n)
    x = truth + rng.normal(0, 0.4, n)
    return truth, pl.DataFrame({"x": x, "cf": [cells(v, rng) for v in truth]})


def schema(**cf):
    x = {"role": "ordinary", "type": "numeric"}
    return {"version": 1, "columns": {"x": x, "cf": {"role": "complementary", **cf}}}


def right(result, truth):
    return float((result.frame["cf_imputed"].to_numpy() == np.array(VALUES)[truth]).mean())


def test_a_complement_gives_the_same_bytes():
    def exclusion(v, rng):
        return VALUES[(v + rng.integers(1, 4)) % 4]

    _, excluded = table(exclusion, 300)
    named = ["|".join(v for v in VALUES if v != cell) for cell in excluded["cf"]]
    candidates = excluded.with_columns(cf=pl.Series(named))
    one = cfl_cli.impute(excluded, schema(values=VALUES), mode="both")
    other = cfl_cli.impute(
        candidates, schema(values=VALUES, cells="candidates", separator="|"), mode="both"
    )
    assert one.frame.drop("cf").equals(other.frame.drop("cf"))
    assert one.report["cf"].estimated_accuracy == other.report["cf"].estimated_accuracy


def noisy(v, rng):
    return VALUES[v if rng.random() < 0.6 else (v + rng.integers(1, 4)) % 4]


@pytest.mark.parametrize("method", ["graph", "forest", "boost"])
def test_noisy_values_are_corrected_and_the_accuracy_holds(method):
    truth, cells = table(noisy, 600)
    result = cfl_cli.impute(cells, schema(values=VALUES, mechanism={"keep": 0.6}), method=method)
    accuracy, found = result.report["cf"].estimated_accuracy, right(result, truth)
    assert found > 0.75  # the cells themselves: 0.6
    assert accuracy.low - 0.03 <= found <= accuracy.high + 0.03
    assert result.report["cf"].cells == "values"


def test_blocks_alone_are_answered_by_blocks_and_not_judged():
    _, cells = table(lambda v, _: "ab" if v < 2 else "cd", 300)
    result = cfl_cli.impute(cells, schema(hierarchy=TREE))
    column = result.report["cf"]
    assert set(result.frame["cf_imputed"]) == {"ab", "cd"}
    assert (column.verdict, column.reasons) == ("not-known", ("cells-are-blocks",))
    assert column.not_told_apart == ((1, 2), (3, 4))
    assert column.block_cells == 300


def test_a_reference_tells_values_of_a_block_apart():
    truth, cells = table(lambda v, _: "ab" if v < 2 else "cd", 300)
    rng = np.random.default_rng(1)
    known = rng.integers(0, 4, 80)
    other = pl.DataFrame({"x": known + rng.normal(0, 0.4, 80), "cf": np.array(VALUES)[known]})
    result = cfl_cli.impute(cells, schema(hierarchy=TREE), method="forest", reference=other)
    assert result.frame.height == result.report.rows == 300
    assert result.report.reference_rows == 80
    assert right(result, truth) > 0.8


def test_blocks_that_are_fed_as_exclusions_are_noticed():
    def exclusions(v, rng):
        if rng.random() < 0.5:
            return "c;d" if v < 2 else "a;b"
        return VALUES[(v + rng.integers(1, 4)) % 4]

    _, cells = table(exclusions, 600)
    result = cfl_cli.impute(cells, schema(values=VALUES, separator=";"))
    assert result.report["cf"].verdict == "not-known"


def test_large_domains_are_estimated_part_by_part(monkeypatch):
    truth, cells = table(lambda v, _: "ab" if v < 2 else "cd", 300)
    rng = np.random.default_rng(1)
    known = rng.integers(0, 4, 120)
    other = pl.DataFrame({"x": known + rng.normal(0, 0.4, 120), "cf": np.array(VALUES)[known]})
    how = {"method": "forest", "reference": other, "mode": "both"}
    whole = cfl_cli.impute(cells, schema(hierarchy=TREE), **how)
    monkeypatch.setattr(apart, "LARGE", 3)
    parts = cfl_cli.impute(cells, schema(hierarchy=TREE), **how)
    assert right(parts, truth) > right(whole, truth) - 0.05
    sums = parts.frame.select(pl.sum_horizontal("^cf__.*$")).to_series()
    assert sums.to_numpy() == pytest.approx(1)


def test_a_model_of_blocks_answers_like_the_run_it_came_from():
    _, cells = table(lambda v, _: "ab" if v < 2 else "cd", 120)
    result = cfl_cli.impute(cells, schema(hierarchy=TREE), method="forest", keep_model=True)
    again = result.model.apply(cells.head(20))
    assert again.frame["cf_imputed"].to_list() == result.frame["cf_imputed"].head(20).to_list()
