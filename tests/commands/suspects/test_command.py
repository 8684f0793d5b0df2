import json

import polars as pl
import pytest
from builders.command_line import cfl, done, impute
from builders.reports import without_checksums


@pytest.fixture
def imputed(folder):
    """Write a table in which one cell of a sure CF is wrong, and impute it with diagnostics."""
    cells = ["abc"[(row // 30 + 1 + row % 2) % 3] for row in range(90)]
    cells[40] = "b"  # of the second group, whose value is b
    rows = [
        "x,y,cf",
        *(f"{row // 30 * 10},{row % 7 / 10},{cell}" for row, cell in enumerate(cells)),
    ]
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    assert impute("--diagnostics", "cells.csv", "--k", 15, "--iterations", 50).exit_code == 0
    return folder


def test_the_cell_that_is_wrong_is_listed_first(imputed):
    shown = done(cfl("suspects", "out.csv"))
    assert "most likely to be wrong" in shown.stdout.splitlines()[0]
    facts = json.loads(cfl("suspects", "out.csv", "--format", "json").stdout)
    assert (facts["cells"][0]["row"], facts["cells"][0]["value"]) == (41, "b")
    assert cfl("suspects", "out.csv.report.json").stdout == shown.stdout


def test_rows_and_suspects_agree(imputed):
    listed = pl.read_csv(cfl("report", "out.csv", "--rows", "-f", "csv").stdout.encode())
    listed = listed.filter(pl.col("rank").is_not_null()).sort("rank")
    found = pl.read_csv(cfl("suspects", "out.csv", "-f", "csv").stdout.encode())
    same = [name for name in listed.columns if name in found.columns]
    assert {"rank", "row", "cf", "value", "times_as_likely"} <= {*same}
    assert found.select(same).equals(listed.select(same))


def test_the_list_goes_to_a_file_and_is_as_long_as_asked(imputed):
    assert cfl("suspects", "out.csv", "--top", "1", "-f", "csv", "--out", "s.csv").exit_code == 0
    assert pl.read_csv("s.csv").height == 1
    again = cfl("suspects", "out.csv", "--out", "s.csv")
    assert (again.exit_code, "--overwrite" in again.stderr) == (2, True)
    over = cfl("suspects", "out.csv", "--out", "cells.csv", "--diagnostics", "cells.csv")
    assert over.exit_code == 2


def test_without_diagnostics_the_way_out_is_named(folder):
    impute()
    for name, words, code in (
        ("out.csv", "impute again with --diagnostics FILE", 1),
        ("no.csv", "No such file", 1),
        ("schema.yml", "this is a schema", 1),
    ):
        result = cfl("suspects", name)
        assert (result.exit_code, words in result.stderr) == (code, True), result.output


def test_a_file_that_was_moved_is_named_and_that_of_another_run_refused(imputed):
    (imputed / "cells.csv").rename("moved.csv")
    assert "cells.csv: cannot be read" in cfl("suspects", "out.csv").stderr
    assert cfl("suspects", "out.csv", "--diagnostics", "moved.csv").exit_code == 0
    impute("--diagnostics", "other.csv", "--seed", "1", "--k", "7", out="b.csv")
    other = cfl("suspects", "out.csv", "--diagnostics", "other.csv")
    assert (other.exit_code, "the diagnostics belong to a different run" in other.stderr) == (
        1,
        True,
    )


def test_another_column_than_a_cf_is_refused(imputed):
    result = cfl("suspects", "out.csv", "--cf", "fc")
    assert (result.exit_code, "--cf 'fc': no CF of this result" in result.stderr) == (2, True)
    assert cfl("suspects", "out.csv", "--cf", "cf").exit_code == 0


def test_files_that_are_read_along_are_not_written_over(folder):
    assert impute("--diagnostics", "cells.csv").exit_code == 0
    before = (folder / "cells.csv").read_bytes(), (folder / "out.csv.report.json").read_bytes()
    for command in (("suspects", "out.csv"), ("report", "out.csv")):
        for target in ("cells.csv", "out.csv.report.json"):
            assert cfl(*command, "--out", target, "--overwrite").exit_code == 2, target
    after = (folder / "cells.csv").read_bytes(), (folder / "out.csv.report.json").read_bytes()
    assert after == before


def test_the_list_of_another_run_is_refused(folder):
    assert impute("--diagnostics", "cells.csv").exit_code == 0
    head, *listed = (folder / "cells.csv").read_text().splitlines()
    listed = [line.replace(",cf,", ",other,") for line in listed]
    (folder / "other.csv").write_text("\n".join([head, *listed]) + "\n")
    facts = without_checksums(json.loads((folder / "out.csv.report.json").read_text()))
    facts["sources"]["diagnostics"] = facts["sources"]["diagnostics_sha256"] = None
    (folder / "out.csv.report.json").write_text(json.dumps(facts))
    refused = cfl("suspects", "out.csv", "--diagnostics", "other.csv")
    assert refused.exit_code == 1
    assert "the diagnostics belong to a different run" in refused.stderr
