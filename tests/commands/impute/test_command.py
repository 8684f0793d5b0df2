import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from builders.command_line import ROWS, SCHEMA, cfl, done, impute, refused

from cfl_cli.commands.impute import work
from cfl_cli.trust.report import Report


def test_impute_writes_the_table_with_new_columns_and_a_report_beside_it(folder):
    assert done(impute()).stdout == ""
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
    assert json.loads(pl.read_parquet_metadata("out.parquet")["cfl.report"])["rows"] == 12
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


@pytest.mark.parametrize(("out", "applied"), [("out.csv", False), ("out.parquet", True)])
def test_a_kept_cf_is_as_observed_in_every_mode_and_format(folder, out, applied):
    cells = ["", "a", "=b", "c", "a;b"] * 6
    rows = ["x,y,cf", *(f"{n % 2},0,{cell}" for n, cell in enumerate(cells))]
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    schema = SCHEMA.replace("[a, b, c]", "[a, b, c], separator: ';', exact: '='")
    (folder / "schema.yml").write_text(schema)
    if applied:
        done(cfl("fit", "data.csv", "-s", "schema.yml", "-m", "m.cfl", "--ridge", 1000))
    for mode in ("hard", "soft", "both"):
        options = ["--keep-flagged", "--mode", mode, "--overwrite"]
        result = (
            cfl("apply", "data.csv", "-m", "m.cfl", "-o", out, *options)
            if applied
            else impute(*options, "--ridge", 1000, out=out)
        )
        assert result.exit_code == 0, result.output
        assert "Left as observed: cf. All figures: " in result.stderr
        written = pl.read_csv(out) if out.endswith("csv") else pl.read_parquet(out)
        new = written.drop("x", "y", "cf")
        left = {"": "abc", "a": "bc", "=b": "b", "c": "ab", "a;b": "c"}
        soft = [[(value in left[cell]) / len(left[cell]) for value in "abc"] for cell in cells]
        if mode != "hard":
            assert new.select("^cf__.$").to_numpy() == pytest.approx(np.array(soft))
        if mode != "soft":
            assert new["cf_imputed"].null_count() == new["cf_confidence"].null_count() == 30
        assert new.width == {"hard": 2, "soft": 3, "both": 5}[mode]


def test_cells_to_look_at_are_listed_in_a_file_when_asked(folder):
    assert "cells.csv: " in done(impute("--diagnostics", "cells.csv")).stderr
    heading = (folder / "cells.csv").read_text().splitlines()[0]
    assert heading == (
        "rank,row,cf,why,value,candidates_mass,estimate_mass,times_as_likely,probability_wrong,"
        "probability_wrong_most,probability_wrong_if_1_percent,probability_wrong_if_3_percent,"
        "probability_wrong_if_10_percent"
    )
    assert "cells.csv" in impute("--diagnostics", "cells.csv", out="new.csv").stderr
    assert not (folder / "new.csv").exists()
    before = pl.read_csv("cells.csv")
    assert impute("--diagnostics", "cells.parquet", "--overwrite").exit_code == 0
    assert pl.read_parquet("cells.parquet").rows() == before.rows()


def test_the_report_names_its_sources_without_folders_and_with_their_checksums(folder):
    (folder / "sub").mkdir()
    (folder / "data.csv").rename("sub/people.csv")
    options = ["--diagnostics", "cells.csv", "--delimiter", ",", "--output-format", "csv"]
    assert impute(*options, data="sub/people.csv").exit_code == 0
    facts = json.loads((folder / "out.csv.report.json").read_text())
    assert facts["sources"] == {
        "table": "people.csv",
        "table_sha256": sha256(Path("sub/people.csv").read_bytes()).hexdigest(),
        "schema": "schema.yml",
        "schema_sha256": sha256(Path("schema.yml").read_bytes()).hexdigest(),
        "reading": {"delimiter": ","},
        "renamed": {},
        "diagnostics": "cells.csv",
        "diagnostics_sha256": sha256(Path("cells.csv").read_bytes()).hexdigest(),
    }


@pytest.mark.parametrize("name", ["-", "data.csv", "out.csv"])
def test_cells_to_look_at_go_to_no_file_that_is_used_otherwise(folder, name):
    assert impute("--diagnostics", name, "--overwrite").exit_code == 2
    assert not (folder / "out.csv").exists()


def test_cells_to_look_at_are_not_written_as_csv_under_the_name_of_another_format(folder):
    result = impute("--diagnostics", "s.docx")
    assert result.exit_code == 2
    assert "--diagnostics s.docx: unknown format: end the name in .csv, .parquet" in result.stderr
    assert not (folder / "out.csv").exists()


def test_advice_about_a_directory_names_standard_output_only_where_it_may_be_used(folder):
    (folder / "d").mkdir()
    assert impute("--diagnostics", "d").stderr.endswith(
        "d: not a regular file: choose another name\n"
    )
    assert "choose another name, or - for standard output" in impute("--report", "d").stderr


def test_quiet_prints_nothing(folder):
    assert impute("-q").output == ""


def test_warnings_are_shown(folder):
    (folder / "schema.yml").write_text(SCHEMA.replace(", values: [a, b, c]", ""))
    assert "warning: column 'cf'" in impute().stderr


def test_columns_that_csv_cannot_hold_are_refused_before_the_work(folder):
    pl.read_csv("data.csv").with_columns(deep=[[1, 2]] * 12).write_parquet("data.parquet")
    refused(impute(data="data.parquet"), 1, "'deep'", ".parquet")


def test_bad_records_are_set_aside_when_asked(folder):
    (folder / "data.csv").write_text("\n".join([*ROWS, "13", '14,1,"a" b']) + "\n")
    refused(impute(), 1, "line 14: 1 cell,", "line 15")
    assert impute("--on-bad-row", "set-aside").exit_code == 0
    aside = pl.read_csv("out.csv.rejects.csv")
    assert aside["line"].to_list() == [14, 15]
    assert aside["record"].to_list() == ["13", '14,1,"a" b']
    assert pl.read_csv("out.csv").height == 12


SUGGESTED = "--method auto would take about"


def test_on_a_terminal_the_last_line_says_what_auto_would_take_and_gain(folder, monkeypatch):
    assert SUGGESTED not in done(impute()).stderr
    monkeypatch.setattr(work, "is_terminal", lambda _: True)
    said = done(impute("--overwrite")).stderr.splitlines()[-1]
    assert said.startswith(f"method graph was used; {SUGGESTED}")
    assert said.endswith("73 % correct instead of 69 % on the paper's tables")
    for options in (["--method", "graph"], ["--folds", 0], ["-q"], ["--log-format", "json"]):
        assert SUGGESTED not in done(impute("--overwrite", *options)).stderr
    assert SUGGESTED not in done(impute("--overwrite", CFL_METHOD="graph")).stderr
    schema = (folder / "schema.yml").read_text()
    (folder / "schema.yml").write_text(schema.replace("{k: 3", "{method: graph, k: 3"))
    assert SUGGESTED not in done(impute("--overwrite")).stderr


def test_the_gain_that_is_said_is_that_of_the_docs():
    page = (Path(__file__).parents[3] / "docs" / "background" / "results.md").read_text()
    for method, said in work.RIGHT.items():
        [line] = [one for one in page.splitlines() if one.startswith(f"| `{method}` | 0.")]
        bank, _, adult, _ = [float(cell.split()[0]) for cell in line.split("|")[2:-1]]
        assert said == pytest.approx((bank + adult) / 2, abs=0.005)
