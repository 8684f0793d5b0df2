"""Rows that a person looked up: beside the cells, and in their place."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from builders.command_line import cfl, done, failed
from builders.tabulated import true_figures

from cfl_cli import DataError, tabulate
from cfl_cli.commands.tabulate import estimates
from cfl_cli.commands.tabulate.estimates import All
from cfl_cli.trust.shares import CellEstimate

VALUES, SHARES = ["clerk", "nurse", "farmer"], [0.5, 0.3, 0.2]
SCHEMA = {
    "version": 1,
    "columns": {
        "job": {"role": "complementary", "values": VALUES},
        "age": {"role": "ordinary", "type": "numeric"},
    },
}


def drawn(how):
    columns = SCHEMA["columns"]
    return {**SCHEMA, "columns": {**columns, "job": {**columns["job"], "drawn": how}}}


def biased(n=4000, seed=0, bias=10.0):
    """Return rows in which nurse is ruled out `bias` times as readily, and their places."""
    random = np.random.default_rng(seed)
    place = random.choice(3, n, p=SHARES)
    chances = np.where(np.eye(3, dtype=bool), 0, [1, bias, 1])
    chances = chances / chances.sum(axis=1, keepdims=True)
    out = (chances[place].cumsum(axis=1) > random.random((n, 1))).argmax(axis=1)
    late = np.where(random.random(n) < np.array([0.1, 0.5, 0.3])[place], "yes", "no")
    frame = pl.DataFrame(
        {
            "job": np.array(VALUES)[out],
            "age": random.integers(20, 60, n),
            "late": late,
            "income": 1000.0 + 500 * place + random.normal(0, 50, n),
        }
    )
    return frame, place


def checked(place, m, seed=0):
    rows = np.random.default_rng(seed).permutation(len(place))[:m]
    return pl.DataFrame({"cfl_row": rows + 1, "job": np.array(VALUES)[place[rows]]})


def line(found, quantity, value, group=None):
    chosen = found.filter(
        pl.col("quantity").eq(quantity),
        pl.col("value").eq(value),
        pl.col("group").eq_missing(group),
    )
    return chosen.row(0, named=True)


def test_the_estimate_of_looked_up_rows_is_corrected_by_the_confidences_of_all():
    random = np.random.default_rng(1)
    truth = random.random(5000) < 0.3
    q = np.clip(0.3 + 0.4 * (truth - 0.3) + random.normal(0, 0.1, 5000), 0, 1)
    places, own = truth[:200].astype(int), q[:200]
    whole = All(np.array([1 - q.mean(), q.mean()]), np.array([q.var(), q.var()]), 5000.0)
    _, found = estimates.looked_up(places, np.column_stack([1 - own, own]), whole, 2)
    t = places.astype(float)
    slope = np.cov(t, own)[0, 1] / ((1 + 200 / 5000) * q.var())
    assert found.value == pytest.approx(np.mean(t - slope * own) + slope * q.mean())
    variance = np.var(t - slope * own, ddof=1) / 200 + slope**2 * q.var() / 5000
    assert found.error == pytest.approx(variance**0.5)
    (_, alone) = estimates.looked_up(places, None, None, 2)
    assert found.high - found.low < 0.7 * (alone.high - alone.low)


def test_of_fewer_than_ten_rows_with_a_value_the_interval_is_wilsons():
    places = np.array([0] * 95 + [1] * 5)
    _, found = estimates.looked_up(
        places, np.ones((100, 2)) / 2, All(np.ones(2) / 2, np.ones(2), 1000.0), 2
    )
    assert (found.low, found.high) == pytest.approx((0.0215, 0.1118), abs=5e-5)  # by hand


def test_two_estimates_are_put_together_by_their_variances():
    one, other = CellEstimate(0.2, 0.1, 0.0, 0.4, 10.0), CellEstimate(0.4, 0.2, 0.0, 0.8, 5.0)
    both = estimates.put_together(one, other, share=True)
    assert both.value == pytest.approx((100 * 0.2 + 25 * 0.4) / 125)
    assert both.error == pytest.approx(125**-0.5)


def test_looked_up_rows_hold_under_a_mechanism_that_is_refuted():
    frame, place = biased()
    alone = tabulate(frame, SCHEMA, by="late", mean="income")
    assert {*alone["reason"]} == {"tabulate-refuted"}
    found = tabulate(frame, SCHEMA, by="late", mean="income", audit=checked(place, 400))
    for quantity, name, group, truth in true_figures(frame, place, VALUES):
        one = line(found, quantity, name, group)
        assert (one["basis"], one["reason"]) == ("audit", None)
        assert one["low"] <= truth <= one["high"], one


def test_with_cells_drawn_by_design_looked_up_rows_make_intervals_narrower():
    schema = drawn("at-random")
    frame, place = biased(bias=1.0)
    cells, both = (tabulate(frame, schema, audit=it) for it in (None, checked(place, 500)))
    audit = tabulate(frame.with_columns(job=pl.lit("clerk")), schema, audit=checked(place, 500))
    for name in VALUES:
        one, other, alone = (line(it, "share", name) for it in (cells, audit, both))
        assert alone["se"] < min(one["se"], other["se"])


def test_cells_that_nobody_says_are_drawn_by_design_do_not_count_beside_looked_up_rows():
    frame, place = biased(bias=1.3)
    assert {*tabulate(frame, SCHEMA)["reason"]} == {None}  # nobody notices
    looked_up = checked(place, 300)
    share = (looked_up["job"] == "nurse").mean()
    found = line(tabulate(frame, SCHEMA, audit=looked_up), "share", "nurse")
    assert (found["basis"], found["estimate"]) == ("audit", pytest.approx(share))


def test_of_cells_that_people_chose_the_band_is_the_interval():
    frame, place = biased(bias=2)  # of the three that are allowed for, as in a report
    found = tabulate(frame, drawn("by-people"), mean="income")
    wide = tabulate(frame, drawn("by-people"), mean="income", bias=3)
    assert found.equals(wide)
    for value, name in enumerate(VALUES):
        one = line(found, "share", name)
        assert (one["low"], one["high"]) == (one["bias_low"], one["bias_high"])
        assert one["low"] <= (place == value).mean() <= one["high"]
        assert line(found, "mean", name)["reason"] == "tabulate-by-people"


def test_soft_columns_beside_the_cells_make_looked_up_rows_worth_more():
    frame, place = biased()
    random = np.random.default_rng(2)
    soft = 0.6 * np.eye(3)[place] + 0.4 * random.dirichlet(np.ones(3), len(place))
    columns = [pl.Series(f"job__{value}", soft[:, k]) for k, value in enumerate(VALUES)]
    looked_up = checked(place, 400)
    plain = tabulate(frame, SCHEMA, audit=looked_up)
    better = tabulate(frame.with_columns(columns), SCHEMA, audit=looked_up)
    for value, name in enumerate(VALUES):
        one, other = line(plain, "share", name), line(better, "share", name)
        assert other["se"] < 0.7 * one["se"]
        assert other["low"] <= (place == value).mean() <= other["high"]


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ({"row": [1], "job": ["clerk"]}, "tabulate-audit-columns"),
        ({"cfl_row": [1, 1], "job": ["clerk", "clerk"]}, "tabulate-audit-row"),
        ({"cfl_row": [0], "job": ["clerk"]}, "tabulate-audit-row"),
        ({"cfl_row": [5000], "job": ["clerk"]}, "tabulate-audit-row"),
        ({"cfl_row": [1], "job": ["pilot"]}, "tabulate-audit-value"),
    ],
)
def test_a_file_that_is_not_of_looked_up_rows_is_refused(file, code):
    with pytest.raises(DataError) as error:
        tabulate(biased()[0], SCHEMA, audit=pl.DataFrame(file))
    assert error.value.code == code


def test_the_command_reads_looked_up_rows_and_says_how_many_more_it_takes(folder):
    frame, place = biased(bias=1.0)
    frame.write_csv("data.csv")
    Path("schema.yml").write_text(str(SCHEMA))
    asked = ("tabulate", "data.csv", "--schema", "schema.yml", "--cf", "job", "--width", "0.03")
    cells = done(cfl(*asked)).stdout
    assert "job: for shares whose intervals are 0.03 wide, look up " in cells
    checked(place, 500).write_csv("checked.csv")
    both = done(cfl(*asked, "--audit", "checked.csv")).stdout
    assert "more rows that are drawn at random" in both
    again = cfl(*asked, "--audit", "checked.csv", "--out", "checked.csv", "--overwrite")
    failed(again, 2, "checked.csv")


def test_so_many_rows_give_the_width_that_was_asked_for():
    rows = estimates.rows_to_look_up(0.3, None, 0.05)
    error = (0.3 * 0.7 / rows) ** 0.5
    assert 2 * 1.96 * error == pytest.approx(0.05, rel=1e-3)
    fewer = estimates.rows_to_look_up(0.3, 0.02, 0.05)
    both = (0.02**-2 + fewer / (0.3 * 0.7)) ** -0.5
    assert 2 * 1.96 * both == pytest.approx(0.05, rel=1e-3)
    assert estimates.rows_to_look_up(0.3, 0.01, 0.05) == 0
