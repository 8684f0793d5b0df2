"""A row is found by the cell that is meant, and by no other."""

import polars as pl
import pytest

from cfl_cli import UsageError
from cfl_cli.commands.explain.work import column_and_cell, matches

LARGE = [9007199254740992, 9007199254740993, 9007199254740994]  # no float has the second


@pytest.mark.parametrize(
    ("cells", "cell", "rows"),
    [
        (["P1", "P2", None], "P2", [2]),
        ([17, 18, None], "17", [1]),
        ([17, 18, None], "17.0", [1]),
        ([17, 18, None], "17.5", []),
        ([17.0, 17.5], "17", [1]),
        ([17.0, 17.5], "17.50", [2]),
        (LARGE, "9007199254740993", [2]),
        (LARGE, "9007199254740992", [1]),
        ([True, False], "true", [1]),
        (["017", "17"], "17", [2]),
        ([None, None], "17", []),
    ],
)
def test_numbers_are_compared_as_numbers_and_texts_as_texts(cells, cell, rows):
    assert matches(pl.Series("id", cells), cell) == rows
    assert matches(pl.Series("id", cells), cell, first=10) == [10 + row for row in rows]


def test_a_name_may_hold_an_equals_sign():
    assert column_and_cell("a=b=c", ["a", "a=b"]) == ("a=b", "c")
    assert column_and_cell("a=", ["a"]) == ("a", "")
    with pytest.raises(UsageError, match="COLUMN=CELL"):
        column_and_cell("a", ["a"])
    with pytest.raises(UsageError, match="did you mean 'patient'"):
        column_and_cell("pateint=1", ["patient"])
