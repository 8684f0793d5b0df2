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
    assert lines[2].startswith("Imputed value: ")
    assert "3 neighbors in round 2, by weight" in lines
    assert "Feature columns of the row and of the neighbors with most weight" in lines
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
        (("--row", 1, "--model", "m.cfl"), 2, ("either --schema", "or --model")),
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
    refused(result, 1, "the report belongs to another table")


def test_no_model_and_no_schema_is_refused(keyed):
    refused(explain("--row", 1), 2, "--schema", "--model")


@pytest.fixture
def no_learning(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("fitted again")

    monkeypatch.setattr("cfl_cli.commands.explain.job.learn", refuse)


def by_output(*options, data="out.csv"):
    return explain("--row", 4, "-f", "json", *options, data=data)


def test_an_output_finds_its_table_and_schema_and_nothing_is_fitted_again(keyed, no_learning):
    assert impute("--k", 4, "--mode", "both", "-q").exit_code == 0
    result = by_output()
    assert result.exit_code == 0, result.output
    assert (
        result.stdout
        == by_schema(*("--row", 4, "-f", "json", "--k", 4, "--report", "out.csv")).stdout
    )


def test_an_output_in_another_folder_finds_files_beside_it_or_here(keyed, no_learning):
    (keyed / "far").mkdir()
    assert impute("-q", out="far/out.csv").exit_code == 0
    here = by_output(data="far/out.csv")
    assert here.exit_code == 0, here.output
    for name in ("data.csv", "schema.yml"):
        (keyed / name).rename(keyed / "far" / name)
    assert by_output(data="far/out.csv").stdout == here.stdout


@pytest.mark.parametrize(
    "method", ["forest", "commonest", pytest.param("auto", marks=pytest.mark.slow)]
)
def test_a_model_of_the_same_run_spares_fitting_again(keyed, method, monkeypatch):
    rows = [f"P{n},{n % 11},{n * n % 7},{'abc'[n % 3]}" for n in range(60)]
    (keyed / "data.csv").write_text("\n".join(["id,x,y,cf", *rows]) + "\n")
    assert impute("-q", "--method", method, "--model", "m.cfl").exit_code == 0
    (keyed / "m.cfl").rename(keyed / "aside")
    again = by_output()
    assert again.exit_code == 0, again.output
    (keyed / "aside").rename(keyed / "m.cfl")
    monkeypatch.setattr("cfl_cli.commands.explain.job.learn", None)
    assert by_output().stdout == again.stdout


def test_a_batch_finds_its_rows_and_its_model(fitted):
    assert cfl("apply", "new.csv", "-m", "m.cfl", "-o", "filled.csv", "-q").exit_code == 0
    found = by_output(data="filled.csv")
    assert found.exit_code == 0, found.output
    assert (
        found.stdout == explain("--model", "m.cfl", "--row", 4, "-f", "json", data="new.csv").stdout
    )
    (fitted / "m.cfl").unlink()
    refused(by_output(data="filled.csv"), 1, "the model that filled it in", out="xx")


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("data.csv", None, "the table that it was made from, data.csv, is neither beside it"),
        ("schema.yml", None, "the schema that it was made from, schema.yml, is neither"),
        ("data.csv", "P99,1,1,a\n", "data.csv is not the table that it was made from (SHA-256"),
        ("schema.yml", "# x\n", "schema.yml is not the schema that it was made from (SHA-256"),
    ],
)
def test_a_table_or_schema_that_is_gone_or_changed_is_named(keyed, name, change, words):
    assert impute("-q").exit_code == 0
    path = keyed / name
    if change is None:
        path.unlink()
    else:
        path.write_text(path.read_text() + change)
    refused(by_output(), 1, words, out="xx")


def test_settings_of_another_run_are_refused_with_an_output(keyed):
    assert impute("-q").exit_code == 0
    refused(by_output("--k", 7), 2, "was made with --k 3, not with --k 7", out="xx")


def test_an_empty_text_that_is_a_value_is_not_called_missing(keyed):
    rows = [f"{n % 5},{'x' if n % 2 else ''},{'abc'[n % 3]}" for n in range(30)]
    (keyed / "data.csv").write_text("\n".join(["n,t,cf", *rows]) + "\n")
    text = """\
version: 1
columns:
  n: {role: ordinary, type: numeric}
  t: {role: ordinary, type: binary, values: ["", x]}
  cf: {role: complementary, values: [a, b, c]}
settings: {k: 3, iterations: 5}
"""
    (keyed / "schema.yml").write_text(text)
    page = by_schema("--row", 1).stdout
    assert "empty text" in page
    assert "missing" not in page
    (keyed / "schema.yml").write_text(
        text.replace(', values: ["", x]', "").replace("binary", "categorical")
    )
    assert "missing" in by_schema("--row", 1).stdout


def test_a_method_that_takes_long_to_fit_again_is_announced(keyed, monkeypatch):
    monkeypatch.setattr("cfl_cli.commands.explain.job.LONG", 0)
    result = by_schema("--row", 1)
    assert "fitting method graph again takes up to about " in result.stderr
    assert impute("-q").exit_code == 0
    assert "again" not in by_output().stderr
