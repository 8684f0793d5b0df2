import json

import polars as pl
from builders.command_line import cfl, impute


def test_report_reads_the_table_the_report_and_the_parquet_file(folder):
    impute()
    impute(out="out.parquet")
    shown = [cfl("report", name) for name in ("out.csv", "out.csv.report.json", "out.parquet")]
    assert [result.exit_code for result in shown] == [0, 0, 0]
    assert shown[0].stdout == shown[1].stdout == shown[2].stdout
    assert "\ncf " in shown[0].stdout


def test_report_goes_to_a_file_whole_or_not_at_all(folder):
    impute()
    assert cfl("report", "out.csv", "--format", "json", "--out", "r.json").exit_code == 0
    assert json.loads((folder / "r.json").read_text())["rows"] == 12
    again = cfl("report", "out.csv", "--format", "json", "--out", "r.json")
    assert (again.exit_code, "--overwrite" in again.stderr) == (2, True)


def test_report_refuses_what_is_none(folder):
    pl.DataFrame({"a": [1]}).write_parquet("plain.parquet")
    for name, words in {
        "plain.parquet": "no report inside",
        "data.csv": "data.csv.report.json",
        "schema.yml": "not a report",
        "no.json": "No such file",
    }.items():
        result = cfl("report", name)
        assert result.exit_code == 1
        assert words in result.stderr
        assert "Traceback" not in result.output
