import os
import subprocess
import sys

import polars as pl
import pytest
from builders.command_line import ROWS, SCHEMA, cfl, done, impute, refused

from cfl_cli import Model, Schema
from cfl_cli import impute as impute_frame
from cfl_cli.core.draws import FITTED, some
from cfl_cli.models import is_model
from cfl_cli.trust.report import Report, RowsDrawn


def fit(*options, data="data.csv", model="out.cfl"):
    return cfl("fit", data, "--schema", "schema.yml", "--model", model, *options)


def test_fit_writes_a_model_and_says_what_it_holds(folder):
    result = done(fit())
    assert result.stdout == ""
    assert is_model(folder / "out.cfl")
    assert "out.cfl: fitted to 12 rows, 1 CF" in result.stderr
    assert "contains features and confidences of the fitted rows" in result.stderr


def test_a_model_of_a_method_that_keeps_no_rows_says_so(folder):
    assert "contains no single rows" in fit("--method", "commonest").stderr


def test_the_report_of_a_model_is_inside(folder):
    fit("-q")
    assert done(cfl("report", "out.cfl", "--details")).stdout.startswith("12 rows, 1 CF")


def test_a_model_that_exists_is_replaced_only_if_asked(folder):
    (folder / "kept.cfl").write_text("mine")
    refused(fit(model="kept.cfl"), 2, "kept.cfl: already exists: add --overwrite")
    assert (folder / "kept.cfl").read_text() == "mine"
    assert fit("--overwrite", model="kept.cfl").exit_code == 0


def test_what_cannot_be_is_refused_before_the_work(folder):
    refused(fit("--overwrite", model="data.csv"), 2, "this is an input file")
    refused(fit("--method", "observed"), 2, "--method observed has no model to save")
    refused(impute("--model", "out.csv"), 2, "two outputs have this name")
    for run in (fit(model="-"), impute("--model", "-")):
        refused(run, 2, "--model writes a file: name one, not -")
    assert not (folder / "-").exists()


def test_a_flagged_cf_fails_the_run_if_asked(folder):
    rows = ["x,y,cf", *(f"{n % 2},0,{'abc'[n % 3]}" for n in range(30))]
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    for fail_on in (["--fail-on-flag"], ["--fail-on", "new"]):  # nothing was flagged before
        result = fit(*fail_on, "--gamma", 0, "--overwrite")
        assert result.exit_code == 3
        assert "flagged: cf (" in result.stderr
    assert fit("--fail-on", "drifted", "--gamma", 0, "--overwrite").exit_code == 0
    assert is_model(folder / "out.cfl")


def test_impute_keeps_the_same_model_in_one_go(folder):
    fit("-q")
    assert "too.cfl: " in done(impute("--model", "too.cfl")).stderr
    assert (folder / "too.cfl").read_bytes() == (folder / "out.cfl").read_bytes()


def test_two_processes_write_one_file(folder):
    options = ["fit", "data.csv", "-s", "schema.yml", "-q"]
    assert cfl(*options, "-m", "here.cfl", "--jobs", "1").exit_code == 0
    subprocess.run(
        [sys.executable, "-m", "cfl_cli", *options, "-m", "there.cfl", "--jobs", "4"],
        env={**os.environ, "PYTHONHASHSEED": "2"},  # here it is another one
        check=True,
    )
    assert (folder / "here.cfl").read_bytes() == (folder / "there.cfl").read_bytes()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04zip", b"\x80\x04pickle", b"x" * 100])
def test_a_file_that_is_no_model_gets_one_line(folder, content):
    (folder / "m.cfl").write_bytes(content)
    result = cfl("apply", "data.csv", "--model", "m.cfl", "--out", "out.csv")
    refused(result, 1, "m.cfl: ")
    assert len(result.stderr.splitlines()) == 1


def test_a_sample_is_the_same_rows_of_any_format_and_the_model_says_so(folder):
    result = done(fit("--sample", 9, "--folds", 0))
    assert "out.cfl: fitted to 9 rows of 12, drawn at random, 1 CF" in result.stderr
    drawn = some(12, 9, FITTED, 0) + 1
    rows = [ROWS[0], *(ROWS[number] for number in drawn)]
    (folder / "part.csv").write_text("\n".join(rows) + "\n")
    assert fit("--folds", 0, data="part.csv", model="part.cfl").exit_code == 0
    pl.read_csv("data.csv", infer_schema=False).write_parquet("data.parquet", row_group_size=5)
    assert fit("--sample", 9, "--folds", 0, data="data.parquet", model="too.cfl").exit_code == 0
    whole, of_part, too = (Model.load(f"{name}.cfl") for name in ("out", "part", "too"))
    assert whole.report.sample == too.report.sample == RowsDrawn(9, 12)
    assert of_part.report.sample is None
    assert whole.report.columns == of_part.report.columns == too.report.columns
    for one in (of_part, too):
        assert one.apply(table_of(ROWS)).frame.equals(whole.apply(table_of(ROWS)).frame)
    shown = cfl("report", "out.cfl", "--details").stdout
    assert "Learned from 9 of 12 rows, drawn at random." in " ".join(shown.split())


def table_of(lines):
    return pl.read_csv("\n".join(lines).encode(), infer_schema=False)


def test_a_table_whose_cells_are_on_disk_gives_the_same_model(folder):
    wanted = ("--sample", 9, "--folds", 0)
    fit(*wanted)
    done(fit(*wanted, "--run-dir", "kept", model="too.cfl"))
    assert (folder / "too.cfl").read_bytes() == (folder / "out.cfl").read_bytes()
    assert not (folder / "kept").exists()
    fit("--overwrite", "--folds", 0)
    fit("--overwrite", "--folds", 0, "--run-dir", "kept", model="too.cfl")
    assert (folder / "too.cfl").read_bytes() == (folder / "out.cfl").read_bytes()


def test_a_wrong_cell_of_a_sample_has_the_number_of_its_row_in_the_table(folder):
    row = int(some(12, 9, FITTED, 0)[-1]) + 1
    lines = [*ROWS]
    lines[row] = "1,1,wrong"
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    refused(fit("--sample", 9), 1, f"(row {row})")


def test_only_fit_draws_a_sample():
    schema = Schema.parse(SCHEMA)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample'"):
        impute_frame(table_of(ROWS), schema, sample=5)


def test_a_model_of_a_sample_is_judged_by_the_other_rows_of_its_table(folder):
    fit("--sample", 9, "--folds", 0)
    lines = [*ROWS, "12,1,a"]  # another table, whose rows are all new
    (folder / "more.csv").write_text("\n".join(lines) + "\n")
    for data, judged in (("data.csv", 3), ("more.csv", 13)):
        done(cfl("apply", data, "-m", "out.cfl", "--out", f"filled-{data}", "-q"))
        report = read_report(folder / f"filled-{data}.report.json")
        assert report.batch.rows_judged == judged
        assert report.rows == len((folder / f"filled-{data}").read_text().splitlines()) - 1


def read_report(path):
    return Report.from_json(path.read_bytes(), name="report")
