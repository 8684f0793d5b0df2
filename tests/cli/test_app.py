import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from cfl_cli.cli.app import app
from cfl_cli.core.settings import Settings
from cfl_cli.trust.report import Report

SCHEMA = """\
version: 1
columns:
  x: {role: ordinary, type: numeric}
  y: {role: ordinary, type: numeric}
  cf: {role: complementary, values: [a, b, c]}
settings: {k: 3, iterations: 5}
"""
ROWS = ["x,y,cf", *(f"{n},{n * n % 7},{'abc'[n % 3]}" for n in range(12))]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yml").write_text(SCHEMA)
    (tmp_path / "data.csv").write_text("\n".join(ROWS) + "\n")
    return tmp_path


def cfl(*arguments, **environment):
    """Run the command in this process."""
    return CliRunner().invoke(app, [str(part) for part in arguments], env=environment)


def impute(*options, data="data.csv", schema="schema.yml", out="out.csv", **environment):
    return cfl("impute", data, "--schema", schema, "--out", out, *options, **environment)


def refused(result, code, *words):
    """Check that a run failed with `code`, said `words`, showed no traceback and wrote nothing."""
    assert result.exit_code == code, result.output
    for word in words:
        assert word in result.stderr
    assert "Traceback" not in result.output
    assert not [path for path in Path().iterdir() if path.name.startswith(("out", ".cfl"))]


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


def test_the_command_line_wins_over_the_environment_and_that_over_the_schema(folder):
    def k():
        return json.loads((folder / "out.csv.report.json").read_text())["settings"]["k"]

    impute()
    assert k() == 3
    impute("--overwrite", CFL_K="4")
    assert k() == 4
    impute("--overwrite", "--k", 5, CFL_K="4")
    assert k() == 5


def test_flagged_cfs_are_kept_as_observed_and_fail_the_run_when_asked(folder):
    rows = ["x,y,cf", *(f"{n % 2},0,{'abc'[n % 3]}" for n in range(30))]
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    result = impute("--keep-flagged", "--fail-on-flag", "--gamma", 0, "--ridge", 1000)
    assert result.exit_code == 3
    assert "flagged" in result.stderr
    out = pl.read_csv("out.csv")
    assert out["cf_imputed"].null_count() == 30
    assert out["cf_confidence"].null_count() == 0
    column = json.loads((folder / "out.csv.report.json").read_text())["columns"][0]
    assert "small-entropy-reduction" in column["flags"]
    assert column["action"] == "kept"


def test_quiet_prints_nothing(folder):
    assert impute("-q").output == ""


BAD_TABLES = {
    "unknown column": ("x,z,cf\n1,2,a\n2,3,b\n", ["no column 'y'"]),
    "value outside the domain": ("x,y,cf\n1,2,a\n2,3,d\n3,4,b\n4,5,c\n", ["row 2", "'cf'", "'d'"]),
    "not a number": ("x,y,cf\n1,2,a\n2,many,b\n3,4,b\n4,5,c\n", ["row 2", "'y'", "'many'"]),
    "infinity": ("x,y,cf\n1,2,a\n2,inf,b\n3,4,b\n4,5,c\n", ["row 2", "'y'", "'inf'"]),
    "no rows": ("x,y,cf\n", ["no rows"]),
    "empty file": ("", ["no header"]),
    "one row": ("x,y,cf\n1,2,a\n", ["one row"]),
    "fewer rows than neighbors": ("x,y,cf\n1,2,a\n2,3,b\n3,5,c\n", ["k = 3", "--k"]),
    "constant OFs": ("x,y,cf\n1,2,a\n1,2,b\n1,2,c\n1,2,c\n", ["constant"]),
    "a column twice": ("x,y,cf,x\n1,2,a,1\n1,2,b,1\n", ["'x'", "duplicate"]),
    "a new column's name": ("x,y,cf,cf_imputed\n1,2,a,\n2,2,b,\n3,2,c,\n4,3,a,\n", ["duplicate"]),
    "not UTF-8": (b"x,y,cf\n1,2,\xff\n", ["line 2", "UTF-8"]),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_is_refused_with_a_clear_message(name, folder):
    content, words = BAD_TABLES[name]
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "data.csv").write_bytes(data)
    refused(impute(), 1, "cf_imputed" if words == ["duplicate"] else "data.csv", *words)


BAD_SCHEMAS = {
    "not YAML": ("{[", ["schema.yml:"]),
    "no OF": ("version: 1\ncolumns: {cf: {role: complementary, values: [a, b]}}", ["ordinary"]),
    "no CF": ("version: 1\ncolumns: {x: {role: ordinary, type: numeric}}", ["complementary"]),
    "binary rubbish": ("\0\1", ["schema.yml"]),
    "a wrong word": (SCHEMA.replace("numeric", "numerc"), ["schema.yml:3:29", "'numeric'"]),
}


@pytest.mark.parametrize("name", BAD_SCHEMAS)
def test_a_bad_schema_is_refused_with_its_place(name, folder):
    content, words = BAD_SCHEMAS[name]
    (folder / "schema.yml").write_text(content)
    refused(impute(), 1, *words)


def test_files_that_cannot_be_read_are_refused(folder):
    refused(impute(data="no.csv"), 1, "no.csv", "No such file")
    refused(impute(schema="no.yml"), 1, "no.yml", "No such file")
    (folder / "folder.csv").mkdir()
    refused(impute(data="folder.csv"), 1, "folder.csv")
    (folder / "data.parquet").write_bytes(b"PAR1 not really PAR1")
    refused(impute(data="data.parquet"), 1, "data.parquet", "Parquet")


def test_a_wrong_command_line_is_refused(folder):
    refused(impute(data="data.xyz"), 2, "data.xyz", ".parquet")
    refused(impute(out="result.xyz"), 2, "result.xyz", ".parquet")
    refused(impute("--k", "0"), 2, "--k", "0")
    refused(impute("--ridge", "nan"), 2, "--ridge")
    refused(impute("--mode", "loud"), 2, "loud")
    refused(impute("--colour"), 2, "--colour")
    refused(impute(out="data.csv"), 2, "data.csv")
    refused(impute("--overwrite", out="data.csv"), 2, "data.csv")
    refused(impute("--report", "data.csv", "--overwrite"), 2, "data.csv")
    refused(impute("--report", "out.csv"), 2, "out.csv")
    refused(impute(out="no/folder/result.csv"), 2, "no/folder")


def test_an_existing_output_is_left_alone_unless_overwrite_is_given(folder):
    (folder / "result.csv").write_text("precious")
    refused(impute(out="result.csv"), 2, "--overwrite")
    assert (folder / "result.csv").read_text() == "precious"
    assert impute("--overwrite", out="result.csv").exit_code == 0
    assert (folder / "result.csv").read_text() != "precious"


def test_at_most_twenty_problems_are_spelled_out(folder):
    rows = ["x,y,cf", *(f"{n},{n * n},wrong" for n in range(50))]
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    result = impute()
    refused(result, 1, "and 30 more")
    assert len(result.stderr.splitlines()) == 21


def test_verbose_shows_where_an_error_arose(folder):
    result = impute("-v", data="no.csv")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


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


def test_check_tells_sizes_and_what_a_run_takes(folder):
    result = cfl("check", "data.csv", "--schema", "schema.yml")
    assert result.exit_code == 0
    for words in ("12", "MB", "no problems"):
        assert words in result.stdout


def test_check_finds_all_problems_at_once(folder):
    (folder / "data.csv").write_text("x,y,cf\n1,many,a\n2,3,d\n3,4,b\n")
    result = cfl("check", "data.csv", "--schema", "schema.yml")
    assert result.exit_code == 1
    assert "'many'" in result.stderr
    assert "'d'" in result.stderr


def test_check_names_bad_cells_absent_columns_and_k_together(folder):
    (folder / "data.csv").write_text("x,z,cf\nmany,1,a\n2,3,d\n3,4,b\n")
    result = cfl("check", "data.csv", "--schema", "schema.yml")
    for word in ("no column 'y'", "'many'", "'d'", "k = 3"):
        assert word in result.stderr
    assert cfl("check", "data.csv", "-s", "schema.yml", "--k", "2").stderr.count("k = ") == 0


def test_warnings_are_told(folder):
    (folder / "schema.yml").write_text(SCHEMA.replace(", values: [a, b, c]", ""))
    assert "warning: column 'cf'" in impute().stderr


def test_columns_that_csv_cannot_hold_are_refused_before_the_work(folder):
    pl.read_csv("data.csv").with_columns(deep=[[1, 2]] * 12).write_parquet("data.parquet")
    refused(impute(data="data.parquet"), 1, "'deep'", "Parquet")


def test_a_report_that_cannot_be_written_leaves_no_table(folder):
    refused(impute("--report", "/proc/report.json"), 4, "/proc/report.json")


def test_only_regular_files_are_replaced(folder):
    os.mkfifo("pipe")
    refused(impute("--report", "pipe", "--overwrite"), 2, "pipe", "regular file")
    assert (folder / "pipe").is_fifo()
    (folder / "loop.csv").symlink_to("loop.csv")
    refused(impute(out="loop.csv"), 2, "loop.csv")
    refused(impute(out=f"{'n' * 300}.csv"), 2, "too long")


def test_a_table_written_anew_does_not_keep_an_old_report_beside_it(folder):
    impute()
    assert impute("--overwrite", "--report", "elsewhere.json").exit_code == 0
    assert cfl("report", "out.csv").exit_code == 1
    assert cfl("report", "elsewhere.json").exit_code == 0


def test_bad_records_are_set_aside_when_asked(folder):
    (folder / "data.csv").write_text("\n".join([*ROWS, "13", '14,1,"a" b']) + "\n")
    refused(impute(), 1, "line 14: 1 cell, but", "line 15")
    assert impute("--on-bad-row", "reject").exit_code == 0
    aside = pl.read_csv("out.csv.rejects.csv")
    assert aside["line"].to_list() == [14, 15]
    assert aside["record"].to_list() == ["13", '14,1,"a" b']
    assert pl.read_csv("out.csv").height == 12


def test_a_full_disk_behind_standard_output_is_said(folder):
    impute()
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "cfl_cli", "report", "out.csv"]
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 4
    assert "standard output" in run.stderr
    assert "Traceback" not in run.stderr


def test_init_drafts_a_schema_that_works(folder):
    assert cfl("init", "data.csv", "--cf", "cf", "--out", "draft.yml").exit_code == 0
    assert impute("--k", 3, schema="draft.yml").exit_code == 0


def test_init_knows_its_columns(folder):
    result = cfl("init", "data.csv", "--cf", "cff")
    assert result.exit_code == 2
    assert "did you mean 'cf'?" in result.stderr


def test_help_states_the_defaults_that_hold():
    shown = " ".join(cfl("impute", "--help").stdout.split())
    for name in ("mode", "k", "iterations", "gamma", "ridge", "seed"):
        stated = shown.split(f"--{name} ")[1].split("Default: ")[1].split(". ")[0]
        assert stated == str(getattr(Settings(), name))


def test_schema_prints_a_json_schema(folder):
    assert json.loads(cfl("schema").stdout)["$schema"].startswith("https://json-schema.org/")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_a_run_within_seconds_and_leaves_nothing(folder, number, code):
    rows = ["x,y,cf", *(f"{n * 37 % 9973},{n * 91 % 9967},{'abc'[n % 3]}" for n in range(30_000))]
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    command = [sys.executable, "-m", "cfl_cli", "impute", "data.csv", "--schema", "schema.yml"]
    with subprocess.Popen(
        [*command, "--out", "out.csv", "--iterations", "100000", "--folds", "0"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr.readline().startswith("round 1"), "the work began"
        process.send_signal(number)
        began = time.monotonic()
        _, stderr = process.communicate(timeout=60)
    assert time.monotonic() - began < 10
    assert process.returncode == code
    assert "Traceback" not in stderr
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "schema.yml"]
