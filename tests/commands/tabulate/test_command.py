import csv
import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from builders.command_line import cfl, done, failed, refused

SCHEMA = """\
version: 1
missing: ["", NA]
columns:
  job: {role: complementary, values: [clerk, nurse, farmer]}
  age: {role: ordinary, type: numeric}
  who: {role: identifier}
"""
ASKED = ("tabulate", "data.csv", "--schema", "schema.yml", "--cf", "job")


@pytest.fixture
def people(folder):
    """Write 600 rows; half of the nurses defaulted, and a tenth of the others."""
    random = np.random.default_rng(0)
    place = random.choice(3, 600, p=[0.5, 0.3, 0.2])
    values = np.array(["clerk", "nurse", "farmer"])
    frame = pl.DataFrame(
        {
            "job": values[(place + random.integers(1, 3, 600)) % 3],
            "age": random.integers(20, 60, 600),
            "who": [f"secret-{row}" for row in range(600)],
            "defaulted": np.where(random.random(600) < np.where(place == 1, 0.5, 0.1), "yes", "no"),
        }
    )
    frame.write_csv("data.csv")
    Path("schema.yml").write_text(SCHEMA)
    return frame


def test_the_page_says_how_sure_each_share_is_and_reads_one_aloud(people):
    shown = done(cfl(*ASKED, "--by", "defaulted")).stdout
    assert "job by defaulted: 600 rows" in shown
    assert "Among rows of one job: how common each defaulted is." in shown
    assert "Read: of the rows whose job is 'clerk', " in shown.replace("\n", " ")
    assert "rows with known values" in shown
    assert "Assumed: all sets of wrong values of one size are equally likely" in shown


def test_every_format_has_the_same_figures(people):
    table = [
        *csv.DictReader(io.StringIO(done(cfl(*ASKED, "--by", "defaulted", "-f", "csv")).stdout))
    ]
    facts = json.loads(cfl(*ASKED, "--by", "defaulted", "-f", "json").stdout)
    assert [*table[0]] == (
        "cf value by group quantity rows cells estimate se low high exact_rows basis reason".split()
    )
    assert [float(one["estimate"]) for one in table] == [
        one["estimate"] for one in facts["figures"]
    ]
    assert facts["columns"][0]["mechanism"] == "uniform"
    assert facts["assumptions"]
    markdown = cfl(*ASKED, "-f", "md").stdout
    assert "| clerk | 0." in markdown


def test_the_page_for_browsers_draws_estimates_and_counted_imputed_values(people):
    people.with_columns(job_imputed=pl.lit("clerk")).write_csv("data.csv")
    done(cfl(*ASKED, "--by", "defaulted", "-f", "html", "--out", "page.html"))
    page = Path("page.html").read_text()
    assert (
        page.count('class="est dot"') == page.count('class="base hollow"') + 4
    )  # no one is a nurse
    assert "imputed values say" in page
    refused(cfl(*ASKED, "-f", "html", "--out", "page.html"), 2, "--overwrite")


def test_other_formats_and_standard_input_give_the_same_bytes(people):
    shown = done(cfl(*ASKED, "--by", "defaulted", "--mean", "age", "-f", "json")).stdout
    people.write_parquet("data.parquet")
    people.write_ndjson("data.jsonl")
    for name in ("data.parquet", "data.jsonl"):
        again = cfl(
            "tabulate", name, *ASKED[2:], "--by", "defaulted", "--mean", "age", "-f", "json"
        )
        assert done(again).stdout == shown


def test_a_band_is_shown_where_a_bias_is_assumed(people):
    shown = done(cfl(*ASKED, "--bias", "1.2")).stdout
    assert "with bias" in shown
    Path("schema.yml").write_text(SCHEMA + "settings: {bias: 1.2}\n")
    assert cfl(*ASKED).stdout == shown


def test_what_is_not_known_is_said_with_its_reason_and_its_way_out(people):
    people.with_columns(job=pl.lit("nurse")).write_csv("data.csv")
    shown = done(cfl(*ASKED)).stdout.replace("\n", " ")
    assert "3 of 3 figures not known" in shown
    assert "a value is ruled out more often than it can be" in shown
    assert "declare the `mechanism`" in shown


def test_identifiers_and_wrong_cells_are_refused_without_showing_an_identifier(people):
    failed(cfl(*ASKED, "--by", "who"), 2, "--by: column 'who' is an identifier")
    failed(cfl(*ASKED, "--by", "defalted"), 2, "did you mean 'defaulted'?")
    people.with_columns(job=pl.lit("pilot")).write_csv("data.csv")
    failed(cfl(*ASKED), 1, "600 cells")
    people.with_columns(age=pl.lit("secret")).write_csv("data.csv")
    failed(cfl(*ASKED, "--mean", "age"), 1, "600 cells")


def test_a_blurred_cf_needs_infer(people):
    Path("schema.yml").write_text(SCHEMA.replace("farmer]", "farmer], blurred: privacy"))
    failed(cfl(*ASKED), 1, "--infer job")
    done(cfl(*ASKED, "--infer", "job"))


def test_rows_looked_up_are_read_as_spreadsheets_save_them(people):
    lines = [f"{row};{'nurse' if row % 2 else 'clerk'}" for row in range(1, 41)]
    text = "\r\n".join(["cfl_row;job", *lines])
    Path("checked.csv").write_bytes(text.encode("utf-8-sig"))
    done(cfl(*ASKED, "--audit", "checked.csv"))
    Path("checked.csv").write_bytes(text.replace("clerk", "höher").encode("cp1252"))
    refused(cfl(*ASKED, "--audit", "checked.csv"), 1, "'höher': save it as CSV in UTF-8")
