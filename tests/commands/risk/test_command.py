import json
from pathlib import Path

import pytest
from builders.command_line import SCHEMA, cfl, refused

RISK = ("risk", "data.csv", "--schema", "schema.yml", "--method", "graph", "-q")


@pytest.fixture
def blurred(folder):
    """Write a table of three groups, whose CF the schema says was blurred for privacy."""
    rows = [f"{n % 3},{n % 7},{'abc'[(n + 1 + n // 3 % 2) % 3]}" for n in range(60)]
    Path("data.csv").write_text("\n".join(["x,y,cf", *rows]) + "\n")
    Path("schema.yml").write_text(SCHEMA.replace("c]}", "c], blurred: privacy}"))
    return folder


def test_a_blurred_cf_needs_no_leave_and_nothing_but_the_report_is_written(blurred):
    before = {*Path().iterdir()}
    run = cfl(*RISK)
    assert run.exit_code == 0, run.output
    for words in ("inferred right", "commonest", "Which OFs carry it", "Other ways of blurring"):
        assert words in run.stdout
    assert {*Path().iterdir()} == before


def test_json_and_csv_hold_the_same_figures(blurred):
    facts = json.loads(cfl(*RISK, "--format", "json", "--rows", 0).stdout)
    (column,) = facts["columns"]
    assert (facts["rows"], facts["version"], column["name"]) == (60, 1, "cf")
    head, line = cfl(*RISK, "--format", "csv", "--rows", 0).stdout.splitlines()
    record = dict(zip(head.split(","), line.split(","), strict=True))
    assert float(record["gain_value"]) == column["gain"]["value"]


def test_the_page_goes_to_a_file_that_is_not_overwritten(blurred):
    assert cfl(*RISK, "--rows", 0, "--format", "html", "--out", "risk.html").exit_code == 0
    page = Path("risk.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "Content-Security-Policy" in page
    refused(cfl(*RISK, "--format", "html", "--out", "risk.html"), 2, "--overwrite")
