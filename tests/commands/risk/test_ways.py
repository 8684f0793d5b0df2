"""What is tried on a table: other cells and OFs, worked out by hand."""

import numpy as np
import polars as pl
import pytest

from cfl_cli.commands.risk.job import with_fewer
from cfl_cli.encode.encode import encode
from cfl_cli.schema.model import Schema

SCHEMA = Schema.model_validate(
    {
        "version": 1,
        "columns": {
            "x": {"role": "ordinary", "type": "numeric"},
            "place": {"role": "ordinary", "type": "categorical"},
            "cf": {"role": "complementary", "values": [*"abcd"], "separator": "|"},
        },
    }
)


def encoded(cells, places=("p", "q", "r")):
    n = len(cells)
    columns = {"x": [float(row) for row in range(n)], "place": [*places] * (n // len(places))}
    return encode(pl.DataFrame(columns | {"cf": cells}), SCHEMA)


def test_one_exclusion_is_taken_back_only_where_there_are_several():
    table = encoded(["a|b", "a", "a|b|c", "", "c|d", "d|a"])
    fewer = with_fewer(table, 0)
    back = fewer & ~table.candidates
    assert back.sum(axis=1).tolist() == [1, 0, 0, 0, 1, 1]  # "a|b|c" is exact
    assert not (table.candidates & ~fewer).any()


def test_each_of_several_exclusions_is_taken_back_as_often():
    back = with_fewer(encoded(["a|c"] * 900), 0)[:, [0, 2]]
    assert back.sum(axis=0) == pytest.approx([450, 450], abs=60)  # four standard errors


def test_runs_are_the_same_whatever_else_the_seed_draws():
    table = encoded(["a|b", "c|d", "a|d"] * 4)
    assert np.array_equal(with_fewer(table, 1), with_fewer(table, 1))
