import json

import polars as pl
import pytest
from builders.command_line import ROWS, SCHEMA, impute, refused

from cfl_cli.trust.report import Report


def test_impute_writes_the_table_with_new_columns_and_a_report_beside_it(folder):
    result = impute()
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0] == "x,y,cf,cf_imputed,cf_confidence"
    assert [line.rsplit(",", 2)[0] for line in lines] == ROWS
    report = Report.from_json((folder / "out.csv.report.json").read_bytes(), name="r")
    assert report.rows == 12
    assert report.timings
    assert report.peak_memory_mb > 1


@pytest.mark.parametrize(
    ("mode", "new"),
    [
        ("hard", ["cf_imputed", "cf_confidence"]),
        ("soft", ["cf__a", "cf__b", "cf__c"]),
        ("both", ["cf_imputed", "cf_confidence", "cf__a", "cf__b", "cf__c"]),
    ],
)
def test_parquet_keeps_types_and_carries_the_report(folder, mode, new):
    frame = pl.read_csv("data.csv").with_columns(day=pl.date(2024, 1, 1), deep=[[1, 2]] * 12)
    frame.write_parquet("data.parquet")
    assert impute("--mode", mode, data="data.parquet", out="out.parquet").exit_code == 0
    out = pl.read_parquet("out.parquet")
    assert out.columns == [*frame.columns, *new]
    assert out.select(frame.columns).equals(frame)
    assert out.schema["day"] == pl.Date
    embedded = json.loads(pl.read_parquet_metadata("out.parquet")["cfl.report"])
    assert embedded["rows"] == 12
    assert not (folder / "out.parquet.report.json").exists()


def test_the_bytes_do_not_depend_on_threads_or_the_run(folder):
    written = []
    for jobs in (1, 2, 2):
        assert impute("--jobs", jobs, "--overwrite", out="out.parquet").exit_code == 0
        written.append((folder / "out.parquet").read_bytes())
    assert written[0] == written[1] == written[2]


def test_flagged_cfs_are_kept_as_observed_and_fail_the_run_when_asked(folder):
    rows = ["x,y,cf", *(f"{n % 2},0,{'abc'[n % 3]}" for n in range(30))]
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    result = impute("--keep-flagged", "--fail-on-flag", "--gamma", 0, "--ridge", 1000)
    assert result.exit_code == 3
    assert "flagged" in result.stderr
    out = pl.read_csv("out.csv")
    assert out["cf_imputed"].null_count() == 30
    assert out["cf_confidence"].null_count() == 30
    column = json.loads((folder / "out.csv.report.json").read_text())["columns"][0]
    assert "small-entropy-reduction" in column["flags"]
    assert column["action"] == "kept"


def test_suspect_cells_are_listed_in_a_file_when_asked(folder):
    result = impute("--suspects", "suspects.csv")
    assert result.exit_code == 0
    assert "suspects.csv: " in result.stderr
    heading = (folder / "suspects.csv").read_text().splitlines()[0]
    assert heading == "rank,row,cf,favored,candidates_mass,times_as_likely"
    assert "suspects.csv" in impute("--suspects", "suspects.csv", out="new.csv").stderr
    assert not (folder / "new.csv").exists()
    assert impute("--suspects", "suspects.csv", "--overwrite").exit_code == 0


@pytest.mark.parametrize("name", ["-", "data.csv", "out.csv"])
def test_suspect_cells_go_to_no_file_that_is_used_otherwise(folder, name):
    result = impute("--suspects", name, "--overwrite")
    assert result.exit_code == 2
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize("name", ["s.parquet", "s.csv.gz", "s.JSONL", "s.tsv", "s.xlsx"])
def test_suspect_cells_are_not_written_as_csv_under_the_name_of_another_format(folder, name):
    result = impute("--suspects", name)
    assert result.exit_code == 2
    assert f"--suspects {name}: suspects are written as CSV: end the name in .csv" in result.stderr
    assert not (folder / "out.csv").exists()


def test_advice_about_a_directory_names_standard_output_only_where_it_may_be_used(folder):
    (folder / "d").mkdir()
    assert impute("--suspects", "d").stderr.endswith("d: not a regular file: name another\n")
    assert "name another, or - for standard output" in impute("--report", "d").stderr


def test_quiet_prints_nothing(folder):
    assert impute("-q").output == ""


def test_warnings_are_shown(folder):
    (folder / "schema.yml").write_text(SCHEMA.replace(", values: [a, b, c]", ""))
    assert "warning: column 'cf'" in impute().stderr


def test_columns_that_csv_cannot_hold_are_refused_before_the_work(folder):
    pl.read_csv("data.csv").with_columns(deep=[[1, 2]] * 12).write_parquet("data.parquet")
    refused(impute(data="data.parquet"), 1, "'deep'", "Parquet")


def test_bad_records_are_set_aside_when_asked(folder):
    (folder / "data.csv").write_text("\n".join([*ROWS, "13", '14,1,"a" b']) + "\n")
    refused(impute(), 1, "line 14: 1 cell,", "line 15")
    assert impute("--on-bad-row", "set-aside").exit_code == 0
    aside = pl.read_csv("out.csv.rejects.csv")
    assert aside["line"].to_list() == [14, 15]
    assert aside["record"].to_list() == ["13", '14,1,"a" b']
    assert pl.read_csv("out.csv").height == 12
