"""`cfl impute --draws`: a long table, the same bytes whatever threads run, and what it refuses."""

import json

import numpy as np
import polars as pl
import pytest
import yaml
from builders.command_line import done, impute, refused

HEAD = ".imp,.id,x,note,job,late,.drawn_with"


@pytest.fixture
def table(folder):
    random = np.random.default_rng(0)
    place = random.choice(3, 900)
    values = np.array(["clerk", "nurse", "farmer"])
    frame = pl.DataFrame(
        {
            "x": (place + random.normal(0, 0.8, 900)).round(3),
            "note": ["a,b"] * 900,
            "job": values[(place + random.integers(1, 3, 900)) % 3],
            "late": np.where(random.random(900) < 0.4, "yes", "no"),
        }
    )
    frame.write_csv("people.csv")
    job = {"role": "complementary", "values": values.tolist()}
    columns = {"x": {"role": "ordinary", "type": "numeric"}, "job": job}
    (folder / "people.yml").write_text(yaml.safe_dump({"version": 1, "columns": columns}))
    return frame


def drawn(*more, out="out.csv"):
    return impute("--k", 10, "--overwrite", *more, data="people.csv", schema="people.yml", out=out)


ASKED = ("--draws", 3, "--for", "late")


def test_the_table_is_long_and_the_report_says_what_it_must_not_be_used_for(folder, table):
    said = done(drawn(*ASKED)).stderr
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0] == HEAD
    assert len(lines) == 1 + 4 * table.height
    assert lines[1].endswith(f",,{table['late'][0]},late")  # nothing is known of the value
    made = pl.read_csv("out.csv")
    assert made.filter(pl.col(".imp") == 0)["job"].null_count() == table.height
    assert made.filter(pl.col(".imp") > 0)["job"].null_count() == 0
    (warning,) = json.loads((folder / "out.csv.report.json").read_text())["warnings"][-1:]
    assert "do not train a predictor of late" in warning
    assert "do not train a predictor of late" in " ".join(said.split())


def test_bytes_are_those_of_any_number_of_threads_and_of_a_table_in_blocks(folder, table):
    written = []
    for more in (("--jobs", 1), ("--jobs", 2), ("--run-dir", "kept")):
        done(drawn(*ASKED, *more))
        written.append((folder / "out.csv").read_bytes())
    assert written[0] == written[1] == written[2]
    done(drawn(*ASKED, "--seed", 1))
    assert (folder / "out.csv").read_bytes() != written[0]


def test_parquet_holds_the_same_table(folder, table):
    done(drawn(*ASKED))
    done(drawn(*ASKED, out="out.parquet"))
    both = pl.read_csv("out.csv"), pl.read_parquet("out.parquet")
    assert both[0]["job"].equals(both[1]["job"])
    assert "do not train" in pl.read_parquet_metadata("out.parquet")["cfl.report"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--draws", 3), "--draws and --for go together"),
        (("--for", "late"), "--draws and --for go together"),
        (("--draws", 3, "--for", "lat"), "has no column 'lat'"),
        (("--draws", 3, "--for", "job"), "column 'job' is a CF"),
        (("--draws", 1, "--for", "late"), "expected at least 2"),
        ((*ASKED, "--method", "boost"), "draws were validated only for method graph"),
    ],
)
def test_what_is_asked_wrongly_is_refused(table, options, said):
    refused(drawn(*options), 2, said)


def test_a_column_that_has_the_name_of_one_of_ours_is_refused(table):
    table.with_columns(pl.lit(1).alias(".id")).write_csv("people.csv")
    refused(drawn(*ASKED), 2, "column '.id'")


def test_nothing_is_written_where_draws_are_not_good_enough(table):
    table.head(300).write_csv("people.csv")
    what = "of its cells rule out a value in the smallest group of 'late'"
    refused(drawn(*ASKED), 1, what)
