import json
import subprocess
import sys

import polars as pl
import pytest
from builders.command_line import ROWS, cfl, impute, refused


@pytest.fixture
def keyed(folder):
    head, *rows = ROWS
    lines = [f"id,{head}", *(f"P{n},{row}" for n, row in enumerate(rows))]
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def fitted(keyed):
    assert cfl("fit", "data.csv", "-s", "schema.yml", "-m", "m.cfl", "-q").exit_code == 0
    rows = [f"N{n},{n / 2},{n},{'abc'[n % 3]}" for n in range(9)]
    (keyed / "new.csv").write_text("\n".join(["id,x,y,cf", *rows]) + "\n")
    return keyed


def explain(*options, data="data.csv"):
    return cfl("explain", data, *options)


def by_schema(*options):
    return explain("--schema", "schema.yml", *options)


def test_a_page_shows_the_cell_the_answer_the_neighbors_and_their_features(keyed):
    result = by_schema("--where", "id=P4")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "row 5 (id=P4): cf"
    assert lines[1] == "Cell: rules out b"
    assert lines[2].startswith("Answer: ")
    assert "3 neighbors in round 2, most weight first" in lines
    assert "Its ordinary features beside those of the neighbors of most weight" in lines
    assert result.stdout.count("P4") == 1  # the key; ids are not among the features
    assert "P3" not in result.stdout


@pytest.mark.parametrize("place", ["out.csv", "out.parquet"])
def test_json_holds_what_impute_wrote_also_by_its_report(keyed, place):
    assert impute("--mode", "both", "-q", out=place).exit_code == 0
    written = (pl.read_csv if place.endswith("csv") else pl.read_parquet)(place)[3]
    for options in ((), ("--report", place)):
        result = by_schema("--row", 4, "--format", "json", *options)
        assert result.exit_code == 0, result.output
        (cf,) = json.loads(result.stdout)["cfs"]
        assert cf["written"] == written["cf_imputed"].item()
        for value, confidence in zip(cf["values"], cf["confidences"], strict=True):
            assert confidence == pytest.approx(written[f"cf__{value}"].item(), abs=1e-9)


def test_markdown_csv_and_a_file(keyed):
    shown = by_schema("--row", 4, "-f", "md").stdout
    assert "| value | cell |" in shown
    assert "| row | weight | distance |" in shown
    assert by_schema("--row", 4, "-f", "csv", "-o", "why.csv").stdout == ""
    lines = (keyed / "why.csv").read_text().splitlines()
    assert lines[0] == "row,cf,value,ruled_out,prior,raw,confidence,answer"
    assert len(lines) == 4
    assert "--overwrite" in by_schema("--row", 4, "-o", "why.csv").stderr


def test_bad_records_among_new_rows_are_counted(fitted):
    text = (fitted / "new.csv").read_text()
    (fitted / "new.csv").write_text(f"{text}1\n2\n")
    for which in (("--row", 7), ("--where", "id=N6")):
        result = explain(
            "--model", "m.cfl", *which, "--on-bad-row", "set-aside", "-f", "json", data="new.csv"
        )
        assert result.exit_code == 0, result.output
        assert "new.csv: 2 bad records left out" in result.stderr
        assert json.loads(result.stdout)["row"] == 7


def test_a_model_explains_a_new_row_by_number_or_key_and_knows_no_rows(fitted):
    assert cfl("apply", "new.csv", "-m", "m.cfl", "-o", "filled.csv", "-q").exit_code == 0
    answer = pl.read_csv("filled.csv")["cf_imputed"][6]
    for which in (("--row", 7), ("--where", "id=N6")):
        result = explain("--model", "m.cfl", *which, "-f", "json", data="new.csv")
        assert result.exit_code == 0, result.output
        facts = json.loads(result.stdout)
        assert facts["row"] == 7
        assert facts["source"] == "model"
        assert facts["cfs"][0]["written"] == answer
        assert {one["row"] for near in facts["near"] for one in near["neighbors"]} == {None}


def test_a_model_is_explained_without_what_learning_needs(fitted):
    code = (
        "import sys; from cfl_cli.cli.app import app\n"
        "try: app(['explain', 'new.csv', '--model', 'm.cfl', '--row', '3'])\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "row 3: cf" in run.stdout
    assert not {"lightgbm", "osqp", "scipy.sparse", "pandas"} & {*run.stderr.split()}


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--row", 13), 2, ("--row 13: data.csv has 12 rows, numbered from 1",)),
        (("--row", 0), 2, ("--row",)),
        ((), 2, ("either --row",)),
        (("--row", 1, "--where", "id=P1"), 2, ("either --row",)),
        (("--where", "id=P99"), 1, ("no row has --where 'id=P99'",)),
        (("--where", "cf=a"), 1, ("4 rows have --where 'cf=a' (rows 1, 4, 7, 10)",)),
        (("--where", "idd=1"), 2, ("no column 'idd' (did you mean 'id'?)",)),
        (("--where", "id"), 2, ("expected COLUMN=CELL",)),
        (("--row", 1, "--cf", "fc"), 2, ("--cf 'fc': not a CF of schema.yml",)),
        (("--row", 1, "--model", "m.cfl"), 2, ("one of two",)),
        (("--row", 1, "--report", "nothing.json"), 1, ("nothing.json",)),
    ],
)
def test_what_is_not_clear_is_refused_by_name(keyed, options, code, words):
    refused(by_schema(*options), code, *words)


def test_a_column_of_lists_is_no_key(keyed):
    rows = {"id": [[1], [2], [3]] * 4, "x": [*range(12)], "y": [*range(12)], "cf": [*"abc"] * 4}
    pl.DataFrame(rows).write_parquet("lists.parquet")
    result = explain("-s", "schema.yml", "--where", "id=1", data="lists.parquet")
    refused(result, 2, "the cells of column 'id' are lists")


def test_settings_of_fitting_are_refused_with_a_model(fitted):
    result = explain("--model", "m.cfl", "--row", 1, "--k", 5, data="new.csv")
    refused(result, 2, "--k is decided when a model is fitted")


def test_a_report_of_another_table_or_run_is_refused(keyed):
    impute("-q", "--k", 4, out="other.csv")
    result = by_schema("--row", 1, "--report", "other.csv")
    refused(result, 2, "was made with --k 4, not with --k 3")
    (keyed / "data.csv").write_text((keyed / "data.csv").read_text() + "P12,1,1,a\n")
    result = by_schema("--row", 1, "--k", 4, "--report", "other.csv")
    refused(result, 1, "not the report of a run on this table")


def test_no_model_and_no_schema_is_refused(keyed):
    refused(explain("--row", 1), 2, "--schema", "--model")
