from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli import Schema, mask
from cfl_cli.encode.encode import encode
from cfl_cli.errors import DataError, UsageError
from cfl_cli.schema.model import Complementary, Ordinary
from cfl_cli.tables.frames import as_polars

OF = {"x": Ordinary(type="numeric")}
DOMAIN = ("a", "b", "c", "d")
RATES = ((0, 0.7, 0.2, 0.1), (0.1, 0, 0.1, 0.8), (0.5, 0.3, 0, 0.2), (0.25, 0.25, 0.5, 0))


def schema(settings=None, missing=("",), **cf):
    plain = {"values": DOMAIN, "separator": ";", "exact": "="}
    return Schema(
        columns=OF | {"cf": Complementary(**plain | cf)}, settings=settings or {}, missing=missing
    )


def table(values, **columns):
    return pl.DataFrame(
        {"x": range(len(values)), "cf": pl.Series(values, dtype=pl.String)} | columns
    )


def cells_of(frame):
    """Return the CF's cells; what is missing is None, whatever pandas calls it."""
    return as_polars(frame, ["cf"])["cf"].to_list()


def masked(values, *, marks=None, **recipe):
    return mask(table(values), schema(**marks or {}), **recipe).frame["cf"].to_list()


MANY = [DOMAIN[n % 4] for n in range(8000)]


def test_a_cell_never_rules_its_value_out_and_lists_exclusions_in_domain_order():
    for exclusions in (1, 2, 3):
        for value, cell in zip(MANY, masked(MANY, exclusions=exclusions), strict=True):
            listed = cell.split(";")
            assert value not in listed
            assert listed == sorted(set(listed))
            assert len(listed) == exclusions


@pytest.mark.parametrize("mechanism", [None, RATES])
@pytest.mark.parametrize("exclusions", [1, 2])
def test_cells_are_drawn_as_the_mechanism_says(mechanism, exclusions):
    cells = masked(MANY, marks={"mechanism": mechanism}, exclusions=exclusions)
    rates = mechanism or tuple(tuple(float(v != c) / 3 for c in range(4)) for v in range(4))
    statistic = 0.0
    for place in range(4):
        sets = list(combinations([c for c in range(4) if c != place], exclusions))
        odds = [np.prod([rates[place][c] for c in chosen]) for chosen in sets]
        mine = cells[place::4]
        for chosen, share in zip(sets, np.array(odds) / sum(odds), strict=True):
            seen = mine.count(";".join(DOMAIN[c] for c in chosen))
            statistic += (seen - 2000 * share) ** 2 / (2000 * share)
    assert statistic < 26.1  # chi-squared with 4 × 2 degrees of freedom: 1 in 1,000


def test_shares_of_cells_are_exact_and_empty_by_lot():
    plain = masked(MANY)
    cells = masked(MANY, exact_share=0.3, empty_share=0.2)
    exact = [cell for cell in cells if cell and cell.startswith("=")]
    assert abs(len(exact) / 8000 - 0.3) < 4 * (0.3 * 0.7 / 8000) ** 0.5
    assert abs(cells.count(None) / 8000 - 0.2) < 4 * (0.2 * 0.8 / 8000) ** 0.5
    for value, cell, other in zip(MANY, cells, plain, strict=True):
        assert cell in (None, f"={value}", other)
    more = masked(MANY, exact_share=0.4, empty_share=0.3)
    assert all(
        one == two
        for one, two in zip(cells, more, strict=True)
        if one is None or one.startswith("=")
    )
    assert masked(["a", "b"], exact_share=1) == ["=a", "=b"]
    assert masked(["a", "b"], empty_share=1) == [None, None]


def test_draws_depend_on_seed_cf_and_row_number_alone():
    cells = masked(MANY, exclusions=2)
    assert masked(MANY, exclusions=2) == cells
    assert masked(MANY[:40], exclusions=2) == cells[:40]
    assert masked([None, *MANY[1:]], exclusions=2)[1:] == cells[1:]
    assert masked(MANY, exclusions=2, seed=1) != cells
    frame = table(MANY, other=MANY)
    two = OF | {name: Complementary(values=DOMAIN, separator=";") for name in ("other", "cf")}
    both = mask(frame, Schema(columns=two), exclusions=2).frame
    assert both["cf"].to_list() == cells
    assert both["other"].to_list() != cells


def test_the_schema_s_seed_is_taken_unless_another_is_given():
    of_schema = mask(table(MANY), schema({"seed": 5})).frame
    assert of_schema.equals(mask(table(MANY), schema(), seed=5).frame)
    assert mask(table(MANY), schema({"seed": 5}), seed=0).frame.equals(
        mask(table(MANY), schema()).frame
    )


def test_rows_beyond_a_stretch_draw_like_all_others(monkeypatch):
    cells = masked(MANY)
    monkeypatch.setattr("cfl_cli.commands.evaluate.job.CHANCES", 30)
    assert masked(MANY) == cells


def test_missing_cells_and_other_columns_stay():
    frame = table(["a", "NA", None, "b"], note=["=x", "", None, "a"], day=[1.5, None, 2.0, 3.0])
    found = mask(frame, schema(missing=("NA", ""))).frame
    assert found["cf"].to_list()[1:3] == ["NA", None]
    assert found.drop("cf").equals(frame.drop("cf"))
    assert found.columns == frame.columns
    assert mask(table([]), schema()).frame.equals(table([]))


@pytest.mark.parametrize(
    ("missing", "written"), [(("", "NA"), None), (("NA", ""), "NA"), ((), None)]
)
def test_an_empty_cell_is_written_as_the_first_text_that_counts_as_missing(missing, written):
    found = mask(table(["a", "b"]), schema(missing=missing), empty_share=1).frame
    assert found["cf"].to_list() == [written, written]
    assert encode(found, schema(missing=missing)).blocks[0].empty_cells == 2


@given(
    st.data(),
    st.lists(st.text('ab;=," é\n', min_size=1, max_size=3), min_size=2, max_size=5, unique=True),
    st.sampled_from([None, ";", "é"]),
    st.sampled_from([None, "=", "a"]),
)
def test_what_is_written_is_read_as_what_was_meant(data, values, separator, exact):
    values = [v for v in values if not (separator and separator in v)]
    values = [v for v in values if not (exact and v.startswith(exact))]
    if len(values) < 2:
        return
    most = len(values) - 1 if separator else 1
    exclusions = data.draw(st.integers(1, most))
    truth = data.draw(st.lists(st.sampled_from([*values, None]), min_size=2, max_size=9))
    of = schema(values=values, separator=separator, exact=exact)
    found = mask(
        table(truth), of, exclusions=exclusions, exact_share=0.4 if exact else 0, empty_share=0.2
    ).frame
    candidates = encode(found, of).candidates
    for value, cell, row in zip(truth, found["cf"], candidates, strict=True):
        left = [v for v, possible in zip(values, row, strict=True) if possible]
        assert value is None or value in left
        assert len(left) in {1, len(values), len(values) - exclusions}
        assert value is not None or cell is None


def problems(values, *, marks=None, kind=UsageError, **recipe):
    with pytest.raises(kind) as caught:
        masked(values, marks=marks, **recipe)
    return str(caught.value)


def test_every_value_outside_the_domain_is_named_at_once():
    said = problems(["a", "B", "c", "=a"], kind=DataError).splitlines()
    assert said[0].startswith(
        "table: column 'cf': 'B' (row 1) differs from a value only in blanks or"
    )
    assert said[1].startswith("table: column 'cf': '=a' (row 3) is not in the domain")
    with pytest.raises(DataError, match=r"column 'cf' is in the schema but .*did you mean 'CF'"):
        mask(pl.DataFrame({"CF": ["a"]}), schema())


def test_what_a_cf_does_not_allow_is_refused_with_its_name():
    assert "4: column 'cf' has 4 values" in problems(["a"], exclusions=4)
    assert "add `separator`" in problems(["a"], marks={"separator": None}, exclusions=2)
    assert "add `exact`" in problems(["a"], marks={"exact": None}, exact_share=0.1)
    fit = {"mechanism": "fit", "exact_cells": "random"}
    assert "cells cannot be drawn from `mechanism: fit`" in problems(["a"], marks=fit)
    few = ((0, 1, 0, 0), *RATES[1:])
    said = problems(["a", "b"], marks={"mechanism": few}, exclusions=2)
    assert "'cf': its `mechanism` allows fewer exclusions for the value 'a'" in said
    assert len(masked(["b"], marks={"mechanism": few}, exclusions=2)[0].split(";")) == 2


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ({"exclusions": 0}, "exclusions: expected at least 1, found 0"),
        ({"exclusions": 1.5}, "exclusions: expected a whole number, found 1.5"),
        ({"exclusions": True}, "exclusions: expected a whole number, found True"),
        ({"exact_share": "x"}, "exact_share: expected a number, found 'x'"),
        ({"exact_share": 1.5}, "exact_share: expected at most 1, found 1.5"),
        ({"empty_share": float("nan")}, "empty_share"),
        ({"exact_share": 0.6, "empty_share": 0.6}, "found 1.2"),
        ({"seed": -1}, "seed"),
    ],
)
def test_a_recipe_that_cannot_be_is_refused(recipe, said):
    assert said in problems(["a"], **recipe)


def test_a_domain_that_is_left_out_is_the_values_seen_with_a_warning():
    found = mask(table(["b", "a", "b", None]), schema(values=None))
    assert found.frame["cf"].to_list() == ["a", "b", "a", None]
    assert "the 2 seen count as the whole domain" in found.warnings[0]
    assert "1 different value seen" in problems(["a"], marks={"values": None}, kind=DataError)
    said = problems(["a", "b;c", "=d"], marks={"values": None}, kind=DataError)
    assert "column 'cf': 2 cells like 'b;c' (rows 1, 2) hold a mark" in said
    assert "so no cell can rule them out, because ';' and '=' are marks in cells" in said


def test_cells_that_hold_several_values_are_not_true_ones():
    assert problems(["a", "a;b", "b; c"], kind=DataError) == (
        "table: column 'cf': 2 cells like 'a;b' (rows 1, 2) hold several values, as exclusions do: "
        "pass a table of true values, one in each cell"
    )


def test_pandas_and_pyarrow_get_the_same_cells_and_keep_what_they_had():
    values = ["a", None, "b", "c"]
    cells = masked(values)
    frame = pd.DataFrame({"cf": values, "odd": [object()] * 4, 5: 1}, index=[7, 7, 3, 1])
    before = frame.copy()
    found = mask(frame, schema()).frame
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(found.drop(columns="cf"), before.drop(columns="cf"))
    assert cells_of(found) == cells
    assert list(found.columns) == ["cf", "odd", 5]
    arrow = pa.table({"cf": pa.array(values, pa.string()), "day": pa.array([1] * 4, pa.date32())})
    found = mask(arrow, schema()).frame
    assert found.schema == arrow.schema
    assert found["cf"].to_pylist() == cells


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1, 2, None, 3]),
        pl.Series([1, 2, None, 3], dtype=pl.UInt8),
        pl.Series(["1", "2", None, "3"], dtype=pl.Categorical),
        pd.Series([1, 2, pd.NA, 3], dtype="Int64"),
        pd.Series(["1", "2", None, "3"], dtype="category"),
        pa.array(["1", "2", None, "3"]).dictionary_encode(),
        pa.array([1, 2, None, 3], pa.int8()),
    ],
)
def test_true_values_may_have_any_type_and_exclusions_are_text(column):
    of = schema(values=("1", "2", "3"))
    kinds = {"polars": pl.DataFrame, "pandas": pd.DataFrame}
    kind = kinds.get(type(column).__module__.partition(".")[0], pa.table)
    expected = mask(table(["1", "2", None, "3"]), of).frame["cf"].to_list()
    found = mask(kind({"cf": column}), of).frame
    assert cells_of(found) == expected
    assert as_polars(found)["cf"].dtype == pl.String


def test_a_missing_number_stays_missing_as_text():
    frame = pd.DataFrame({"x": [1, 2, 3], "cf": [1.0, float("nan"), -999.0]})
    of = schema(values=("1.0", "2.0"), missing=("-999",))
    assert cells_of(mask(frame, of).frame) == ["2.0", None, None]
