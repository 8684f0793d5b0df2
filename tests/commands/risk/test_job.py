import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from builders.command_line import SCHEMA as PLAIN
from builders.command_line import cfl, refused

from cfl_cli import UsageError, impute, risk
from cfl_cli.commands.risk.job import (
    LESS_DISCLOSED,
    MORE,
    MORE_DISCLOSED,
    NO_CLEAR_CHANGE,
    Otherwise,
)
from cfl_cli.commands.risk.work import page
from cfl_cli.trust.intervals import Interval

SCHEMA = {
    "version": 1,
    "columns": {
        "who": {"role": "identifier"},
        "x": {"role": "ordinary", "type": "numeric"},
        "noise": {"role": "ordinary", "type": "numeric"},
        "cf": {"role": "complementary", "values": ["a", "b", "c", "d"], "blurred": "privacy"},
    },
}
ROWS, RIGHT = 300, 0.94  # x is the value's place in so many rows


HOW = {"method": "graph", "gamma": 0.0, "iterations": 30, "k": 10, "jobs": 1}
SEEDS, MOST_MISSED = range(3), 3  # of 18 figures: more have a chance of 1 in 90 at 95 %


def made(seed):
    random = np.random.default_rng(seed)
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
    return frame, np.array([*"abcd"])[value]


@pytest.fixture(scope="module")
def found():
    frame, _ = made(0)
    return frame, risk(frame, SCHEMA, **HOW)


def figures(seed):
    frame, truth = made(seed)
    (cf,) = risk(frame, SCHEMA, **HOW).columns

    def imputed(schema, **how):
        return impute(frame, schema, infer=["cf"], **HOW, **how).frame

    out = imputed(SCHEMA)
    right = out["cf_imputed"].to_numpy() == truth
    sure = out["cf_confidence"].to_numpy() >= 0.9
    shares = {
        one: 1 - 3 * (frame["cf"] == one).mean() for one in "abcd"
    }  # as docs/background/trust.md has it
    common = np.array([max(set("abcd") - {cell}, key=shares.get) for cell in frame["cf"]]) == truth
    assert cf.sure_rows == sure.sum()
    yield cf.inferred_right, right.mean()
    yield cf.commonest_right, common.mean()
    yield cf.gain, right.mean() - common.mean()
    yield cf.sure_right, right[sure].mean()
    for of in cf.features:
        columns = {name: one for name, one in SCHEMA["columns"].items() if name != of.name}
        without = imputed({**SCHEMA, "columns": columns}, folds=0)["cf_imputed"].to_numpy()
        yield of.gain_lost, right.mean() - (without == truth).mean()


def test_nearly_all_figures_hold_whatever_the_seed():
    missed = [
        (seed, said, really)
        for seed in SEEDS
        for said, really in figures(seed)
        if not said.low <= really <= said.high
    ]
    assert len(missed) <= MOST_MISSED, missed


def test_what_is_disclosed_is_clearly_more_than_the_commonest(found):
    assert found[1].columns[0].clearly_more


def test_the_of_that_carries_it_comes_first(found):
    (cf,) = found[1].columns
    assert [of.name for of in cf.features] == ["x", "noise"]
    assert cf.features[0].gain_lost.low > 0.3  # of 0.94, a third is left


def test_other_ways_of_blurring_are_named_with_what_they_change(found):
    (cf,) = found[1].columns
    ways = {one.way: one for one in cf.otherwise}
    assert [*ways] == [MORE, "numbers in 8 bins", "numbers in 4 bins"]  # no cell has several
    for one in ways.values():
        assert one.change.low <= one.change.value <= one.change.high
        assert one.inferred_right == pytest.approx(
            min(cf.inferred_right.value + one.change.value, 1.0)
        )
    assert ways["numbers in 4 bins"].change.low < 0.05  # x has four values anyway
    assert ways["numbers in 4 bins"].change.high > -0.05


@pytest.mark.parametrize(
    ("way", "change", "claim"),
    [
        (MORE, (0.07, 0.02, 0.12), MORE_DISCLOSED),
        (MORE, (0.07, -0.01, 0.15), NO_CLEAR_CHANGE),
        ("numbers in 4 bins", (0.07, 0.02, 0.12), NO_CLEAR_CHANGE),  # anybody can make bins
        ("numbers in 4 bins", (-0.07, -0.15, 0.01), NO_CLEAR_CHANGE),
        ("numbers in 4 bins", (-0.07, -0.12, -0.02), LESS_DISCLOSED),
    ],
)
def test_a_change_is_claimed_only_if_it_is_clear_and_no_work_of_the_method(way, change, claim):
    assert Otherwise(way, Interval(*change), 0.5).claim == claim


def test_what_could_not_be_assessed_is_said_first_and_never_counts_as_safe(found):
    (cf,) = found[1].columns
    unknown = replace(
        cf, name="dark", inferred_right=None, gain=None, clearly_more=None, reason="no cells"
    )
    shown = page(replace(found[1], columns=(cf, unknown)))
    assert shown.title.endswith("1 not assessed, 1 of the other 1 disclosed beyond the baseline")
    assert shown.notes[0].startswith(
        "dark: not assessed (no cells). This does not mean that it is safe"
    )
    assert [
        field.show(unknown) for field in shown.fields if field.heading == "inferred correctly"
    ] == ["not assessed"]
    alone = page(replace(found[1], columns=(unknown,)))
    assert alone.title.endswith("1 CF: 1 not assessed")


def test_rows_that_state_their_value_are_no_rows_an_attacker_would_be_sure_of():
    frame, truth = made(0)
    states_it = np.arange(ROWS) % 3 == 0
    cells = np.where(states_it, np.char.add("=", truth), frame["cf"].to_numpy())
    schema = json.loads(json.dumps(SCHEMA))
    schema["columns"]["cf"]["exact"] = "="
    found = risk(frame.with_columns(cf=pl.Series(cells)), schema, rows=0, **HOW)
    (cf,) = found.columns
    assert cf.open_rows == states_it.sum()
    assert cf.sure_rows <= (~states_it).sum()
    assert cf.sure_share == cf.sure_rows / ROWS
    assert cf.sure_right.low < 1
    assert "states the value: cf 100." in str(found)


def test_no_cell_of_the_table_is_in_it(found):
    text = found[1].to_json()
    assert "secret" not in text
    assert json.loads(text)["columns"][0]["blurred"] == "privacy"
    assert "inferred correctly" in str(found[1])


def test_nothing_else_is_tried_if_no_rows_are_to_be(found):
    alone = risk(found[0], SCHEMA, rows=0, **HOW)
    assert alone.tried_rows == 0
    assert alone.columns[0].features == alone.columns[0].otherwise == ()
    assert alone.columns[0].inferred_right == found[1].columns[0].inferred_right


def test_it_needs_hidden_cells(found):
    with pytest.raises(UsageError, match="folds"):
        risk(found[0], SCHEMA, method="graph", folds=0)


RISK = ("risk", "data.csv", "--schema", "schema.yml", "--method", "graph", "-q")


@pytest.fixture
def blurred(folder):
    """Write a table of three groups, whose CF the schema says was blurred for privacy."""
    rows = [f"{n % 3},{n % 7},{'abc'[(n + 1 + n // 3 % 2) % 3]}" for n in range(60)]
    Path("data.csv").write_text("\n".join(["x,y,cf", *rows]) + "\n")
    Path("schema.yml").write_text(PLAIN.replace("c]}", "c], blurred: privacy}"))
    return folder


def test_a_blurred_cf_needs_no_leave_and_nothing_but_the_report_is_written(blurred):
    before = {*Path().iterdir()}
    run = cfl(*RISK)
    assert run.exit_code == 0, run.output
    for words in (
        "inferred correctly",
        "baseline",
        "OFs that disclose most",
        "Other ways of blurring",
    ):
        assert words in run.stdout
    assert {*Path().iterdir()} == before


def test_json_and_csv_hold_the_same_figures(blurred):
    facts = json.loads(cfl(*RISK, "--format", "json", "--rows", 0).stdout)
    (column,) = facts["columns"]
    assert (facts["rows"], facts["version"], column["name"]) == (60, 1, "cf")
    head, line = cfl(*RISK, "--format", "csv", "--rows", 0).stdout.splitlines()
    record = dict(zip(head.split(","), line.split(","), strict=True))
    assert float(record["gain_value"]) == column["gain"]["value"]


def test_the_page_goes_to_a_file_that_is_not_overwritten(blurred):
    assert cfl(*RISK, "--rows", 0, "--format", "html", "--out", "risk.html").exit_code == 0
    page = Path("risk.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "Content-Security-Policy" in page
    refused(cfl(*RISK, "--format", "html", "--out", "risk.html"), 2, "--overwrite")


def test_no_change_of_a_share_is_larger_than_1():
    frame, _ = made(0)
    (cf,) = risk(frame.head(14), SCHEMA, **HOW).columns
    changes = [
        cf.gain,
        *(one.gain_lost for one in cf.features),
        *(one.change for one in cf.otherwise),
    ]
    assert len(changes) > 3
    assert all(-1 <= one.low <= one.value <= one.high <= 1 for one in changes)
