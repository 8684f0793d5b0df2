"""Wild cells are named with their rows, and integers that merge are not merged silently."""

import numpy as np
import polars as pl
import pytest
from builders import real_tables

from cfl_cli.commands.init.draft import draft
from cfl_cli.encode.encode import encode
from cfl_cli.schema.model import Schema

N = 60
STEPS = np.linspace(0, 1, N)
CFS = np.resize(["a", "b", "c"], N)


def found(cells, *, scale=None, **keys):
    """Return what is warned of in a column, x."""
    numeric = {"role": "ordinary", "type": "numeric"}
    columns = {
        "x": numeric | keys,
        "y": numeric,
        "cf": {"role": "complementary", "values": ["a", "b", "c"]},
    }
    table = pl.DataFrame({"x": cells, "y": np.sin(np.arange(N)), "cf": CFS}, strict=False)
    return [it for it in encode(table, Schema(columns=columns, scale=scale)).findings if it.column]


def steps(**others):
    """Return 0 to 1 as text, with other cells in some rows, counted from 1."""
    cells = [f"{step:.4f}" for step in STEPS]
    for row, cell in others.items():
        cells[int(row[1:]) - 1] = cell
    return cells


def test_one_wild_cell_is_named_with_its_row_and_two_ways_out():
    [it] = found(steps(r18="1000"))
    assert it.text == (
        "column 'x': '1000' (row 18) lies far from the others, which are 0 to 1, and squeezes them "
        "into 0.1 % of the scale, where they hardly differ: correct it, or set scale: robust; "
        "scale: minmax keeps it so"
    )
    assert it.patch == {"columns": {"x": {"scale": "robust"}}}
    assert it.for_report == (
        "column 'x': 1 cell far from all others (row 18) squeezes them into 0.1 % of the scale, "
        "where they hardly differ: correct it, or set scale: robust"
    )


def test_several_wild_cells_are_one_warning():
    [it] = found(steps(r18="1e9", r3="-5e8", r40="1e9"))
    assert (it.code, it.count, it.rows, it.example) == ("wild", 3, (3, 18, 40), "-5e8")
    assert "lie far" in it.text
    assert "under 0.1 %" in it.text


def days(**others):
    """Return days of 2024 as text, with other cells in some rows, counted from 1."""
    cells = [str(np.datetime64("2024-01-01") + day) for day in range(N)]
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
        ": correct it, list it under `missing`, or set scale: robust; scale: minmax keeps it so"
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
    table = pl.DataFrame({"x": steps(r18="1000"), "y": steps(), "cf": CFS})
    text = draft(table, cf="cf")
    [line] = [line for line in text.splitlines() if line.strip().startswith("x:")]
    assert "scale: robust" in line
    assert "'1000' 1 cell: the others lie in 0 to 1" in line
    assert text.count("robust") == 2  # the entry, and its reason
    assert Schema.parse(text).scale_of("x") == "robust"


LARGE = 2**60


def test_different_integers_that_become_one_number_are_named():
    cells = [LARGE + 100 * step for step in range(N)]
    [it] = found(cells)
    assert (it.code, it.rows, it.example) == ("merged-integers", (1, 2, 3), str(LARGE))
    alone = [cell for cell in cells if [*map(float, cells)].count(float(cell)) == 1]
    assert it.count == N - len(alone)
    assert "subtract their smallest before" in it.text


@pytest.mark.parametrize("write", [str, lambda cell: f"{cell:,}", lambda cell: f" +{cell}.0"])
def test_integers_that_are_text_are_too(write):
    keys = {"decimal": "."} if "," in write(LARGE) else {}
    [it] = found([write(LARGE + 1 + step % 2) for step in range(N)], **keys)
    assert (it.code, it.count) == ("merged-integers", N)


@pytest.mark.parametrize(
    "cells",
    [
        [2**53 - 1 - step for step in range(N)],  # all differ
        [LARGE + 4096 * step for step in range(N)],  # these too, though large
        [f"{LARGE + 4096 * (step % 7)}{'.0' * (step % 2)}" for step in range(N)],
        [float(LARGE + 100 * step) for step in range(N)],  # rounded by whoever made them
    ],
)
def test_integers_that_stay_different_are_not_warned_of(cells):
    assert [it for it in found(cells) if it.code == "merged-integers"] == []
