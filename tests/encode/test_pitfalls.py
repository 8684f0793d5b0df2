"""What costs accuracy silently is warned of, and clean tables are not."""

import re

import numpy as np
import polars as pl
import pytest

from cfl_cli.encode.encode import encode
from cfl_cli.schema.model import Schema

N = 60
RNG = np.random.default_rng(0)
BASE = {
    "x": {"role": "ordinary", "type": "numeric"},
    "y": {"role": "ordinary", "type": "numeric"},
    "cf": {"role": "complementary", "values": ["a", "b", "c"]},
    "cf2": {"role": "complementary", "values": ["p", "q", "r"]},
}
TABLE = {
    "x": RNG.normal(size=N).round(3).astype(str),
    "y": RNG.normal(size=N).round(3).astype(str),
    "cf": RNG.choice(["a", "b", "c"], N),
    "cf2": RNG.choice(["p", "q", "r"], N),
}


def warned(cells=None, column=None, *, cf=None):
    """Return the warnings of a table in which column `y`, or a CF, is this."""
    name = "y" if cf is None else "cf"
    columns = BASE if column is None else BASE | {name: column}
    table = TABLE if cells is None else TABLE | {name: cells}
    found = encode(pl.DataFrame(table), Schema(columns=columns))
    assert len(found.warnings) == len(found.findings)
    return found.findings


def numeric(**keys):
    return {"role": "ordinary", "type": "numeric", **keys}


CATEGORICAL = {"role": "ordinary", "type": "categorical"}


def test_a_clean_table_has_no_warnings():
    assert warned() == ()


def test_sentinels_far_outside_the_others_are_counted_and_listed():
    cells = [f"{value:.1f}" for value in np.linspace(36, 41, N)]
    cells[4:16], cells[30:37] = ["999"] * 12, ["-9"] * 7
    [found] = warned(cells, numeric())
    assert (found.code, found.count, found.rows, found.example) == (
        *("sentinel", 19, (5, 6, 7), "999"),
    )
    assert found.patch == {"columns": {"y": {"missing": ["999", "-9"]}}}
    assert found.text == (
        "column 'y': 19 cells like '999' (rows 5, 6, 7 …) lie far from the others, which are 36 to "
        '41: if they mean missing, set missing: ["999", "-9"]'
    )
    mended = warned(cells, numeric(missing=["999", "-9"]))
    assert [one.code for one in mended] == ["filled-in"]


def test_a_report_is_told_of_warnings_without_a_cell_of_the_table():
    cells = [f"{value:.1f}" for value in np.linspace(36, 41, N)]
    cells[4:16] = ["999"] * 12
    table = pl.DataFrame(TABLE | {"y": cells})
    [line] = encode(table, Schema(columns=BASE)).warnings
    assert line == (
        "column 'y': 12 cells far from all others, as codes for missing are; `cfl check` shows more"
    )


@pytest.mark.parametrize(
    ("cells", "cause", "patch"),
    [
        (["same"] * N, "constant", {"role": "ignore", "type": None}),
        ([f"name {row}" for row in range(N)], "id-as-of", {"role": "ignore", "type": None}),
        ([f"{row * 3 % 40}.5" for row in range(N)], "number-as-category", {"type": "numeric"}),
        (
            [f"{row * 3 % 40},5" for row in range(N)],
            "number-as-category",
            {"type": "numeric", "decimal": ","},
        ),
        (
            [f"{1 + row % 28}.03.2024" for row in range(N)],
            "date-as-category",
            {"type": "date", "format": "%d.%m.%Y"},
        ),
        (
            ["u; v", "v; w", "u", "w; u", "v", "w"] * (N // 6),
            "of-looks-complementary",
            {"role": "complementary", "type": None, "separator": ";"},
        ),
        (["not flu", "not cold", "no cough"] * (N // 3), "of-looks-complementary", None),
    ],
)
def test_a_categorical_of_that_is_something_else_is_warned_of(cells, cause, patch):
    [found] = warned(cells, CATEGORICAL)
    assert found.code == cause
    assert found.patch == (None if patch is None else {"columns": {"y": patch}})
    said = found.for_report.removeprefix("column 'y'")
    assert not {*re.findall(r"[\w.,:/-]+", said)} & {
        part for text in cells for part in text.split()
    }


def test_hundreds_of_values_are_warned_of():
    texts = [f"{chr(97 + row % 26)}{chr(97 + row // 26)}" for row in range(101)]
    cells = [texts[row % 101] for row in range(400)]
    rows = RNG.integers(0, N, 400)
    table = {name: np.asarray(column)[rows] for name, column in TABLE.items()} | {"y": cells}
    frame = pl.DataFrame(table)
    found = encode(frame, Schema(columns=BASE | {"y": CATEGORICAL})).findings
    assert [one.code for one in found] == ["many-values"]
    listed = CATEGORICAL | {"values": texts}  # somebody wants them
    assert encode(frame, Schema(columns=BASE | {"y": listed})).findings == ()


def test_row_numbers_are_ids_and_years_are_not():
    rising = [str(row) for row in range(1, N + 1)]
    assert [one.code for one in warned(rising, numeric())] == ["id-as-of"]
    assert warned([str(1900 + row) for row in range(N)], numeric()) == ()


@pytest.mark.parametrize(
    ("cells", "keys", "cause", "patch"),
    [
        (
            ["a", "b;c", "a;b", "c"] * (N // 4),
            {"values": ["a", "b", "c", "a;b", "b;c"]},
            "joined-value",
            {"separator": ";", "values": ["a", "b", "c"]},
        ),
        (
            ["a"] * 48 + ["b"] * 6 + ["c"] * 6,
            {},
            "cf-looks-ordinary",
            {"role": "ordinary", "type": "categorical", "values": None},
        ),
        (
            ["a", "b", "c"] * (N // 3),
            {"values": ["a", "b", "c", "d"]},
            "never-seen",
            {"values": ["a", "b", "c"]},
        ),
        ([*"abcde"] * 4 + [""] * (N - 20), {"values": [*"abcde"]}, "few-rows", None),
    ],
)
def test_a_cf_that_may_not_be_meant_so_is_warned_of(cells, keys, cause, patch):
    column = {"role": "complementary", "values": ["a", "b", "c"], **keys}
    [found] = warned(cells, column, cf=True)
    assert found.code == cause
    assert found.patch == (None if patch is None else {"columns": {"cf": patch}})


def test_a_value_made_of_two_others_is_one_by_itself_unless_the_sign_is_sure():
    column = {"role": "complementary", "values": ["Japan", "USA", "Japan/USA"]}
    assert warned(["Japan", "USA", "Japan/USA"] * (N // 3), column, cf=True) == ()
