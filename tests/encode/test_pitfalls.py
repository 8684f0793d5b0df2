"""What costs accuracy silently is warned of, and clean tables are not."""

import re

import numpy as np
import polars as pl
import pytest
from builders import real_tables

from cfl_cli.commands.init.draft import draft
from cfl_cli.core.state import StateError
from cfl_cli.encode.columns import fences
from cfl_cli.encode.encode import Encoding, encode
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
    expected = ("sentinel", 19, (5, 6, 7), "999")
    assert (found.code, found.count, found.rows, found.example) == expected
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
    [line] = encode(pl.DataFrame(TABLE | {"y": cells}), Schema(columns=BASE)).warnings
    assert line == (
        "column 'y': 12 cells far from all others may be codes for missing values; `cfl check` shows more"
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


# Wild cells are named with their rows, and integers that merge are not merged silently.

N_of_numbers = 60
STEPS = np.linspace(0, 1, N_of_numbers)
CFS = np.resize(["a", "b", "c"], N_of_numbers)


def found(cells, *, scale=None, **keys):
    numeric = {"role": "ordinary", "type": "numeric"}
    columns = {
        "x": numeric | keys,
        "y": numeric,
        "cf": {"role": "complementary", "values": ["a", "b", "c"]},
    }
    table = pl.DataFrame(
        {"x": cells, "y": np.sin(np.arange(N_of_numbers)), "cf": CFS}, strict=False
    )
    return [it for it in encode(table, Schema(columns=columns, scale=scale)).findings if it.column]


def steps(**others):
    """Return 0 to 1 as text, with other cells in some rows, counted from 1."""
    cells = [f"{step:.4f}" for step in STEPS]
    for row, cell in others.items():
        cells[int(row[1:]) - 1] = cell
    return cells


def test_wild_cells_are_one_warning_with_their_rows_and_two_ways_out():
    [it] = found(steps(r18="1000"))
    assert it.text == (
        "column 'x': '1000' (row 18) lies far from the others, which are 0 to 1, and squeezes them "
        "into 0.1 % of the scale: correct it, or set scale: robust "
        "(or scale: minmax to accept it)"
    )
    assert it.patch == {"columns": {"x": {"scale": "robust"}}}
    expected = "column 'x': 1 cell far from all others (row 18) squeezes them into 0.1 % of the scale: correct it, or set scale: robust"
    assert it.for_report == expected
    [it] = found(steps(r18="1e9", r3="-5e8", r40="1e9"))
    assert (it.code, it.count, it.rows, it.example) == ("wild", 3, (3, 18, 40), "-5e8")
    assert "lie far" in it.text
    assert "under 0.1 %" in it.text


def days(**others):
    cells = [str(np.datetime64("2024-01-01") + day) for day in range(N_of_numbers)]
    for row, cell in others.items():
        cells[int(row[1:]) - 1] = cell
    return cells


@pytest.mark.parametrize("far", ["9999-12-31", "1900-01-01"])
def test_a_date_far_from_the_others_is_named_too(far):
    [it] = found(days(r18=far), type="date")
    assert it.text.startswith(
        f"column 'x': '{far}' (row 18) lies far from the others, which are 2024-01-01 to 2024-02-29, and squeezes them into "
    )
    assert it.text.endswith(
        ": correct it, list it under `missing`, or set scale: robust (or scale: minmax to accept it)"
    )
    assert it.patch == {"columns": {"x": {"scale": "robust"}}}
    assert found(days(r18=far), type="date", scale="robust") == []
    assert found(days(), type="date") == []


def test_times_that_are_wild_are_shown_by_their_days():
    cells = [f"{day}T12:30:00" for day in days(r2="2999-01-01", r18="1970-01-01")]
    [it] = found(cells, type="date")
    assert (it.count, it.rows) == (2, (2, 18))
    assert "which are 2024-01-01 to 2024-02-29, and squeeze them" in it.text


@pytest.mark.parametrize("scale", ["robust", "minmax", "auto"])
def test_whoever_says_how_a_column_is_scaled_is_not_warned(scale):
    assert found(steps(r18="1000"), scale=scale) == []
    [it] = [*found(steps(r18="1000"))]
    column = it.patch["columns"]["x"] | {"scale": scale}
    assert found(steps(r18="1000"), **column) == []


def test_cells_that_look_like_codes_for_missing_are_warned_of_as_such_only():
    [it] = found(steps(r18="999", r19="999"))
    assert it.code == "sentinel"


@real_tables.needed
@pytest.mark.parametrize("name", ["bank", "adult"])
def test_no_honest_column_of_a_real_table_is_taken_for_wild(name):
    truth = real_tables.read(name)
    numeric = [it for it in truth.columns if truth[it].cast(pl.Float64, strict=False).count()]
    columns = {it: {"role": "ordinary", "type": "numeric"} for it in numeric}
    for rows in (truth.height, 3000, 400):
        some = truth[:rows].with_columns(cf=pl.lit("a"))
        schema = Schema(columns=columns | {"cf": {"role": "complementary", "values": ["a", "b"]}})
        causes = {it.code for it in encode(some, schema).findings}
        assert "wild" not in causes


def test_a_draft_proposes_robust_for_a_column_with_a_wild_cell():
    text = draft(pl.DataFrame({"x": steps(r18="1000"), "y": steps(), "cf": CFS}), cf="cf")
    [line] = [line for line in text.splitlines() if line.strip().startswith("x:")]
    assert "scale: robust" in line
    assert "'1000' (1 cell): the others are 0 to 1" in line
    assert text.count("robust") == 2  # the entry, and its reason
    assert Schema.parse(text).scale_of("x") == "robust"


LARGE = 2**60


def test_different_integers_that_become_one_number_are_named():
    cells = [LARGE + 100 * step for step in range(N_of_numbers)]
    [it] = found(cells)
    assert (it.code, it.rows, it.example) == ("merged-integers", (1, 2, 3), str(LARGE))
    alone = [cell for cell in cells if [*map(float, cells)].count(float(cell)) == 1]
    assert it.count == N_of_numbers - len(alone)
    assert "subtract the smallest one from all" in it.text


@pytest.mark.parametrize("write", [str, lambda cell: f"{cell:,}", lambda cell: f" +{cell}.0"])
def test_integers_that_are_text_are_too(write):
    keys = {"decimal": "."} if "," in write(LARGE) else {}
    [it] = found([write(LARGE + 1 + step % 2) for step in range(N_of_numbers)], **keys)
    assert (it.code, it.count) == ("merged-integers", N_of_numbers)


@pytest.mark.parametrize(
    "cells",
    [
        [2**53 - 1 - step for step in range(N_of_numbers)],  # all differ
        [LARGE + 4096 * step for step in range(N_of_numbers)],  # these too, though large
        [f"{LARGE + 4096 * (step % 7)}{'.0' * (step % 2)}" for step in range(N_of_numbers)],
        [float(LARGE + 100 * step) for step in range(N_of_numbers)],  # rounded by whoever made them
    ],
)
def test_integers_that_stay_different_are_not_warned_of(cells):
    assert [it for it in found(cells) if it.code == "merged-integers"] == []


# Fences stand where nearly all cells are, whatever the others hold.

STEPS_of_fences = np.linspace(0, 1, 101)  # 0.00, 0.01 … 1.00


def table(numbers):
    cells = np.resize(["a", "b", "c"], len(numbers))
    return pl.DataFrame({"x": numbers, "y": np.arange(len(numbers)) % 7, "cf": cells})


def schema(**keys):
    numeric = {"role": "ordinary", "type": "numeric"}
    return Schema(
        columns={
            "x": numeric | keys,
            "y": numeric,
            "cf": {"role": "complementary", "values": ["a", "b", "c"]},
        }
    )


@pytest.mark.parametrize("wild", [[10.0], [-10.0], [10.0, -1e5], [1e5] * 5, [-7.0] * 5])
def test_up_to_a_twentieth_of_wild_cells_does_not_move_them(wild):
    assert fences(np.concatenate([STEPS_of_fences, wild])) == (0.0, 1.0)


def test_fences_hold_a_short_column_and_most_of_what_differs_from_its_commonest_number():
    assert fences(np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 50.0])) == (0.0, 0.5)
    others = [*range(1, 20), 5000]
    assert fences(np.array([0.0] * 980 + others)) == (0.0, 19.0)


def test_two_different_numbers_are_never_fenced_into_one():
    rng = np.random.default_rng(0)
    for _ in range(500):
        numbers = rng.choice([-1e-300, 0.0, 1e-9, 0.5, 1.0], rng.integers(1, 60))
        lower, upper = fences(numbers)
        assert numbers.min() <= lower <= upper <= numbers.max()
        assert (lower < upper) == (len(np.unique(numbers)) > 1)


def test_a_robust_column_is_scaled_between_the_fences_and_as_ever_without_wild_cells():
    numbers = np.concatenate([[1000.0], STEPS_of_fences[::4] * 40])  # 0 to 40, and 1000
    encoded = encode(table(numbers), schema(scale="robust"))
    np.testing.assert_allclose(encoded.features[:, 0], [1.0, *STEPS_of_fences[::4]], rtol=1e-12)
    numbers = STEPS_of_fences * 40 - 3
    robust, plain = (encode(table(numbers), schema(scale=it)) for it in ("robust", "minmax"))
    np.testing.assert_array_equal(robust.features, plain.features)
    numbers = [*range(21), 9000, *[None] * 78]
    encoded = encode(table(numbers), schema(scale="robust"))
    np.testing.assert_allclose(encoded.features[:21, 0], np.arange(21) / 20)
    np.testing.assert_allclose(encoded.features[22:, 0], 10.5 / 20)


def test_the_schema_may_scale_all_columns_and_a_column_otherwise():
    both = Schema(scale="robust", columns=schema(scale="minmax").columns)
    assert (both.scale_of("x"), both.scale_of("y")) == ("minmax", "robust")
    assert schema().scale_of("x") == "minmax"
    assert "scale" not in schema().plain_text


def test_later_rows_are_scaled_by_the_fences_of_the_fitted_ones():
    fitted = encode(table([*range(41), 5000]), how := schema(scale="robust"))
    kept = Encoding.from_facts(fitted.encoding.facts(how), how)
    new = encode(table([20, -7, 100, 6000]), how, encoding=kept)
    assert new.features[:, 0].tolist() == [0.5, 0.0, 1.0, 1.0]
    assert new.unusual.columns["x"].out_of_range == 2  # −7 and 6000; 100 lies in the fitted range


@pytest.mark.parametrize(
    "change",
    [
        *({"lower": -1.0}, {"upper": 2.0}, {"lower": 0.0, "upper": 0.0}, {"upper": float("nan")}),
        {"upper": "x"},
        {"lower": None},
    ],
)
def test_fences_that_no_column_can_have_are_refused(change):
    how = schema(scale="robust")
    facts = encode(table([*range(41), 5000]), how).encoding.facts(how)
    facts["ordinary"]["x"] |= change
    with pytest.raises(StateError, match="'x'"):
        Encoding.from_facts(facts, how)


def test_fences_are_refused_for_a_column_that_is_scaled_by_min_and_max():
    robust, plain = schema(scale="robust"), schema(scale="minmax")
    facts = encode(table([*range(41), 5000]), robust).encoding.facts(robust)
    with pytest.raises(StateError, match="more than what is fitted"):
        Encoding.from_facts(facts, plain)
