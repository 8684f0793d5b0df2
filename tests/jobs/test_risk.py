"""`risk` on a small table whose truth is known."""

import json

import numpy as np
import polars as pl
import pytest

from cfl_cli import UsageError, risk
from cfl_cli.jobs.otherwise import MORE

SCHEMA = {
    "version": 1,
    "columns": {
        "who": {"role": "identifier"},
        "x": {"role": "ordinary", "type": "numeric"},
        "noise": {"role": "ordinary", "type": "numeric"},
        "cf": {"role": "complementary", "values": ["a", "b", "c", "d"], "blurred": "privacy"},
    },
}
ROWS, RIGHT = 400, 0.94  # x is the value's place in so many rows


@pytest.fixture(scope="module")
def found():
    random = np.random.default_rng(2)
    x = random.integers(0, 4, ROWS)
    value = np.where(np.arange(ROWS) < RIGHT * ROWS, x, (x + 1) % 4)
    wrong = (value + random.integers(1, 4, ROWS)) % 4
    frame = pl.DataFrame(
        {
            "who": [f"secret-{row}" for row in range(ROWS)],
            "x": x,
            "noise": random.random(ROWS).round(2),
            "cf": np.array([*"abcd"])[wrong],
        }
    )
    return frame, risk(frame, SCHEMA, method="graph", jobs=1)


def test_the_share_inferred_right_holds_and_so_does_that_of_the_sure_ones(found):
    (cf,) = found[1].columns
    assert cf.inferred_right.low <= RIGHT <= cf.inferred_right.high
    assert cf.commonest_right.low <= 1 / 3 <= cf.commonest_right.high  # four values alike
    assert cf.clearly_more
    assert cf.sure_right.low <= RIGHT <= cf.sure_right.high


def test_the_of_that_carries_it_comes_first(found):
    (cf,) = found[1].columns
    assert [of.name for of in cf.features] == ["x", "noise"]
    lost, nothing = (of.gain_lost for of in cf.features)
    assert lost.low <= RIGHT - 1 / 3 <= lost.high
    assert nothing.low <= 0 <= nothing.high


def test_other_ways_of_blurring_are_named_with_what_they_change(found):
    (cf,) = found[1].columns
    ways = {one.way: one for one in cf.otherwise}
    assert [*ways] == [MORE, "numbers in 8 bins", "numbers in 4 bins"]  # no cell has several
    for one in ways.values():
        assert one.change.low <= one.change.value <= one.change.high
        assert one.inferred_right == pytest.approx(
            min(cf.inferred_right.value + one.change.value, 1.0)
        )
    assert ways["numbers in 4 bins"].change.high > -0.05  # x has four values anyway


def test_no_cell_of_the_table_is_in_it(found):
    text = found[1].to_json()
    assert "secret" not in text
    assert json.loads(text)["columns"][0]["blurred"] == "privacy"
    assert "inferred right" in str(found[1])


def test_nothing_else_is_tried_if_no_rows_are_to_be(found):
    alone = risk(found[0], SCHEMA, method="graph", rows=0, jobs=1)
    assert alone.tried_rows == 0
    assert alone.columns[0].features == alone.columns[0].otherwise == ()
    assert alone.columns[0].inferred_right == found[1].columns[0].inferred_right


def test_it_needs_hidden_cells(found):
    with pytest.raises(UsageError, match="folds"):
        risk(found[0], SCHEMA, method="graph", folds=0)
