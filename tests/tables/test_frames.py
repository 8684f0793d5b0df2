"""A pandas frame gets the same answer as a polars frame, and keeps what it had."""

import datetime as dt
from pathlib import PurePosixPath

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli import Schema, impute
from cfl_cli.errors import DataError, UsageError
from cfl_cli.schema.model import Complementary, Ordinary
from cfl_cli.tables.frames import append, as_polars, from_array
from cfl_cli.texts.matching import as_text

SCHEMA = Schema(
    columns={
        "age": Ordinary(type="numeric"),
        "sex": Ordinary(type="binary"),
        "job": Complementary(values=["1", "2", "3"]),
    },
    settings={"k": 2, "iterations": 5},
)
TABLE = {
    "id": ["p", "q", "r", "s"],
    "age": [31.0, 58.0, 33.0, None],
    "sex": ["f", "m", None, "m"],
    "job": ["1", "2", None, "3"],
}


def cells(column):
    found = as_polars(pd.DataFrame({"c": column}), ["c"])["c"]
    return [None if cell == "NaN" else cell for cell in as_text(found)]


def test_pandas_in_is_pandas_out_as_a_copy_with_its_own_columns_untouched():
    frame = pd.DataFrame(TABLE | {"note": [1, "x", None, 2.5], "when": pd.Timestamp("2024-05-01")})
    frame.index = pd.Index([7, 7, 3, 1], name="key")
    frame.attrs["from"] = "clinic"
    before = frame.copy()
    result = impute(frame, SCHEMA, mode="both").frame
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(result[before.columns], before)
    assert result.attrs == {"from": "clinic"}
    expected = ["job_imputed", "job_confidence", "job__1", "job__2", "job__3"]
    assert list(result.columns[len(before.columns) :]) == expected
    frame = pd.DataFrame(TABLE)
    result = impute(frame, SCHEMA).frame
    result.loc[0, "age"] = -1.0
    assert frame.loc[0, "age"] == 31.0


@pytest.mark.parametrize(
    "job",
    [
        pd.Series(["1", "2", None, "3"]),
        pd.Series(["1", "2", None, "3"], dtype="str"),
        pd.Series(["1", "2", None, "3"], dtype="string"),
        pd.Series(["1", "2", None, "3"], dtype="category"),
        pd.Series(["1", "2", np.nan, "3"], dtype=object),
        pd.Series([1, 2, None, 3], dtype=object),
        pd.Series([1, 2, pd.NA, 3], dtype="Int64"),
        pd.Series([1, 2, None, 3], dtype="Int64").astype("category"),
    ],
)
def test_a_cf_may_have_any_type_that_says_the_same(job):
    expected = impute(pl.DataFrame(TABLE), SCHEMA).frame["job_imputed"].to_list()
    found = impute(pd.DataFrame(TABLE | {"job": job}), SCHEMA).frame
    assert found["job_imputed"].tolist() == expected
    pd.testing.assert_series_equal(found["job"], job, check_names=False)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series([1, 2]), ["1", "2"]),
        (pd.Series([1, 2], dtype="Int64"), ["1", "2"]),
        (pd.Series([1, None], dtype="Int64"), ["1", None]),
        (pd.Series([1.5, None]), ["1.5", None]),
        (pd.Series([1.5, None], dtype="Float64"), ["1.5", None]),
        (pd.Series([True, False]), ["true", "false"]),
        (pd.Series([True, False], dtype="boolean"), ["true", "false"]),
        (pd.Series([True, None], dtype="boolean"), ["true", None]),
        (pd.Series([True, None], dtype=object), ["true", None]),
        (pd.Series([np.True_, None], dtype=object), ["true", None]),
        (pd.Series(["x", None]), ["x", None]),
        (pd.Series(["x", float("nan"), None, pd.NA], dtype=object), ["x", None, None, None]),
        (pd.Series(["x", 1, 2.5], dtype=object), ["x", "1", "2.5"]),
        (pd.Series(["x", None, "x"], dtype="category"), ["x", None, "x"]),
        (pd.Series([dt.date(2024, 5, 1), None]), ["2024-05-01", None]),
        (pd.Series(pd.to_datetime(["2024-05-01", None])), ["2024-05-01 00:00:00", None]),
        (pd.Series([], dtype="int64"), []),
    ],
)
def test_cells_are_read_as_text_whatever_holds_them(column, expected):
    assert cells(column) == expected


@given(st.lists(st.none() | st.booleans(), min_size=1))
def test_a_missing_truth_value_does_not_change_how_the_others_are_written(values):
    expected = pl.Series(values, dtype=pl.Boolean).cast(pl.String).to_list()
    assert cells(pd.Series(values, dtype="boolean")) == expected
    assert cells(pd.Series(values, dtype=object)) == expected


def test_a_column_that_the_frame_lacks_is_named_with_the_nearest_of_either_kind():
    for kind in (pl.DataFrame, pd.DataFrame):
        frame = kind({name: TABLE[name] for name in ("id", "sex", "job")} | {"Age": [1, 2, 3, 4]})
        with pytest.raises(DataError) as caught:
            impute(frame, SCHEMA)
        said = "table: column 'age' is in the schema but not in the table (did you mean 'Age'?)"
        assert caught.value.texts == (f"{said}: rename it in the schema",)


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame])
def test_a_frame_without_any_of_the_columns_still_has_its_rows(kind):
    with pytest.raises(DataError) as caught:
        impute(kind({"x": [1, 2, 3]}), SCHEMA)
    assert [problem.rsplit(": ", 1)[0] for problem in caught.value.texts] == [
        "table: column 'age' is in the schema but not in the table",
        "table: column 'sex' is in the schema but not in the table",
        "table: column 'job' is in the schema but not in the table",
    ]


def test_columns_without_a_role_may_hold_anything():
    odd = pd.DataFrame(TABLE)
    odd["things"] = [object(), [1], {"a": 1}, None]
    odd[5] = 1
    odd["cut"] = pd.arrays.IntervalArray.from_breaks(range(5))
    pd.testing.assert_frame_equal(impute(odd, SCHEMA).frame[odd.columns], odd)


def test_a_duplicate_column_name_is_refused():
    frame = pd.DataFrame([[1, "f", "1", 2], [2, "m", "2", 3]], columns=["age", "sex", "job", "age"])
    with pytest.raises(DataError, match="table: duplicate column 'age'"):
        impute(frame, SCHEMA)


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame])
def test_a_new_name_that_the_frame_has_is_refused(kind):
    with pytest.raises(DataError, match="column 'job_imputed'"):
        impute(kind(TABLE | {"job_imputed": [1, 2, 3, 4]}), SCHEMA)


@pytest.mark.parametrize(
    ("thing", "found"),
    [
        (TABLE, "builtins.dict: make a table of it first, such as by polars.DataFrame"),
        (None, "builtins.NoneType"),
        (
            "data.csv.gz",
            "builtins.str 'data.csv.gz': read the file first, such as by polars.read_csv(…, infer_schema=False)",
        ),
        (
            PurePosixPath("a.parquet"),
            "pathlib.PurePosixPath 'a.parquet': read the file first, such as by polars.read_parquet(…)",
        ),
        (np.zeros((2, 2)), "numpy.ndarray: make a table of it first, such as by polars.DataFrame"),
        (pd.Series([1]), "pandas.Series"),
        (pl.LazyFrame(TABLE), "polars.lazyframe.frame.LazyFrame: call its collect() first"),
        (SCHEMA, "cfl_cli.schema.model.Schema; the schema comes second"),
    ],
)
def test_anything_but_a_data_frame_is_a_wrong_call_with_a_way_out(thing, found):
    with pytest.raises(UsageError) as caught:
        impute(thing, SCHEMA)
    told = f"expected a polars, pandas or pyarrow table, found {found}"
    assert str(caught.value).replace("pathlib._local", "pathlib") == told


def test_a_subclass_of_the_pandas_frame_is_one():
    class Patients(pd.DataFrame):
        @property
        def _constructor(self):
            return Patients

    result = impute(Patients(TABLE), SCHEMA).frame
    assert type(result) is Patients
    assert "job_imputed" in result


def test_new_columns_are_added_by_hundreds_and_values_that_are_kept_are_missing():
    frame = pd.DataFrame({"x": [1, 2]}, index=["p", "p"])
    new = [pl.Series(f"n{number}", [number, -number]) for number in range(300)]
    result = append(frame, new)
    assert result.shape == (2, 301)
    assert result["n299"].tolist() == [299, -299]
    assert result.index.tolist() == ["p", "p"]
    result = append(pd.DataFrame({"x": [1, 2]}), [pl.Series("y", [None, None], dtype=pl.String)])
    assert result["y"].isna().all()


def test_a_matrix_becomes_numbers_where_it_holds_numbers_and_text_elsewhere():
    columns = {
        "whole": [1, np.int32(2), None],
        "numbers": [1, np.float32(0.5), float("nan")],
        "huge": [2**70, 1, 2],
        "mixed": ["a", 1, pd.NA],
        "truths": [True, None, False],
        "nothing": [None, None, None],
    }
    matrix = np.array([*columns.values()], dtype=object).T
    assert from_array(matrix, [*columns]).to_dict(as_series=False) == {
        "whole": [1, 2, None],
        "numbers": [1.0, 0.5, None],
        "huge": [2.0**70, 1.0, 2.0],
        "mixed": ["a", "1", None],
        "truths": ["true", None, "false"],
        "nothing": [None, None, None],
    }
    assert from_array(np.eye(2), ["a", "b"])["b"].to_list() == [0.0, 1.0]
    assert from_array(np.array([["1", ""]]), ["a", "b"]).row(0) == ("1", "")


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.Series(pd.to_datetime(["2024-05-01", None])), pl.Datetime("us")),
        (pd.Series(pd.to_datetime(["2024-05-01"])).dt.tz_localize("CET"), pl.Datetime("us", "UTC")),
        (pd.Series([dt.date(2024, 5, 1), None]), pl.Date),
        (pd.Series([dt.date(2024, 5, 1), dt.datetime(2024, 5, 1)]), pl.String),  # noqa: DTZ001 — a table's own time
        (pd.Series([["a"], ("b", None), np.array(["c"]), None]), pl.List(pl.String)),
        (pd.Series([["a"], "b"]), pl.String),
        (pd.Series([1.0, 2.0, 1.0], dtype="category"), pl.Float64),
    ],
)
def test_dates_and_lists_of_pandas_stay_such(column, kind):
    assert as_polars(pd.DataFrame({"c": column}))["c"].dtype == kind


def test_sets_become_lists_in_an_order_of_their_own():
    frame = as_polars(pd.DataFrame({"c": [{"b", "a", "c"}, frozenset(), None]}))
    assert frame["c"].to_list() == [["a", "b", "c"], [], None]
