import json
import subprocess
import sys
from pathlib import Path

import pytest
from builders.command_line import ROWS, SCHEMA, cfl, impute, refused

from cfl_cli.cli.inputs import read_table
from cfl_cli.commands.impute import work
from cfl_cli.schema.model import Schema
from cfl_cli.tables.table import Place

NAMELESS = SCHEMA.replace("  y:", "  column_2:").replace(
    "version: 1\n", "version: 1\nfile: {skip_lines: 1, rename_columns: yes}\n"
)


def messy():
    Path("data.csv").write_text("\n".join(["Title", "x,,cf", *ROWS[1:]]) + "\n")


def test_a_schema_says_how_a_table_is_written_and_options_win(folder):
    messy()
    Path("schema.yml").write_text(NAMELESS)
    assert impute().exit_code == 0
    result = impute("--no-rename-columns", "--overwrite")
    assert result.exit_code == 1
    assert "line 2: column 2 has no name" in result.stderr
    assert "add --rename-columns" in result.stderr
    report = json.loads(Path("out.csv.report.json").read_text())
    assert report["sources"]["renamed"] == {"column_2": ""}
    assert Path("out.csv").read_text().startswith("x,column_2,cf,cf_imputed")


def test_blanks_around_quoted_cells_are_left_out_as_the_message_proposes(folder):
    assert impute(out="plain.csv").exit_code == 0
    quoted = [", ".join(f'"{cell}"' for cell in row.split(",")) for row in ROWS]
    Path("data.csv").write_text("\n".join(quoted) + "\n")
    result = impute()
    assert result.exit_code == 1
    assert "add --trim-cells, or file: {trim_cells: yes} in the schema" in result.stderr
    assert "file: {trim_cells: yes}" in cfl("init", "data.csv", "--trim-cells").stdout
    assert impute("--trim-cells").exit_code == 0
    assert Path("out.csv").read_bytes() == Path("plain.csv").read_bytes()
    report = json.loads(Path("out.csv.report.json").read_text())
    assert report["sources"]["reading"]["trim_cells"] == "yes"
    Path("schema.yml").write_text(f"{SCHEMA}file: {{trim_cells: yes}}\n")
    assert impute(out="again.csv").exit_code == 0
    assert Path("again.csv").read_bytes() == Path("plain.csv").read_bytes()
    assert impute("--no-trim-cells", out="not.csv").exit_code == 1


def test_blocks_and_the_whole_table_give_the_same_bytes(folder, monkeypatch):
    messy()
    Path("schema.yml").write_text(NAMELESS)
    assert impute().exit_code == 0
    monkeypatch.setattr(work, "LARGE", 1)
    assert impute(out="out2.csv").exit_code == 0
    assert Path("out.csv").read_bytes() == Path("out2.csv").read_bytes()


def test_all_commands_read_such_a_table(folder):
    messy()
    Path("schema.yml").write_text(
        NAMELESS.replace("file: {skip_lines: 1, rename_columns: yes}\n", "")
    )
    how = ("--skip-lines", "1", "--rename-columns")
    of = ("data.csv", "--schema", "schema.yml", *how)
    assert cfl("check", *of).exit_code == 0
    drafted = cfl("init", "data.csv", "--cf", "cf", *how)
    assert "file: {skip_lines: 1, rename_columns: yes}" in drafted.stdout
    assert cfl("fit", *of, "--model", "m.cfl").exit_code == 0
    assert cfl("apply", "data.csv", "--model", "m.cfl", "--out", "a.csv", *how).exit_code == 0
    assert impute(*how, out="b.parquet").exit_code == 0
    told = cfl("report", "b.parquet", "--verify", "data.csv")
    assert told.exit_code == 0, told.output


def test_what_was_written_is_read_back_though_the_schema_says_other_lines(folder):
    messy()
    Path("schema.yml").write_text(NAMELESS)
    assert impute().exit_code == 0
    table = read_table(Place.to_read("out.csv"), {}, Schema.load("schema.yml"))
    assert table.frame.shape == (12, 5)


@pytest.mark.slow  # a process of its own
def test_a_pipe_is_read_by_the_same_options(folder):
    messy()
    Path("schema.yml").write_text(NAMELESS)
    words = ["check", "-", "--schema", "schema.yml"]
    done = subprocess.run(
        [sys.executable, "-m", "cfl_cli", *words],
        input=Path("data.csv").read_bytes(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_bad_records_are_left_out_where_no_file_takes_them(folder):
    Path("data.csv").write_text("\n".join([*ROWS, '1,5" x,a', "1"]) + "\n")
    result = cfl("init", "data.csv", "--cf", "cf", "--on-bad-row", "set-aside")
    assert result.exit_code == 0, result.output
    assert "2 bad records left out" in result.stderr


def test_options_of_text_do_not_apply_to_parquet(folder):
    impute(out="b.parquet")
    result = cfl("check", "b.parquet", "--schema", "schema.yml", "--skip-lines", "2")
    refused_ = "--skip-lines does not apply to b.parquet"
    assert result.exit_code == 2
    assert refused_ in result.stderr


def test_wrong_words_are_refused_with_what_was_expected(folder):
    refused(impute("--header", "0"), 2, "--header: expected none or the number of a line, from 1")
    refused(impute("--ragged", "pad"), 2, "--ragged: expected fail or fill, found 'pad'")
    Path("schema.yml").write_text(NAMELESS.replace("yes}", "maybe}"))
    refused(impute(), 1, "expected yes or no, found 'maybe'")
