"""One odd cell does not stop a run that sets rows aside."""

import json
from pathlib import Path

import polars as pl
import pytest
from builders.command_line import cfl, done, failed

SCHEMA = """\
version: 1
columns:
  x: {role: ordinary, type: numeric}
  town: {role: ordinary, type: categorical, values: [east, west]}
  cf: {role: complementary, values: [a, b, c]}
settings: {k: 3, iterations: 5, folds: 2}
"""
ROWS = [
    {"x": str(n), "town": ["east", "west"][n % 2], "cf": "abc"[n % 3], "note": f"no, {n}"}
    for n in range(60)
]
ODD = [(5, "x", "<5"), (17, "town", "EAST"), (17, "cf", "d"), (40, "cf", "A")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.yml").write_text(SCHEMA)
    odd = [dict(row) for row in ROWS]
    for row, name, text in ODD:
        odd[row][name] = text
    fitting = [row for number, row in enumerate(ROWS) if number not in {row for row, *_ in ODD}]
    for name, rows in {"odd": odd, "fitting": fitting}.items():
        frame = pl.DataFrame(rows)
        frame.write_csv(f"{name}.csv")
        frame.write_ndjson(f"{name}.jsonl")
        frame.write_parquet(f"{name}.parquet")
    return tmp_path


ASIDE = ("--on-bad-row", "set-aside", "--max-set-aside", "0.1")


@pytest.mark.parametrize("more", [(), ("--run-dir", "run")])
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_rows_whose_cells_do_not_fit_are_set_aside_and_the_others_are_as_without_them(
    folder, form, more
):
    given = ("-s", "s.yml", "--mode", "both")
    failed(cfl("impute", f"odd.{form}", "-o", "no.csv", *given), 1, "'<5' (row 6)")
    given += more
    result = done(cfl("impute", f"odd.{form}", "-o", f"o.{form}", *given, *ASIDE))
    assert f"o.{form}.rejects.csv: 3 bad records of odd.{form} set aside" in result.stderr
    done(cfl("impute", f"fitting.{form}", "-o", f"f.{form}", *given))
    if form == "parquet":
        assert pl.read_parquet("o.parquet").equals(pl.read_parquet("f.parquet"))
    else:
        assert Path(f"o.{form}").read_bytes() == Path(f"f.{form}").read_bytes()
    rejects = pl.read_csv(f"o.{form}.rejects.csv", infer_schema=False)
    assert rejects["cause"].to_list() == [
        "row 6 does not fit the schema (x: '<5')",
        "row 18 does not fit the schema (town: 'EAST'; cf: 'd')",
        "row 41 does not fit the schema (cf: 'A')",
    ]
    note = json.loads(rejects["record"][1])["note"] if form == "jsonl" else rejects["record"][1]
    assert "no, 17" in note
    done(cfl("report", f"o.{form}", "--verify"))


def test_new_rows_are_set_aside_by_a_model_that_knows_other_cells(folder):
    done(cfl("fit", "fitting.csv", "-s", "s.yml", "-m", "m.cfl"))
    done(cfl("apply", "odd.csv", "--model", "m.cfl", "-o", "o.csv", *ASIDE))
    done(cfl("apply", "fitting.csv", "--model", "m.cfl", "-o", "f.csv"))
    aside = pl.read_csv("o.csv.rejects.csv")["cause"].to_list()
    assert [cause.partition(" does")[0] for cause in aside] == ["row 6", "row 18", "row 41"]
    same = ["x", "cf_imputed"]
    fitting = pl.read_csv("f.csv", infer_schema=False).select(same)
    assert pl.read_csv("o.csv", infer_schema=False).select(same).equals(fitting)


def test_too_large_a_share_is_warned_of_and_may_fail_the_run(folder):
    given = ("odd.csv", "-s", "s.yml", "-o", "o.csv", "--overwrite", "--on-bad-row", "set-aside")
    warning = (
        "5 % of 60 rows were set aside, more than 1 %: all figures are about the remaining rows"
    )
    result = done(cfl("impute", *given, "--max-set-aside", "0.01"))
    assert warning in result.stderr
    assert warning in json.loads(Path("o.csv.report.json").read_text())["warnings"]
    failing = cfl("impute", *given, "--max-set-aside", "0.01", "--fail-on", "any")
    failed(failing, 3, "3 rows set aside, more than --max-set-aside 0.01 allows; exit code 3")
    assert "were set aside" not in done(cfl("impute", *given)).stderr  # just 5 %


def test_a_schema_that_hardly_a_row_fits_is_at_fault_itself(folder):
    Path("s.yml").write_text(SCHEMA.replace("[a, b, c]", "[u, v]"))
    given = ("odd.csv", "-s", "s.yml", "-o", "o.csv", *ASIDE)
    failed(cfl("impute", *given), 1, "not in the domain")
