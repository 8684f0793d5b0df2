import json
from dataclasses import replace

import jsonschema
import polars as pl
import pytest
from builders.command_line import cfl, done, impute
from builders.reports import column, report, without_checksums
from builders.web_reports import history

from cfl_cli.commands.report.work import new_columns
from cfl_cli.trust.report import BatchFacts


def test_report_reads_the_table_the_report_and_the_parquet_file(folder):
    impute()
    impute(out="out.parquet")
    shown = [cfl("report", name) for name in ("out.csv", "out.csv.report.json", "out.parquet")]
    assert [result.exit_code for result in shown] == [0, 0, 0]
    tables = [result.stdout.rpartition("\n")[0].rpartition("\n")[0] for result in shown]
    assert tables[0] == tables[1] == tables[2]
    assert "\ncf " in shown[0].stdout
    assert shown[0].stdout.endswith("All figures: cfl report out.csv --details\n")


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
        "schema.yml": "this is a schema, not a report: pass the OUT of `cfl impute`",
        "no.json": "No such file",
    }.items():
        result = cfl("report", name)
        assert result.exit_code == 1
        assert words in result.stderr
        assert "Traceback" not in result.output


def test_the_rows_that_a_report_counts_are_listed_from_the_file_beside_it(folder):
    rows = ["x,y,cf", *(f"0,{n},{'b' if n % 20 else 'c'}" for n in range(200))]
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    assert impute("--diagnostics", "cells.jsonl").exit_code == 0
    expected = [n + 1 for n in range(200) if n % 20]
    shown = cfl("report", "out.csv", "--rows").stdout.splitlines()
    assert shown[0] == "200 rows, 190 cells to look at"
    assert shown[3].split()[:5] == ["cf", "impossible-value", "b", "190", "95.0%"]
    assert shown[3].endswith("2, 3, 4, 5, 6, 7, 8, 9, 10, 11 …")
    listed = pl.read_csv(cfl("report", "out.csv", "--rows", "-f", "csv").stdout.encode())
    assert listed.columns[:4] == ["row", "cf", "why", "value"]
    assert listed.filter(pl.col("why") == "impossible-value")["row"].to_list() == expected
    assert {*listed["why"][190:]} == {"doubtful-cell"}
    facts = json.loads(cfl("report", "out.csv", "--rows", "-f", "json").stdout)
    cells = [(one["row"], one["value"]) for one in facts["cells"]]
    assert cells[:190] == [(n, "b") for n in expected]
    assert (
        "| cf | impossible-value | b | 190 |"
        in cfl("report", "out.csv", "--rows", "-f", "md").stdout
    )
    labelled = (folder / "out.csv.report.json").read_text().replace('"label": "b"', "")
    assert '"b"' not in labelled


def test_rows_come_from_the_file_of_the_same_run_or_not_at_all(folder):
    impute()
    assert "impute again with --diagnostics FILE" in cfl("report", "out.csv", "--rows").stderr
    impute("--diagnostics", "cells.csv", "--overwrite")
    (folder / "cells.csv").rename("moved.csv")
    assert "cells.csv: cannot be read" in cfl("report", "out.csv", "--rows").stderr
    moved = ["--rows", "--diagnostics", "moved.csv"]
    assert cfl("report", "out.csv", *moved).exit_code == 0
    with (folder / "moved.csv").open("a") as file:
        file.write("9,9,cf,suspect-cell,a,0,0,1,,,,,\n")
    refused = cfl("report", "out.csv", *moved)
    assert (refused.exit_code, "the diagnostics belong to a different run" in refused.stderr) == (
        1,
        True,
    )


def test_verify_says_whether_the_files_are_still_those_of_the_run(folder):
    impute(out="out.parquet")
    (folder / "data.csv").rename("moved.csv")
    both = done(cfl("report", "out.parquet", "--verify", "moved.csv", "--schema", "schema.yml"))
    *lines, others, new, last = both.stdout.splitlines()
    assert [line[: line.index(" (SHA")] for line in lines] == [
        "moved.csv: is the table that out.parquet was made from",
        "schema.yml: is the schema that out.parquet was made from",
    ]
    assert others == "out.parquet: its other columns are the same as in moved.csv"
    assert new == "out.parquet: its new columns are as they were written"
    assert last == "out.parquet: all columns are as they were written"
    with (folder / "moved.csv").open("a") as file:
        file.write("1,1,a\n")
    changed = cfl("report", "out.parquet", "--verify", "moved.csv")
    assert changed.exit_code == 1
    assert "moved.csv: is not the table that out.parquet was made from (data.csv" in changed.stdout
    assert cfl("report", "out.parquet", "--verify", "none.csv").exit_code == 1


def test_verify_sees_answers_that_were_changed(folder):
    impute("--keep-flagged", "--mode", "both")
    assert cfl("report", "out.csv", "--verify", "data.csv").exit_code == 0
    text = (folder / "out.csv").read_text()
    (folder / "out.csv").write_text(f"{text[:-2]}{'1' if text[-2] != '1' else '2'}\n")
    changed = cfl("report", "out.csv", "--verify", "data.csv")
    assert changed.exit_code == 1
    assert "out.csv: its new columns have changed since they were written\n" in changed.stdout
    assert "report belongs to another run (its cells differ)" in changed.stdout
    assert cfl("report", "out.csv.report.json", "--verify", "data.csv").exit_code == 1
    (folder / "out.csv").unlink()
    assert cfl("report", "out.csv.report.json", "--verify", "data.csv").exit_code == 0


def test_new_columns_are_found_by_their_names(folder):
    impute("--keep-flagged", "--mode", "both")
    table = pl.read_csv("out.csv", infer_schema=False)
    names = ["note", *table.columns[3:], *table.columns[:3]]
    table.with_columns(note=pl.lit("seen")).select(names).write_csv("out.csv")
    assert cfl("report", "out.csv", "--verify", "data.csv").exit_code == 0
    table.drop(table.columns[-1]).write_csv("out.csv")
    assert "have changed" in cfl("report", "out.csv", "--verify", "data.csv").stdout
    facts = json.loads((folder / "out.csv.report.json").read_text())
    facts = {**without_checksums(facts), "columns": []}
    (folder / "out.csv.report.json").write_text(json.dumps(facts))
    result = cfl("report", "out.csv", "--verify", "data.csv")
    assert (result.exit_code, "have changed" in result.stdout) == (1, True)


@pytest.mark.parametrize("out", ["out.csv", "out.jsonl"])
def test_verify_names_a_column_of_the_table_that_was_altered(folder, out):
    rows = ["x;y;cf", *(f"{n},50;{n * n % 7 or ''};{'abc'[n % 3]}" for n in range(12))]
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    with (folder / "schema.yml").open("a") as file:
        file.write('file: {delimiter: ";", decimal: ","}\n')
    assert impute("--method", "commonest", out=out).exit_code == 0
    asked = ["report", out, "--verify", "data.csv"]
    said = cfl(*asked, "-s", "schema.yml").stdout
    assert f"{out}: its other columns are the same as in data.csv\n" in said
    without = cfl(*asked)
    assert (without.exit_code, "were not compared" in without.stdout) == (0, True)
    (folder / out).write_text((folder / out).read_text().replace("3,50", "3,51"))
    changed = cfl(*asked, "-s", "schema.yml")
    assert changed.exit_code == 1
    assert f"{out}: differs from data.csv in column 'x'\n" in changed.stdout


def test_the_names_of_cfs_may_begin_alike():
    cfs = [column("a", domain_size=2), column("a__b", domain_size=1)]
    a, ab = ["a_imputed", "a_confidence"], ["a__b_imputed", "a__b_confidence"]
    written = {"hard": [*a, *ab], "soft": ["a__x", "a__y", "a__b__z"]}
    written["both"] = [*a, "a__x", "a__y", *ab, "a__b__z"]
    for mode, names in written.items():
        new = new_columns(["x", "a__old", *names], replace(report(*cfs), settings={"mode": mode}))
        assert [*new] == names
        texts = [] if mode == "soft" else ["a_imputed", "a__b_imputed"]
        assert [name for name, is_text in new.items() if is_text] == texts


def test_a_report_can_name_no_file_of_another_folder(folder):
    impute("--diagnostics", "cells.csv")
    facts = without_checksums(json.loads((folder / "out.csv.report.json").read_text()))
    for name in ("", ".", "..", "a/b.csv", "/etc/passwd", "a\0.csv"):
        facts["sources"]["diagnostics"] = name
        (folder / "out.csv.report.json").write_text(json.dumps(facts))
        refused = cfl("report", "out.csv", "--rows")
        assert (refused.exit_code, "not the name of a file" in refused.stderr) == (1, True)
    assert cfl("report", "out.csv", "--rows", "--diagnostics", "cells.csv").exit_code == 0


def test_a_report_of_an_older_version_verifies_nothing(folder):
    impute()
    facts = without_checksums(json.loads((folder / "out.csv.report.json").read_text()))
    del facts["sources"]
    (folder / "old.json").write_text(json.dumps(facts))
    result = cfl("report", "old.json", "--verify", "data.csv")
    assert (result.exit_code, "its table is not recorded" in result.stdout) == (1, True)


def test_options_that_do_not_go_together_are_refused(folder):
    impute()
    for options in (
        ["--rows", "--verify", "data.csv"],
        ["--schema", "schema.yml"],
        ["--diagnostics", "data.csv"],
    ):
        assert cfl("report", "out.csv", *options).exit_code == 2


def test_a_page_for_browsers_goes_to_a_file_or_to_standard_output(folder):
    impute()
    assert cfl("report", "out.csv", "-f", "html", "--out", "r.html").exit_code == 0
    text = (folder / "r.html").read_bytes()
    assert text.startswith(b"<!DOCTYPE html>")
    assert b"\r" not in text
    assert cfl("report", "out.csv.report.json", "-f", "html").stdout_bytes == text
    assert cfl("report", "out.csv", CFL_FORMAT="html").stdout_bytes == text
    again = cfl("report", "out.csv", "-f", "html", "--out", "r.html")
    assert (again.exit_code, "--overwrite" in again.stderr) == (2, True)


def test_no_cell_of_an_ordinary_feature_is_on_the_page(folder):
    rows = (folder / "data.csv").read_text().splitlines()
    rows[5] = rows[5].replace(rows[5].split(",")[0], "987654.25", 1)
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    assert impute("--folds", "2").exit_code == 0
    assert "987654" in (folder / "out.csv").read_text()
    assert "987654" not in cfl("report", "out.csv", "-f", "html").stdout


def test_a_page_shows_a_report_and_a_history_together(folder):
    impute()
    lines = history("cf").lines
    (folder / "h.jsonl").write_text("".join(f"{one.to_json()}\n" for one in lines))
    batch = BatchFacts(12, {}, {}, lines[0].model, "e" * 64, 1)
    (folder / "r.json").write_text(report(column("cf"), batch=batch).to_json())
    both = cfl("report", "r.json", "--history", "h.jsonl", "-f", "html").stdout
    assert "<h4>Drift</h4>" in both
    assert "drift: batch 8" in both
    alone = cfl("report", "--history", "h.jsonl", "-f", "html")
    assert "12 batches, 1 CF, 1 drifted" in alone.stdout
    refused = cfl("report", "out.csv", "--history", "h.jsonl")
    assert refused.exit_code == 2
    assert "with --format html, one page shows both" in refused.stderr
    refused = cfl("report", "out.csv", "--history", "h.jsonl", "-f", "html")
    assert refused.exit_code == 2
    assert "no model filled it in" in refused.stderr


def test_a_page_of_a_model_shows_the_batches_that_it_answered(folder):
    assert cfl("fit", "data.csv", "-s", "schema.yml", "--model", "m.cfl", "-q").exit_code == 0
    made = ("apply", "data.csv", "--model", "m.cfl", "--out", "new.csv", "--history", "h.jsonl")
    assert cfl(*made, "-q").exit_code == 0
    page = done(cfl("report", "m.cfl", "--history", "h.jsonl", "-f", "html"))
    assert "<h4>Drift</h4>" in page.stdout


def test_a_history_of_another_model_is_not_put_beside_a_batch(folder):
    batch = BatchFacts(12, {}, {}, "f" * 64, "e" * 64, 1)
    (folder / "r.json").write_text(report(column(), batch=batch).to_json())
    (folder / "h.jsonl").write_text("".join(f"{one.to_json()}\n" for one in history().lines))
    result = cfl("report", "r.json", "--history", "h.jsonl", "-f", "html")
    assert result.exit_code == 1
    assert "h.jsonl: no batch of the model that filled in r.json" in result.stderr


def test_a_page_for_browsers_lists_no_rows(folder):
    impute()
    result = cfl("report", "out.csv", "--rows", "-f", "html")
    assert (result.exit_code, "leave it or --rows out" in result.stderr) == (2, True)
    for command in (("evaluate", "out.csv", "--truth", "data.csv"), ("tune", "data.csv")):
        assert cfl(*command, "--schema", "schema.yml", "-f", "html").exit_code == 2


def test_the_json_schema_of_reports_goes_with_no_other_option(folder):
    impute()
    printed = json.loads(done(cfl("report", "--json-schema")).stdout)
    jsonschema.validate(json.loads((folder / "out.csv.report.json").read_text()), printed)
    for others in (["out.csv"], ["--format", "csv"], ["--rows"]):
        refused = cfl("report", "--json-schema", *others)
        assert (refused.exit_code, "describes all reports" in refused.stderr) == (2, True)


def test_the_verdict_is_the_same_in_json_csv_and_on_the_terminal(folder):
    impute("--folds", "0")
    [fact] = json.loads(cfl("report", "out.csv", "-f", "json").stdout)["columns"]
    assert [*fact][:4] == ["name", "verdict", "reasons", "next"]
    listed = pl.read_csv(cfl("report", "out.csv", "-f", "csv").stdout.encode())
    assert listed.columns[:4] == ["name", "verdict", "reasons", "next"]
    assert listed.row(0)[:4] == ("cf", "not-known", "no-held-out-cells", "--folds auto")
    assert [*fact.values()][:4] == ["cf", "not-known", ["no-held-out-cells"], "--folds auto"]
    assert "Next, for cf: add --folds auto" in cfl("report", "out.csv").stdout
