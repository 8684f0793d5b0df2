"""A column gets a type only if that changes no cell."""

import polars as pl
import pytest

from cfl_cli.tables import jsonl
from cfl_cli.tables.jsonl import DECODER


def typed(cells):
    """Return the column with these cells, each written as JSON, and why it is mixed if it is."""
    return jsonl.typed("a", [DECODER.decode(cell) for cell in cells])


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "null", "-3"], pl.Int64),
        (["1", "18446744073709551615"], pl.UInt64),
        (["1", "2.5"], pl.Float64),
        (["1e5", "-0.0"], pl.Float64),
        (["true", "null"], pl.Boolean),
        (['"a"', "null"], pl.String),
        (["null", "null"], pl.String),
        (['["a", null]', "[]", "null"], pl.List(pl.String)),
        (["[1]", "[2, 3]"], pl.List(pl.Int64)),
        (["[1]", "[2.5]"], pl.List(pl.Float64)),
    ],
)
def test_a_column_of_one_kind_gets_its_type(cells, kind):
    column, what = typed(cells)
    assert column.dtype == kind
    assert what == ""


@pytest.mark.parametrize(
    "cells",
    [
        ["1", '"1"'],
        ["true", "1"],
        ["[1]", '["a"]'],
        ["[[1]]", "[[2]]"],
        ["[1]", "[-0]"],
        ['["a"]', '"a"'],
        ['{"b":1}', "null"],
        ["18446744073709551616"],
        ["-1", "9223372036854775808"],
        ["-0"],
        ["1e400"],
        ["1e-400"],
        ["0.12345678901234567890"],
        ["9007199254740993", "0.5"],
        ["1" * 5000],
    ],
)
def test_what_a_type_would_change_stays_text(cells):
    column, what = typed(cells)
    assert column.dtype == pl.String
    assert what


def test_lists_hold_what_was_written():
    assert typed(['["a", null]', "[]", "null"])[0].to_list() == [["a", None], [], None]
    assert typed(["[1, 2]", "[2.5, null]"])[0].to_list() == [[1.0, 2.0], [2.5, None]]


def test_numbers_in_a_mixed_column_keep_their_spelling():
    column, what = typed(["1.50", '"a"', '[1e5, {"b": -0}]', "null"])
    assert column.to_list() == ["1.50", "a", '[1e5, {"b": -0}]', None]
    assert what == "cells of different kinds"


def test_keys_may_be_missing_and_columns_come_in_order_of_appearance():
    rows = [{"b": 1}, {"a": "x", "b": 2}, {}]
    assert jsonl.typed_columns(rows) == {"b": [1, 2, None], "a": [None, "x", None]}
    assert list(jsonl.typed_columns(rows)) == ["b", "a"]
